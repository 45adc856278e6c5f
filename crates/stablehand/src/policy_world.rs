//! What a policy asks of the machine, answered by the machine: symbolic links and JSON Schemas.
//!
//! Reads links, and nothing else. The folders are handed in; which rules there are is
//! `stablehand_policy`'s.

use serde_json::Value;
use stablehand_policy::World;
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// Symbolic links that are followed in one path; the system gives up at the same number.
const MAX_LINKS: usize = 40;

/// This machine, for a policy.
#[derive(Clone, Debug)]
pub struct FileWorld {
    workspace: String,
    home: Option<String>,
    protected: Vec<String>,
}

impl FileWorld {
    /// The world around a workspace. `protected` are files of ours that no wildcard opens for writing.
    ///
    /// Folders are to be absolute. A name that is not UTF-8 cannot be written in a policy, so it
    /// is taken as the nearest text and matches no rule that allows.
    pub fn new(workspace: &Path, home: Option<&Path>, protected: &[PathBuf]) -> FileWorld {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        FileWorld {
            workspace: text(workspace),
            home: home.map(text),
            protected: protected.iter().map(|path| text(path)).collect(),
        }
    }
}

impl World for FileWorld {
    fn workspace(&self) -> &str {
        &self.workspace
    }

    fn home(&self) -> Option<&str> {
        self.home.as_deref()
    }

    fn real(&self, path: &str) -> Option<String> {
        follow(Path::new(path))?.into_os_string().into_string().ok()
    }

    fn protected(&self) -> &[String] {
        &self.protected
    }

    fn schema_error(&self, schema: &Value, arguments: &Value) -> Option<String> {
        schema_error(schema, arguments)
    }
}

/// Follows every link of an absolute path, also one that leads to nothing yet: whoever writes there
/// writes where it points.
fn follow(path: &Path) -> Option<PathBuf> {
    let mut left: VecDeque<PathBuf> = parts(path);
    let mut done = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = left.pop_front() {
        match part.components().next() {
            Some(Component::ParentDir) => {
                done.pop();
                continue;
            }
            Some(Component::Normal(name)) => done.push(name),
            _ => continue,
        }
        match std::fs::read_link(&done) {
            Ok(target) => {
                links += 1;
                if links > MAX_LINKS {
                    return None;
                }
                done.pop();
                if target.is_absolute() {
                    done = PathBuf::from("/");
                }
                for part in parts(&target).into_iter().rev() {
                    left.push_front(part);
                }
            }
            // No link, or nothing there yet.
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::NotFound) => {
            }
            Err(error) if error.kind() == ErrorKind::NotADirectory => {}
            Err(_) => return None,
        }
    }
    Some(done)
}

fn parts(path: &Path) -> VecDeque<PathBuf> {
    path.components().map(|part| PathBuf::from(part.as_os_str())).collect()
}

/// What is wrong with arguments by a JSON Schema.
#[cfg(feature = "tool-schemas")]
pub fn schema_error(schema: &Value, arguments: &Value) -> Option<String> {
    match jsonschema::validator_for(schema) {
        // A schema that is none must not let anything through.
        Err(error) => Some(format!("the schema itself is wrong: {error}")),
        Ok(validator) => validator.validate(arguments).err().map(|error| {
            let place = error.instance_path().to_string();
            if place.is_empty() { error.to_string() } else { format!("{place}: {error}") }
        }),
    }
}

/// What is wrong with arguments by a JSON Schema: this build cannot tell, so nothing fits.
#[cfg(not(feature = "tool-schemas"))]
pub fn schema_error(_: &Value, _: &Value) -> Option<String> {
    Some("this build has no JSON Schema validator (cargo feature `tool-schemas`)".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_followed_to_where_they_lead() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("a")).unwrap();
        std::fs::write(root.join("a/file"), "").unwrap();
        symlink("a", root.join("relative")).unwrap();
        symlink("/nowhere/x", root.join("dangling")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink(root.join("a"), root.join("a/up")).unwrap();
        let real = |path: &str| follow(&root.join(path));
        let table = [
            ("a/file", Some(root.join("a/file"))),
            ("relative/file", Some(root.join("a/file"))),
            ("relative/../x", Some(root.join("x"))),
            ("a/up/up/new/deep", Some(root.join("a/new/deep"))),
            ("dangling", Some(PathBuf::from("/nowhere/x"))),
            ("dangling/y", Some(PathBuf::from("/nowhere/x/y"))),
            ("a/file/below", Some(root.join("a/file/below"))),
            ("loop/x", None),
        ];
        for (path, expected) in table {
            assert_eq!(real(path), expected, "{path}");
        }
    }

    #[cfg(feature = "tool-schemas")]
    #[test]
    fn arguments_are_held_against_their_schema() {
        let schema = serde_json::json!({"type": "object", "required": ["path"]});
        assert_eq!(schema_error(&schema, &serde_json::json!({"path": "a"})), None);
        assert!(schema_error(&schema, &serde_json::json!({})).is_some());
        assert!(schema_error(&serde_json::json!({"type": 5}), &serde_json::json!({})).is_some());
    }
}
