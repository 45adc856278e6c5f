//! What surrounds us, read once at the start: variables, folders, terminals.

use crate::failure::Failure;
use crate::signals;
use stablehand::agent::{NON_INTERACTIVE, NOT_AT_TERMINAL};
use stablehand::config::Places;
use stablehand::hooks::HookSetup;
use stablehand::keeper::KeeperProgram;
use stablehand::manage::AgentHomes;
use stablehand::surroundings::state_folder;
use stablehand_core::terminal::TerminalSize;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;

/// The hidden subcommand that makes a keeper of us.
pub const KEEPER: &str = stablehand::surroundings::KEEPER_ARGUMENT;

/// Everything that is not on the command line.
#[derive(Clone, Debug)]
pub struct Env {
    /// The user's home, where there is one.
    pub home: Option<PathBuf>,
    /// Where programs are looked for.
    pub path: Option<OsString>,
    /// Overrides all our folders.
    pub stablehand_home: Option<PathBuf>,
    /// Where state belongs, by the XDG convention.
    pub xdg_state: Option<PathBuf>,
    /// Where configuration belongs, by the XDG convention.
    pub xdg_config: Option<PathBuf>,
    /// Where sockets belong, by the XDG convention.
    pub xdg_runtime: Option<PathBuf>,
    /// Our own program.
    pub program: PathBuf,
    /// Whether standard input is a terminal.
    pub stdin_is_terminal: bool,
    /// Whether standard output is.
    pub stdout_is_terminal: bool,
    /// Whether standard error is.
    pub stderr_is_terminal: bool,
    /// Whether colours are unwanted.
    pub no_color: bool,
    /// Whether the terminal says that it can do nothing but text.
    pub dumb: bool,
    /// Whether runs leave the index of the logs alone.
    pub no_index: bool,
    /// The size of the terminal that standard output is, where it is one.
    pub terminal_size: Option<TerminalSize>,
}

impl Env {
    /// Reads it.
    pub fn read() -> Result<Env, Failure> {
        let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let program = std::env::current_exe()
            .map_err(|e| Failure::new(format!("failed to find our own program: {e}")))?;
        Ok(Env {
            home: var("HOME").map(PathBuf::from),
            path: var("PATH"),
            stablehand_home: var("STABLEHAND_HOME").map(PathBuf::from),
            xdg_state: var("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute()),
            xdg_config: var("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute()),
            xdg_runtime: var("XDG_RUNTIME_DIR")
                .map(PathBuf::from)
                .filter(|path| path.is_absolute()),
            program,
            stdin_is_terminal: std::io::stdin().is_terminal(),
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
            no_color: var("NO_COLOR").is_some(),
            no_index: var("STABLEHAND_NO_INDEX").is_some_and(|value| value != "0"),
            dumb: var("TERM").is_none_or(|term| term == "dumb"),
            terminal_size: signals::terminal_size(),
        })
    }

    /// How our keeper is started: this very program.
    pub fn keeper(&self) -> KeeperProgram {
        KeeperProgram { program: self.program.clone(), args: vec![KEEPER.into()] }
    }

    /// What agents keep where, and which of them have a credential in a variable. Of that only
    /// whether it is set is looked at.
    pub fn agent_homes(&self) -> AgentHomes {
        let recipes = || stablehand::Agent::ALL.iter().map(|agent| &agent.row().manage);
        let value = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let folders = recipes().flat_map(|recipes| recipes.folders).filter_map(|name| {
            let path = PathBuf::from(value(name)?);
            path.is_absolute().then(|| ((*name).to_owned(), path))
        });
        let set = recipes().flat_map(|recipes| recipes.credentials);
        AgentHomes {
            home: self.home.clone(),
            work: std::env::current_dir().unwrap_or_default(),
            folders: folders.collect(),
            set: set.filter(|name| value(name).is_some()).map(|name| (*name).to_owned()).collect(),
        }
    }

    /// Where our state is kept.
    pub fn state(&self) -> Result<PathBuf, Failure> {
        let (ours, xdg) = (self.stablehand_home.as_deref(), self.xdg_state.as_deref());
        state_folder(ours, xdg, self.home.as_deref()).ok_or_else(no_home)
    }

    /// The user's own configuration, where there is a place for it.
    pub fn config_file(&self) -> Option<PathBuf> {
        let xdg = || self.xdg_config.as_ref().map(|folder| folder.join("stablehand"));
        let home = || self.home.as_ref().map(|home| home.join(".config/stablehand"));
        let folder = self.stablehand_home.clone().or_else(xdg).or_else(home)?;
        Some(folder.join("config.toml"))
    }

    /// Where settings are looked for.
    pub fn places(&self) -> Places {
        Places { home: self.home.clone(), user_file: self.config_file() }
    }

    /// What agents are to start for their hooks: the small program beside ours, where it is there.
    pub fn hook_program(&self) -> PathBuf {
        let mut name = self.program.file_name().unwrap_or_default().to_owned();
        name.push(stablehand::hooks::SMALL);
        let small = self.program.with_file_name(name);
        if stablehand::hooks::can_be_started(&small) { small } else { self.program.clone() }
    }

    /// Where a socket may be, the best place first: paths of sockets are short.
    pub fn socket_places(&self) -> Vec<PathBuf> {
        let runtime = self.xdg_runtime.as_ref().map(|folder| folder.join("stablehand"));
        let state = self.state().ok().map(|state| state.join("run"));
        // The last one is everybody's; the folder in it has a name that nobody can guess.
        runtime.into_iter().chain(state).chain([std::env::temp_dir()]).collect()
    }

    /// What the hooks of a session need.
    pub fn hook_setup(&self) -> Result<HookSetup, Failure> {
        Ok(HookSetup {
            program: self.hook_program(),
            places: self.socket_places(),
            state: self.state()?,
        })
    }

    /// Where `cursor-wrap` keeps its logs.
    pub fn wrap_logs(&self) -> Result<PathBuf, Failure> {
        Ok(self.home.as_ref().ok_or_else(no_home)?.join(".cursor-wrap/logs"))
    }

    /// Variables for the agent that are not set yet.
    pub fn non_interactive(&self) -> Vec<(OsString, Option<OsString>)> {
        NON_INTERACTIVE
            .iter()
            .filter(|(name, _)| std::env::var_os(name).is_none())
            .map(|(name, value)| (OsString::from(name), Some(OsString::from(value))))
            .collect()
    }

    /// The same for an agent at a terminal: its tools are still not to ask, but the agent itself
    /// must not believe that nobody looks.
    pub fn at_terminal(&self) -> Vec<(OsString, Option<OsString>)> {
        let mut env = self.non_interactive();
        env.retain(|(name, _)| NOT_AT_TERMINAL.iter().all(|not| name != not));
        env.extend(NOT_AT_TERMINAL.iter().map(|name| (OsString::from(name), None)));
        // Some go by any variable of a build service, but believe this one when it says no.
        let mut names = std::env::vars_os().map(|(name, _)| name);
        if names.any(|name| name.to_string_lossy().starts_with("CI_")) {
            env.push(("CI".into(), Some("false".into())));
        }
        env
    }
}

fn no_home() -> Failure {
    Failure::new("HOME is not set, so there is no place for logs")
        .hint("set HOME or STABLEHAND_HOME, or give --log-dir")
}
