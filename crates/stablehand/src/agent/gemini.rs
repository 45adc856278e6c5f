//! Google's Gemini CLI.
//!
//! Its launcher starts itself once more and passes no signal on; it is told not to. It tries failed
//! requests again for minutes without a word. It exits with an HTTP status that was cut to eight
//! bits, which looks like a signal and is none.

mod hooks;
mod manage;

use super::plan::{PromptBy, WITHOUT_READING, flag, option, words};
use super::terminal::{CTRL_C_TWICE, PromptForm, TerminalForm};
use super::{AcpForm, Asks, ExitMeaning, Mode, PlanRequest, Row, ToolsSeen, Workspace};
use stablehand_core::Dialect;
use stablehand_core::event::FailureKind;
use stablehand_core::monitor::Limits;
use std::ffi::OsString;
use std::time::Duration;

const MODES: &[(Mode, &[&str])] =
    &[(Mode::Plan, &["--approval-mode", "plan"]), (Mode::Edit, &["--approval-mode", "auto_edit"])];

pub(super) static ROW: Row = Row {
    name: "gemini",
    programs: &["gemini"],
    dialect: Dialect::Gemini,
    arguments: Some(arguments),
    prompt: PromptBy::StandardInput,
    modes: MODES,
    workspace: Workspace::StartedThere,
    env: &[("GEMINI_CLI_NO_RELAUNCH", Some("true"))],
    two_way: None,
    acp: Some(AcpForm {
        programs: &["gemini"],
        install: None,
        arguments: &["--acp"],
        logins: &[("GEMINI_API_KEY", "gemini-api-key")],
        offers: WITHOUT_READING,
        asks: Asks::Changes,
    }),
    tools: ToolsSeen::BeginningAndEnd,
    exit_codes: &[
        ExitMeaning {
            code: 41,
            failure: FailureKind::Auth,
            text: "no way to log in is set; run `gemini` once, or set GEMINI_API_KEY",
        },
        ExitMeaning {
            code: 42,
            failure: FailureKind::BadRequest,
            text: "it did not accept its arguments, or has no such session",
        },
        ExitMeaning {
            code: 44,
            failure: FailureKind::Internal,
            text: "its sandbox could not be started",
        },
        ExitMeaning { code: 52, failure: FailureKind::BadRequest, text: "its settings are wrong" },
        ExitMeaning {
            code: 55,
            failure: FailureKind::Approval,
            text: "the workspace is not trusted; trust it once in `gemini`, or set \
                   GEMINI_CLI_TRUST_WORKSPACE=true",
        },
        ExitMeaning { code: 144, failure: FailureKind::BadRequest, text: "HTTP status 400" },
        ExitMeaning { code: 145, failure: FailureKind::Auth, text: "HTTP status 401" },
        ExitMeaning { code: 147, failure: FailureKind::Auth, text: "HTTP status 403" },
        ExitMeaning { code: 173, failure: FailureKind::RateLimit, text: "HTTP status 429" },
        ExitMeaning { code: 244, failure: FailureKind::Overloaded, text: "HTTP status 500" },
    ],
    limits,
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

/// Ten silent tries with growing pauses take up to six minutes.
fn limits(limits: &mut Limits) {
    if limits.idle_is_default {
        limits.idle = limits.idle.max(Duration::from_mins(7));
        limits.first_response = limits.first_response.max(Duration::from_mins(7));
    }
}

fn arguments(request: &PlanRequest) -> Vec<OsString> {
    let mut args = words(&["--output-format", "stream-json"]);
    everywhere(&mut args, request);
    args
}

/// The arguments that are the same at a terminal.
fn everywhere(args: &mut Vec<OsString>, request: &PlanRequest) {
    option(args, "--resume", request.resume.as_ref().map(|id| &id.0));
    option(args, "--resume", request.continue_latest.then_some("latest"));
    option(args, "--model", request.model.as_ref());
    args.extend(request.mode_words(MODES));
    flag(args, "--yolo", request.force);
    args.extend(request.extra.iter().cloned());
}

fn at_terminal(request: &PlanRequest, prompt: Option<&str>) -> Vec<OsString> {
    let mut args = Vec::new();
    everywhere(&mut args, request);
    args.extend(prompt.map(|prompt| format!("--prompt-interactive={prompt}").into()));
    args
}
