//! Carries recipes out: remembers, reads files, starts commands, and says in words what went wrong.

use super::cache::{Cache, Key};
use super::native::{self, Enough, NativeError};
use super::parse::{hide_secrets, plain};
use super::{Action, Answer, Ask, Heard, NAME, Output, Question, Recipe, Trouble};
use crate::agent::Agent;
use crate::keeper::{KeeperProgram, Launch, SpawnError};
use stablehand_core::event::ProcessExit;
use stablehand_core::text::excerpt;
use stablehand_core::time::human;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};
use thiserror::Error;

/// How much of a text is shown, in characters.
const SHOWN: usize = 160;

/// Rows of a list that are kept; nobody reads more.
const MAX_ROWS: usize = 5000;

/// Variables for every command that we ask something: no colours, no translation, no browser.
const SOBER: &[(&str, Option<&str>)] = &[
    ("LC_ALL", Some("C")),
    ("LANG", Some("C")),
    ("LANGUAGE", None),
    ("NO_COLOR", Some("1")),
    ("FORCE_COLOR", None),
    ("CLICOLOR_FORCE", None),
    ("TERM", Some("dumb")),
    ("NO_OPEN_BROWSER", Some("1")),
];

/// What the face knows about the place that we are in.
#[derive(Clone, Debug, Default)]
pub struct AgentHomes {
    /// The person's home.
    pub home: Option<PathBuf>,
    /// The working directory.
    pub work: PathBuf,
    /// The values of all variables that are [`folders`](super::Recipes::folders) of an agent.
    pub folders: BTreeMap<String, PathBuf>,
    /// Which [`credentials`](super::Recipes::credentials) are set, without their values.
    pub set: BTreeSet<String>,
}

/// Whether an answer was remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fresh {
    /// It was just given.
    Now,
    /// It is some seconds old.
    Remembered,
}

/// What became of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The agent has done it.
    Done(Answer),
    /// The person has to do it: this is to be run on the person's terminal.
    OnTerminal(Launch),
}

/// Why there is no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AskError {
    /// The agent has no way to do that.
    #[error("not supported: {agent} cannot {wish}")]
    Unsupported {
        /// The agent.
        agent: &'static str,
        /// What was wished for.
        wish: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
    /// It said something that we do not know.
    #[error("could not read {agent}'s answer to `{command}`: {excerpt}")]
    Unreadable {
        /// The agent.
        agent: &'static str,
        /// What it was asked.
        command: String,
        /// The beginning of what it said.
        excerpt: String,
    },
    /// Its files are not what we know.
    #[error("could not read {agent}'s files ({files})")]
    Files {
        /// The agent.
        agent: &'static str,
        /// Which files.
        files: String,
    },
    /// It said no.
    #[error("{agent} did not do `{command}`: {said}")]
    Refused {
        /// The agent.
        agent: &'static str,
        /// What it was asked.
        command: String,
        /// Its words.
        said: String,
    },
    /// It did not answer.
    #[error("{agent} did not answer `{command}` in {} and was stopped{said}", human(*limit))]
    TimedOut {
        /// The agent.
        agent: &'static str,
        /// What it was asked.
        command: String,
        /// How long it had.
        limit: Duration,
        /// What it had said by then, with a colon before it; empty where that is nothing.
        said: String,
    },
    /// Its program does not run.
    #[error("{agent} could not be asked")]
    Start {
        /// The agent.
        agent: &'static str,
        /// Why.
        #[source]
        source: SpawnError,
    },
    /// Our keeper was killed in the middle.
    #[error("{agent} was asked `{command}`, but the keeper of the command was killed")]
    Lost {
        /// The agent.
        agent: &'static str,
        /// What it was asked.
        command: String,
    },
    /// A name that the agent would read as an option, or that holds control characters.
    #[error("`{name}` cannot be a name: it is empty, begins with a dash or has control characters")]
    UnsafeName {
        /// The name, safe to show.
        name: String,
    },
}

/// Where agents are asked.
#[derive(Clone, Debug)]
pub struct Desk {
    /// How commands are started.
    pub keeper: KeeperProgram,
    /// Where we are.
    pub around: AgentHomes,
    /// Further changes to the environment of commands.
    pub env: Vec<(OsString, Option<OsString>)>,
    /// What is remembered.
    pub cache: Option<Cache>,
    /// The limit for every command, instead of the recipes' own.
    pub limit: Option<Duration>,
}

impl Desk {
    /// Asks an agent, or remembers what it said a moment ago.
    pub fn ask(
        &self,
        agent: Agent,
        program: &Path,
        question: Question,
    ) -> Result<(Answer, Fresh), AskError> {
        let ask = match agent.row().manage.question(question) {
            Recipe::Ask(ask) => ask,
            Recipe::Unsupported(instead) => {
                return Err(unsupported(agent, question.wish(), instead));
            }
            Recipe::Terminal(_) => {
                return Err(unsupported(agent, question.wish(), "ask it on a terminal"));
            }
        };
        let key = self.key(agent, program, ask);
        // Reading files is as quick as remembering.
        let cache = self.cache.as_ref().filter(|_| ask.args.is_some());
        if let Some(answer) = cache.and_then(|cache| cache.get(agent.name(), question, &key)) {
            return Ok((answer, Fresh::Remembered));
        }
        let answer = self.carry_out(agent, program, ask, None)?;
        if let Some(cache) = cache {
            cache.put(agent.name(), question, &key, &answer);
        }
        Ok((answer, Fresh::Now))
    }

    /// Does something, or says what the person has to do on a terminal.
    pub fn act(
        &self,
        agent: Agent,
        program: &Path,
        action: Action,
        name: Option<&str>,
    ) -> Result<Step, AskError> {
        if let Some(name) = name.filter(|name| !is_safe_name(name)) {
            return Err(AskError::UnsafeName { name: excerpt(name.as_bytes(), 64) });
        }
        let step = match agent.row().manage.action(action) {
            Recipe::Ask(ask) => self.carry_out(agent, program, ask, name).map(Step::Done),
            Recipe::Terminal(args) => {
                Ok(Step::OnTerminal(agent.command(program.to_owned(), fill(args, name))))
            }
            Recipe::Unsupported(instead) => Err(unsupported(agent, action.wish(), instead)),
        };
        self.forget(agent);
        step
    }

    /// What is remembered of an agent is no longer true.
    pub fn forget(&self, agent: Agent) {
        if let Some(cache) = &self.cache {
            cache.forget(agent.name());
        }
    }

    fn carry_out(
        &self,
        agent: Agent,
        program: &Path,
        ask: &Ask,
        name: Option<&str>,
    ) -> Result<Answer, AskError> {
        let files: Vec<_> = ask.files.iter().map(|place| place.read(&self.around)).collect();
        let credentials = agent.row().manage.credentials.iter().copied();
        let set: Vec<_> = credentials.filter(|name| self.around.set.contains(*name)).collect();
        let transcripts = ask.transcripts.and_then(|wanted| wanted.read(&self.around));
        let read = |output: Option<&Output>| {
            let transcripts = transcripts.as_deref();
            let work = &self.around.work;
            (ask.parse)(&Heard { output, files: &files, set: &set, transcripts, work }).map(safe)
        };
        let Some(args) = ask.args else {
            return read(None)
                .map_err(|_| AskError::Files { agent: agent.name(), files: self.existing(ask) });
        };
        let first = self.run(agent, program, ask, fill(args, name))?;
        let answer = read(Some(&first.0));
        if let (Err(Trouble::Unreadable), Some(older)) = (&answer, ask.older) {
            let (output, command) = self.run(agent, program, ask, fill(older, name))?;
            return read(Some(&output))
                .map_err(|trouble| trouble_of(agent, command, trouble, &output));
        }
        answer.map_err(|trouble| trouble_of(agent, first.1, trouble, &first.0))
    }

    /// Runs a command; its output and how it is named in messages.
    fn run(
        &self,
        agent: Agent,
        program: &Path,
        ask: &Ask,
        args: Vec<OsString>,
    ) -> Result<(Output, String), AskError> {
        let mut launch = agent.command(program.to_owned(), args);
        let sober = SOBER.iter().map(|(name, value)| (name.into(), value.map(Into::into)));
        launch.env.extend(sober.chain(self.env.iter().cloned()));
        let command = command_line(&launch);
        let limit = self.limit.unwrap_or(ask.limit);
        let enough = if ask.first_line { Enough::FirstLine } else { Enough::Exit };
        match native::run(&self.keeper, &launch, b"", limit, enough) {
            Ok(finished) => Ok((finished.output, command)),
            Err(NativeError::Spawn(source)) => Err(AskError::Start { agent: agent.name(), source }),
            Err(NativeError::TimedOut { limit, output }) => {
                let said = words(&output);
                let said = if said.is_empty() { said } else { format!(": {said}") };
                Err(AskError::TimedOut { agent: agent.name(), command, limit, said })
            }
            Err(NativeError::KeeperLost) => Err(AskError::Lost { agent: agent.name(), command }),
        }
    }

    /// The files of a recipe that are there, for a message.
    fn existing(&self, ask: &Ask) -> String {
        let paths = ask.files.iter().filter_map(|place| place.path(&self.around));
        let there = paths.filter(|path| path.exists()).map(|path| path.display().to_string());
        let there = there.collect::<Vec<_>>().join(", ");
        if there.is_empty() { "they are not where we look".into() } else { plain(there.as_bytes()) }
    }

    /// Everything that the answer depends on, as far as we can see it.
    fn key(&self, agent: Agent, program: &Path, ask: &Ask) -> Key {
        let mut key = Key::default();
        let real = program.canonicalize().unwrap_or_else(|_| program.to_owned());
        let stamp = real.metadata().ok().and_then(|meta| {
            let since = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
            Some(format!("{}.{}", since.as_nanos(), meta.len()))
        });
        key.add(env!("CARGO_PKG_VERSION"));
        key.add(program.as_os_str().as_bytes());
        key.add(real.as_os_str().as_bytes());
        key.add(stamp.unwrap_or_default());
        for word in ask.args.into_iter().flatten() {
            key.add(word);
        }
        let home = self.around.home.clone().unwrap_or_default();
        key.add(home.as_os_str().as_bytes());
        key.add(self.around.work.as_os_str().as_bytes());
        for name in agent.row().manage.folders {
            let folder = self.around.folders.get(*name).cloned().unwrap_or_default();
            key.add(folder.as_os_str().as_bytes());
        }
        for name in agent.row().manage.credentials {
            key.add([u8::from(self.around.set.contains(*name))]);
        }
        for place in agent.row().manage.witnesses.iter().chain(ask.files) {
            key.add(place.stamp(&self.around));
        }
        key
    }
}

/// The arguments, with the name in its place.
fn fill(args: &[&str], name: Option<&str>) -> Vec<OsString> {
    args.iter()
        .map(|word| if *word == NAME { name.unwrap_or_default() } else { word }.into())
        .collect()
}

fn is_safe_name(name: &str) -> bool {
    stablehand_core::id::SessionId(name.to_owned()).is_safe_argument()
}

fn unsupported(agent: Agent, wish: &'static str, instead: &'static str) -> AskError {
    AskError::Unsupported { agent: agent.name(), wish, instead }
}

fn trouble_of(agent: Agent, command: String, trouble: Trouble, output: &Output) -> AskError {
    let agent = agent.name();
    match trouble {
        Trouble::Refused(said) => {
            let said = hide_secrets(&excerpt(said.as_bytes(), SHOWN));
            let said = if said.is_empty() { "it does not say why".into() } else { said };
            AskError::Refused { agent, command, said }
        }
        Trouble::Unreadable => AskError::Unreadable { agent, command, excerpt: described(output) },
    }
}

/// `codex login status`: how a person would type it.
fn command_line(launch: &Launch) -> String {
    let program = launch.program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let words = launch.args.iter().map(|word| word.to_string_lossy().into_owned());
    let line: Vec<_> = std::iter::once(program).chain(words).collect();
    excerpt(line.join(" ").as_bytes(), SHOWN)
}

/// The beginning of what a command said, safe to show.
fn words(output: &Output) -> String {
    let said = [&output.stdout, &output.stderr]
        .into_iter()
        .map(|bytes| plain(bytes.get(..bytes.len().min(SHOWN * 8)).unwrap_or(bytes)))
        .find(|text| !text.trim().is_empty())
        .unwrap_or_default();
    let one_line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    excerpt(hide_secrets(&one_line).as_bytes(), SHOWN)
}

/// The same, with how it ended.
fn described(output: &Output) -> String {
    let mut said = words(output);
    if said.is_empty() {
        said.push_str("it printed nothing");
    }
    let _infallible = match output.exit {
        ProcessExit::Code(0) | ProcessExit::Unknown => Ok(()),
        ProcessExit::Code(code) => write!(said, " (exit code {code})"),
        ProcessExit::Signal(signal) => write!(said, " (ended by signal {signal})"),
    };
    if output.cut {
        let kib = native::MAX_OUTPUT_BYTES >> 10;
        let _infallible = write!(said, " (and so on, more than {kib} KiB)");
    }
    said
}

/// An answer that may be shown: no control character, no endless line, no endless list.
fn safe(answer: Answer) -> Answer {
    let short = |text: String| excerpt(text.trim().as_bytes(), SHOWN);
    let some = |text: Option<String>| text.map(short).filter(|text| !text.is_empty());
    match answer {
        Answer::Version(version) => Answer::Version(short(version)),
        Answer::Login(mut login) => {
            login.account = some(login.account);
            login.method = some(login.method);
            Answer::Login(login)
        }
        Answer::About(mut about) => {
            about.model = some(about.model);
            about.facts =
                about.facts.into_iter().take(64).map(|(a, b)| (short(a), short(b))).collect();
            Answer::About(about)
        }
        Answer::Models(mut models) => {
            models.truncate(MAX_ROWS);
            for model in &mut models {
                model.id = short(std::mem::take(&mut model.id));
                model.name = some(model.name.take());
            }
            Answer::Models(models)
        }
        Answer::Mcp(mut servers) => {
            servers.truncate(MAX_ROWS);
            for server in &mut servers {
                server.name = short(std::mem::take(&mut server.name));
                server.target = some(server.target.take());
                server.detail = some(server.detail.take().map(|text| hide_secrets(&text)));
            }
            Answer::Mcp(servers)
        }
        Answer::Chats(mut chats) => {
            chats.truncate(MAX_ROWS);
            for chat in &mut chats {
                chat.id = short(std::mem::take(&mut chat.id));
                chat.title = some(chat.title.take());
                chat.updated = some(chat.updated.take());
            }
            Answer::Chats(chats)
        }
        Answer::Done(said) => Answer::Done(hide_secrets(&short(said))),
        Answer::Created(id) => Answer::Created(short(id)),
    }
}
