//! A transcript that the index knows, read again from where the agent keeps it.

use super::database::Databases;
use super::walk::{self, Item};
use super::{Source, read};
use crate::StoreError;
use stablehand_core::event::EventKind;
use stablehand_core::time::UnixMillis;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// Where one session stands in the files of its agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Original {
    /// The folder that it was found in, and whose it is.
    pub source: Source,
    /// The file.
    pub path: PathBuf,
    /// The session, where the file has more than one.
    session: Option<String>,
}

impl Original {
    /// What the index remembers of it; nothing where its folder is not imported any more.
    pub(crate) fn of(sources: &[Source], agent: &str, path: &Path, key: &str) -> Option<Original> {
        let holds = |source: &&Source| source.agent == agent && path.starts_with(&source.folder);
        // How a file is read depends on its place below the folder.
        let source = sources.iter().filter(holds).max_by_key(|it| it.folder.as_os_str().len())?;
        let whole = format!("{agent}:{}", path.to_string_lossy());
        let session = key.strip_prefix(&whole).and_then(|rest| rest.strip_prefix('#'));
        let session = session.map(str::to_owned);
        Some(Original { source: source.clone(), path: path.to_owned(), session })
    }

    /// Gives everything that was said and done, in its order, until `take` says false. `scratch` is a
    /// folder of ours, for the copy of a database that is in use.
    pub fn each_event(
        &self,
        scratch: &Path,
        mut take: impl FnMut(UnixMillis, EventKind) -> bool,
    ) -> Result<(), StoreError> {
        let (Some(dialect), Some(item)) = (self.source.dialect(), self.item()) else {
            let source = Error::new(ErrorKind::NotFound, "there is no transcript any more");
            return Err(StoreError::Read { path: self.path.clone(), source });
        };
        let mut enough = false;
        read::each_event(dialect, &item, &mut Databases::new(scratch), |events, _| {
            for (at, kind) in events.drain(..) {
                enough = enough || !take(at, kind);
            }
            Ok(())
        })
    }

    fn item(&self) -> Option<Item> {
        // A link is none, as when it was found.
        if !self.path.symlink_metadata().ok()?.is_file() {
            return None;
        }
        let item = walk::item(self.source.dialect()?, &self.source.folder, self.path.clone())?;
        Some(match &self.session {
            Some(session) => Item { session: Some(session.clone()), name: session.clone(), ..item },
            None => item,
        })
    }
}
