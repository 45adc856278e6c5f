//! What an agent is told first: reading the files that settings name.
//!
//! Bounded and early: everything is read before an agent is started, and what is missing, too long or
//! no text is an error then. A file of a project's must lie in the workspace once all links are
//! followed. How the text looks is the settings' ([`stablehand_policy::settings::context`]).

use crate::bounded::read_text;
use stablehand_policy::settings::context::{MOST_BYTES, Piece, Source, joined};
use stablehand_policy::settings::{ContextSource, Whose};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why the context cannot be had.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ContextError {
    /// A file cannot be read.
    #[error("failed to read the context `{}`{}", path.display(), named_at(place.as_deref()))]
    Read {
        /// Which file.
        path: PathBuf,
        /// Where it is named.
        place: Option<String>,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It is too much.
    #[error("the context is longer than {} KiB with `{what}`", MOST_BYTES >> 10)]
    TooLong {
        /// The piece that is too much.
        what: String,
    },
}

fn named_at(place: Option<&str>) -> String {
    place.map(|place| format!(" (named in {place})")).unwrap_or_default()
}

/// What the agent is told first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextText {
    /// The text; none where there is nothing to say.
    pub text: Option<String>,
    /// The files that it is from.
    pub files: Vec<PathBuf>,
    /// What was left out, and why, for a person.
    pub ignored: Vec<String>,
}

/// Reads what settings name, then the files of the command line. Relative paths begin in the folder of
/// the file that names them; `~/` is the home.
pub fn read(
    sources: &[ContextSource],
    more: &[PathBuf],
    workspace: &Path,
    home: Option<&Path>,
) -> Result<ContextText, ContextError> {
    let mut text = ContextText::default();
    let mut pieces = Vec::new();
    let mut bytes = 0;
    let mut add = |piece: Piece| {
        bytes += piece.text.len();
        if bytes > MOST_BYTES {
            let what = piece.file.unwrap_or_else(|| "text".to_owned());
            return Err(ContextError::TooLong { what });
        }
        pieces.push(piece);
        Ok(())
    };
    for wanted in sources {
        let place = format!("{}:{}", wanted.place.file, wanted.place.line);
        let name = match &wanted.source {
            Source::Text(said) => {
                add(Piece { file: None, text: said.clone() })?;
                continue;
            }
            Source::File(name) => name,
        };
        let path = resolved(name, Path::new(&wanted.place.file), home);
        if wanted.whose == Whose::Project {
            let error = |source| ContextError::Read {
                path: path.clone(),
                place: Some(place.clone()),
                source,
            };
            // Links may lead anywhere, to a key for example.
            if !path.canonicalize().map_err(error)?.starts_with(workspace) {
                text.ignored.push(format!(
                    "{place}: `{name}` is ignored: a project's context lies in the workspace"
                ));
                continue;
            }
        }
        add(Piece { file: Some(name.clone()), text: read_file(&path, Some(&place))? })?;
        text.files.push(path);
    }
    for path in more {
        let file = Some(path.display().to_string());
        add(Piece { file, text: read_file(path, None)? })?;
        text.files.push(path.clone());
    }
    text.text = joined(&pieces);
    Ok(text)
}

fn resolved(name: &str, settings: &Path, home: Option<&Path>) -> PathBuf {
    match (name.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        _ => settings.parent().unwrap_or(Path::new("")).join(name),
    }
}

fn read_file(path: &Path, place: Option<&str>) -> Result<String, ContextError> {
    read_text(path, MOST_BYTES).map_err(|source| match source.kind() {
        io::ErrorKind::FileTooLarge => ContextError::TooLong { what: path.display().to_string() },
        _ => ContextError::Read { path: path.to_owned(), place: place.map(str::to_owned), source },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use stablehand_policy::RuleRef;
    use std::os::unix::fs::symlink;

    fn source(whose: Whose, settings: &Path, name: &str) -> ContextSource {
        let place = RuleRef { name: None, file: settings.display().to_string(), line: 2 };
        ContextSource { whose, source: Source::File(name.to_owned()), place }
    }

    #[test]
    fn files_are_read_from_where_they_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let work = root.join("work");
        std::fs::create_dir_all(work.join("docs")).unwrap();
        std::fs::write(root.join("mine.md"), "mine").unwrap();
        std::fs::write(work.join("docs/style.md"), "tabs\n").unwrap();
        std::fs::write(root.join("flag.md"), "flag").unwrap();
        let sources = [
            source(Whose::User, &root.join("config.toml"), "mine.md"),
            source(Whose::User, &work.join("config.toml"), "~/mine.md"),
            source(Whose::Project, &work.join("stablehand.toml"), "docs/style.md"),
        ];
        let read = read(&sources, &[root.join("flag.md")], &work, Some(&root)).unwrap();
        let flag = root.join("flag.md");
        let expected = format!(
            "mine.md:\n\nmine\n\n~/mine.md:\n\nmine\n\ndocs/style.md:\n\ntabs\n\n{}:\n\nflag",
            flag.display()
        );
        assert_eq!(read.text.as_deref(), Some(expected.as_str()));
        assert_eq!(read.files.len(), 4);
        assert_eq!(read.ignored, Vec::<String>::new());
    }

    #[test]
    fn a_project_stays_in_its_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let work = root.join("work");
        std::fs::create_dir(&work).unwrap();
        std::fs::write(root.join("key"), "hunter2").unwrap();
        symlink("../key", work.join("AGENTS.md")).unwrap();
        let settings = work.join("stablehand.toml");
        let outside = root.join("key");
        for name in ["AGENTS.md", "../key", outside.to_str().unwrap(), "~/key"] {
            let read =
                read(&[source(Whose::Project, &settings, name)], &[], &work, Some(&root)).unwrap();
            assert_eq!(read.text, None, "{name}");
            assert!(read.ignored[0].contains("lies in the workspace"), "{:?}", read.ignored);
            // The user's own file may name it.
            let own = super::read(&[source(Whose::User, &settings, name)], &[], &work, Some(&root));
            assert!(own.unwrap().text.unwrap().contains("hunter2"), "{name}");
        }
    }

    #[test]
    fn what_cannot_be_told_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let settings = root.join("config.toml");
        std::fs::write(root.join("long"), "x".repeat(MOST_BYTES + 1)).unwrap();
        std::fs::write(root.join("half"), "x".repeat(MOST_BYTES / 2 + 1)).unwrap();
        std::fs::write(root.join("binary"), b"\xff\xfe").unwrap();
        nix::unistd::mkfifo(&root.join("pipe"), nix::sys::stat::Mode::S_IRUSR).unwrap();
        let error = |names: &[&str]| {
            let sources: Vec<_> =
                names.iter().map(|name| source(Whose::User, &settings, name)).collect();
            crate::error_chain(&read(&sources, &[], &root, None).unwrap_err())
        };
        assert!(error(&["missing"]).contains("config.toml:2"), "{}", error(&["missing"]));
        assert!(error(&["missing"]).contains("No such file"));
        assert!(error(&["long"]).contains("longer than 64 KiB"));
        assert!(error(&["half", "half"]).contains("longer than 64 KiB"));
        assert!(error(&["binary"]).contains("no text"));
        assert!(error(&["pipe"]).contains("no regular file"));
        assert!(error(&["."]).contains("no regular file"));
    }
}
