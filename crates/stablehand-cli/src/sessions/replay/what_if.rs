//! `sessions replay` with limits: what would have been decided with these.

use super::super::read::each_record;
use crate::env::Env;
use crate::failure::Failure;
use crate::limits::LimitArgs;
use crate::output::{Paint, print, print_json};
use crate::redact::RedactArgs;
use serde_json::json;
use stablehand::agent::Agent;
use stablehand_analysis::rerun::{Finding, Hypothesis, WhatIf};
use stablehand_core::text::{one_line, plain};
use stablehand_core::time::human;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// Runs it.
pub(super) fn main(log: &Path, limits: &LimitArgs, json: bool, env: &Env) -> Result<u8, Failure> {
    let mut what_if =
        WhatIf::new(|header, known| limits.instead_of(known, Agent::by_name(&header.agent)));
    each_record(log, |record| {
        what_if.record(record);
        Ok(())
    })?;
    let findings = what_if.finish();
    // Words of verdicts hold commands, which no redactor has seen here.
    let redaction = RedactArgs::default().redaction(&[]);
    if json {
        let mut value = json!({ "log": log.to_string_lossy(), "runs": findings });
        if let Some(redaction) = &redaction {
            redaction.redactor.redact_json(&mut value);
        }
        return print_json(&value);
    }
    let mut text = words(&findings, Paint::new(env));
    if let Some(redaction) = &redaction {
        text = redaction.redactor.redact(&text).into_owned();
    }
    print(&text)
}

fn span(ms: u64) -> String {
    human(Duration::from_millis(ms))
}

fn words(findings: &[Finding], paint: Paint) -> String {
    if findings.is_empty() {
        return "no run is in this log\n".to_owned();
    }
    let mut out = String::new();
    for finding in findings {
        let ended = match (&finding.outcome, finding.actual) {
            (_, Some((_, at))) => format!("given up after {}", span(at)),
            (Some(outcome), None) => {
                format!("{} after {}", plain(outcome).replace('_', " "), span(finding.ended_ms))
            }
            (None, None) => format!("the log breaks off after {}", span(finding.ended_ms)),
        };
        let run = format!("run {} ({}, {ended})", finding.run.0, finding.agent);
        let _infallible = writeln!(out, "{}", paint.bold(&one_line(&run)));
        if !finding.limits_known {
            out.push_str("  the log does not say what limits held; compared with today's\n");
        }
        match &finding.verdict {
            None => out.push_str("  would have been let alone\n"),
            Some(verdict) => out.push_str(&verdict_words(finding, verdict, paint)),
        }
        if let Some(at) = finding.overdue_ms {
            let _infallible = writeln!(
                out,
                "  would have been told to go after {}, because it had not exited by then",
                span(at)
            );
        }
    }
    out
}

fn verdict_words(finding: &Finding, verdict: &Hypothesis, paint: Paint) -> String {
    let time = verdict.at.rfc3339();
    let time = time.get(..19).unwrap_or(&time).replace('T', " ");
    let text = one_line(&verdict.text);
    let mut out =
        format!("  would have been given up after {} ({time} UTC): {text}\n", span(verdict.at_ms));
    let (what, then) = match finding.actual {
        Some((_, at)) => ("it was given up", at),
        None => ("it ended", finding.ended_ms),
    };
    let order = match verdict.at_ms.cmp(&then) {
        std::cmp::Ordering::Less => format!("{} before {what}", span(then - verdict.at_ms)),
        std::cmp::Ordering::Equal => format!("when {what}"),
        std::cmp::Ordering::Greater => format!("{} after {what}", span(verdict.at_ms - then)),
    };
    let after = match verdict.heard_after_ms {
        Some(ms) => paint.bad(&format!("the agent was heard again {} later", span(ms))),
        None => "nothing was heard of the agent after that".to_owned(),
    };
    let _infallible = writeln!(out, "  that is {order}; {after}");
    for tool in &verdict.evidence.open_tools {
        let command = one_line(&tool.command);
        let _infallible = writeln!(out, "  open for {}: {command}", span(tool.elapsed_ms));
    }
    out
}
