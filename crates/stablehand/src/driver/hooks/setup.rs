//! Setting the hooks of a run up before the agent is started: the socket, the agent's file, the trial.

use super::serve::Exchange;
use super::watch::FileWatch;
use super::{HookServer, trial};
use crate::agent::Agent;
use crate::driver::RunSpec;
use crate::hook_call::{SOCKET, TOKEN, socket_of};
use crate::hooks::{HookPlan, Installation, Target};
use crate::keeper::SpawnError;
use crate::log::Log;
use stablehand_core::record::{DecisionRecord, HooksInstalled, HooksTried};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// How the hooks of a run reach us.
#[derive(Clone, Debug)]
pub struct HookSpec {
    /// A folder that does not exist yet, for the socket.
    pub folder: PathBuf,
    /// The word that proves that a hook belongs to this run.
    pub token: String,
    /// The project's file that the agent reads hooks from.
    pub file: HookFile,
    /// A hook that waits for yes or no and the command line that is installed for it: tried before
    /// the agent is started.
    pub trial: Option<(String, String)>,
    /// What the agent is to know from the beginning, where it can be told so.
    pub context: Option<String>,
    /// Variables for its session, likewise.
    pub env: Vec<(String, String)>,
}

/// A file of the agent that must not change while the run lasts.
#[derive(Clone, Debug)]
pub struct HookFile {
    /// Which.
    pub target: Target,
    /// Our hooks.
    pub plan: HookPlan,
    /// Where the journal is kept, if our hooks are put in for the length of the run; none where the
    /// agent gets them by an argument.
    pub state: Option<PathBuf>,
}

impl HookSpec {
    /// The variables by which a hook finds us.
    fn variables(&self) -> [(OsString, Option<OsString>); 2] {
        [
            (SOCKET.into(), Some(socket_of(&self.folder).into_os_string())),
            (TOKEN.into(), Some(OsString::from(&self.token))),
        ]
    }
}

/// Opens the socket, proves that a denial bites, and gives the agent what it needs to reach us.
pub(in crate::driver) fn open(
    spec: &RunSpec,
    log: &mut Log,
) -> Result<Option<HookServer>, SpawnError> {
    let Some(wanted) = &spec.hooks else { return Ok(None) };
    let failed = |what: &str, source| SpawnError::Hooks { what: what.to_owned(), source };
    let mut exchange = Exchange::open(&wanted.folder, &wanted.token)
        .map_err(|source| failed("could not listen for the agent's hooks", source))?;
    let installation = match &wanted.file.state {
        Some(state) => Some(put_in(&wanted.file, state, log)?),
        None => None,
    };
    let watch = FileWatch::begin(&wanted.file);
    let agent = Agent::by_name(&spec.agent);
    if let Some((event, command)) = &wanted.trial {
        let hooks = agent.and_then(Agent::hooks);
        let hooks = hooks.ok_or_else(|| {
            failed("the agent has no hooks", std::io::Error::other(spec.agent.clone()))
        })?;
        let took = trial::denial_bites(&mut exchange, hooks, event, command)
            .map_err(|source| failed("the hook command does not hold the agent", source))?;
        let took_us = u64::try_from(took.as_micros()).ok();
        log.decide(HooksTried { hook: event.clone(), took_us }, None);
    }
    let row = agent.and_then(|agent| agent.row().hooks);
    let calls_first = row.is_some_and(|hooks| hooks.calls_first);
    Ok(Some(HookServer::new(exchange, installation, watch, calls_first)))
}

/// Puts our hooks into the agent's file. A file that the agent would not read holds nobody.
fn put_in(file: &HookFile, state: &Path, log: &mut Log) -> Result<Installation, SpawnError> {
    let failed = |source| SpawnError::Hooks {
        what: "could not install the agent's hooks".to_owned(),
        source,
    };
    let installation = Installation::begin(&file.target, &file.plan, state)
        .map_err(|error| failed(std::io::Error::other(crate::error_chain(&error))))?;
    let path = installation.path();
    let installed = HooksInstalled {
        path: path.to_string_lossy().into_owned(),
        covered: installation.is_covered(),
        repaired: installation.repaired.map(|change| format!("{change:?}").to_lowercase()),
    };
    log.decide(installed, None);
    for finding in &installation.findings {
        let text = format!("{}:{}: {}", path.display(), finding.line, finding.text);
        if finding.voids {
            let text = format!("{text}; the agent would run none of its hooks");
            return Err(failed(std::io::Error::other(text)));
        }
        log.decide(DecisionRecord::HooksOdd(text.into()), None);
    }
    Ok(installation)
}

/// The launch with what its hooks need.
pub(in crate::driver) fn equip(
    spec: &RunSpec,
    server: Option<&HookServer>,
) -> crate::keeper::Launch {
    let mut launch = spec.launch.clone();
    // Should we be killed, the keeper gives the agent's file back.
    let installation = server.and_then(|server| server.installation.as_ref());
    launch.release = installation.and_then(Installation::release);
    if let Some(wanted) = &spec.hooks {
        launch.env.extend(wanted.variables());
    }
    launch
}
