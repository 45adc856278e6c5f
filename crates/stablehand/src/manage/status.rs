//! Everything that is known about an agent beside its work, asked at once.

use super::{Answer, AskError, Desk, Login, LoginState, Question, Recipe};
use crate::agent::{Agent, Form, Mode};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// An agent and where its program is.
#[derive(Clone, Debug)]
pub struct AgentProgram {
    /// The agent.
    pub agent: Agent,
    /// Its program; absent where it is not installed.
    pub program: Option<PathBuf>,
}

impl AgentProgram {
    /// Finds the program of an agent in `path`. An agent without a program of its own is built into
    /// `ours`.
    pub fn find(agent: Agent, path: Option<&OsStr>, ours: &Path) -> AgentProgram {
        let program = if agent.row().is_built_in() {
            Some(ours.to_owned())
        } else {
            agent.find(path, Form::OneTurn).ok()
        };
        AgentProgram { agent, program }
    }

    /// Returns true if a program of its own is installed.
    pub fn is_installed(&self) -> bool {
        self.program.is_some() && !self.agent.row().is_built_in()
    }
}

/// What is known about an agent.
#[derive(Clone, Debug)]
pub struct AgentStatus {
    /// The agent.
    pub agent: Agent,
    /// Its program; absent where it is not installed.
    pub program: Option<PathBuf>,
    /// Its version.
    pub version: Option<String>,
    /// Whether it is logged in, and as whom.
    pub login: Option<Login>,
    /// Its default model.
    pub model: Option<String>,
    /// Other facts, by name.
    pub facts: Vec<(String, String)>,
    /// Its program does not start at all, or does not answer.
    pub is_broken: bool,
    /// Why something is not known.
    pub problems: Vec<String>,
}

/// Puts an error into words for a person; each face has its own hints.
pub type DescribeError<'a> = &'a (dyn Fn(AskError) -> String + Sync);

impl Desk {
    /// Asks all agents at the same time, so that a slow one does not delay the others.
    pub fn statuses(
        &self,
        agents: &[AgentProgram],
        describe: DescribeError<'_>,
    ) -> Vec<AgentStatus> {
        std::thread::scope(|scope| {
            let ask = |found| scope.spawn(move || AgentStatus::ask(self, found, describe));
            let threads: Vec<_> = agents.iter().map(|found| (found, ask(found))).collect();
            let done = threads.into_iter().map(|(found, thread)| {
                // A thread that panicked has said so; the others are still worth showing.
                thread.join().unwrap_or_else(|_| AgentStatus::unknown(found))
            });
            done.collect()
        })
    }
}

impl AgentStatus {
    fn unknown(found: &AgentProgram) -> AgentStatus {
        AgentStatus {
            agent: found.agent,
            program: found.program.clone(),
            version: None,
            login: None,
            model: None,
            facts: Vec::new(),
            is_broken: false,
            problems: Vec::new(),
        }
    }

    fn ask(desk: &Desk, found: &AgentProgram, describe: DescribeError<'_>) -> AgentStatus {
        let mut status = AgentStatus::unknown(found);
        let Some(program) = &found.program else { return status };
        let ask = |question| desk.ask(found.agent, program, question).map(|(answer, _)| answer);
        status.is_broken = !status.learn(ask(Question::Version), describe);
        // One that does not start or hangs would do so for each question.
        if !status.is_broken {
            let (login, about) = std::thread::scope(|scope| {
                let about = scope.spawn(|| ask(Question::About));
                (ask(Question::Login), about.join())
            });
            status.learn(login, describe);
            if let Ok(about) = about {
                status.learn(about, describe);
            }
        }
        status
    }

    /// Takes an answer in; false when the program does not start or does not answer.
    fn learn(&mut self, answer: Result<Answer, AskError>, describe: DescribeError<'_>) -> bool {
        match answer {
            Ok(Answer::Version(version)) => self.version = Some(version),
            Ok(Answer::Login(login)) => self.login = Some(login),
            Ok(Answer::About(about)) => {
                self.model = about.model;
                self.facts = about.facts;
            }
            Ok(_) | Err(AskError::Unsupported { .. }) => {}
            Err(error) => {
                let answers = !matches!(error, AskError::TimedOut { .. } | AskError::Start { .. });
                self.problems.push(describe(error));
                return answers;
            }
        }
        true
    }

    /// Returns it as an object for programs. Names here are kept.
    pub fn object(&self) -> Value {
        let row = self.agent.row();
        let mut abilities = serde_json::to_value(row.can).unwrap_or_default();
        for (name, recipe) in commands(self.agent) {
            if let Some(abilities) = abilities.as_object_mut() {
                abilities.insert(name.replace(' ', "_"), recipe.is_supported().into());
            }
        }
        json!({
            "agent": self.agent.name(),
            "installed": self.program.is_some(),
            "program": self.program.as_ref().map(|program| program.to_string_lossy()),
            "version": self.version,
            "login": self.login,
            "model": self.model,
            "facts": self.facts.iter().cloned().collect::<BTreeMap<_, _>>(),
            "can": abilities,
            "modes": self.agent.modes().map(Mode::name).collect::<Vec<_>>(),
            "install": row.manage.install,
            "troubles": self.problems,
        })
    }
}

impl Login {
    /// Describes it in a sentence.
    pub fn describe(&self) -> String {
        let method = self.method.as_deref().unwrap_or_default();
        match (self.state, &self.account) {
            (LoginState::In, Some(account)) if method.is_empty() => {
                format!("logged in as {account}")
            }
            (LoginState::In, Some(account)) => format!("logged in as {account} ({method})"),
            (LoginState::In, None) if method.starts_with("needs no") => method.to_owned(),
            (LoginState::In, None) => format!("logged in: {method}"),
            (LoginState::Out, _) => "not logged in".to_owned(),
            (LoginState::Unknown, _) => format!("cannot be told: {method}"),
        }
    }
}

/// Returns how to log in to an agent: our command for it, or what to do where it has none of its own.
pub fn how_to_log_in(agent: Agent) -> String {
    match agent.row().manage.log_in {
        Recipe::Unsupported(instead) => instead.to_owned(),
        _ => format!("stablehand login --agent {}", agent.name()),
    }
}

/// Returns what an agent can be asked beside runs, each with how.
pub fn commands(agent: Agent) -> [(&'static str, &'static Recipe); 8] {
    let recipes = &agent.row().manage;
    [
        ("list models", &recipes.models),
        ("list mcp", &recipes.mcp),
        ("switch mcp", &recipes.enable_mcp),
        ("list chats", &recipes.chats),
        ("new chat", &recipes.new_chat),
        ("status", &recipes.login),
        ("login", &recipes.log_in),
        ("logout", &recipes.log_out),
    ]
}

/// Returns what an agent can do, name by name, in the order in which it is listed.
pub fn abilities(agent: Agent) -> Vec<(&'static str, bool)> {
    let can = &agent.row().can;
    let runs = [
        ("streaming", can.streaming),
        ("thinking", can.thinking),
        ("resume", can.resume),
        ("choose model", can.model),
        ("modes", agent.modes().next().is_some()),
        ("force", can.force),
        ("sandbox", can.sandbox),
        ("mcp", can.mcp),
        ("hooks", can.hooks),
        ("cloud", can.cloud),
    ];
    let asked = commands(agent).map(|(name, recipe)| (name, recipe.is_supported()));
    runs.into_iter().chain(asked).collect()
}
