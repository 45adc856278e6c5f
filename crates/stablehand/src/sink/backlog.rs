//! What a slow reader has not taken yet, where the log cannot be read for it.
//!
//! A little waits in memory, the rest in a file without a name: it is private, and gone with us. Where
//! no file can be had everything waits in memory, and the agent is made to wait before that grows.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// So much waits in memory before a file is made.
const IN_MEMORY: usize = 1 << 20;

/// With so much in memory the agent has to wait.
const CONGESTED: usize = 8 << 20;

/// One read of the file.
const BLOCK: usize = 64 << 10;

static COUNT: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
pub(super) struct Backlog {
    folder: PathBuf,
    /// What comes first.
    memory: Vec<u8>,
    consumed: usize,
    /// What comes behind it.
    file: Option<File>,
    written: u64,
    read: u64,
}

impl Backlog {
    pub(super) fn new(folder: PathBuf) -> Backlog {
        Backlog { folder, memory: Vec::new(), consumed: 0, file: None, written: 0, read: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.consumed == self.memory.len() && self.read == self.written
    }

    /// How many bytes wait.
    pub(super) fn len(&self) -> u64 {
        (self.memory.len() - self.consumed) as u64 + (self.written - self.read)
    }

    pub(super) fn is_congested(&self) -> bool {
        self.memory.len() - self.consumed > CONGESTED
    }

    /// Puts something at the end.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let in_file = self.written > self.read;
        if !in_file && self.memory.len() - self.consumed + bytes.len() <= IN_MEMORY {
            self.memory.extend_from_slice(bytes);
        } else if self.append(bytes).is_err() {
            // The order must hold, so what is in the file comes back first; it is little more than
            // what there was room for.
            self.take_back();
            self.memory.extend_from_slice(bytes);
        }
    }

    /// What comes next; empty where nothing waits.
    pub(super) fn front(&mut self) -> &[u8] {
        if self.consumed == self.memory.len() && self.read < self.written {
            self.memory.clear();
            self.consumed = 0;
            self.fill(BLOCK);
        }
        self.memory.get(self.consumed..).unwrap_or_default()
    }

    /// So much of [`front`](Self::front) was taken.
    pub(super) fn consume(&mut self, count: usize) {
        self.consumed += count;
        if self.consumed >= self.memory.len() {
            self.memory.clear();
            self.consumed = 0;
        }
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(nameless(&self.folder)?),
        };
        let done = file.write_all(bytes);
        if done.is_err() {
            let _uncut = file.set_len(self.written);
            return done;
        }
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Brings at most `count` bytes of the file into memory.
    fn fill(&mut self, count: usize) {
        let left = usize::try_from(self.written - self.read).unwrap_or(usize::MAX).min(count);
        let mut block = vec![0; left];
        let got = self
            .file
            .as_ref()
            .is_some_and(|file| file.read_exact_at(&mut block, self.read).is_ok());
        if got {
            self.memory.extend_from_slice(&block);
            self.read += left as u64;
        } else {
            // A file that is open and cannot be read: a broken disk. There is nothing to be had.
            self.read = self.written;
        }
        if self.read == self.written
            && let Some(file) = &mut self.file
            && file.set_len(0).is_ok()
        {
            (self.read, self.written) = (0, 0);
        }
    }

    fn take_back(&mut self) {
        while self.read < self.written {
            self.fill(BLOCK);
        }
    }
}

/// A file that only we have; its name is gone before anything is in it.
fn nameless(folder: &std::path::Path) -> io::Result<File> {
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!(".backlog-{}-{count}", std::process::id()));
    let mut options = OpenOptions::new();
    // Appending, because what is read from it begins anew whenever it is empty.
    let file = options.read(true).append(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_comes_out_in_order_and_no_file_has_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let mut backlog = Backlog::new(folder.path().to_owned());
        let (mut put, mut got) = (Vec::new(), Vec::new());
        for round in 0..40_u32 {
            let piece: Vec<u8> = (0..100_000_u32).flat_map(|n| (n ^ round).to_le_bytes()).collect();
            backlog.push(&piece[..piece.len() - round as usize]);
            put.extend_from_slice(&piece[..piece.len() - round as usize]);
            let front = backlog.front();
            let taken = front.len().min(30_000);
            got.extend_from_slice(&front[..taken]);
            backlog.consume(taken);
            if round % 16 == 15 {
                drain(&mut backlog, &mut got);
            }
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(!backlog.is_congested());
        drain(&mut backlog, &mut got);
        assert!(put == got, "{} and {} bytes", put.len(), got.len());
    }

    fn drain(backlog: &mut Backlog, got: &mut Vec<u8>) {
        while !backlog.is_empty() {
            let front = backlog.front().to_vec();
            backlog.consume(front.len());
            got.extend_from_slice(&front);
        }
    }

    #[test]
    fn without_a_file_it_stays_in_memory_and_says_so() {
        let mut backlog = Backlog::new("/nowhere/at/all".into());
        let piece = vec![7; 3 << 20];
        for _ in 0..3 {
            assert!(!backlog.is_congested());
            backlog.push(&piece);
        }
        assert!(backlog.is_congested());
        let mut got = Vec::new();
        drain(&mut backlog, &mut got);
        assert_eq!(got.len(), 9 << 20);
    }
}
