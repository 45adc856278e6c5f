//! An agent of the Agent Client Protocol that there is no row for: its command line is all of it.
//!
//! Owns the row that is made of a command line, so that nobody else has to know that there is no such
//! agent in the table. A row lives as long as the program, like the others; one command line makes one
//! row, however often it is named.

use super::plan::{EVERYTHING, PromptBy, without_secrets};
use super::{AcpForm, Agent, Asks, Mode, Row, ToolsSeen, Workspace, as_they_are};
use crate::manage::{Capabilities, Recipe, Recipes};
use stablehand_core::Dialect;
use stablehand_core::words::{self, WordsError};
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, PoisonError};

/// What the names of such agents begin with; their command line follows.
pub const BY_COMMAND: &str = "acp:";

/// A row that was made of a command line.
#[derive(Clone, Copy, Debug)]
pub struct ByCommand(&'static Row);

/// The rows that were made, by their words.
static MADE: Mutex<Vec<(Vec<String>, &'static Row)>> = Mutex::new(Vec::new());

impl Agent {
    /// The agent that this command line starts, which speaks the Agent Client Protocol. Split as a
    /// shell would, but nothing is expanded. Its name is `acp:` with that line, without the values of
    /// secret options.
    pub fn by_command(line: &str) -> Result<Agent, WordsError> {
        let words = words::split(line)?;
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        let known = made.iter().find(|(known, _)| *known == words).map(|(_, row)| *row);
        let row = known.unwrap_or_else(|| {
            let row: &'static Row = Box::leak(Box::new(row_of(&words)));
            made.push((words, row));
            row
        });
        Ok(Agent::ByCommand(ByCommand(row)))
    }
}

impl ByCommand {
    pub(super) fn row(self) -> &'static Row {
        self.0
    }
}

// Equal words have the same row.
impl PartialEq for ByCommand {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for ByCommand {}

impl Hash for ByCommand {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::hash(self.0, state);
    }
}

const ASK_ITSELF: &str = "ask its own program; all that we know of it is how it is started";

fn row_of(words: &[String]) -> Row {
    let shown = words::join(without_secrets(words.iter().map(String::as_str)));
    let for_ever = |word: &String| -> &'static str { word.clone().leak() };
    let all: &'static [&'static str] = Vec::leak(words.iter().map(for_ever).collect());
    let (programs, arguments) = all.split_at(1.min(all.len()));
    let known = known_by(programs);
    Row {
        name: format!("{BY_COMMAND}{shown}").leak(),
        programs,
        dialect: Dialect::Acp,
        arguments: None,
        prompt: PromptBy::StandardInput,
        // Said in the protocol, where a mode that confines and is not there ends the matter.
        modes: &[(Mode::Plan, &[]), (Mode::Ask, &[]), (Mode::Edit, &[])],
        workspace: Workspace::StartedThere,
        env: &[],
        two_way: None,
        acp: Some(AcpForm {
            programs,
            install: None,
            arguments,
            logins: known.map_or(&[], |acp| acp.logins),
            offers: known.map_or(EVERYTHING, |acp| acp.offers),
            asks: known.map_or(Asks::Unknown, |acp| acp.asks),
        }),
        tools: ToolsSeen::BeginningAndEnd,
        exit_codes: &[],
        limits: as_they_are,
        can: CAN,
        manage: RECIPES,
        hooks: None,
        history: &[],
        terminal: None,
    }
}

/// One that we know by the name of its program logs in as it does under its own name, and is offered
/// the same.
fn known_by(programs: &[&str]) -> Option<&'static AcpForm> {
    let name = programs.first().and_then(|program| program.rsplit('/').next());
    let known = Agent::ALL.iter().filter_map(|agent| agent.row().acp.as_ref());
    let is_it = |acp: &&AcpForm| acp.programs.iter().any(|program| Some(*program) == name);
    known.into_iter().find(is_it)
}

const CAN: Capabilities = Capabilities {
    streaming: true,
    thinking: true,
    resume: true,
    model: true,
    native_modes: &[],
    force: true,
    sandbox: false,
    mcp: false,
    hooks: false,
    cloud: false,
};

const RECIPES: Recipes = Recipes {
    credentials: &[],
    folders: &[],
    witnesses: &[],
    install: "install the first word of the command",
    version: Recipe::Unsupported(ASK_ITSELF),
    login: Recipe::Unsupported(ASK_ITSELF),
    about: Recipe::Unsupported(ASK_ITSELF),
    models: Recipe::Unsupported(ASK_ITSELF),
    mcp: Recipe::Unsupported(ASK_ITSELF),
    chats: Recipe::Unsupported(ASK_ITSELF),
    log_in: Recipe::Unsupported(ASK_ITSELF),
    log_out: Recipe::Unsupported(ASK_ITSELF),
    enable_mcp: Recipe::Unsupported(ASK_ITSELF),
    disable_mcp: Recipe::Unsupported(ASK_ITSELF),
    log_in_mcp: Recipe::Unsupported(ASK_ITSELF),
    new_chat: Recipe::Unsupported(ASK_ITSELF),
};

#[cfg(test)]
mod tests {
    use super::super::{Form, PlanError, PlanRequest};
    use super::*;

    #[test]
    fn a_command_line_is_an_agent_and_its_name() {
        let agent = Agent::by_name("acp:gemini  '--acp' 'a b'").unwrap();
        assert_eq!(agent.name(), "acp:gemini --acp 'a b'");
        assert_eq!(Agent::by_name(agent.name()), Some(agent));
        assert_ne!(Agent::by_name("acp:gemini"), Some(agent));
        let request =
            PlanRequest { form: Form::Acp, extra: vec!["-x".into()], ..PlanRequest::default() };
        let plan = agent.plan("gemini".into(), &request).unwrap();
        assert_eq!(plan.launch.args, ["--acp", "a b", "-x"]);
        assert_eq!(plan.dialect, Dialect::Acp);
        let error = agent.plan("gemini".into(), &PlanRequest::default()).unwrap_err();
        assert!(matches!(error, PlanError::OnlyAcp { .. }), "{error}");
        assert!(Agent::by_command("a 'b").is_err() && Agent::by_name("acp: ").is_none());
    }

    #[test]
    fn its_name_keeps_secrets_and_its_plan_has_them() {
        let agent = Agent::by_command("pony --api-key k1 --token=k2 -v").unwrap();
        assert_eq!(agent.name(), "acp:pony --api-key [redacted] --token=[redacted] -v");
        assert_ne!(Agent::by_command("pony --api-key k3 --token=k2 -v"), Ok(agent));
        let request = PlanRequest { form: Form::Acp, ..PlanRequest::default() };
        let plan = agent.plan("pony".into(), &request).unwrap();
        assert_eq!(plan.launch.args, ["--api-key", "k1", "--token=k2", "-v"]);
    }

    #[test]
    fn a_program_with_a_slash_is_no_name_to_look_for() {
        let agent = Agent::by_command("/bin/sh -c x").unwrap();
        assert_eq!(agent.find(None, Form::Acp).unwrap().to_str(), Some("/bin/sh"));
        let agent = Agent::by_command("./no-such-pony").unwrap();
        let error = agent.find(Some("/bin".as_ref()), Form::Acp).unwrap_err();
        assert!(error.to_string().contains("./no-such-pony"), "{error}");
    }
}
