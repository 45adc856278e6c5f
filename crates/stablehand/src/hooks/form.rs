//! How an agent wants its hooks written down: which file, which nesting, which words and units.
//!
//! A value per agent, in `agent/<agent>/hooks.rs`. Everything here is pure; the files themselves are
//! `place.rs`, and what is in them already is `merge.rs`.

use super::{HookError, Scope, Target, command};
use serde_json::{Map, Value};
use stablehand_core::hook::{HookEvent, Role};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// How long an agent waits for a yes or no: the most that Cursor takes without a warning. A person
/// may be asked.
const PERMISSION_TIMEOUT: Duration = Duration::from_hours(1);

/// How long it waits for everything else, which is answered at once or not needed.
const OTHER_TIMEOUT: Duration = Duration::from_secs(10);

/// What is left of the agent's patience when our own ends, so that it is we who say no.
const PERMISSION_REST: Duration = Duration::from_secs(5);
const OTHER_REST: Duration = Duration::from_secs(2);

/// How one agent's file of hooks looks.
#[derive(Clone, Copy, Debug)]
pub struct HookForm {
    /// The folder, in the project and in the home.
    pub folder: &'static str,
    /// A variable that names the user's folder instead; empty where there is none.
    pub variable: &'static str,
    /// The file of a project, below the folder.
    pub project: &'static str,
    /// The file of the user.
    pub user: &'static str,
    /// How hooks are given to it for one run.
    pub for_run: ForRun,
    /// Its own rules would refuse, without a terminal, what a hook allows.
    pub needs_force: bool,
    /// Its first hook has been answered when its stream tells that a session began. One that tells
    /// so and has called nobody runs no hooks, and that is known before it does anything.
    pub calls_first: bool,
    /// The member that switches all hooks off wherever it is said, where a run can say the contrary.
    pub off_switch: Option<&'static str>,
    /// What an event's list holds.
    pub nesting: Nesting,
    /// In what times are given.
    pub unit: Unit,
    /// The member that makes a hook without an answer a no, where there is one, and its value.
    pub fail_closed: Option<(&'static str, &'static str)>,
    /// The version that the file must have, where it has one.
    pub version: Option<u64>,
    /// Whether one wrong name or entry makes the agent drop the whole file.
    pub strict: bool,
    /// Events that are never asked for: those that come with every piece of a model's answer, and
    /// those of an editor.
    pub left_out: &'static [&'static str],
    /// Whether the file itself switches all hooks off, and by which member.
    pub switched_off: fn(&Value) -> Option<&'static str>,
}

/// How an agent can be given hooks for one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForRun {
    /// By an argument of this name, with the settings as its value.
    Argument(&'static str),
    /// By the file of the project.
    Merged,
}

/// What an event's list holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nesting {
    /// Hooks.
    Flat,
    /// Groups of hooks, each with a matcher.
    Grouped,
}

/// In what times are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
}

/// Which command each event gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commands {
    list: Vec<EventCommand>,
}

/// One event with its command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventCommand {
    /// The agent's name of the event.
    pub event: &'static str,
    /// What it is for.
    pub role: Role,
    /// What is run.
    pub command: String,
}

/// Who decides what a hook answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers<'a> {
    /// The run above the agent, or else the policy files.
    Alone,
    /// A run, and nobody else: where it cannot be reached, the answer is no. The folder of the run is
    /// in the command itself, so that an agent that starts it without our variables is held too.
    ForRun(&'a Path),
}

impl Commands {
    /// A command for each of `events`.
    pub fn new(
        agent: &str,
        program: &Path,
        events: impl IntoIterator<Item = HookEvent>,
        answers: Answers<'_>,
    ) -> Result<Commands, HookError> {
        let text = program.to_str().filter(|_| program.is_absolute());
        let text = text.ok_or_else(|| HookError::OddProgram { program: program.to_owned() })?;
        let command = |event: HookEvent| {
            let (timeout, rest) = times(event.role);
            let within = timeout.saturating_sub(rest).as_secs();
            EventCommand {
                event: event.name,
                role: event.role,
                command: command::line(text, agent, answers, within, event.name),
            }
        };
        Ok(Commands { list: events.into_iter().map(command).collect() })
    }

    /// All of them, in the order of the agent's events.
    pub fn iter(&self) -> impl Iterator<Item = &EventCommand> {
        self.list.iter()
    }
}

fn times(role: Role) -> (Duration, Duration) {
    if role.fails_closed() {
        (PERMISSION_TIMEOUT, PERMISSION_REST)
    } else {
        (OTHER_TIMEOUT, OTHER_REST)
    }
}

impl HookForm {
    /// The file of a scope, below `root`: the project's folder or the home. `moved` is the value of
    /// the agent's variable.
    pub fn target(&self, scope: Scope, root: &Path, moved: Option<&Path>) -> Target {
        match (scope, moved) {
            (Scope::Project, _) => Target::new(root, self.folder, self.project),
            (Scope::User, None) => Target::new(root, self.folder, self.user),
            (Scope::User, Some(moved)) => {
                let above = moved.parent().unwrap_or(Path::new("/"));
                Target::new(above, moved.file_name().unwrap_or_default(), self.user)
            }
        }
    }

    /// Whether an event is one that we ask for.
    pub fn wants(&self, event: &str) -> bool {
        !self.left_out.contains(&event)
    }

    /// One element of an event's list, as text.
    pub(super) fn entry(&self, command: &EventCommand) -> String {
        let (timeout, _) = times(command.role);
        let timeout = match self.unit {
            Unit::Seconds => u128::from(timeout.as_secs()),
            Unit::Milliseconds => timeout.as_millis(),
        };
        let line = Value::from(command.command.as_str());
        let mut hook = format!(r#""command": {line}, "timeout": {timeout}"#);
        let closed = command.role.fails_closed();
        if let Some((word, value)) = self.fail_closed.filter(|_| closed) {
            let _infallible = write!(hook, r#", "{word}": {value}"#);
        }
        match self.nesting {
            Nesting::Flat => format!("{{ {hook} }}"),
            Nesting::Grouped => {
                // Without a matcher a group is for everything; those that decide about tools say so.
                let matcher = if closed { r#""matcher": "*", "# } else { "" };
                format!(r#"{{ {matcher}"hooks": [{{ "type": "command", {hook} }}] }}"#)
            }
        }
    }

    /// A whole file with nothing in it but these hooks: for an agent that takes settings for one run
    /// by an argument or a variable. A file of the project's may not switch them off.
    pub fn settings(&self, commands: &Commands) -> Value {
        let mut hooks = Map::new();
        for command in commands.iter() {
            let entry = serde_json::from_str(&self.entry(command)).unwrap_or_default();
            let list = hooks.entry(command.event).or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(list) = list {
                list.push(entry);
            }
        }
        let mut file = Map::new();
        if let Some(version) = self.version {
            file.insert("version".into(), version.into());
        }
        if let Some(switch) = self.off_switch {
            file.insert(switch.into(), false.into());
        }
        file.insert("hooks".into(), Value::Object(hooks));
        Value::Object(file)
    }
}
