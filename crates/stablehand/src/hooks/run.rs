//! What a run needs so that its agent calls us: entries, a place for the socket, arguments.
//!
//! Owns the choice between the two ways in which an agent can be given hooks for one run: by an
//! argument, which touches no file of anybody's, or by entries in the project's own file, which an
//! [`super::Installation`] gives back. Makes values only; the driver carries them out.

use super::{Answers, ForRun, HookError, HookPlan, Scope, Target};
use crate::agent::Agent;
use crate::driver::{FOLDER, HookFile, HookSpec};
use crate::hook_call::{MOST_PATH, socket_of};
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The longest context that every agent takes from a hook; some drop a longer one whole.
pub const MOST_CONTEXT: usize = 10_000;

/// What the hooks of a session need, whichever agent it is with.
#[derive(Clone, Debug)]
pub struct HookSetup {
    /// Our program, which the agent is to start; it has to serve `hook`, as `stablehand` does.
    pub program: PathBuf,
    /// Folders for the socket, the best one first.
    pub places: Vec<PathBuf>,
    /// Our state folder.
    pub state: PathBuf,
}

/// What is wished.
#[derive(Clone, Debug)]
pub struct HookWish<'a> {
    /// Whose hooks.
    pub agent: Agent,
    /// Our program, which the agent is to start.
    pub program: &'a Path,
    /// Folders for the socket, the best one first.
    pub places: &'a [PathBuf],
    /// Our state folder.
    pub state: &'a Path,
    /// Where the agent works.
    pub workspace: &'a Path,
    /// What it is to know from the beginning.
    pub context: Option<String>,
    /// Variables for its session.
    pub env: Vec<(String, String)>,
}

/// What a run gets.
#[derive(Clone, Debug)]
pub struct HookRun {
    /// For the driver.
    pub spec: HookSpec,
    /// For the agent's command line.
    pub args: Vec<OsString>,
    /// The agent's own rules would refuse what our policy allows, so it has to be told to approve
    /// everything: then the policy alone decides.
    pub needs_force: bool,
}

impl HookWish<'_> {
    /// Everything for one run.
    pub fn plan(self) -> Result<HookRun, HookError> {
        let none = || HookError::NoHooks { agent: self.agent.name(), able: able() };
        let form = self.agent.row().hooks.ok_or_else(none)?;
        let folder = place(self.places)?;
        let answers = Answers::ForRun(&folder);
        let plan = HookPlan::of(self.agent, self.program, answers)?.ok_or_else(none)?;
        let asks = plan.commands.iter().find(|command| command.role.fails_closed());
        let trial = asks.map(|command| (command.event.to_owned(), command.command.clone()));
        let (args, state) = match form.for_run {
            ForRun::Argument(name) => {
                let settings = form.settings(&plan.commands).to_string();
                (vec![name.into(), settings.into()], None)
            }
            ForRun::Merged => (Vec::new(), Some(self.state.to_owned())),
        };
        let target: Target = form.target(Scope::Project, self.workspace, None);
        let spec = HookSpec {
            folder,
            token: random()?,
            trial,
            file: HookFile { target, plan, state },
            context: self.context,
            env: self.env,
        };
        Ok(HookRun { spec, args, needs_force: form.needs_force })
    }
}

/// The agents that have hooks that we know.
fn able() -> String {
    let able = Agent::ALL.iter().filter(|agent| agent.row().hooks.is_some());
    able.map(|agent| agent.name()).collect::<Vec<_>>().join(", ")
}

/// A folder of a name that nobody can guess, in the first place that is short enough for a socket.
fn place(places: &[PathBuf]) -> Result<PathBuf, HookError> {
    let name = format!("{FOLDER}{}", random()?);
    let folders = places.iter().map(|place| place.join(&name));
    let fits = |folder: &PathBuf| socket_of(folder).as_os_str().len() <= MOST_PATH;
    folders.into_iter().find(fits).ok_or_else(|| HookError::NoPlace {
        tried: places.iter().map(|place| place.display().to_string()).collect(),
    })
}

/// 128 bits that nobody can guess, as text.
fn random() -> Result<String, HookError> {
    let path = Path::new("/dev/urandom");
    let failed = |source| HookError::Io { doing: "read", path: path.to_owned(), source };
    let mut bytes = [0; 16];
    File::open(path).and_then(|mut file| file.read_exact(&mut bytes)).map_err(failed)?;
    Ok(crate::sink::hex(&bytes))
}
