//! How an agent is started at a terminal, and what surrounds it there.
//!
//! Owns what is common to the terminal forms of all rows: which prompts can be an argument, and the
//! variables. The forms themselves are in the agents' own files. What is typed when is the driver's.

use super::{Agent, Plan, PlanError, PlanRequest, Workspace};
use crate::driver::TerminalRun;
use crate::keeper::{Launch, Transport};
use stablehand_core::Dialect;
use stablehand_core::terminal::TerminalSize;
use std::ffi::OsString;
use std::path::PathBuf;

/// A longer prompt is typed: the system takes no single argument beyond 128 KiB, and all of them
/// together have a bound as well.
const LONGEST_ARGUMENT: usize = 64 << 10;

/// The key that sends what was typed.
const ENTER: &str = "\r";

/// Ctrl-C twice, the way out of most agents.
pub(super) const CTRL_C_TWICE: &[&str] = &["\x03", "\x03"];

/// The interactive form of an agent.
#[derive(Debug)]
pub struct TerminalForm {
    /// The arguments for a request, with the prompt where it is to be one of them.
    pub(super) arguments: fn(&PlanRequest, Option<&str>) -> Vec<OsString>,
    /// How it gets its prompt.
    pub(super) prompt: PromptForm,
    /// The keys that make it leave, one after the other.
    pub(super) leave: &'static [&'static str],
}

/// How an agent at a terminal gets its prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PromptForm {
    /// As an argument, where it is short enough to be one.
    Argument,
    /// Typed, with these keys behind it.
    Typed(&'static str),
}

/// Variables of an agent at a terminal that differ from ours. The terminal is the one that we
/// emulate: whatever says that it is another one, or how large that is, must go.
pub const TERMINAL_ENV: &[(&str, Option<&str>)] = &[
    ("TERM", Some("xterm-256color")),
    ("COLORTERM", Some("truecolor")),
    ("COLUMNS", None),
    ("LINES", None),
    ("TERM_PROGRAM", None),
    ("TERM_PROGRAM_VERSION", None),
    ("TERM_SESSION_ID", None),
    ("TERMINFO", None),
    ("TERMCAP", None),
    ("TMUX", None),
    ("TMUX_PANE", None),
    ("STY", None),
    ("WINDOW", None),
    ("WINDOWID", None),
    ("VTE_VERSION", None),
    ("KITTY_WINDOW_ID", None),
    ("KITTY_PID", None),
    ("ITERM_SESSION_ID", None),
    ("LC_TERMINAL", None),
    ("LC_TERMINAL_VERSION", None),
    ("ALACRITTY_WINDOW_ID", None),
    ("WEZTERM_PANE", None),
    ("WEZTERM_EXECUTABLE", None),
    ("KONSOLE_VERSION", None),
    ("GHOSTTY_RESOURCES_DIR", None),
    ("WT_SESSION", None),
    ("INSIDE_EMACS", None),
];

/// Those of [`NON_INTERACTIVE`](super::NON_INTERACTIVE) that must not be set at a terminal: programs
/// that draw take them to mean that nobody looks, and draw nothing.
pub const NOT_AT_TERMINAL: &[&str] = &["CI", "CONTINUOUS_INTEGRATION"];

impl Agent {
    /// The plan for a request at a terminal: how it is started, and what is done there. Asking the
    /// agent to leave and the size of our own terminal are left to the caller.
    pub fn plan_at_terminal(
        self,
        program: PathBuf,
        request: &PlanRequest,
        prompt: &str,
        size: TerminalSize,
    ) -> Result<(Plan, TerminalRun), PlanError> {
        let row = self.row();
        let form = row.terminal.as_ref().ok_or(PlanError::NoTerminalForm { agent: row.name })?;
        self.check(request)?;
        let as_argument = form.prompt == PromptForm::Argument
            && prompt.len() <= LONGEST_ARGUMENT
            && !prompt.contains('\0');
        let type_prompt = match form.prompt {
            _ if as_argument => None,
            PromptForm::Typed(keys) => Some(keys),
            PromptForm::Argument => Some(ENTER),
        };
        let args = (form.arguments)(request, as_argument.then_some(prompt));
        let args = self.lead(&program).into_iter().chain(args).collect();
        let own = row.env.iter().chain(TERMINAL_ENV);
        let env = own.map(|(name, value)| (name.into(), value.map(Into::into))).collect();
        let cwd = request.workspace.clone().filter(|_| row.workspace == Workspace::StartedThere);
        let launch =
            Launch { program, args, env, cwd, transport: Transport::Pty { size }, release: None };
        let run = TerminalRun {
            type_prompt,
            reads_keys: form.prompt == PromptForm::Argument,
            leave: form.leave,
            ..TerminalRun::default()
        };
        let plan = Plan {
            launch,
            dialect: Dialect::Terminal,
            opening: None,
            prompt_is_argument: as_argument,
        };
        Ok((plan, run))
    }
}

/// A prompt behind everything else, where one that begins with a dash needs a `--` before it.
pub(super) fn push_prompt(args: &mut Vec<OsString>, prompt: Option<&str>) {
    if let Some(prompt) = prompt {
        if prompt.starts_with('-') {
            args.push("--".into());
        }
        args.push(prompt.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stablehand_core::id::SessionId;

    fn plan(agent: &str, request: &PlanRequest, prompt: &str) -> (String, TerminalRun) {
        let agent = Agent::by_name(agent).unwrap();
        let size = TerminalSize::DEFAULT;
        let (plan, run) = agent.plan_at_terminal("x".into(), request, prompt, size).unwrap();
        assert_eq!(plan.dialect, Dialect::Terminal);
        assert_eq!(plan.launch.transport, Transport::Pty { size });
        let args: Vec<_> =
            plan.launch.args.iter().map(|arg| arg.to_str().unwrap().to_owned()).collect();
        (args.join(" "), run)
    }

    #[test]
    fn every_agent_has_its_interactive_form() {
        let request = PlanRequest {
            resume: Some(SessionId("s1".into())),
            force: true,
            model: Some("m".into()),
            workspace: Some("/w".into()),
            partial_output: true,
            extra: vec!["--more".into()],
            ..PlanRequest::default()
        };
        let table = [
            ("cursor", "--resume s1 --force --model m --workspace /w --more P"),
            ("claude", "--resume s1 --model m --dangerously-skip-permissions --more P"),
            (
                "codex",
                "--no-daemon --model m --dangerously-bypass-approvals-and-sandbox --more resume s1 P",
            ),
            ("gemini", "--resume s1 --model m --yolo --more --prompt-interactive=P"),
            ("qwen", "--resume s1 --model m --yolo --more --prompt-interactive=P"),
            ("opencode", "--session s1 --model m --more --prompt=P"),
            ("grok", "--resume s1 --model m --always-approve --more P"),
            ("agy", "--conversation s1 --model m --dangerously-skip-permissions --more P"),
        ];
        for (agent, expected) in table {
            let (args, run) = plan(agent, &request, "P");
            assert_eq!((args.as_str(), run.type_prompt), (expected, None), "{agent}");
        }
        let has_one = |agent: &&Agent| agent.row().terminal.is_some();
        assert!(
            Agent::ALL.iter().filter(|agent| !has_one(agent)).all(|it| it.row().speaks_only_acp())
        );
    }

    #[test]
    fn a_prompt_with_a_dash_is_no_option_and_a_long_one_is_typed() {
        let plain = PlanRequest::default();
        for agent in ["cursor", "claude"] {
            assert_eq!(plan(agent, &plain, "-v").0, "-- -v", "{agent}");
        }
        assert_eq!(plan("codex", &plain, "-v").0, "--no-daemon -- -v");
        assert_eq!(plan("gemini", &plain, "-v").0, "--prompt-interactive=-v");
        let (args, run) = plan("claude", &plain, &"x".repeat(LONGEST_ARGUMENT + 1));
        assert_eq!((args.as_str(), run.type_prompt), ("", Some(ENTER)));
        assert_eq!(plan("demo", &plain, "hi").1.type_prompt, Some("\r\x04"));
    }

    #[test]
    fn an_id_that_is_an_option_is_refused_here_too() {
        let request =
            PlanRequest { resume: Some(SessionId("--force".into())), ..Default::default() };
        let agent = Agent::by_name("claude").unwrap();
        let planned = agent.plan_at_terminal("x".into(), &request, "P", TerminalSize::DEFAULT);
        assert!(planned.unwrap_err().to_string().contains("--force"));
    }
}
