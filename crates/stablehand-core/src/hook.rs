//! Hooks: at set moments of its work an agent starts a program of ours, tells it what is going on,
//! and goes by what it answers.
//!
//! Owns the vocabulary between the driver and the agents' own shapes; each agent's events, payloads
//! and answers are in `decode/<agent>/hook.rs`. Nothing here decides: whether a call may be made is
//! the policy's business, who is asked the driver's. Reading never fails: a payload that says less
//! than it should is a [`Heard`] with less in it, and whoever judges it refuses what it cannot see.

use crate::event::{ItemBody, Tool};
use crate::id::SessionId;
use serde_json::Value;

/// What one agent's hooks are, and how they are answered. Apart from what they tell, because whoever
/// only passes a call on has no use for everything that is needed to read one.
pub trait HookAnswers: Sync + std::fmt::Debug {
    /// Every event that it documents, in the order in which they come in a session; but for those
    /// whose hook is to do the agent's work, or would be started for every piece of a text.
    fn events(&self) -> &'static [HookEvent];

    /// A reply in the agent's own shape. What it cannot say is left out. A denial can be said
    /// wherever the agent waits for one, and on events that nobody knows; and a call that may be made
    /// with other arguments only is denied where those cannot be told.
    fn answer(&self, event: &str, reply: &Reply) -> Answered;

    /// The event of that name.
    fn event(&self, name: &str) -> Option<&'static HookEvent> {
        self.events().iter().find(|event| event.name == name)
    }

    /// What an event is for. One that nobody knows may be a question, so it is taken for one.
    fn role(&self, name: &str) -> Role {
        self.event(name).map_or(Role::Permission, |event| event.role)
    }
}

/// The hooks of one agent.
pub trait Hooks: HookAnswers {
    /// What a payload says.
    fn read(&self, event: &str, payload: &Value) -> Heard;
}

/// A moment at which an agent calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookEvent {
    /// The agent's name of it.
    pub name: &'static str,
    /// What it is for.
    pub role: Role,
    /// Whether it comes in a run without a terminal, as far as is known.
    pub headless: bool,
}

/// What a hook is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The agent waits for yes or no, and without a good answer it is no.
    Permission,
    /// A session begins: it can be given context and variables, or be refused.
    SessionStart,
    /// A session is over.
    SessionEnd,
    /// A prompt is about to go to the model; it can be stopped.
    Prompt,
    /// The agent is about to rest; it can be told to go on.
    Stop,
    /// An agent that it started is about to rest; that one can be told to go on.
    SubagentStop,
    /// It only tells.
    Observe,
}

impl Role {
    /// Whether silence means no.
    pub fn fails_closed(self) -> bool {
        self == Role::Permission
    }
}

/// What a hook told us.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heard {
    /// The session that it is about.
    pub session: Option<SessionId>,
    /// The call that it is about: to be allowed, or over (then with its outcome).
    pub tool: Option<Box<Tool>>,
    /// Everything that the tool is given; `Null` where the agent does not say.
    pub arguments: Value,
    /// Where the tool works.
    pub cwd: Option<String>,
    /// What was asked of the agent.
    pub prompt: Option<String>,
    /// Where the agent, or another one at work for it, is about to rest.
    pub stop: Option<Stopping>,
    /// What faces can show: thinking, changed files with their diffs, other agents.
    pub items: Vec<ItemBody>,
    /// Where another agent begins its work for this one, or is over; what it does is in `items`.
    pub other_agent: Option<OtherAgent>,
}

impl Heard {
    /// Where the tool works, where that is a place: a path that begins nowhere says nothing, and the
    /// workspace is the better guess.
    pub fn folder(&self) -> Option<&str> {
        self.cwd.as_deref().filter(|cwd| cwd.starts_with('/'))
    }
}

/// Another agent at work for this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherAgent {
    /// What tells it from others, where the agent says so.
    pub id: Option<String>,
    /// What it is about to do.
    pub moment: AgentMoment,
}

/// What another agent is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentMoment {
    /// To begin.
    Begins,
    /// To end.
    Ends,
}

/// An agent that is about to rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stopping {
    /// Whether it believes that it is done, and was not broken off.
    pub completed: bool,
    /// How often a hook has already made it go on.
    pub rounds: u64,
    /// The last that another agent said; of the agent itself its stream has that.
    pub last_text: Option<String>,
}

/// What an agent is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// Nothing: it does what it would have done without us.
    Nothing,
    /// The call may be made.
    Allow {
        /// With these arguments instead of its own.
        input: Option<Value>,
    },
    /// It may not.
    Deny {
        /// For the model, and for the person.
        reason: String,
    },
    /// What the agent should know.
    Inform {
        /// For the model.
        context: Option<String>,
        /// Variables for the session.
        env: Vec<(String, String)>,
    },
    /// It is not to rest yet.
    GoOn {
        /// What it is told.
        prompt: String,
    },
}

/// What the hook's process writes, and how it ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// To its standard output.
    pub stdout: String,
    /// To its standard error.
    pub stderr: String,
    /// Its exit status.
    pub exit: u8,
}
