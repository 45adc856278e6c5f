//! Small programs that stand in for the real agents on PATH.
//!
//! Owns their text and the promise to touch no other file: a file of that name that is not one of
//! ours stays as it is, and nothing is written at all then.

use crate::dialect::program;
use stablehand_core::Dialect;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The environment variable that chooses the scene of a shim.
pub const SCENE_VARIABLE: &str = "STABLEHAND_FAKE_SCENE";

/// The dialects whose programs get a shim.
pub const SHIMMED: &[Dialect] = &[
    Dialect::Cursor,
    Dialect::Claude,
    Dialect::Codex,
    Dialect::Gemini,
    Dialect::OpenCode,
    Dialect::Qwen,
    Dialect::Copilot,
    Dialect::Grok,
    Dialect::Agy,
];

/// How every shim begins; whoever finds it knows that the file is ours.
const MARK: &[u8] =
    b"#!/bin/sh\n# Stands in for an agent: written by `stablehand fake-agent --shims`.\n";

/// Why the shims could not be written.
#[derive(Debug, Error)]
pub enum ShimError {
    /// A file of that name is not ours.
    #[error("`{}` is there and is not a shim; nothing was written", path.display())]
    NotOurs {
        /// Which.
        path: PathBuf,
    },
    /// The system refused.
    #[error("failed to write `{}`", path.display())]
    Write {
        /// What was to be written.
        path: PathBuf,
        /// Why it could not.
        source: io::Error,
    },
}

/// What a shim plays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Play {
    /// A scene, unless the environment names another.
    Scene(String),
    /// A script, whatever the environment says.
    Script(PathBuf),
}

/// Writes a shim for each agent into a folder, which is made where it is missing. `binary` is the
/// absolute path of the program that has the `fake-agent` subcommand.
pub fn write(folder: &Path, binary: &Path, play: &Play) -> Result<Vec<PathBuf>, ShimError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| ShimError::Write { path, source }
    };
    fs::create_dir_all(folder).map_err(failed(folder))?;
    let paths: Vec<(Dialect, PathBuf)> =
        SHIMMED.iter().map(|dialect| (*dialect, folder.join(program(*dialect)))).collect();
    if let Some((_, path)) = paths.iter().find(|(_, path)| !is_free(path)) {
        return Err(ShimError::NotOurs { path: path.clone() });
    }
    for (dialect, path) in &paths {
        // Beside it and renamed: a shim that runs keeps its text.
        let beside = folder.join(format!(".{}.{}", program(*dialect), std::process::id()));
        fs::write(&beside, text(*dialect, binary, play)).map_err(failed(&beside))?;
        fs::set_permissions(&beside, fs::Permissions::from_mode(0o755)).map_err(failed(&beside))?;
        fs::rename(&beside, path).map_err(failed(path))?;
    }
    Ok(paths.into_iter().map(|(_, path)| path).collect())
}

/// Whether nothing is there, or a shim of ours. A link is somebody's, wherever it leads.
fn is_free(path: &Path) -> bool {
    match path.symlink_metadata() {
        Err(error) => error.kind() == io::ErrorKind::NotFound,
        Ok(meta) => meta.is_file() && fs::read(path).is_ok_and(|bytes| bytes.starts_with(MARK)),
    }
}

fn text(dialect: Dialect, binary: &Path, play: &Play) -> Vec<u8> {
    let mut text = MARK.to_vec();
    text.extend_from_slice(b"exec ");
    text.extend_from_slice(quoted(binary.as_os_str()).as_bytes());
    // Of Copilot nothing else is played.
    let spoken = if dialect == Dialect::Copilot { Dialect::Acp } else { dialect };
    text.extend_from_slice(format!(" fake-agent --dialect {} ", spoken.name()).as_bytes());
    match play {
        Play::Scene(scene) => {
            let given = format!("--scene \"${{{SCENE_VARIABLE}:-{scene}}}\"");
            text.extend_from_slice(given.as_bytes());
        }
        Play::Script(path) => {
            text.extend_from_slice(b"--script ");
            text.extend_from_slice(quoted(path.as_os_str()).as_bytes());
        }
    }
    text.extend_from_slice(b" -- \"$@\"\n");
    text
}

/// A word that the shell takes as it is.
fn quoted(word: &OsStr) -> OsString {
    let mut bytes = vec![b'\''];
    for byte in word.as_bytes() {
        match byte {
            b'\'' => bytes.extend_from_slice(br"'\''"),
            byte => bytes.push(*byte),
        }
    }
    bytes.push(b'\'');
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_anything_in_it_stays_one_word() {
        let play = Play::Scene("hello".into());
        let text = text(Dialect::Codex, Path::new("/opt/it's \"$HOME\"/stablehand"), &play);
        let last = String::from_utf8(text).unwrap().lines().last().unwrap().to_owned();
        assert_eq!(
            last,
            r#"exec '/opt/it'\''s "$HOME"/stablehand' fake-agent --dialect codex --scene "${STABLEHAND_FAKE_SCENE:-hello}" -- "$@""#
        );
    }
}
