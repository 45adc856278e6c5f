//! How each agent is started: one row and one file per agent.
//!
//! Owns the table and what is common to all rows. It starts nothing; a [`Plan`] is a value that
//! `--dry-run` prints and the keeper carries out. How an agent is *read* is its dialect in
//! `stablehand_core::decode`.

mod claude;
mod codex;
mod cursor;
mod demo;
mod gemini;
mod opencode;
mod qwen;
mod terminal;

pub use terminal::{NOT_AT_TERMINAL, TERMINAL_ENV, TerminalForm};

use crate::keeper::{Launch, Transport};
use stablehand_core::Dialect;
use stablehand_core::id::SessionId;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// One agent that we know how to run.
#[derive(Debug)]
pub struct Agent {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its programs, in the order in which PATH is searched for them; none is built in.
    pub programs: &'static [&'static str],
    /// How its output is read.
    pub dialect: Dialect,
    /// The arguments for a request; the prompt goes by standard input, which is then closed.
    arguments: fn(&PlanRequest) -> Vec<OsString>,
    /// How it is told where to work.
    workspace: Workspace,
    /// Variables that it needs set, or must not inherit.
    env: &'static [(&'static str, Option<&'static str>)],
    /// How it is used at a terminal, where it can be.
    pub terminal: Option<TerminalForm>,
}

/// How an agent is told where to work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Workspace {
    /// By one of its arguments.
    Argument,
    /// By being started there.
    StartedThere,
}

/// Every agent.
pub static AGENTS: &[Agent] =
    &[cursor::ROW, claude::ROW, codex::ROW, gemini::ROW, opencode::ROW, qwen::ROW, demo::ROW];

/// What is asked of an agent, in our words.
#[derive(Clone, Debug, Default)]
pub struct PlanRequest {
    /// Continue this session.
    pub resume: Option<SessionId>,
    /// The agent may run everything without asking.
    pub force: bool,
    /// Which model.
    pub model: Option<String>,
    /// Where to work.
    pub workspace: Option<PathBuf>,
    /// Text as it is made, where the agent can: signs of life for the monitor.
    pub partial_output: bool,
    /// More arguments, as they are.
    pub extra: Vec<OsString>,
}

/// Why an agent cannot be started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// No program of that agent on PATH.
    #[error("no program of {agent} was found on PATH (looked for {looked_for})")]
    NotFound {
        /// Which agent.
        agent: &'static str,
        /// The names that were tried.
        looked_for: String,
    },
    /// It cannot be used at a terminal.
    #[error("{agent} has no interactive form")]
    NoTerminalForm {
        /// Which agent.
        agent: &'static str,
    },
    /// An id that the agent would read as an option, or that holds control characters.
    #[error(
        "`{id}` cannot be a session id: it is empty, begins with a dash or has control characters"
    )]
    UnsafeSession {
        /// The id, safe to show.
        id: String,
    },
}

/// How an agent will be started.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What the keeper starts.
    pub launch: Launch,
    /// How its output is read.
    pub dialect: Dialect,
}

impl Agent {
    /// The agent of that name.
    pub fn by_name(name: &str) -> Option<&'static Agent> {
        AGENTS.iter().find(|agent| agent.name == name)
    }

    /// Its program on a search path, given as the value of PATH.
    pub fn find(&self, path: Option<&OsStr>) -> Result<PathBuf, PlanError> {
        let folders: Vec<PathBuf> =
            path.map(|p| std::env::split_paths(p).collect()).unwrap_or_default();
        self.programs
            .iter()
            .find_map(|name| {
                folders.iter().map(|folder| folder.join(name)).find(|file| is_executable(file))
            })
            .ok_or_else(|| PlanError::NotFound {
                agent: self.name,
                looked_for: self.programs.join(", "),
            })
    }

    /// The plan for a request.
    pub fn plan(&self, program: PathBuf, request: &PlanRequest) -> Result<Plan, PlanError> {
        check_session(request)?;
        let args = (self.arguments)(request);
        let env = self.env.iter().map(|(name, value)| (name.into(), value.map(Into::into)));
        let cwd = request.workspace.clone().filter(|_| self.workspace == Workspace::StartedThere);
        let launch = Launch { program, args, env: env.collect(), cwd, transport: Transport::Pipe };
        Ok(Plan { launch, dialect: self.dialect })
    }
}

fn check_session(request: &PlanRequest) -> Result<(), PlanError> {
    if let Some(id) = request.resume.as_ref().filter(|id| !id.is_safe_argument()) {
        let id = stablehand_core::text::excerpt(id.0.as_bytes(), 64);
        return Err(PlanError::UnsafeSession { id });
    }
    Ok(())
}

/// The beginning of a list of arguments.
fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(Into::into).collect()
}

/// An option and its value, where there is one.
fn option(args: &mut Vec<OsString>, name: &str, value: Option<impl Into<OsString>>) {
    if let Some(value) = value {
        args.extend([name.into(), value.into()]);
    }
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Variables that keep tools from asking a person who is not there. Set for the agent and so for
/// all its tools, unless the user has set them otherwise.
pub const NON_INTERACTIVE: &[(&str, &str)] = &[
    ("CI", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "true"),
    ("GH_PROMPT_DISABLED", "1"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("npm_config_yes", "true"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
];

/// Options whose values are secrets, for every agent: they are not written down.
const SECRET_OPTIONS: &[&str] = &["--api-key", "--auth-token", "--header", "-H", "--token"];

/// A command line that may be written down.
pub fn redacted(launch: &Launch) -> Vec<String> {
    let mut hide_next = false;
    let shown = launch.args.iter().map(|arg| {
        let arg = arg.to_string_lossy();
        if std::mem::take(&mut hide_next) {
            return "[redacted]".to_owned();
        }
        hide_next = SECRET_OPTIONS.contains(&arg.as_ref());
        match arg.split_once('=') {
            Some((name, _)) if SECRET_OPTIONS.contains(&name) => format!("{name}=[redacted]"),
            _ => arg.into_owned(),
        }
    });
    std::iter::once(launch.program.to_string_lossy().into_owned()).chain(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(agent: &str, request: &PlanRequest) -> Vec<String> {
        let plan = Agent::by_name(agent).unwrap().plan("x".into(), request).unwrap();
        plan.launch.args.iter().map(|a| a.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn cursor_arguments_come_in_the_documented_order() {
        let request = PlanRequest {
            resume: Some(SessionId("s1".into())),
            force: true,
            model: Some("auto".into()),
            workspace: Some("/w".into()),
            partial_output: false,
            extra: vec!["--mode".into(), "plan".into()],
        };
        let expected = "--print --output-format stream-json --resume s1 --force --model auto \
                        --workspace /w --mode plan";
        assert_eq!(args("cursor", &request).join(" "), expected);
        assert_eq!(
            args("cursor", &PlanRequest::default()),
            ["--print", "--output-format", "stream-json"]
        );
    }

    #[test]
    fn every_agent_is_told_everything_in_its_own_words() {
        let request = PlanRequest {
            resume: Some(SessionId("s1".into())),
            force: true,
            model: Some("m".into()),
            workspace: Some("/w".into()),
            partial_output: true,
            extra: vec!["--more".into()],
        };
        let table = [
            (
                "claude",
                "-p --output-format stream-json --verbose --include-partial-messages --resume s1 \
                 --model m --dangerously-skip-permissions --more",
            ),
            (
                "codex",
                "exec --json --skip-git-repo-check --model m \
                 --dangerously-bypass-approvals-and-sandbox --more resume s1 -",
            ),
            ("gemini", "--output-format stream-json --resume s1 --model m --yolo --more"),
            ("opencode", "run --format json --session s1 --model m --more"),
            ("qwen", "--output-format stream-json --resume s1 --model m --yolo --more"),
        ];
        for (agent, expected) in table {
            assert_eq!(args(agent, &request).join(" "), expected);
            let plan = Agent::by_name(agent).unwrap().plan("x".into(), &request).unwrap();
            assert_eq!(plan.launch.cwd.as_deref(), Some(Path::new("/w")), "{agent}");
        }
        assert_eq!(
            args("codex", &PlanRequest::default()).join(" "),
            "exec --json --skip-git-repo-check -"
        );
    }

    #[test]
    fn an_id_that_is_an_option_is_refused() {
        let request =
            PlanRequest { resume: Some(SessionId("--force".into())), ..Default::default() };
        let error = Agent::by_name("cursor").unwrap().plan("x".into(), &request).unwrap_err();
        assert!(error.to_string().contains("--force"));
    }

    #[test]
    fn secrets_are_not_shown() {
        let launch = Launch {
            program: "agent".into(),
            args: ["--api-key", "k1", "--header=Authorization: k2", "-p"]
                .map(OsString::from)
                .into(),
            env: Vec::new(),
            cwd: None,
            transport: Transport::Pipe,
        };
        let shown = redacted(&launch).join(" ");
        assert!(!shown.contains("k1") && !shown.contains("k2") && shown.ends_with("-p"), "{shown}");
    }
}
