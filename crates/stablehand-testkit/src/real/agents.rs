//! The table of the real agent programs: what each one is told, and what a case must know of it.
//!
//! Owns the settings and variables with which a program asks the fake model and nothing else, reports
//! nothing, and never updates itself. One more program is one more variant and its row here, a line in
//! `tools/real-agents`, and its name in `for_all_agents!` of the tests.

use serde_json::json;
use std::fs;
use std::path::Path;

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
    /// GitHub's Copilot CLI.
    Copilot,
    /// Qwen Code.
    Qwen,
}

/// A program in the tests: how it is prepared, and how its stream differs from the others.
#[derive(Debug, Clone, Copy)]
pub struct RealRow {
    /// Its name for `--agent`, and of its program.
    pub name: &'static str,
    /// The program that speaks the Agent Client Protocol for it, and its arguments then.
    pub(super) acp: (&'static str, &'static str),
    /// Whether it needs a newer node than most machines have.
    pub(super) needs_own_node: bool,
    /// Writes its settings into the home and returns its variables, for a model at that address.
    pub(super) prepare: fn(home: &Path, base_url: &str) -> Vec<(&'static str, String)>,
    /// What it puts behind a prompt that it reads from standard input.
    pub(super) behind_prompt: &'static str,
    /// Where an event of a run tells the tokens that the model wrote; none where no event does.
    pub output_tokens: Option<&'static str>,
    /// Whether it shows a text while the model still writes it.
    pub shows_pieces: bool,
    /// Whether it shows the model's reasoning.
    pub shows_reasoning: bool,
    /// Whether its stream has the exit code of a command.
    pub tells_exit_codes: bool,
    /// Whether it shows a call of a tool that it does not have.
    pub shows_unknown_tools: bool,
    /// Whether it shows something before the model answers.
    pub speaks_first: bool,
    /// Whether it leaves the children of a command running when its turn is over.
    pub leaves_children: bool,
}

/// What holds for most of them.
const MOST: RealRow = RealRow {
    name: "",
    acp: ("", ""),
    needs_own_node: false,
    prepare: |_, _| Vec::new(),
    behind_prompt: "",
    output_tokens: Some("/usage/turn/output"),
    shows_pieces: true,
    shows_reasoning: true,
    tells_exit_codes: true,
    shows_unknown_tools: true,
    speaks_first: true,
    leaves_children: true,
};

impl RealAgent {
    /// Its name for `--agent`, and of its program.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Its row of the table.
    pub fn row(self) -> RealRow {
        match self {
            RealAgent::Claude => RealRow {
                name: "claude",
                // This program needs the newer node; Claude Code itself needs none.
                acp: ("claude-agent-acp", ""),
                needs_own_node: true,
                prepare: claude,
                ..MOST
            },
            RealAgent::Codex => RealRow {
                name: "codex",
                acp: ("codex-acp", ""),
                prepare: codex,
                // It counts over the whole session.
                output_tokens: Some("/usage/total/output"),
                shows_pieces: false,
                shows_unknown_tools: false,
                leaves_children: false,
                ..MOST
            },
            RealAgent::Gemini => RealRow {
                name: "gemini",
                acp: ("gemini", " --acp"),
                prepare: gemini,
                shows_reasoning: false,
                tells_exit_codes: false,
                ..MOST
            },
            RealAgent::OpenCode => RealRow {
                name: "opencode",
                acp: ("opencode", " acp"),
                prepare: opencode,
                shows_pieces: false,
                speaks_first: false,
                ..MOST
            },
            RealAgent::Copilot => {
                RealRow { name: "copilot", acp: ("copilot", " --acp"), prepare: copilot, ..MOST }
            }
            RealAgent::Qwen => RealRow {
                name: "qwen",
                acp: ("qwen", " --acp"),
                needs_own_node: true,
                prepare: qwen,
                behind_prompt: "\n\n",
                ..MOST
            },
        }
    }
}

fn own(name: &'static str, value: &str) -> (&'static str, String) {
    (name, value.to_owned())
}

fn claude(_: &Path, base_url: &str) -> Vec<(&'static str, String)> {
    vec![
        own("ANTHROPIC_BASE_URL", base_url),
        own("ANTHROPIC_API_KEY", "sk-ant-key-0123456789"),
        own("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        own("CLAUDE_CODE_MAX_RETRIES", "2"),
        // Without it, it refuses to run everything unasked as root.
        own("IS_SANDBOX", "1"),
    ]
}

/// Plugins are off because it would ask GitHub for them and wait for the answer before it exits.
fn codex(home: &Path, base_url: &str) -> Vec<(&'static str, String)> {
    let config = format!(
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
    );
    write(&home.join(".codex/config.toml"), &config);
    vec![own("FAKE_MODEL_KEY", "key-0123456789")]
}

fn gemini(home: &Path, base_url: &str) -> Vec<(&'static str, String)> {
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

fn opencode(home: &Path, base_url: &str) -> Vec<(&'static str, String)> {
    let options = json!({"baseURL": format!("{base_url}/v1"), "apiKey": "key-0123456789"});
    let limit = json!({"context": 2_000_000, "output": 8192});
    let provider = json!({
        "npm": "@ai-sdk/openai-compatible",
        "name": "Fake",
        "options": options,
        "models": {"fake-model": {"name": "Fake model", "limit": limit}},
    });
    let config = json!({
        "autoupdate": false,
        "share": "disabled",
        "model": "fake/fake-model",
        "small_model": "fake/fake-model",
        "enabled_providers": ["fake"],
        "provider": {"fake": provider},
    });
    write(&home.join(".config/opencode/opencode.json"), &config.to_string());
    vec![
        own("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        own("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
        own("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
    ]
}

/// It replaces the value of its key wherever it would print it, so the key is no word of a scene.
fn copilot(_: &Path, base_url: &str) -> Vec<(&'static str, String)> {
    vec![
        own("COPILOT_PROVIDER_BASE_URL", &format!("{base_url}/v1")),
        own("COPILOT_PROVIDER_TYPE", "openai"),
        own("COPILOT_PROVIDER_API_KEY", "key-0123456789"),
        own("COPILOT_MODEL", "fake-model"),
        own("COPILOT_OFFLINE", "true"),
    ]
}

fn qwen(home: &Path, base_url: &str) -> Vec<(&'static str, String)> {
    let settings = json!({
        "privacy": {"usageStatisticsEnabled": false},
        "general": {"enableAutoUpdate": false},
        "telemetry": {"enabled": false},
        "security": {"auth": {"selectedType": "openai"}},
        // It would ask the model after each answer what to remember.
        "memory": {"enableManagedAutoMemory": false, "enableManagedAutoDream": false},
    });
    write(&home.join(".qwen/settings.json"), &settings.to_string());
    vec![
        own("OPENAI_API_KEY", "key-0123456789"),
        own("OPENAI_BASE_URL", &format!("{base_url}/v1")),
        own("OPENAI_MODEL", "fake-model"),
    ]
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("making a folder in the home");
    fs::write(path, text).expect("writing a configuration");
}
