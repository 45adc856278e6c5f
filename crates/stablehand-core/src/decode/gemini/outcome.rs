//! How Gemini's tools end.
//!
//! A result has a status, what is shown to a person, and for an error its kind and words. A command
//! that fails is a `success`; its exit code is told only in the words that stand in for output
//! where there was none.

use super::super::kit::{cut, digest_of, mix};
use super::fields::Fields;
use crate::event::{Outcome, Tool, ToolKind};
use crate::json::Value;

/// Writes the end of a call into it.
pub(super) fn end(tool: &mut Tool, fields: &Fields<'_>) {
    let status = fields.status.and_then(Value::raw_str).unwrap_or_default();
    let output = fields.output.map(Value::raw).unwrap_or_default();
    let error = fields.error.filter(|error| !error.is_null());
    tool.digest = mix(mix(tool.digest, digest_of(status)), digest_of(output));
    let words = || fields.words().map(cut);
    tool.outcome = Some(match (status, error) {
        (b"success", None) => success(tool, output),
        (b"cancelled" | b"canceled", _) => {
            Outcome::Rejected { reason: words().unwrap_or_else(|| "cancelled".to_owned()) }
        }
        (_, Some(error)) => {
            let kind = error.get("type").and_then(Value::raw_str).unwrap_or_default();
            tool.digest = mix(tool.digest, digest_of(error.raw()));
            of_error(kind, fields.words())
        }
        (b"error", None) => {
            let message = fields.output.and_then(Value::string).map(cut);
            Outcome::Failure { exit_code: None, message }
        }
        _ => Outcome::Unknown,
    });
}

/// What an error of that kind means.
pub(super) fn of_error(kind: &[u8], words: Option<String>) -> Outcome {
    let words = words.map(cut);
    let said = |words: Option<String>| words.unwrap_or_default();
    match kind {
        b"policy_violation" | b"path_not_in_workspace" => Outcome::Denied { reason: said(words) },
        b"stop_execution" | b"execution_denied" => Outcome::Rejected { reason: said(words) },
        b"shell_execute_error" => Outcome::SpawnError { message: said(words) },
        _ => Outcome::Failure { exit_code: None, message: words },
    }
}

/// What a call that is said to have worked really did. The wordings have no characters that JSON
/// escapes, so the output is looked at as it stands.
pub(super) fn success(tool: &mut Tool, output: &[u8]) -> Outcome {
    let shown = output.strip_prefix(b"\"").unwrap_or_default();
    if shown.starts_with(b"[Operation Cancelled]") {
        return Outcome::Rejected { reason: "cancelled".to_owned() };
    }
    if tool.tool_kind != ToolKind::Execute {
        return Outcome::Success;
    }
    let behind = |words: &str| shown.strip_prefix(words.as_bytes());
    if let Some(rest) = behind("Command exited with code: ") {
        let exit_code = number(rest);
        if exit_code != Some(0) {
            return Outcome::Failure { exit_code, message: None };
        }
    } else if let Some(rest) = behind("Command moved to background (PID: ") {
        tool.background = true;
        tool.pid = number(rest).and_then(|pid| u32::try_from(pid).ok());
    } else if behind("Command was automatically cancelled because it exceeded the timeout")
        .is_some()
        || behind("Command timed out").is_some()
    {
        return Outcome::TimedOut;
    } else if let Some(how) =
        ["Command terminated by signal", "Command failed", "Command cancelled"]
            .iter()
            .find(|words| behind(words).is_some())
    {
        return Outcome::Failure { exit_code: None, message: Some((*how).to_owned()) };
    }
    Outcome::Success
}

/// The number that some bytes begin with.
fn number(bytes: &[u8]) -> Option<i32> {
    let is_part = |b: &u8| b.is_ascii_digit() || *b == b'-';
    let end = bytes.iter().position(|b| !is_part(b)).unwrap_or(bytes.len());
    std::str::from_utf8(bytes.get(..end)?).ok()?.parse().ok()
}
