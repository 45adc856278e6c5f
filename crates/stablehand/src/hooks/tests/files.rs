//! Files on disk: what is refused, what is kept, and how runs and lasting installations get along.

use super::{plan, plan_for};
use crate::agent::Agent;
use crate::hooks::{
    Change, Ending, HookError, HookPlan, Installation, Preview, Target, install, repair, running,
    uninstall,
};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let place = Place { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(place.root()).unwrap();
        place
    }

    fn with(content: &str) -> Place {
        let place = Place::new();
        fs::create_dir(place.root().join(".cursor")).unwrap();
        fs::write(place.file(), content).unwrap();
        place
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn target(&self) -> Target {
        Target::new(&self.root(), ".cursor", "hooks.json")
    }

    fn file(&self) -> PathBuf {
        self.target().path()
    }

    fn text(&self) -> Option<String> {
        fs::read_to_string(self.file()).ok()
    }

    /// A plan for a program that is there.
    fn plan(&self, folder: &str) -> HookPlan {
        let program = self.folder.path().join(folder).join("stablehand");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::write(&program, "").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        plan_for(Agent::Cursor, program.to_str().unwrap())
    }

    fn begin(&self) -> Result<Installation, HookError> {
        Installation::begin(&self.target(), &self.plan("bin"), &self.state())
    }

    fn journal(&self) -> PathBuf {
        let entries = fs::read_dir(self.state().join("hooks")).unwrap();
        entries.map(|entry| entry.unwrap().path()).next().unwrap()
    }
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().mode() & 0o7777
}

#[test]
fn a_file_and_folder_that_were_not_there_are_gone_again() {
    let place = Place::new();
    let installation = place.begin().unwrap();
    assert!(place.text().unwrap().contains(" hook --agent cursor"));
    assert_eq!(mode(&place.journal()), 0o700);
    assert_eq!(mode(&place.journal().join("journal.json")), 0o600);
    assert_eq!(installation.end().unwrap(), Ending::GivenBack(Change::Restored));
    assert_eq!(fs::read_dir(place.root()).unwrap().count(), 0);
    assert!(!place.journal().join("journal.json").exists());
    // A folder that has got something else stays.
    let installation = place.begin().unwrap();
    fs::write(place.root().join(".cursor/mcp.json"), "{}").unwrap();
    installation.end().unwrap();
    assert!(place.root().join(".cursor/mcp.json").exists() && place.text().is_none());
}

#[test]
fn any_file_comes_back_to_the_byte_with_its_mode() {
    for content in ["", "\n", "{}", "{\"version\":1,}\n", "{ // x\r\n}", "\u{feff}{}"] {
        let place = Place::with(content);
        fs::set_permissions(place.file(), fs::Permissions::from_mode(0o640)).unwrap();
        let Ok(installation) = place.begin() else {
            assert!(content.starts_with('\u{feff}'), "{content:?}");
            assert_eq!(place.text().as_deref(), Some(content));
            continue;
        };
        assert_eq!(mode(&place.file()), 0o640);
        drop(installation);
        assert_eq!(place.text().as_deref(), Some(content));
        assert_eq!(mode(&place.file()), 0o640);
    }
}

#[test]
fn what_is_not_ours_to_write_or_to_understand_is_refused_and_untouched() {
    let place = Place::with("{ no");
    let error = place.begin().unwrap_err();
    let said = crate::error_chain(&error);
    assert!(said.contains("hooks.json`: line 1 is no JSON"), "{said}");
    assert_eq!(place.text().as_deref(), Some("{ no"));

    fs::write(place.file(), b"{\"\xff\":1}").unwrap();
    assert!(crate::error_chain(&place.begin().unwrap_err()).contains("not UTF-8"));

    fs::write(place.file(), "{}").unwrap();
    fs::set_permissions(place.file(), fs::Permissions::from_mode(0o444)).unwrap();
    assert!(matches!(place.begin().unwrap_err(), HookError::NotOurs { .. }));
    assert_eq!(place.text().as_deref(), Some("{}"));
    assert!(!place.journal().join("journal.json").exists(), "nothing was begun");
    assert_eq!(fs::read_dir(place.journal().join("users")).unwrap().count(), 0);

    fs::remove_file(place.file()).unwrap();
    fs::create_dir(place.file()).unwrap();
    assert!(matches!(place.begin().unwrap_err(), HookError::Kind { .. }));
    fs::remove_dir(place.file()).unwrap();
    nix::unistd::mkfifo(&place.file(), nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(
        matches!(place.begin().unwrap_err(), HookError::Kind { .. }),
        "nobody waits for a pipe"
    );

    let huge = format!("{{\"a\": \"{}\"}}", "x".repeat(5 << 20));
    fs::remove_file(place.file()).unwrap();
    fs::write(place.file(), huge).unwrap();
    assert!(matches!(place.begin().unwrap_err(), HookError::TooLarge { .. }));

    let nowhere = Target::new(&place.root().join("nowhere"), ".cursor", "hooks.json");
    let error = Installation::begin(&nowhere, &plan(Agent::Cursor), &place.state()).unwrap_err();
    assert!(matches!(error, HookError::Io { doing: "find", .. }), "{error:?}");
}

#[test]
fn a_link_is_not_followed_but_one_above_the_project_is_no_concern() {
    let place = Place::with("{}");
    let real = place.folder.path().join("real.json");
    fs::rename(place.file(), &real).unwrap();
    symlink(&real, place.file()).unwrap();
    let error = place.begin().unwrap_err();
    assert!(matches!(&error, HookError::Link { path } if path.ends_with("hooks.json")), "{error}");
    fs::remove_dir_all(place.root().join(".cursor")).unwrap();
    symlink("/nowhere", place.root().join(".cursor")).unwrap();
    let error = place.begin().unwrap_err();
    assert!(matches!(&error, HookError::Link { path } if path.ends_with(".cursor")), "{error}");
    assert!(!place.state().exists(), "nothing was made for it");
    fs::remove_file(place.root().join(".cursor")).unwrap();
    fs::write(place.root().join(".cursor"), "").unwrap();
    assert!(matches!(place.begin().unwrap_err(), HookError::Kind { expected: "folder", .. }));
    fs::remove_file(place.root().join(".cursor")).unwrap();

    // Both names of a project have one journal.
    let alias = place.folder.path().join("alias");
    symlink(place.root(), &alias).unwrap();
    let one = place.begin().unwrap();
    let target = Target::new(&alias, ".cursor", "hooks.json");
    let other = Installation::begin(&target, &place.plan("bin"), &place.state()).unwrap();
    assert_eq!(one.end().unwrap(), Ending::StillUsed);
    assert_eq!(other.end().unwrap(), Ending::GivenBack(Change::Restored));
}

#[test]
fn what_was_changed_or_deleted_meanwhile_stays_so() {
    let place = Place::with("{\"version\": 1}");
    let installation = place.begin().unwrap();
    let text = place.text().unwrap().replace("\"version\": 1", "\"version\": 1, \"mine\": true");
    fs::write(place.file(), text).unwrap();
    assert_eq!(installation.end().unwrap(), Ending::GivenBack(Change::Edited));
    assert_eq!(place.text().as_deref(), Some("{\"version\": 1, \"mine\": true}"));

    let installation = place.begin().unwrap();
    fs::remove_file(place.file()).unwrap();
    assert_eq!(installation.end().unwrap(), Ending::GivenBack(Change::Deleted));
    assert_eq!(place.text(), None);

    let installation = place.begin().unwrap();
    fs::remove_dir_all(place.root()).unwrap();
    assert_eq!(installation.end().unwrap(), Ending::GivenBack(Change::Gone));
}

#[test]
fn a_file_that_was_broken_meanwhile_waits_for_its_owner() {
    let place = Place::with("{}");
    let installation = place.begin().unwrap();
    let ours = place.text().unwrap();
    fs::write(place.file(), "{ oops").unwrap();
    assert!(matches!(installation.end().unwrap_err(), HookError::File { .. }));
    assert!(repair(&place.state())[0].result.is_err());
    assert!(running(&place.target(), &place.state()).unwrap().left_over);
    fs::write(place.file(), format!("// mended\n{ours}")).unwrap();
    assert_eq!(*repair(&place.state())[0].result.as_ref().unwrap(), Change::Edited);
    assert_eq!(place.text().as_deref(), Some("// mended\n{}"));
    assert!(repair(&place.state()).is_empty());
}

#[test]
fn a_second_run_puts_back_what_was_taken_out_under_the_first() {
    let place = Place::with("{}");
    let one = place.begin().unwrap();
    fs::write(place.file(), "{\"mine\": 1}").unwrap();
    let two = place.begin().unwrap();
    assert!(place.text().unwrap().contains(" hook --agent"));
    assert_eq!(one.end().unwrap(), Ending::StillUsed);
    two.end().unwrap();
    assert_eq!(place.text().as_deref(), Some("{\"mine\": 1}"));
}

#[test]
fn what_is_installed_for_good_covers_a_run_and_stays() {
    let place = Place::with("{}");
    let plan = place.plan("bin");
    let done = install(&place.target(), &plan, &place.state(), Preview::No).unwrap();
    assert_eq!((done.changed, done.waits_for.len()), (3, 0));
    let text = place.text();
    assert_eq!(done.text, text);
    let run = place.begin().unwrap();
    assert!(run.is_covered() && run.release().is_none());
    assert_eq!(run.end().unwrap(), Ending::Covered);
    assert_eq!(place.text(), text);
    // By another copy of the program that can be started, too.
    let other = place.plan("elsewhere");
    assert!(Installation::begin(&place.target(), &other, &place.state()).unwrap().is_covered());
    // Not when the program has gone: for the run it is replaced, and then it is as it was.
    fs::remove_dir_all(place.folder.path().join("bin")).unwrap();
    let run = Installation::begin(&place.target(), &other, &place.state()).unwrap();
    assert!(!run.is_covered());
    assert!(!place.text().unwrap().contains("/bin/stablehand"));
    drop(run);
    assert_eq!(place.text(), text);
    let done = uninstall(&place.target(), &plan, &place.state(), Preview::No).unwrap();
    assert_eq!((done.changed, place.text().as_deref()), (3, Some("{}")));
    let again = uninstall(&place.target(), &plan, &place.state(), Preview::No).unwrap();
    assert_eq!((again.changed, place.text().as_deref()), (0, Some("{}")));
}

#[test]
fn a_lasting_installation_of_a_new_file_is_gone_without_a_trace() {
    let place = Place::new();
    let plan = place.plan("bin");
    let look = install(&place.target(), &plan, &place.state(), Preview::Only).unwrap();
    assert!(look.text.unwrap().contains("\"version\": 1"));
    assert_eq!(fs::read_dir(place.root()).unwrap().count(), 0, "only looked");
    install(&place.target(), &plan, &place.state(), Preview::No).unwrap();
    assert!(place.text().is_some());
    uninstall(&place.target(), &plan, &place.state(), Preview::No).unwrap();
    assert_eq!(fs::read_dir(place.root()).unwrap().count(), 0);
}

#[test]
fn what_is_made_to_last_or_ended_during_a_run_holds_after_it() {
    let place = Place::with("{\"mine\": 1}");
    let plan = place.plan("bin");
    let run = place.begin().unwrap();
    let me = std::process::id();
    assert_eq!(running(&place.target(), &place.state()).unwrap().runs, [me]);
    let done = install(&place.target(), &plan, &place.state(), Preview::No).unwrap();
    assert_eq!(done.waits_for, [me]);
    let text = place.text();
    drop(run);
    assert_eq!(place.text(), text, "it is still there");
    // And the other way round: begun for a run because the program had gone.
    fs::remove_dir_all(place.folder.path().join("bin")).unwrap();
    let other = place.plan("elsewhere");
    let run = Installation::begin(&place.target(), &other, &place.state()).unwrap();
    let done = uninstall(&place.target(), &other, &place.state(), Preview::No).unwrap();
    assert_eq!((done.changed, done.waits_for.len()), (3, 1));
    assert!(place.text().unwrap().contains("elsewhere"), "the run needs it");
    drop(run);
    assert_eq!(place.text().as_deref(), Some("{\"mine\": 1}"));
}

#[test]
fn a_journal_that_was_tampered_with_is_not_believed() {
    let place = Place::with("{\"mine\": 1}");
    let installation = place.begin().unwrap();
    let path = place.journal().join("journal.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("mine", "evil")).unwrap();
    let installed = place.text();
    assert!(matches!(installation.end().unwrap_err(), HookError::Journal { .. }));
    assert_eq!(place.text(), installed);
    assert!(matches!(place.begin().unwrap_err(), HookError::Journal { .. }));
}
