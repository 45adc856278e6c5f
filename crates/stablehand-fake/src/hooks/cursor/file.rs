//! Cursor's hook files: where they are, and when a whole file counts for nothing.
//!
//! Owns the sources in their order (the project's, the person's, then Claude Code's settings, which
//! Cursor reads too) and the validation: one bad entry or one unknown event voids its file, and
//! nobody is told. Those of an organisation are left out: they are not in reach of a test.

use super::event::Event;
use crate::hooks::matcher::Matcher;
use crate::hooks::{Surroundings, folder_of, settings};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a hook may take where its entry says nothing.
const USUAL_TIMEOUT: Duration = Duration::from_mins(1);

/// How often a hook may keep the agent going where its entry says nothing.
const USUAL_LOOPS: u64 = 5;

/// One hook.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// The file.
    pub(super) source: PathBuf,
    /// Where it runs.
    pub(super) cwd: PathBuf,
    pub(super) event: Event,
    pub(super) what: What,
    pub(super) matcher: Matcher,
    pub(super) timeout: Duration,
    /// None for as often as it likes.
    pub(super) loop_limit: Option<u64>,
    pub(super) fail_closed: bool,
}

/// What a hook is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// A command.
    Command(String),
    /// A question to a model, which we have not.
    Prompt(String),
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) entries: Vec<Entry>,
    /// Each file, and why it counts for nothing where it does.
    pub(super) files: Vec<Value>,
}

/// Reads every file that is there.
pub(super) fn read(around: &Surroundings) -> Found {
    let mut found = Found::default();
    let root = &around.workspace;
    let project = root.join(".cursor/hooks.json");
    if project.symlink_metadata().is_ok() {
        if [".cursor", ".cursor/hooks.json"].iter().any(|part| root.join(part).is_symlink()) {
            found.note(&project, Err("a path with a link in it".to_owned()));
        } else {
            found.take(&project, root);
        }
    }
    if let Some(home) = &around.home {
        let path = home.join(".cursor/hooks.json");
        // A project that is the home has one file.
        if path != project && path.exists() {
            found.take(&path, &folder_of(&path));
        }
    }
    for name in ["settings.local.json", "settings.json"] {
        found.take_claude(&root.join(".claude").join(name), root);
    }
    if let Some(home) = around.home.as_ref().filter(|home| *home != root) {
        let path = home.join(".claude/settings.json");
        found.take_claude(&path, &folder_of(&path));
    }
    found
}

impl Found {
    fn take(&mut self, path: &Path, cwd: &Path) {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
        let entries = text.and_then(|text| parse(&text, path, cwd));
        let counted = entries.map(|mut entries| {
            let count = entries.len();
            self.entries.append(&mut entries);
            count
        });
        self.note(path, counted);
    }

    fn note(&mut self, path: &Path, counted: Result<usize, String>) {
        let file = path.display().to_string();
        self.files.push(match counted {
            Ok(count) => json!({ "file": file, "hooks": count }),
            Err(why) => json!({ "file": file, "void": why }),
        });
    }

    /// Claude Code's hooks, under Cursor's names; what is one of Cursor's already is not run twice.
    fn take_claude(&mut self, path: &Path, cwd: &Path) {
        let Some(settings) = settings::read(path) else {
            return;
        };
        let mut count = 0;
        for entry in settings::entries(&settings, path) {
            let Some(event) = Event::of_claude(&entry.event) else {
                continue;
            };
            let names = entry.matcher.replace("Bash", "Shell").replace("Edit", "Write");
            let Some(matcher) = Matcher::form(&names) else {
                continue;
            };
            let what = What::Command(entry.command);
            if self.entries.iter().any(|known| known.event == event && known.what == what) {
                continue;
            }
            count += 1;
            self.entries.push(Entry {
                source: entry.source,
                cwd: cwd.to_owned(),
                event,
                what,
                matcher,
                timeout: entry.timeout.map_or(USUAL_TIMEOUT, Duration::from_secs_f64),
                loop_limit: Some(USUAL_LOOPS),
                fail_closed: false,
            });
        }
        if count > 0 {
            self.note(path, Ok(count));
        }
    }
}

/// The hooks of a file, or why it counts for nothing.
pub(super) fn parse(text: &str, path: &Path, cwd: &Path) -> Result<Vec<Entry>, String> {
    let file: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if file.get("version").and_then(Value::as_u64).is_none_or(|version| version == 0) {
        return Err("`version` is no positive integer".to_owned());
    }
    let events = file.get("hooks").and_then(Value::as_object).ok_or("`hooks` is no object")?;
    let mut all = Vec::new();
    for (name, entries) in events {
        let event = Event::by_name(name).ok_or_else(|| format!("Unknown hook type: {name}"))?;
        let entries = entries.as_array().ok_or_else(|| format!("`{name}` is no list"))?;
        for entry in entries {
            let refused = |why| format!("an entry of `{name}`: {why}");
            all.push(one(entry, event, path, cwd).map_err(refused)?);
        }
    }
    Ok(all)
}

fn one(value: &Value, event: Event, path: &Path, cwd: &Path) -> Result<Entry, &'static str> {
    let entry = value.as_object().ok_or("no object")?;
    let text = |name: &str, why| match entry.get(name) {
        None => Ok(None),
        Some(value) => value.as_str().map(Some).ok_or(why),
    };
    let what = match text("type", "`type` is no text")? {
        None | Some("command") => {
            let command = text("command", "`command` is no text")?.ok_or("no `command`")?;
            What::Command(command.to_owned())
        }
        Some("prompt") => {
            let prompt = text("prompt", "`prompt` is no text")?.filter(|text| !text.is_empty());
            What::Prompt(prompt.ok_or("no `prompt`")?.to_owned())
        }
        Some(_) => return Err("`type` is neither `command` nor `prompt`"),
    };
    let matcher = text("matcher", "`matcher` is no text")?.unwrap_or_default();
    let matcher = Matcher::form(matcher).ok_or("`matcher` is no regular expression")?;
    let timeout = match entry.get("timeout") {
        None => USUAL_TIMEOUT,
        Some(time) => {
            let seconds = time.as_f64().filter(|seconds| *seconds > 0.0);
            let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            time.ok_or("`timeout` is no positive number")?
        }
    };
    let loop_limit = match entry.get("loop_limit") {
        None => Some(USUAL_LOOPS),
        Some(Value::Null) => None,
        Some(limit) => {
            let limit = limit.as_u64().filter(|limit| *limit > 0);
            Some(limit.ok_or("`loop_limit` is neither a positive integer nor null")?)
        }
    };
    let fail_closed = match entry.get("failClosed") {
        None => false,
        Some(value) => value.as_bool().ok_or("`failClosed` is no boolean")?,
    };
    let (source, cwd) = (path.to_owned(), cwd.to_owned());
    Ok(Entry { source, cwd, event, what, matcher, timeout, loop_limit, fail_closed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn parse_text(text: &str) -> Result<Vec<Entry>, String> {
        parse(text, Path::new("/w/.cursor/hooks.json"), Path::new("/w"))
    }

    #[test]
    fn an_entry_has_its_defaults() {
        let entries = parse_text(
            r#"{"version":1,"hooks":{"preToolUse":[{"command":"./h.sh"}],
            "stop":[{"type":"command","command":"s","timeout":0.5,"loop_limit":null,"failClosed":true,"matcher":"*","note":1}]}}"#,
        )
        .unwrap();
        let [pre, stop] = &entries[..] else { panic!("two hooks") };
        assert_eq!((pre.event, &pre.what), (Event::PreToolUse, &What::Command("./h.sh".into())));
        assert_eq!((pre.timeout, pre.loop_limit), (Duration::from_mins(1), Some(5)));
        assert!(!pre.fail_closed && pre.matcher.takes(Some("Shell")));
        assert_eq!((stop.timeout, stop.loop_limit), (Duration::from_millis(500), None));
        assert!(stop.fail_closed);
    }

    #[test]
    fn one_bad_entry_voids_the_whole_file() {
        let good = r#""preToolUse":[{"command":"x"}]"#;
        for bad in [
            r#""onToolUse":[{"command":"x"}]"#,
            r#""stop":{"command":"x"}"#,
            r#""stop":["x"]"#,
            r#""stop":[{}]"#,
            r#""stop":[{"command":1}]"#,
            r#""stop":[{"type":"agent","command":"x"}]"#,
            r#""stop":[{"type":"prompt","prompt":""}]"#,
            r#""stop":[{"command":"x","matcher":"("}]"#,
            r#""stop":[{"command":"x","matcher":1}]"#,
            r#""stop":[{"command":"x","timeout":0}]"#,
            r#""stop":[{"command":"x","timeout":"60"}]"#,
            r#""stop":[{"command":"x","loop_limit":0}]"#,
            r#""stop":[{"command":"x","failClosed":"yes"}]"#,
        ] {
            let text = format!(r#"{{"version":1,"hooks":{{{good},{bad}}}}}"#);
            assert!(parse_text(&text).is_err(), "{bad}");
        }
        for file in [
            "",
            "[]",
            r#"{"hooks":{}}"#,
            r#"{"version":0,"hooks":{}}"#,
            r#"{"version":"1","hooks":{}}"#,
            r#"{"version":1}"#,
        ] {
            assert!(parse_text(file).is_err(), "{file}");
        }
        let error = parse_text(r#"{"version":1,"hooks":{"onToolUse":[]}}"#).unwrap_err();
        assert_eq!(error, "Unknown hook type: onToolUse");
        assert!(parse_text(r#"{"version":1,"hooks":{},"stop_hook_loop_limit":3}"#).is_ok());
    }

    fn put(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn all_sources_are_read_in_their_order_and_each_runs_in_its_place() {
        let (work, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = |command: &str| {
            format!(r#"{{"version":1,"hooks":{{"stop":[{{"command":"{command}"}}]}}}}"#)
        };
        put(home.path(), ".cursor/hooks.json", &file("user"));
        put(work.path(), ".cursor/hooks.json", &file("project"));
        let claude = r#"{"hooks":{"Notification":[{"hooks":[{"type":"command","command":"n"}]}],
            "Stop":[{"hooks":[{"type":"command","command":"user"}]}],
            "PreToolUse":[{"matcher":"Bash|Edit","hooks":[{"type":"command","command":"c","timeout":2}]}]}}"#;
        put(work.path(), ".claude/settings.json", claude);
        let around = Surroundings {
            workspace: work.path().to_owned(),
            home: Some(home.path().to_owned()),
            ..Surroundings::default()
        };
        let found = read(&around);
        let seen: Vec<_> =
            found.entries.iter().map(|entry| (entry.what.clone(), entry.cwd.clone())).collect();
        let command = |word: &str| What::Command(word.to_owned());
        let root = work.path().to_owned();
        assert_eq!(
            seen,
            [
                (command("project"), root.clone()),
                (command("user"), home.path().join(".cursor")),
                (command("c"), root)
            ]
        );
        let last = &found.entries[2];
        assert!(last.matcher.takes(Some("Shell")) && last.matcher.takes(Some("Write")));
        assert!(!last.matcher.takes(Some("Bash")));
    }

    #[test]
    fn a_linked_file_of_a_project_is_refused_and_a_linked_one_of_a_person_is_not() {
        let (work, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let text = r#"{"version":1,"hooks":{"stop":[{"command":"x"}]}}"#;
        put(work.path(), "real/hooks.json", text);
        symlink(work.path().join("real"), work.path().join(".cursor")).unwrap();
        symlink(work.path().join("real"), home.path().join(".cursor")).unwrap();
        let mut around =
            Surroundings { workspace: work.path().to_owned(), ..Surroundings::default() };
        let found = read(&around);
        assert!(found.entries.is_empty() && found.files[0]["void"].is_string(), "{found:?}");
        around.home = Some(home.path().to_owned());
        assert_eq!(read(&around).entries.len(), 1);
        fs::remove_file(work.path().join(".cursor")).unwrap();
        fs::create_dir(work.path().join(".cursor")).unwrap();
        symlink(work.path().join("real/hooks.json"), work.path().join(".cursor/hooks.json"))
            .unwrap();
        around.home = None;
        assert!(read(&around).entries.is_empty());
    }
}
