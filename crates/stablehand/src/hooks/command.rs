//! The command line of an entry: how it is written, and how it is known again.
//!
//! An agent gives it to a shell, so everything in it that is not a plain word is quoted. Ours is
//! told from everybody else's by the name of the program and the words behind it, not by the path:
//! a program that has moved still finds what it wrote.

use super::Answers;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What stands between the program and the name of the agent.
const WORDS: &str = " hook --agent ";

/// A word for a POSIX shell, whatever is in it.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The command of an entry.
pub(super) fn line(
    program: &str,
    agent: &str,
    answers: Answers<'_>,
    within_s: u64,
    event: &str,
) -> String {
    let answers = match answers {
        Answers::Alone => "--alone".to_owned(),
        Answers::ForRun(folder) => format!("--run {}", quoted(&folder.to_string_lossy())),
    };
    format!("{}{WORDS}{agent} {answers} --within {within_s} {event}", quoted(program))
}

/// The program of a command that looks like one of ours, whoever's program it is.
pub fn program_of(command: &str) -> Option<PathBuf> {
    let (word, rest) = first_word(command.trim_start())?;
    rest.starts_with(WORDS).then(|| PathBuf::from(word))
}

/// What the small program is called that does nothing but hooks, behind the name of the large one.
pub const SMALL: &str = "-hook";

/// Whether a command was written for a program of that name, large or small.
pub(super) fn is_ours(command: &str, name: &OsStr) -> bool {
    let plain = |name: &OsStr| {
        let name = name.to_string_lossy();
        name.strip_suffix(SMALL).unwrap_or(&name).to_owned()
    };
    let program = program_of(command);
    let named = program.as_deref().and_then(Path::file_name);
    named.is_some_and(|named| plain(named) == plain(name))
}

/// The first word of a command without its quotes, and what follows it. Only what [`quoted`]
/// writes and plain words are understood: anything else was not written by us.
fn first_word(command: &str) -> Option<(String, &str)> {
    let mut word = String::new();
    let mut rest = command;
    loop {
        if let Some(inside) = rest.strip_prefix('\'') {
            let (part, after) = inside.split_once('\'')?;
            word.push_str(part);
            rest = after;
        } else if let Some(after) = rest.strip_prefix(r"\'") {
            word.push('\'');
            rest = after;
        } else {
            let plain = |c: char| c.is_alphanumeric() || "/._-+@%,:=".contains(c);
            let end = rest.find(|c| !plain(c)).unwrap_or(rest.len());
            let (part, after) = rest.split_at(end);
            word.push_str(part);
            rest = after;
            if part.is_empty() {
                return (!word.is_empty()).then_some((word, rest));
            }
        }
    }
}

/// Whether somebody could start the program now.
pub fn can_be_started(program: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let meta = program.metadata();
    meta.is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ours_is_known_by_the_name_and_the_words_behind_it() {
        let ours = |command: &str| is_ours(command, OsStr::new("stablehand"));
        assert!(ours("'/opt/it'\\''s/stablehand' hook --agent cursor --within 8 stop"));
        assert!(ours("/usr/bin/stablehand hook --agent claude Stop"));
        for theirs in [
            "",
            "stablehand",
            "stablehand hook",
            "stablehand hooks --agent x",
            "stablehand  hook --agent x",
            "stablehand-guard hook --agent cursor stop",
            "echo stablehand hook --agent cursor",
            "$HOME/stablehand hook --agent cursor",
            "'stablehand hook --agent cursor",
            "\"/x/stablehand\" hook --agent cursor",
        ] {
            assert!(!ours(theirs), "{theirs}");
        }
    }

    proptest! {
        #[test]
        fn a_shell_reads_back_what_was_quoted(path in "/[^\0]{0,20}/stablehand") {
            let command = line(&path, "cursor", Answers::Alone, 8, "stop");
            prop_assert_eq!(program_of(&command), Some(PathBuf::from(path)));
        }
    }

    #[test]
    fn a_real_shell_agrees() {
        for path in ["/a b", "/it's", "/$(touch x)`y`\"z\"", "/new\nline", "/\\'\\"] {
            let script = format!("printf %s {}", quoted(path));
            let out = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(out.stdout).unwrap(), path);
        }
    }
}
