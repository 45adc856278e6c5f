//! Hooks in a settings file, with real processes: killed at every system call and at any moment, many
//! at once, and with somebody who edits the file meanwhile. In the end the file is what it was.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where it stopped")]

use nix::sys::ptrace;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use stablehand::hooks::{Change, repair};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const HOLDER: &str = env!("CARGO_BIN_EXE_hooks-for-tests");

/// Longest wait for anything that should happen at once; generous, because the machine may be busy.
const SOON: Duration = Duration::from_secs(20);

const THEIRS: &str = "{\n  // mine\n  \"version\": 1,\n  \"hooks\": {\n    \"preToolUse\": [\n      {\"command\": \"./guard\"} // keep\n    ]\n  }\n}";

/// A project and a state folder.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new(content: Option<&str>) -> Place {
        // In memory where that is possible: hundreds of runs sync every write to the disk.
        let memory = Path::new("/dev/shm");
        let folder =
            if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let place = Place { folder: folder.unwrap() };
        fs::create_dir(place.root()).unwrap();
        if let Some(content) = content {
            fs::create_dir(place.root().join(".cursor")).unwrap();
            fs::write(place.file(), content).unwrap();
        }
        place
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn file(&self) -> PathBuf {
        self.root().join(".cursor/hooks.json")
    }

    fn text(&self) -> Option<String> {
        fs::read_to_string(self.file()).ok()
    }

    fn start(&self, mode: &str, rest: &[&str]) -> Holder {
        let mut child = Command::new(HOLDER)
            .arg(mode)
            .args([self.root(), self.state()])
            .args(rest)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Holder { child, out }
    }

    /// Repairs what is left, and fails where that is not possible.
    fn put_right(&self) {
        for repaired in repair(&self.state()) {
            repaired.result.unwrap();
        }
    }

    /// Everything in the project, so that nothing of ours is left beside the file.
    fn listing(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.root()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path.clone());
                }
                found.push(path);
            }
        }
        found.sort();
        found
    }
}

struct Holder {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
}

impl Holder {
    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).unwrap())
    }

    fn hear(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    fn go_on(&mut self) {
        writeln!(self.child.stdin.as_mut().unwrap()).unwrap();
    }

    fn end(mut self) {
        self.go_on();
        assert_eq!(self.hear(), "ended");
        assert!(self.child.wait().unwrap().success());
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + SOON;
    while !done() {
        assert!(Instant::now() < deadline, "waited for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs one whole cycle and kills it at its n-th system call. False when it had ended before that.
fn killed_at(place: &Place, calls: usize) -> bool {
    let holder = place.start("cycle", &["traced"]);
    let pid = holder.pid();
    assert!(matches!(waitpid(pid, None).unwrap(), WaitStatus::Stopped(_, Signal::SIGSTOP)));
    for _ in 0..calls {
        ptrace::syscall(pid, None).unwrap();
        match waitpid(pid, None).unwrap() {
            WaitStatus::Exited(_, code) => {
                assert_eq!(code, 0);
                return false;
            }
            WaitStatus::Stopped(..) => {}
            other => panic!("{other:?}"),
        }
    }
    kill(pid, Signal::SIGKILL).unwrap();
    while !matches!(waitpid(pid, None).unwrap(), WaitStatus::Signaled(..)) {}
    true
}

#[test]
fn killed_at_every_system_call_the_file_comes_back_to_the_byte() {
    let mut deaths = 0;
    for content in [Some(THEIRS), None] {
        let place = Place::new(content);
        let before = place.listing();
        // Two stops for each call, before and after: every other one shows each state once.
        for calls in (0..).step_by(2) {
            if !killed_at(&place, calls) {
                break;
            }
            deaths += 1;
            if calls % 4 == 0 {
                place.put_right();
            } else {
                place.start("cycle", &[]).child.wait().unwrap();
            }
            assert_eq!(place.text().as_deref(), content, "killed at stop {calls}");
            assert_eq!(place.listing(), before, "killed at stop {calls}");
        }
        assert!(repair(&place.state()).is_empty());
    }
    assert!(deaths > 100, "only {deaths}");
}

#[test]
fn killed_at_any_moment_and_with_others_at_work_nothing_is_left() {
    for content in [Some(THEIRS), None, Some("")] {
        let place = Place::new(content);
        let before = place.listing();
        for round in 0..35_u64 {
            let other = (round % 3 == 0).then(|| {
                let mut other = place.start("hold", &[]);
                assert_eq!(other.hear(), "held");
                other
            });
            let victim = place.start("cycle", &[]);
            std::thread::sleep(Duration::from_micros(round * 131 % 4000));
            victim.kill();
            if let Some(other) = other {
                let text = place.text().unwrap();
                assert!(
                    text.contains("hooks-for-tests' hook --agent cursor"),
                    "it is needed: {text}"
                );
                other.end();
            } else {
                place.put_right();
            }
            assert_eq!(place.text().as_deref(), content, "round {round}");
            assert_eq!(place.listing(), before, "round {round}");
        }
    }
}

#[test]
fn many_runs_share_it_in_any_order_and_the_last_one_gives_it_back() {
    let place = Place::new(Some(THEIRS));
    for round in 0..30_usize {
        let mut holders: Vec<Holder> = (0..3).map(|_| place.start("hold", &[])).collect();
        for holder in &mut holders {
            assert_eq!(holder.hear(), "held");
        }
        let text = place.text().unwrap();
        assert_eq!(text.matches("hook --agent cursor").count(), 2, "once for each event: {text}");
        let killed = round % 4;
        for turn in 0..3 {
            let holder = holders.remove((round * 7 + turn * 5) % holders.len());
            if turn == killed {
                holder.kill();
            } else {
                holder.end();
            }
            if !holders.is_empty() {
                assert_eq!(place.text().unwrap(), text, "somebody needs it");
            }
        }
        if killed == 2 {
            assert_eq!(place.text().unwrap(), text, "nobody was there to give it back");
            let repaired = repair(&place.state());
            assert_eq!(repaired.len(), 1);
            assert_eq!(*repaired[0].result.as_ref().unwrap(), Change::Restored);
        }
        assert_eq!(place.text().as_deref(), Some(THEIRS));
    }
}

#[test]
fn the_keeper_gives_it_back_at_once_when_we_are_killed() {
    let place = Place::new(Some(THEIRS));
    let mut holder = place.start("supervise", &["sleep", "30"]);
    let keeper: i32 = holder.hear().parse().unwrap();
    assert_ne!(place.text().as_deref(), Some(THEIRS));
    holder.kill();
    eventually("the file", || place.text().as_deref() == Some(THEIRS));
    eventually("the keeper's end", || !Path::new(&format!("/proc/{keeper}")).exists());
    assert!(repair(&place.state()).is_empty());

    // With both killed, the next one does. We are stopped first, or we would see the keeper's end; a
    // stopped keeper would be continued by ours.
    let mut holder = place.start("supervise", &["sleep", "30"]);
    let keeper: i32 = holder.hear().parse().unwrap();
    let ours = Pid::from_raw(holder.child.id().try_into().unwrap());
    kill(ours, Signal::SIGSTOP).unwrap();
    kill(Pid::from_raw(keeper), Signal::SIGKILL).unwrap();
    holder.child.kill().unwrap();
    holder.child.wait().unwrap();
    eventually("the keeper's end", || !Path::new(&format!("/proc/{keeper}")).exists());
    assert_ne!(place.text().as_deref(), Some(THEIRS));
    assert_eq!(*repair(&place.state())[0].result.as_ref().unwrap(), Change::Restored);
    assert_eq!(place.text().as_deref(), Some(THEIRS));
}

#[test]
fn a_keeper_that_we_end_leaves_it_to_us() {
    let place = Place::new(None);
    let mut holder = place.start("supervise", &["sleep", "30"]);
    holder.hear();
    let began = Instant::now();
    holder.go_on();
    assert_eq!(holder.hear(), "keeper gone");
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    assert!(place.text().is_some(), "the next attempt of the same run needs it");
    holder.end();
    assert!(place.listing().is_empty(), "{:?}", place.listing());
}

#[test]
fn what_somebody_writes_meanwhile_survives_every_kind_of_end() {
    for killed in [false, true] {
        let place = Place::new(Some(THEIRS));
        let mut holder = place.start("hold", &[]);
        assert_eq!(holder.hear(), "held");
        let edited = place.text().unwrap().replace("./guard", "./better-guard");
        fs::write(place.file(), edited).unwrap();
        if killed {
            holder.kill();
            assert_eq!(*repair(&place.state())[0].result.as_ref().unwrap(), Change::Edited);
        } else {
            holder.end();
        }
        assert_eq!(place.text().unwrap(), THEIRS.replace("./guard", "./better-guard"));
    }
}

/// Lets one whole cycle run, and does something at its n-th stop. False when it had ended before.
fn disturbed_at(place: &Place, stop: usize, disturb: impl FnOnce()) -> bool {
    let holder = place.start("cycle", &["traced"]);
    let pid = holder.pid();
    assert!(matches!(waitpid(pid, None).unwrap(), WaitStatus::Stopped(_, Signal::SIGSTOP)));
    let mut disturb = Some(disturb);
    for stops in 0.. {
        if stops == stop {
            disturb.take().unwrap()();
        }
        ptrace::syscall(pid, None).unwrap();
        match waitpid(pid, None).unwrap() {
            WaitStatus::Exited(_, code) => {
                assert_eq!(code, 0);
                break;
            }
            WaitStatus::Stopped(..) => {}
            other => panic!("{other:?}"),
        }
    }
    disturb.is_none()
}

#[test]
fn what_somebody_saves_at_any_system_call_is_not_lost() {
    for (content, edit) in [(Some(THEIRS), "// edited\n"), (None, "{} // new\n")] {
        for stop in (0..).step_by(2) {
            let place = Place::new(content);
            let edited = || {
                // As an editor does: what is there with a change, as a new file in place of it.
                let text = format!("{edit}{}", place.text().unwrap_or_default());
                fs::create_dir_all(place.root().join(".cursor")).unwrap();
                let beside = place.file().with_extension("editor");
                fs::write(&beside, text).unwrap();
                fs::rename(&beside, place.file()).unwrap();
            };
            // A new file over one of ours would be no JSON.
            let ours_alone = || content.is_none() && place.text().is_some();
            let mut edited_it = false;
            let there = disturbed_at(&place, stop, || {
                edited_it = !ours_alone();
                if edited_it {
                    edited();
                }
            });
            let expected = if edited_it {
                Some(format!("{edit}{}", content.unwrap_or_default()))
            } else {
                content.map(str::to_owned)
            };
            place.put_right();
            assert_eq!(place.text(), expected, "edited at stop {stop}");
            if !there {
                break;
            }
        }
    }
}
