//! Anthropic's Claude Code.
//!
//! It prints its stream only with `--verbose`. It must not believe that it runs inside of itself,
//! and it must not replace itself in the middle of a run. In a conversation it takes prompts as
//! JSON lines, and `--permission-prompt-tool stdio` makes it ask there too.

mod hooks;
mod manage;

use super::mcp;
use super::plan::{EVERYTHING, PromptBy, flag, option, words};
use super::terminal::{CTRL_C_TWICE, PromptForm, TerminalForm, push_prompt};
use super::{AcpForm, Asks, Mode, PlanRequest, Row, ToolsSeen, TwoWay, Workspace, as_they_are};
use stablehand_core::Dialect;
use stablehand_core::mcp::McpTakes;
use std::ffi::OsString;

const MODES: &[(Mode, &[&str])] = &[
    (Mode::Plan, &["--permission-mode", "plan"]),
    (Mode::Edit, &["--permission-mode", "acceptEdits"]),
];

/// Settings that make it ask about every tool; rules of the user's own that allow do not count then.
/// The tools by name are for versions that do not know the star.
const ASK_ALWAYS: &str = concat!(
    r#"{"permissions":{"ask":["*","Bash","Edit","Write","MultiEdit","NotebookEdit","Read","Glob","#,
    r#""Grep","LS","WebFetch","WebSearch","Task","Skill","mcp__*"]}}"#
);

pub(super) static ROW: Row = Row {
    name: "claude",
    programs: &["claude"],
    dialect: Dialect::Claude,
    arguments: Some(arguments),
    prompt: PromptBy::StandardInput,
    modes: MODES,
    workspace: Workspace::StartedThere,
    env: &[
        ("CLAUDECODE", None),
        ("CLAUDE_CODE_ENTRYPOINT", None),
        ("DISABLE_AUTOUPDATER", Some("1")),
        ("DISABLE_TELEMETRY", Some("1")),
        ("DISABLE_ERROR_REPORTING", Some("1")),
    ],
    two_way: Some(TwoWay {
        dialect: Dialect::Claude,
        arguments: two_way,
        images: true,
        mcp: McpTakes { stdio: true, http: true, sse: true },
        asks: Asks::Everything,
    }),
    acp: Some(AcpForm {
        programs: &["claude-agent-acp"],
        install: Some("npm install -g @agentclientprotocol/claude-agent-acp"),
        arguments: &[],
        logins: &[],
        offers: EVERYTHING,
        asks: Asks::Changes,
    }),
    tools: ToolsSeen::BeginningAndEnd,
    // It exits with 1 for every failure, and its last line says which.
    exit_codes: &[],
    limits: as_they_are,
    can: manage::CAN,
    manage: manage::RECIPES,
    hooks: Some(hooks::FORM),
    history: &[manage::TRANSCRIPTS],
    terminal: Some(TerminalForm {
        arguments: at_terminal,
        prompt: PromptForm::Argument,
        leave: CTRL_C_TWICE,
    }),
};

fn arguments(request: &PlanRequest) -> Vec<OsString> {
    let mut args = words(&["-p"]);
    common(&mut args, request);
    args
}

fn two_way(request: &PlanRequest) -> Vec<OsString> {
    let mut args =
        words(&["-p", "--input-format", "stream-json", "--permission-prompt-tool", "stdio"]);
    args.extend(mcp::as_config(&request.mcp));
    common(&mut args, request);
    if request.asks_always {
        // Last, so that no other settings take its place.
        option(&mut args, "--settings", Some(ASK_ALWAYS));
    }
    args
}

fn common(args: &mut Vec<OsString>, request: &PlanRequest) {
    args.extend(words(&["--output-format", "stream-json", "--verbose"]));
    flag(args, "--include-partial-messages", request.partial_output);
    everywhere(args, request);
}

/// What is said in the same words in every form.
fn everywhere(args: &mut Vec<OsString>, request: &PlanRequest) {
    option(args, "--resume", request.resume.as_ref().map(|id| &id.0));
    flag(args, "--continue", request.continue_latest);
    option(args, "--model", request.model.as_ref());
    args.extend(request.mode_words(MODES));
    flag(args, "--dangerously-skip-permissions", request.force);
    args.extend(request.extra.iter().cloned());
}

fn at_terminal(request: &PlanRequest, prompt: Option<&str>) -> Vec<OsString> {
    let mut args = Vec::new();
    everywhere(&mut args, request);
    push_prompt(&mut args, prompt);
    args
}
