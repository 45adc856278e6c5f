//! What surrounds a program that uses this library: folders, search path, its own executable.
//!
//! The rest of the library reads no environment. This is the one place that does, and only when a
//! program asks for it, by [`init`] or [`Surroundings::read`].

use crate::agent::NON_INTERACTIVE;
use crate::keeper::{self, KeeperProgram};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The hidden argument that makes a keeper of a program.
pub const KEEPER_ARGUMENT: &str = "__keeper";

static INITIALISED: AtomicBool = AtomicBool::new(false);

/// Makes a program fit to run agents. To be called first in `main`, before anything is opened,
/// started or printed.
///
/// An agent is started by a small process of its own, the keeper, which is this program once more:
/// in that process the call does not return. A program that cannot call this names another one
/// that does, such as `stablehand`, with [`crate::SessionSpec::keeper`].
#[expect(clippy::exit, reason = "the keeper's life ends here, and nothing else has begun")]
pub fn init() {
    if std::env::args_os().nth(1).is_some_and(|word| word == KEEPER_ARGUMENT) {
        std::process::exit(keeper::serve());
    }
    INITIALISED.store(true, Ordering::SeqCst);
}

/// Whether [`init`] was called, so that this program may be started as keeper.
pub(crate) fn is_initialised() -> bool {
    INITIALISED.load(Ordering::SeqCst)
}

/// The folder that we are in, in which an agent is started that is told of no other.
pub(crate) fn working_folder() -> Option<PathBuf> {
    std::env::current_dir().ok()
}

/// What surrounds us.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Surroundings {
    /// Where programs are looked for.
    pub path: Option<OsString>,
    /// Where our state belongs: logs and leases.
    pub state: Option<PathBuf>,
    /// Our own program.
    pub program: Option<PathBuf>,
    /// Variables that keep tools from asking a person, as far as they are not set.
    pub non_interactive: Vec<(OsString, Option<OsString>)>,
}

impl Surroundings {
    /// Reads them.
    pub fn read() -> Surroundings {
        let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let folder = |name: &str| var(name).map(PathBuf::from);
        let unset = NON_INTERACTIVE.iter().filter(|(name, _)| std::env::var_os(name).is_none());
        Surroundings {
            path: var("PATH"),
            state: state_folder(
                folder("STABLEHAND_HOME").as_deref(),
                folder("XDG_STATE_HOME").as_deref(),
                folder("HOME").as_deref(),
            ),
            program: std::env::current_exe().ok(),
            non_interactive: unset.map(|(name, value)| (name.into(), Some(value.into()))).collect(),
        }
    }

    /// This program as keeper.
    pub(crate) fn keeper(&self) -> Option<KeeperProgram> {
        let program = self.program.clone()?;
        Some(KeeperProgram { program, args: vec![KEEPER_ARGUMENT.into()] })
    }
}

/// Where our state is kept: `ours` overrides everything, then comes the XDG convention.
pub fn state_folder(
    ours: Option<&Path>,
    xdg_state: Option<&Path>,
    home: Option<&Path>,
) -> Option<PathBuf> {
    if let Some(folder) = ours {
        return Some(folder.to_owned());
    }
    if let Some(folder) = xdg_state.filter(|folder| folder.is_absolute()) {
        return Some(folder.join("stablehand"));
    }
    home.map(|home| home.join(".local/state/stablehand"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_is_where_the_conventions_say() {
        let path = |text: &'static str| Some(Path::new(text));
        let table = [
            (path("/ours"), path("/xdg"), path("/home/a"), Some("/ours")),
            (None, path("/xdg"), path("/home/a"), Some("/xdg/stablehand")),
            (None, path("relative"), path("/home/a"), Some("/home/a/.local/state/stablehand")),
            (None, None, None, None),
        ];
        for (ours, xdg, home, expected) in table {
            assert_eq!(state_folder(ours, xdg, home), expected.map(PathBuf::from));
        }
    }
}
