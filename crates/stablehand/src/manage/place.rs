//! Files of an agent that a recipe wants to read: where they are, and reading them within bounds.
//!
//! Their contents go to a parser and nowhere else; they may hold secrets.

use super::AgentHomes;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

/// The most that is read of a file. Configurations are small; a file that is larger is none.
const MAX_BYTES: u64 = 4 << 20;

/// A file of an agent.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// Below a folder that a variable may name, and that is in the home otherwise.
    Home {
        /// The variable; empty where there is none.
        variable: &'static str,
        /// The folder in the home.
        folder: &'static str,
        /// The file below it.
        file: &'static str,
    },
    /// Below the working directory.
    Work(&'static str),
}

impl Place {
    /// Where it is; nowhere without a home.
    pub fn path(&self, around: &AgentHomes) -> Option<PathBuf> {
        match self {
            Place::Home { variable, folder, file } => {
                let named = around.folders.get(*variable).cloned();
                Some(named.or_else(|| Some(around.home.as_ref()?.join(folder)))?.join(file))
            }
            Place::Work(file) => Some(around.work.join(file)),
        }
    }

    /// Its bytes, if it is a file of a sensible size that we may read.
    pub(crate) fn read(&self, around: &AgentHomes) -> Option<Vec<u8>> {
        let path = self.path(around)?;
        // A pipe or device of that name would make us wait.
        let meta = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
        if meta.len() > MAX_BYTES {
            return None;
        }
        let mut bytes = Vec::new();
        File::open(path).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Changes when the file does.
    pub(crate) fn stamp(&self, around: &AgentHomes) -> String {
        let stamp = || {
            let meta = self.path(around)?.metadata().ok()?;
            let since = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
            Some(format!("{}.{}", since.as_nanos(), meta.len()))
        };
        stamp().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_moves_the_folder_and_odd_files_are_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let mut around = AgentHomes {
            home: Some(home.path().to_owned()),
            work: home.path().join("work"),
            ..AgentHomes::default()
        };
        let place = Place::Home { variable: "X_HOME", folder: ".x", file: "auth.json" };
        assert_eq!(place.path(&around), Some(home.path().join(".x/auth.json")));
        assert_eq!(place.read(&around), None);
        around.folders.insert("X_HOME".into(), home.path().join("moved"));
        std::fs::create_dir_all(home.path().join("moved/auth.json")).unwrap();
        assert_eq!(place.read(&around), None, "a folder is no file");
        std::fs::remove_dir(home.path().join("moved/auth.json")).unwrap();
        let before = place.stamp(&around);
        std::fs::write(home.path().join("moved/auth.json"), b"{}").unwrap();
        assert_eq!(place.read(&around), Some(b"{}".to_vec()));
        assert_ne!(place.stamp(&around), before);
        assert_eq!(Place::Work(".env").path(&around), Some(home.path().join("work/.env")));
    }
}
