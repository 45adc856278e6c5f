//! `sessions replay --check`: whether decoder and monitor decide today what they decided then.

use super::super::read::each_record;
use crate::env::Env;
use crate::failure::Failure;
use crate::output::figures::many;
use crate::output::{Paint, print, print_json};
use serde::Serialize;
use stablehand_analysis::rerun::{Check, Difference, Report, Sort};
use stablehand_core::text::one_line;
use std::fmt::Write as _;
use std::path::Path;

/// What was found, for programs.
#[derive(Serialize)]
struct Checked<'a> {
    log: std::borrow::Cow<'a, str>,
    same: bool,
    #[serde(flatten)]
    report: &'a Report,
}

/// Runs it.
pub(super) fn main(log: &Path, json: bool, env: &Env) -> Result<u8, Failure> {
    let mut check = Check::default();
    each_record(log, |record| {
        check.record(record);
        Ok(())
    })?;
    let report = check.finish();
    let same = report.differing == 0;
    if json {
        print_json(&Checked { log: log.to_string_lossy(), same, report: &report })?;
    } else {
        print(&words(&report, Paint::new(env)))?;
    }
    Ok(u8::from(!same))
}

fn words(report: &Report, paint: Paint) -> String {
    let looked = format!("{}, {}", many(report.runs, "run"), many(report.decisions, "decision"));
    let verdict = match report.differing {
        0 => paint.good("nothing differs"),
        n => paint.bad(&format!("{} from what was decided then", many(n, "difference"))),
    };
    let mut out = format!("{looked}: {verdict}{}\n", remarks(report));
    for difference in &report.differences {
        let _infallible = writeln!(out, "  {}", line(difference));
    }
    let more = report.differing.saturating_sub(report.differences.len() as u64);
    if more > 0 {
        let _infallible = writeln!(out, "  and {more} more");
    }
    out
}

/// What could not be looked at.
fn remarks(report: &Report) -> String {
    let mut remarks = Vec::new();
    if report.without_limits > 0 {
        remarks.push(format!(
            "{} of an older version, without limits: only calls, session and end were compared",
            report.without_limits
        ));
    }
    if report.unfinished > 0 {
        remarks.push(format!("{} without an end", report.unfinished));
    }
    if report.lossy > 0 {
        remarks.push(format!("{} that the log has lost a part of", report.lossy));
    }
    if report.skipped > 0 {
        remarks.push(format!("{} line(s) that are no records", report.skipped));
    }
    if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join("; ")) }
}

fn line(difference: &Difference) -> String {
    let time = difference.at.rfc3339();
    let time = time.get(11..23).unwrap_or(&time);
    let none = || "nothing".to_owned();
    let expected = difference.expected.clone().unwrap_or_else(none);
    let recorded = difference.recorded.clone().unwrap_or_else(none);
    let what = match difference.sort {
        Sort::Missing => format!("now decided, not in the log: {expected}"),
        Sort::Unexpected => format!("in the log, not decided now: {recorded}"),
        Sort::Overslept => format!("nobody judged in time: {expected}"),
        Sort::Ending => format!("the end: now {expected}, in the log {recorded}"),
    };
    // Ids are the agent's words.
    format!("line {}, {time}: {}", difference.line, one_line(&what))
}
