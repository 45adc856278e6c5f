//! What went wrong, for the person at the keyboard: the only place that words hints.

use crate::choice;
use stablehand::agent::{Agent, Form, PlanError};
use stablehand::config::{ConfigError, agent_names};
use stablehand::context::ContextError;
use stablehand::driver::RunReport;
use stablehand::error_chain as chain;
use stablehand::hooks::HookError;
use stablehand::keeper::SpawnError;
use stablehand::lease::LeaseError;
use stablehand::log::LogError;
use stablehand::manage::AskError;
use stablehand::manage::status::how_to_log_in;
use stablehand::session::StartError;
use stablehand_core::decode::failure_of;
use stablehand_core::event::FailureKind;
use stablehand_store::StoreError;

/// A command that could not do its work.
#[derive(Debug)]
pub struct Failure {
    text: String,
    hint: Option<String>,
    code: u8,
}

/// What every `--help` ends with.
pub const EXIT_CODES: &str = "\
Exit status: 0 the agent succeeded; 1 it failed or could not be run; 2 it hung or reached a limit \
and was stopped; 64 wrong usage; 73 the log cannot be created; 141 the reader of the output went \
away; 128+n ended by signal n (130 for Ctrl-C, 143 for SIGTERM). The last record of the log has the \
outcome for machines.";

/// The same for `cursor-wrap`, which has no status of its own for the log.
pub const WRAP_EXIT_CODES: &str = "\
Exit status: 0 the agent succeeded; 1 it failed or could not be run, or the log cannot be created; \
2 it hung and was stopped; 64 wrong usage; 141 the reader of the output went away; 128+n ended by \
signal n (130 for Ctrl-C, 143 for SIGTERM). The last record of the log has the outcome for machines.";

/// The command line was wrong.
pub const USAGE: u8 = 64;
/// The log could not be made.
pub const CANNOT_CREATE: u8 = 73;

impl Failure {
    /// A failure in plain words, with exit status 1.
    pub fn new(text: impl Into<String>) -> Self {
        Failure { text: text.into(), hint: None, code: 1 }
    }

    /// A wrong command line.
    pub fn usage(text: impl Into<String>) -> Self {
        Failure { text: text.into(), hint: None, code: USAGE }
    }

    /// What the person can do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Ends the program with another exit status.
    #[must_use]
    pub fn with_code(self, code: u8) -> Self {
        Failure { code, ..self }
    }

    /// What happened, without the hint.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What the person can do, where that is known.
    pub fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The exit status.
    pub fn code(&self) -> u8 {
        self.code
    }

    /// One or two lines for standard error.
    pub fn message(&self, program: &str) -> String {
        match &self.hint {
            Some(hint) => format!("{program}: {}\n  hint: {hint}\n", self.text),
            None => format!("{program}: {}\n", self.text),
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<LogError> for Failure {
    fn from(error: LogError) -> Self {
        Failure { text: chain(&error), hint: None, code: CANNOT_CREATE }
            .hint("choose a folder that you may write to with --log-dir")
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        let failure = Failure::new(chain(&error));
        let hint = match &error {
            PlanError::NotFound { install, .. } => return failure.hint(install_hint(install)),
            PlanError::NoSuchMode { has, .. } if has.is_empty() => {
                "it has none; leave --mode out".to_owned()
            }
            PlanError::NoSuchMode { has, .. } => format!("it has: {has}"),
            PlanError::NotTwoWay { able, .. } => format!("these can: {able}"),
            PlanError::NoAcp { able, .. } => format!("these do: {able}"),
            PlanError::OnlyAcp { .. } => "leave out --transport".to_owned(),
            PlanError::FolderNotText { .. } => "rename the folder, or work in another".to_owned(),
            PlanError::NoLatest { .. } => {
                "name the session with --resume; `stablehand sessions ls` lists them".to_owned()
            }
            PlanError::UnsafeSession { .. } => "give the id that the agent printed".to_owned(),
            PlanError::PromptTooLong { .. } => {
                "write it into a file, and tell the agent to read that file".to_owned()
            }
            PlanError::PromptHasZero { .. } => "give the prompt as text".to_owned(),
            _ => return failure,
        };
        Failure { code: USAGE, ..failure }.hint(hint)
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Plan(error) => error.into(),
            StartError::Log(error) => error.into(),
            StartError::Hooks(error) => error.into(),
            StartError::PromptDenied { .. } => denied_prompt(chain(&error)),
            error => Failure::new(chain(&error)),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let text = chain(&error);
        match error {
            ConfigError::Context(error) => error.into(),
            ConfigError::Policy { .. } => {
                Failure::new(text).hint("see docs/policy.md for the language")
            }
            ConfigError::Settings { .. } => {
                Failure::new(text).hint("see docs/settings.md and docs/policy.md for the language")
            }
            ConfigError::UnknownAgent { .. } => {
                Failure::new(text).hint(format!("there are: {}", agent_names().join(", ")))
            }
            ConfigError::FolderNotText { .. } => Failure::usage(text)
                .hint("rename the folder, or run without a policy (--no-policy)"),
            ConfigError::ForceAndPolicy { .. } => {
                Failure::usage(text).hint("leave out --force, or add --no-policy")
            }
            ConfigError::Unruly { agent, form, found } => {
                Failure::usage(text).hint(choice::unruly_hint(agent, form, found.as_deref()))
            }
            _ => Failure::new(text),
        }
    }
}

impl From<ContextError> for Failure {
    fn from(error: ContextError) -> Self {
        let failure = Failure::new(chain(&error));
        match error {
            ContextError::TooLong { .. } => {
                failure.hint("tell it where to look instead; it can read files itself")
            }
            ContextError::Read { place: None, .. } => failure.hint("name another with --context"),
            _ => failure.hint("mend the path, or take it out of `files` in `[context]`"),
        }
    }
}

impl From<LeaseError> for Failure {
    fn from(error: LeaseError) -> Self {
        let failure = Failure::new(chain(&error));
        match error {
            LeaseError::Taken { .. } => failure.hint("wait for it to end, or start a new session"),
            _ => failure,
        }
    }
}

impl From<HookError> for Failure {
    fn from(error: HookError) -> Self {
        let failure = Failure::new(chain(&error));
        if let HookError::NoHooks { able, .. } = &error {
            return Failure { code: USAGE, ..failure }.hint(format!("these have: {able}"));
        }
        failure.hint(hook_hint(&error))
    }
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Self {
        let failure = Failure::new(chain(&error));
        match error {
            AskError::Unsupported { instead, .. } => failure.hint(instead),
            AskError::TimedOut { .. } => failure.hint("give it longer with --timeout"),
            AskError::Unreadable { command, .. } => {
                failure.hint(format!("run `{command}` yourself to see what it says"))
            }
            AskError::Files { .. } => failure.hint("look whether they are whole"),
            AskError::Start { agent, source } => match spawn_hint(&source, Agent::by_name(agent)) {
                Some(hint) => failure.hint(hint),
                None => failure,
            },
            AskError::Refused { agent, said, .. } => match Agent::by_name(agent) {
                Some(agent) if failure_of(&said) == Some(FailureKind::Auth) => {
                    failure.hint(how_to_log_in(agent))
                }
                _ => failure,
            },
            AskError::UnsafeName { .. } => Failure { code: USAGE, ..failure },
            _ => failure,
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let failure = Failure::new(chain(&error));
        match error {
            StoreError::Newer { .. } => failure
                .hint("use that version, or remove the file: the index is made from the logs"),
            StoreError::Read { .. } => {
                failure.hint("see to the folder and its owner, or name another with --log-dir")
            }
            _ if error.is_busy() => {
                failure.hint("somebody else is writing it; try again in a moment")
            }
            _ => failure
                .hint("see to the disk and the folder; the logs are whole, whatever the index is"),
        }
    }
}

/// A prompt that a rule keeps from the agent.
pub fn denied_prompt(text: String) -> Failure {
    Failure::new(text).hint("change the prompt or the rule; --no-policy runs without any rule")
}

/// What to do about hooks that could not be put in or taken out.
fn hook_hint(error: &HookError) -> &'static str {
    match error {
        HookError::NoPlace { .. } => {
            "set XDG_RUNTIME_DIR or STABLEHAND_HOME to a folder with a short path"
        }
        HookError::OddProgram { .. } => "move the program to a folder whose path is plain text",
        HookError::File { .. } => "mend the file, or move it away; it was not touched",
        HookError::Link { .. } => {
            "put a real file or folder in its place, or choose the other --scope; links are not followed"
        }
        HookError::Kind { .. } | HookError::TooLarge { .. } => "move it away; it was not touched",
        HookError::NotOurs { .. } => {
            "see to its owner and mode (chmod u+w), or choose the other --scope"
        }
        HookError::Restless { .. } => "try again when it has been saved",
        HookError::Busy { .. } => "another of us holds it; try again, or end that one",
        HookError::Journal { .. } => {
            "see that the settings file is as you want it, then remove the folder of the journal"
        }
        _ => "see to the folder, its owner and the disk",
    }
}

/// Where to look after a run that did not end well.
pub fn log_hint(log: &std::path::Path) -> String {
    format!("the log says why: stablehand doctor {}", log.display())
}

/// How to get a program that is missing.
fn install_hint(install: &str) -> String {
    format!("{install}, or pass --agent-bin PATH")
}

/// What to do about an agent that could not be started; an agent that we do not know is not named.
pub fn spawn_hint(error: &SpawnError, agent: Option<Agent>) -> Option<String> {
    let hint = match error {
        SpawnError::NotFound { .. } => {
            let install = agent.map_or("install it", |agent| agent.install(Form::OneTurn));
            return Some(install_hint(install));
        }
        SpawnError::SessionTaken(_) => "wait for it to end, or start a new session",
        SpawnError::NotExecutable { .. } => {
            "make it executable (chmod +x), or name another with --agent-bin"
        }
        SpawnError::BadWorkingDirectory { .. } => "name a folder that exists with --workspace",
        _ => return None,
    };
    Some(hint.to_owned())
}

/// What to do about a run that did not end well: start the program, log in, or read the log.
pub fn run_hint(report: &RunReport, agent: Option<Agent>, log: &std::path::Path) -> String {
    let spawn = report.failure.as_ref().and_then(|error| spawn_hint(error, agent));
    let needs_login = report.failure_kind() == Some(FailureKind::Auth);
    let login = || agent.filter(|_| needs_login).map(how_to_log_in);
    spawn.or_else(login).unwrap_or_else(|| log_hint(log))
}
