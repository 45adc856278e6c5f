//! What to change, in the words of the program that wrote the log.
//!
//! Owns the wording of commands and flags. A name that the log brings is put into a command only
//! where a shell would take it as one plain word.

use super::facts::Facts;
use super::words;
use stablehand_core::event::VerdictKind;

/// The program with flags of its own.
const WRAPPER: &str = "cursor-wrap";

/// To run the very program without us.
pub(super) const BY_HAND: &str = "start the agent by hand in the same folder and see what it says";

impl Facts {
    fn is_wrapper(&self) -> bool {
        self.program.as_deref() == Some(WRAPPER)
    }

    /// ` --agent NAME`, where it is known.
    pub(super) fn agent_flag(&self) -> String {
        match self.agent.as_deref().filter(|name| is_plain(name)) {
            Some(name) if !self.is_wrapper() => format!(" --agent {name}"),
            _ => String::new(),
        }
    }

    /// To look how the agent is.
    pub(super) fn look_at_agent(&self) -> String {
        format!("see whether it is logged in: `stablehand status{}`", self.agent_flag())
    }

    /// To go on where it stopped.
    pub(super) fn resume(&self) -> Option<String> {
        let id = self.session.as_ref().filter(|id| is_plain(&id.0))?;
        let program = if self.is_wrapper() { WRAPPER } else { "stablehand run" };
        Some(format!(
            "go on where it stopped: `{program}{} --resume {id} \"…\"`",
            self.agent_flag()
        ))
    }

    /// To have it tried again without a person.
    pub(super) fn try_again(&self) -> String {
        if self.is_wrapper() {
            "have it go on by itself: `--prompt-after-hang \"go on\"`".to_owned()
        } else {
            "have it tried again by itself: `--retries 2`".to_owned()
        }
    }

    /// To wait longer.
    pub(super) fn wait_longer(&self, kind: VerdictKind, limit_ms: u64) -> String {
        let flag = match kind {
            VerdictKind::Startup | VerdictKind::FirstResponse | VerdictKind::Tool
                if self.is_wrapper() =>
            {
                "--idle-timeout"
            }
            kind => words::flag_of(kind),
        };
        format!("wait longer than {}: `{flag}`{}", words::ms(limit_ms), self.or_patient())
    }

    fn or_patient(&self) -> &'static str {
        if self.is_wrapper() { "" } else { ", or `--profile patient` for everything" }
    }

    /// To let the agent act without questions that nobody answers.
    pub(super) fn let_it(&self) -> String {
        if self.is_wrapper() {
            "let it act without asking: `--force`".to_owned()
        } else {
            "say beforehand what it may do: `--policy FILE` (with `--hooks` where the agent does not \
             ask), or let it do everything: `--force`"
                .to_owned()
        }
    }

    /// To get another version of the agent.
    pub(super) fn update(&self) -> String {
        let version = match &self.agent_version {
            Some(version) => format!(" (this was {version})"),
            None => String::new(),
        };
        format!("update the agent{version}")
    }
}

fn is_plain(word: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    word.len() <= 128
        && word.bytes().all(plain)
        && word.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
}
