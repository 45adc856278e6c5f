//! "Always": a rule for one call, written to a file and taken up at once.
//!
//! The file stays as it was, byte for byte, with the rule behind it; it is replaced as a whole, so
//! that whoever reads it sees the old one or the new one. Nothing is written that the language of
//! policies would not read back.

use super::Gate;
use nix::fcntl::{Flock, FlockArg};
use stablehand_core::event::Tool;
use stablehand_core::text::excerpt;
use stablehand_core::time::UnixMillis;
use stablehand_policy::{NoExactRule, Policy, PolicyError, RuleRef};
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// How long another of us may be at the same file.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often it is tried meanwhile.
const RHYTHM: Duration = Duration::from_millis(20);

/// How much of the reason goes into the comment.
const WHY: usize = 160;

/// What became of "always".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remembered {
    /// The rules allow it already.
    Known,
    /// A rule was written.
    Written {
        /// Where it stands.
        rule: RuleRef,
        /// The rule itself.
        text: String,
    },
}

/// Why "always" could not be kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RememberError {
    /// The language cannot say it.
    #[error("no rule can be made of it: {0}")]
    NoRule(#[from] NoExactRule),
    /// Nobody said where.
    #[error("there is no file to write a rule to")]
    NoFile,
    /// The file would no longer be a policy.
    #[error("a rule cannot be put behind what is in the file: {0}")]
    Unfit(PolicyError),
    /// Another of us holds the folder.
    #[error("somebody else is writing in `{}`", folder.display())]
    Busy {
        /// Which folder.
        folder: PathBuf,
    },
    /// The system refused.
    #[error("failed to write a rule to `{}`", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Gate {
    /// Writes a rule that allows this call from now on, and takes it up.
    pub fn remember(
        &self,
        tool: &Tool,
        now: UnixMillis,
        why: &str,
    ) -> Result<Remembered, RememberError> {
        let path = self.rules_file().ok_or(RememberError::NoFile)?.to_owned();
        // Held to the end: the same rule is not to be written twice.
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let text = self.exact_rule(tool)?;
        if text.is_empty() {
            return Ok(Remembered::Known);
        }
        let comment = comment(now, why);
        let io = |source| RememberError::Io { path: path.clone(), source };
        // A link stays one; what it leads to is replaced.
        let target = match path.canonicalize() {
            Ok(target) => target,
            Err(error) if error.kind() == ErrorKind::NotFound => path.clone(),
            Err(error) => return Err(io(error)),
        };
        let folder = target.parent().unwrap_or(Path::new("/")).to_owned();
        let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(io)?;
        let _held =
            hold(&folder).map_err(io)?.ok_or(RememberError::Busy { folder: folder.clone() })?;
        let old = match fs::read_to_string(&target) {
            Ok(old) => old,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(io(error)),
        };
        let gap = match old.as_str() {
            "" => "",
            old if old.ends_with('\n') => "\n",
            _ => "\n\n",
        };
        let before = format!("{old}{gap}{comment}");
        let name = path.display().to_string();
        Policy::parse(&format!("{before}{text}"), &name).map_err(RememberError::Unfit)?;
        // With as many empty lines before it, the rule knows its own line.
        let above = before.matches('\n').count();
        let rules = Policy::parse(&format!("{}{text}", "\n".repeat(above)), &name)
            .map_err(RememberError::Unfit)?;
        replace(&target, &folder, format!("{before}{text}").as_bytes()).map_err(io)?;
        let mut policy = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        *policy = Policy::layered([std::mem::take(&mut *policy), rules]);
        let rule = RuleRef { name: None, file: name, line: above + 1 };
        Ok(Remembered::Written { rule, text })
    }
}

/// When and why, in one line that no text can break out of.
fn comment(now: UnixMillis, why: &str) -> String {
    let why = excerpt(why.as_bytes(), WHY);
    let why = if why.is_empty() { String::new() } else { format!(" It was asked because {why}") };
    format!("# {}: allowed for always.{why}\n", now.rfc3339())
}

/// Keeps others of us out of a folder until it is dropped; none where one of them is too slow.
fn hold(folder: &Path) -> io::Result<Option<Flock<File>>> {
    let began = Instant::now();
    let mut file = File::open(folder)?;
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(held) => return Ok(Some(held)),
            Err((back, nix::errno::Errno::EWOULDBLOCK | nix::errno::Errno::EINTR)) => {
                if began.elapsed() > PATIENCE {
                    return Ok(None);
                }
                file = back;
                std::thread::sleep(RHYTHM);
            }
            Err((_, error)) => return Err(error.into()),
        }
    }
}

/// Puts a new file in the place of the old one.
fn replace(target: &Path, folder: &Path, bytes: &[u8]) -> io::Result<()> {
    let mode = match fs::metadata(target) {
        Ok(old) => old.permissions().mode() & 0o7777,
        Err(_) => 0o600,
    };
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let new = folder.join(format!(".{name}.{}", crate::new_run_id().0));
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(bytes)?;
        file.set_permissions(Permissions::from_mode(mode))?;
        file.sync_all()?;
        fs::rename(&new, target)
    })();
    if written.is_err() {
        let _not_even_begun = fs::remove_file(&new);
    } else {
        // The rule is there; only a power cut could undo the name.
        let _not_durable_yet = File::open(folder).and_then(|folder| folder.sync_all());
    }
    written
}

#[cfg(test)]
mod tests;
