//! Questions and answers: a person at a real terminal, a program at a descriptor, and what is left of
//! them in the log.
//!
//! The agents are shims that play a script with several questions.

mod person;
mod program;
mod record;

use crate::support::{bins, secs};
use nix::pty::openpty;
use nix::sys::termios::{LocalFlags, tcgetattr};
use serde_json::Value;
use stablehand_testkit::{Finished, Run, TestEnv};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

/// One question.
const ONE: &str =
    "init\nprompt\nassistant-before-tool May I?\nask c1 30s echo hi\nassistant So be it.\ndone\n";

/// The same twice, and then another.
const THREE: &str = "init\nprompt\nassistant-before-tool May I?\nask c1 30s echo hi\n\
                     ask c2 30s echo hi\nask c3 30s echo ho\nassistant So be it.\ndone\n";

/// A place with shims that play a script, and a policy that asks.
fn place(script: &str) -> TestEnv {
    let env = TestEnv::new(bins());
    fs::write(env.path("agent-script"), script).unwrap();
    let shims = env.path("shims");
    let write = env.stablehand("fake-agent").flag("--script", env.path("agent-script"));
    write.flag("--shims", shims).finish().assert_code(0);
    fs::write(rules(&env), "# mine\n[policy]\ndefault = \"ask\"").unwrap();
    env
}

fn rules(env: &TestEnv) -> PathBuf {
    env.path("rules.toml")
}

/// `stablehand` with that agent, its idle limit short.
fn command<'e>(env: &'e TestEnv, subcommand: &str, agent: &str) -> Run<'e> {
    env.stablehand(subcommand)
        .flag("--agent", agent)
        .flag("--agent-bin", env.path("shims").join(agent))
        .flag("--log-dir", env.log_dir())
        .flag("--startup-timeout", "10s")
        .flag("--idle-timeout", "2s")
        .flag("--exit-grace", "5s")
        .deadline(secs(40))
}

/// `run` with the policy that asks.
fn ruled<'e>(env: &'e TestEnv, agent: &str) -> Run<'e> {
    command(env, "run", agent).flag("--policy", rules(env)).args(["go"])
}

/// The terminal of a person.
pub(crate) struct Terminal {
    master: File,
    slave: File,
    shown: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    pub(crate) fn open() -> Terminal {
        let pair = openpty(None, None).unwrap();
        let (master, slave) = (File::from(pair.master), File::from(pair.slave));
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (mut reader, into) = (master.try_clone().unwrap(), Arc::clone(&shown));
        // The thread ends with the terminal, and the process with the test.
        std::thread::spawn(move || {
            let mut block = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut block) {
                into.lock().unwrap().extend_from_slice(&block[..count]);
            }
        });
        Terminal { master, slave, shown }
    }

    /// Puts a process at this terminal, which then controls it.
    pub(crate) fn seat<'e>(&self, run: Run<'e>) -> Run<'e> {
        run.through(["setsid", "--ctty"])
            .variable("TERM", "xterm")
            .stdin_terminal(self.slave.try_clone().unwrap())
            .stderr_terminal(self.slave.try_clone().unwrap())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).replace('\r', "")
    }

    /// Waits until so many questions have been shown with their keys.
    fn wait_for_question(&self, env: &TestEnv, count: usize) {
        env.wait_for("a question", || self.text().matches("? help:").count() >= count);
    }

    pub(crate) fn wait_for(&self, env: &TestEnv, text: &str) {
        env.wait_for(text, || self.text().contains(text));
    }

    pub(crate) fn press(&mut self, keys: &[u8]) {
        self.master.write_all(keys).unwrap();
    }

    /// Whether lines are typed and seen, as before a question.
    pub(crate) fn is_as_before(&self) -> bool {
        let modes = tcgetattr(&self.slave).unwrap();
        modes.local_flags.contains(LocalFlags::ICANON | LocalFlags::ECHO)
    }
}

/// Whether there is a way to give a process its own terminal.
pub(crate) fn can_seat() -> bool {
    let found = Command::new("setsid").arg("--version").stdout(Stdio::null()).status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        crate::support::skip("a controlling terminal needs `setsid` of util-linux");
    }
    found
}

fn events(run: &Finished, kind: &str) -> Vec<Value> {
    let all = run.stdout_json().into_iter().map(|event| event["event"].clone());
    all.filter(|event| event["type"] == kind).collect()
}

/// The outcomes of the tools, in order.
fn outcomes(run: &Finished) -> Vec<String> {
    let ended = events(run, "item.completed").into_iter();
    ended
        .filter(|event| event["item"]["kind"] == "tool")
        .map(|event| event["item"]["outcome"]["kind"].as_str().unwrap().to_owned())
        .collect()
}
