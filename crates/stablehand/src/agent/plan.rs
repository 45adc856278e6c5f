//! From a request in our words to what the keeper starts.
//!
//! Owns the request, the plan, and what is common to all agents: the checks, the variables, what of
//! a command line may be written down. What an agent calls things is in its row.

use super::{Agent, Workspace, mcp};
use crate::keeper::{Launch, Transport};
use stablehand_core::Dialect;
use stablehand_core::id::SessionId;
use stablehand_core::mcp::McpServer;
use stablehand_core::speak::{Access, Opening};
use stablehand_core::wish::Services;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use thiserror::Error;

/// What is asked of an agent, in our words.
#[derive(Clone, Debug, Default)]
pub struct PlanRequest {
    /// Continue this session.
    pub resume: Option<SessionId>,
    /// Continue the latest session of the workspace.
    pub continue_latest: bool,
    /// The agent may run everything without asking.
    pub force: bool,
    /// In a conversation: the agent asks before everything, also before what it takes for harmless,
    /// because somebody else judges that.
    pub asks_always: bool,
    /// What it may do at all.
    pub mode: Option<Mode>,
    /// Which model.
    pub model: Option<String>,
    /// Where to work.
    pub workspace: Option<PathBuf>,
    /// Text as it is made, where the agent can: signs of life for the monitor.
    pub partial_output: bool,
    /// One turn, or a conversation with one process.
    pub form: Form,
    /// How the agent logs in, in its own word, where it wants that said.
    pub login: Option<String>,
    /// Servers of tools for this session, of the kinds that the agent takes ([`Agent::takes_mcp`]).
    pub mcp: Vec<McpServer>,
    /// More arguments, as they are.
    pub extra: Vec<OsString>,
    /// What is asked, for an agent that takes it as an argument.
    pub prompt: Vec<u8>,
}

/// How many turns a process takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// One.
    #[default]
    OneTurn,
    /// Any number: the agent listens, asks for permission, and can be interrupted in mid-turn.
    TwoWay,
    /// The same in the Agent Client Protocol.
    Acp,
}

impl Form {
    /// Whether the agent listens while it works.
    pub fn listens(self) -> bool {
        match self {
            Form::OneTurn => false,
            Form::TwoWay | Form::Acp => true,
        }
    }
}

/// What an agent may do at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Make a plan, change nothing.
    Plan,
    /// Answer questions, change nothing.
    Ask,
    /// Edit files without asking.
    Edit,
}

impl Mode {
    /// All of them.
    pub const ALL: &'static [Mode] = &[Mode::Plan, Mode::Ask, Mode::Edit];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Plan => "plan",
            Mode::Ask => "ask",
            Mode::Edit => "edit",
        }
    }

    /// The mode of that name.
    pub fn by_name(name: &str) -> Option<Mode> {
        Self::ALL.iter().copied().find(|mode| mode.name() == name)
    }
}

/// How an agent gets the prompt of a run of one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PromptBy {
    /// By standard input, which is then closed.
    StandardInput,
    /// As the value of this option, which comes last; standard input is closed at once.
    LastOption(&'static str),
}

/// The system takes no single argument that is longer, with the zero behind it.
const LONGEST_PROMPT: usize = (128 << 10) - 1;

impl PromptBy {
    /// Returns the words of the command line that hold the prompt.
    fn words(self, agent: &'static str, prompt: &[u8]) -> Result<Vec<OsString>, PlanError> {
        let PromptBy::LastOption(option) = self else { return Ok(Vec::new()) };
        if prompt.len() > LONGEST_PROMPT {
            return Err(PlanError::PromptTooLong { agent, bytes: prompt.len() });
        }
        if prompt.contains(&0) {
            return Err(PlanError::PromptHasZero { agent });
        }
        Ok(vec![option.into(), OsString::from_vec(prompt.to_vec())])
    }
}

/// What most agents are offered in the Agent Client Protocol.
pub(super) const EVERYTHING: Services = Services { reads: true, writes: true, commands: true };

/// The same for an agent that cannot tell a file which is not there from any other failure: it makes
/// no new files where its client reads for it.
pub(super) const WITHOUT_READING: Services = Services { reads: false, ..EVERYTHING };

/// Why an agent cannot be started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// No program of that agent on PATH.
    #[error("cannot start agent '{agent}': program not found in PATH (looked for {looked_for})")]
    NotFound {
        /// Which agent.
        agent: &'static str,
        /// The names that were tried.
        looked_for: String,
        /// The command that installs it.
        install: &'static str,
    },
    /// It cannot be used at a terminal.
    #[error("{agent} has no interactive form")]
    NoTerminalForm {
        /// Which agent.
        agent: &'static str,
    },
    /// The prompt is too long for an argument.
    #[error("{agent} takes its prompt as an argument, and {bytes} bytes are too many for one")]
    PromptTooLong {
        /// Which agent.
        agent: &'static str,
        /// The length of the prompt.
        bytes: usize,
    },
    /// The prompt cannot be an argument.
    #[error("{agent} takes its prompt as an argument, and this one has a zero byte in it")]
    PromptHasZero {
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
    /// The agent has no such mode.
    #[error("{agent} has no mode `{}`", mode.name())]
    NoSuchMode {
        /// Which agent.
        agent: &'static str,
        /// Which mode.
        mode: Mode,
        /// The modes that it has.
        has: String,
    },
    /// It does not speak the Agent Client Protocol.
    #[error("{agent} does not speak the Agent Client Protocol")]
    NoAcp {
        /// Which agent.
        agent: &'static str,
        /// The agents that do.
        able: String,
    },
    /// It speaks nothing else.
    #[error("{agent} speaks the Agent Client Protocol, and nothing else that we can read")]
    OnlyAcp {
        /// Which agent.
        agent: &'static str,
    },
    /// It cannot be asked for its latest session.
    #[error("{agent} cannot be asked for its latest session in the Agent Client Protocol")]
    NoLatest {
        /// Which agent.
        agent: &'static str,
    },
    /// Where it is to work cannot be found out.
    #[error("failed to find out where `{}` is", folder.display())]
    NoPlace {
        /// The folder that was named.
        folder: PathBuf,
        /// What went wrong.
        source: std::io::Error,
    },
    /// The protocol tells the folder as text, which it is not.
    #[error("cannot name the folder `{}` to the agent: its path is not UTF-8", folder.display())]
    FolderNotText {
        /// The folder.
        folder: PathBuf,
    },
    /// The agent takes one turn a process.
    #[error("{agent} takes one turn a process and cannot be talked to while it runs")]
    NotTwoWay {
        /// Which agent.
        agent: &'static str,
        /// The agents that can.
        able: String,
    },
}

/// How an agent will be started.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What the keeper starts.
    pub launch: Launch,
    /// How its output is read.
    pub dialect: Dialect,
    /// What it is told first, in a conversation.
    pub opening: Option<Opening>,
    /// Whether the prompt is among the arguments, so that standard input has nothing to give.
    pub prompt_is_argument: bool,
}

impl Agent {
    /// The plan for a request.
    pub fn plan(self, program: PathBuf, request: &PlanRequest) -> Result<Plan, PlanError> {
        let row = self.row();
        self.check(request)?;
        let mut prompt_is_argument = false;
        let (args, dialect, opening) = match request.form {
            Form::OneTurn => {
                let arguments = row.arguments.ok_or(PlanError::OnlyAcp { agent: row.name })?;
                let mut args = arguments(request);
                args.extend(row.prompt.words(row.name, &request.prompt)?);
                prompt_is_argument = row.prompt != PromptBy::StandardInput;
                (args, row.dialect, None)
            }
            Form::TwoWay if row.speaks_only_acp() => {
                return Err(PlanError::OnlyAcp { agent: row.name });
            }
            Form::TwoWay => {
                let way = row.two_way.as_ref().ok_or_else(|| not_two_way(self))?;
                let opening = match way.dialect {
                    Dialect::Acp => whole_opening(request, EVERYTHING)?,
                    _ => opening(request),
                };
                ((way.arguments)(request), way.dialect, Some(opening))
            }
            Form::Acp if request.continue_latest => {
                return Err(PlanError::NoLatest { agent: self.name() });
            }
            Form::Acp => {
                let acp = row.acp.as_ref().ok_or_else(|| no_acp(self))?;
                let mut args = words(acp.arguments);
                args.extend(request.extra.iter().cloned());
                (args, Dialect::Acp, Some(whole_opening(request, acp.offers)?))
            }
        };
        let env = row.env.iter().map(|(name, value)| (name.into(), value.map(Into::into)));
        let cwd = request.workspace.clone().filter(|_| row.workspace == Workspace::StartedThere);
        let launch = Launch {
            args: self.lead(&program).into_iter().chain(args).collect(),
            program,
            env: env.collect(),
            cwd,
            transport: Transport::Pipe,
            release: None,
        };
        Ok(Plan { launch, dialect, opening, prompt_is_argument })
    }

    /// Refuses what the agent would misunderstand.
    pub(super) fn check(self, request: &PlanRequest) -> Result<(), PlanError> {
        if let Some(id) = request.resume.as_ref().filter(|id| !id.is_safe_argument()) {
            let id = stablehand_core::text::excerpt(id.0.as_bytes(), 64);
            return Err(PlanError::UnsafeSession { id });
        }
        if let Some(mode) = request.mode.filter(|mode| self.modes().all(|has| has != *mode)) {
            let has: Vec<_> = self.modes().map(Mode::name).collect();
            return Err(PlanError::NoSuchMode { agent: self.name(), mode, has: has.join(", ") });
        }
        Ok(())
    }
}

fn not_two_way(agent: Agent) -> PlanError {
    let able = Agent::ALL.iter().filter(|agent| agent.row().two_way.is_some());
    let able: Vec<_> = able.map(|agent| agent.name()).collect();
    PlanError::NotTwoWay { agent: agent.name(), able: able.join(", ") }
}

/// What a two-way agent is told first, as far as its arguments cannot say it.
fn opening(request: &PlanRequest) -> Opening {
    Opening {
        resume: request.resume.clone(),
        model: request.model.clone(),
        // A path that is not UTF-8 stays away: the process starts in that folder anyway.
        cwd: request.workspace.as_ref().and_then(|path| path.to_str()).map(str::to_owned),
        access: match (request.force, request.mode) {
            (true, _) => Access::Everything,
            (false, Some(Mode::Plan | Mode::Ask)) => Access::ReadOnly,
            (false, Some(Mode::Edit)) => Access::Workspace,
            (false, None) => Access::Asked,
        },
        login: request.login.clone(),
        services: Services::default(),
        mcp: request.mcp.clone(),
    }
}

/// The same for whoever has to be told where to work with every word of the path.
fn whole_opening(request: &PlanRequest, offers: Services) -> Result<Opening, PlanError> {
    let here = request.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
    let whole = std::path::absolute(&here)
        .and_then(|path| path.canonicalize().or(Ok(path)))
        .map_err(|source| PlanError::NoPlace { folder: here, source })?;
    let opening = opening(request);
    // What may change nothing has nothing changed for it, either.
    let changes = opening.access != Access::ReadOnly;
    let services = Services {
        reads: offers.reads,
        writes: offers.writes && changes,
        commands: offers.commands && changes,
    };
    let cwd = whole.into_os_string().into_string();
    let cwd = cwd.map_err(|folder| PlanError::FolderNotText { folder: folder.into() })?;
    Ok(Opening { cwd: Some(cwd), services, ..opening })
}

fn no_acp(agent: Agent) -> PlanError {
    let able = Agent::ALL.iter().filter(|agent| agent.row().acp.is_some());
    let able: Vec<_> = able.map(|agent| agent.name()).collect();
    PlanError::NoAcp { agent: agent.name(), able: able.join(", ") }
}

/// The beginning of a list of arguments.
pub(super) fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(Into::into).collect()
}

/// An option and its value, where there is one.
pub(super) fn option(args: &mut Vec<OsString>, name: &str, value: Option<impl Into<OsString>>) {
    if let Some(value) = value {
        args.extend([name.into(), value.into()]);
    }
}

/// An option without a value.
pub(super) fn flag(args: &mut Vec<OsString>, name: &str, wanted: bool) {
    if wanted {
        args.push(name.into());
    }
}

impl PlanRequest {
    /// The agent's own words for the mode that is asked for.
    pub(super) fn mode_words(
        &self,
        modes: &[(Mode, &'static [&'static str])],
    ) -> impl Iterator<Item = OsString> {
        let found = modes.iter().find(|(mode, _)| Some(*mode) == self.mode);
        found.map_or(&[][..], |(_, words)| words).iter().map(Into::into)
    }
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
fn is_secret_option(word: &str) -> bool {
    matches!(word, "--header" | "-H") || stablehand_core::redact::is_secret_option(word)
}

/// What stands for a secret that is not written down.
const HIDDEN: &str = "[redacted]";

/// A command line that may be written down.
pub fn redacted(launch: &Launch) -> Vec<String> {
    let args: Vec<_> = launch.args.iter().map(|arg| arg.to_string_lossy()).collect();
    let shown = without_secrets(args.iter().map(AsRef::as_ref));
    std::iter::once(launch.program.to_string_lossy().into_owned()).chain(shown).collect()
}

/// Words of a command line without the values of secret options.
pub(super) fn without_secrets<'a>(words: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut hide_next = false;
    let mut before = None;
    let shown = words.map(|word| {
        if let Some(shown) = mcp::shown(before.replace(word), word) {
            return shown;
        }
        if std::mem::take(&mut hide_next) {
            return HIDDEN.to_owned();
        }
        hide_next = is_secret_option(word);
        match word.split_once('=') {
            Some((name, _)) if is_secret_option(name) => format!("{name}={HIDDEN}"),
            _ => word.to_owned(),
        }
    });
    shown.collect()
}

/// The values of secret options among an agent's arguments, for whoever redacts: they are secret
/// wherever they stand. Of a header it is also what stands behind its name and scheme.
pub fn secret_values<'a>(args: impl IntoIterator<Item = &'a OsString>) -> Vec<String> {
    let mut values = Vec::new();
    let mut is_next = false;
    for arg in args {
        let arg = arg.to_string_lossy();
        let value = if std::mem::take(&mut is_next) {
            Some(arg.as_ref())
        } else {
            is_next = is_secret_option(arg.as_ref());
            arg.split_once('=').filter(|(name, _)| is_secret_option(name)).map(|pair| pair.1)
        };
        let Some(value) = value else { continue };
        values.push(value.to_owned());
        let behind = value.split_once(':').map(|(_, behind)| behind.trim());
        values.extend(behind.and_then(|text| text.split_whitespace().last()).map(str::to_owned));
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_that_cannot_be_an_argument_is_refused() {
        let plan = |prompt: Vec<u8>| {
            let request = PlanRequest { prompt, ..PlanRequest::default() };
            Agent::by_name("agy").unwrap().plan("x".into(), &request)
        };
        let fits = plan(vec![b'x'; LONGEST_PROMPT]).unwrap();
        assert!(fits.prompt_is_argument);
        let too_long = plan(vec![b'x'; LONGEST_PROMPT + 1]);
        assert!(matches!(too_long, Err(PlanError::PromptTooLong { bytes: 131_072, .. })));
        assert!(matches!(plan(b"a\0b".to_vec()), Err(PlanError::PromptHasZero { .. })));
        // A prompt with a dash is still the value of the option.
        let dashed = plan(b"--force".to_vec()).unwrap();
        assert_eq!(dashed.launch.args[dashed.launch.args.len() - 2..], ["-p", "--force"]);
    }
}
