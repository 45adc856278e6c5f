//! Reading a small text file that somebody else may have put there.
//!
//! A link to a device, a pipe that nobody writes to or a file without end must cost neither memory nor
//! time, so what is opened has to be a regular file and no longer than it may be.

use nix::fcntl::OFlag;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The whole text of a file of at most so many bytes. Longer ones are [`ErrorKind::FileTooLarge`],
/// what is no text [`ErrorKind::InvalidData`].
pub fn read_text(path: &Path, most: usize) -> io::Result<String> {
    let flags = OFlag::O_NONBLOCK.bits();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        let text = format!("it is longer than {} KiB", most >> 10);
        return Err(io::Error::new(ErrorKind::FileTooLarge, text));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is no text"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_what_is_short_and_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::write(root.join("good"), "hay").unwrap();
        std::fs::write(root.join("long"), "hay!").unwrap();
        std::fs::write(root.join("bytes"), b"\xff").unwrap();
        symlink("/dev/zero", root.join("zero")).unwrap();
        nix::unistd::mkfifo(&root.join("pipe"), nix::sys::stat::Mode::S_IRUSR).unwrap();
        let kind = |name: &str| read_text(&root.join(name), 3).map_err(|error| error.kind());
        assert_eq!(kind("good").as_deref(), Ok("hay"));
        assert_eq!(kind("long"), Err(ErrorKind::FileTooLarge));
        assert_eq!(kind("bytes"), Err(ErrorKind::InvalidData));
        assert_eq!(kind("missing"), Err(ErrorKind::NotFound));
        for name in ["zero", "pipe", "."] {
            assert_eq!(kind(name), Err(ErrorKind::InvalidInput), "{name}");
        }
    }
}
