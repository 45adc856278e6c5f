//! Answers remembered for a moment, because a command that starts two programs per agent is slow.
//!
//! One small private file per answer, below the state folder. It holds what a parser made of the
//! output, never the output itself, so no secret gets here. Whatever is wrong with the cache, the
//! agent is asked.

use super::{Answer, Question};
use crate::clock::unix_now;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long an answer is believed: long enough for a person who looks twice, short enough that
/// what was changed behind our back does not matter.
pub const BELIEVED_FOR: Duration = Duration::from_secs(30);

/// Larger than any answer that we make.
const MAX_BYTES: u64 = 4 << 20;

/// Remembered answers, in a folder.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    /// Whether what is there is believed; it is written in any case.
    read: bool,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    at_ms: i64,
    answer: Answer,
}

/// What an answer depends on.
#[derive(Debug, Default)]
pub(super) struct Key(Sha256);

impl Key {
    /// Adds something that it depends on.
    pub(super) fn add(&mut self, part: impl AsRef<[u8]>) {
        let part = part.as_ref();
        // Lengths keep "ab", "c" apart from "a", "bc".
        self.0.update(part.len().to_le_bytes());
        self.0.update(part);
    }

    fn name(&self) -> String {
        let digest = self.0.clone().finalize();
        digest.iter().take(16).fold(String::new(), |mut name, byte| {
            let _infallible = write!(name, "{byte:02x}");
            name
        })
    }
}

impl Cache {
    /// Answers in `folder`, which is made when there is something to put into it.
    pub fn new(folder: PathBuf) -> Cache {
        Cache { folder, read: true }
    }

    /// Believes nothing that is there, but remembers what is learnt.
    #[must_use]
    pub fn refreshed(self) -> Cache {
        Cache { read: false, ..self }
    }

    pub(super) fn get(&self, agent: &str, question: Question, key: &Key) -> Option<Answer> {
        if !self.read {
            return None;
        }
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK)
            .open(self.path(agent, question, key))
            .ok()?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        let entry: Entry = serde_json::from_slice(&bytes).ok()?;
        let age = unix_now().0.checked_sub(entry.at_ms)?;
        // A clock that was set back must not make an answer last.
        let limit = i64::try_from(BELIEVED_FOR.as_millis()).unwrap_or(i64::MAX);
        (0..limit).contains(&age).then_some(entry.answer)
    }

    /// Remembers an answer, and forgets former ones to the same question.
    pub(super) fn put(&self, agent: &str, question: Question, key: &Key, answer: &Answer) {
        self.forget_where(|name| name.starts_with(&format!("{agent}-{}-", question.name())));
        let entry = Entry { at_ms: unix_now().0, answer: answer.clone() };
        // A cache that cannot be written is no cache; that is all.
        let _unwritten = self.write(&self.path(agent, question, key), &entry);
    }

    /// Forgets everything about an agent.
    pub fn forget(&self, agent: &str) {
        self.forget_where(|name| name.starts_with(&format!("{agent}-")));
    }

    fn path(&self, agent: &str, question: Question, key: &Key) -> PathBuf {
        self.folder.join(format!("{agent}-{}-{}.json", question.name(), key.name()))
    }

    fn write(&self, path: &Path, entry: &Entry) -> std::io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let unfinished = path.with_extension(format!("{}.part", std::process::id()));
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .custom_flags(nix::libc::O_NOFOLLOW)
            .open(&unfinished)?;
        file.write_all(&serde_json::to_vec(entry)?)?;
        // Another of us may read at this moment; it finds the old file or the new one.
        fs::rename(unfinished, path)
    }

    fn forget_where(&self, old: impl Fn(&str) -> bool) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(&old) {
                let _already_gone = fs::remove_file(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn key(text: &str) -> Key {
        let mut key = Key::default();
        key.add(text);
        key
    }

    #[test]
    fn an_answer_is_remembered_privately_until_it_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("cache"));
        let answer = Answer::Version("1.2".into());
        let ask = |cache: &Cache, k| cache.get("x", Question::Version, &key(k));
        assert_eq!(ask(&cache, "a"), None);
        cache.put("x", Question::Version, &key("a"), &answer);
        assert_eq!(ask(&cache, "a"), Some(answer.clone()));
        assert_eq!(ask(&cache, "b"), None, "it depends on something else");
        assert_eq!(ask(&cache.clone().refreshed(), "a"), None);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&cache.folder), 0o700);
        let file = fs::read_dir(&cache.folder).unwrap().next().unwrap().unwrap().path();
        assert_eq!(mode(&file), 0o600);
        cache.put("x", Question::Version, &key("b"), &answer);
        assert_eq!(fs::read_dir(&cache.folder).unwrap().count(), 1, "the former one is gone");
        cache.forget("y");
        assert_eq!(ask(&cache, "b"), Some(answer));
        cache.forget("x");
        assert_eq!(ask(&cache, "b"), None);
    }

    #[test]
    fn old_answers_answers_from_the_future_and_rubbish_are_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().to_owned());
        let path = cache.path("x", Question::Version, &key("a"));
        for at_ms in [unix_now().0 - 31_000, unix_now().0 + 60_000, i64::MIN] {
            let entry = Entry { at_ms, answer: Answer::Version("1.2".into()) };
            cache.write(&path, &entry).unwrap();
            assert_eq!(cache.get("x", Question::Version, &key("a")), None, "{at_ms}");
        }
        fs::write(&path, b"{\"at_ms\":").unwrap();
        assert_eq!(cache.get("x", Question::Version, &key("a")), None);
    }
}
