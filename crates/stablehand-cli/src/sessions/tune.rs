//! `sessions tune`: what each value of each limit would have done to past runs.
//!
//! Owns the groups (one agent, one model) and how they are printed. What counts as caught and as
//! stopped for nothing, and which value is worth proposing, is
//! `stablehand_analysis::rerun::tune`'s.

use super::find;
use super::read::{PlaceArgs, each_record};
use crate::env::Env;
use crate::failure::Failure;
use crate::output::{Look, Paint, Table, print, print_json, say};
use serde::Serialize;
use stablehand_analysis::rerun::tune::{ENOUGH, Trial, try_out};
use stablehand_analysis::rerun::{RunSilences, Survey};
use stablehand_core::id::is_called;
use stablehand_core::monitor::{Limits, TimeLimit};
use stablehand_core::text::one_line;
use stablehand_core::time::human;
use stablehand_store::logs_newest_first;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

/// Try limits on past runs
#[derive(Debug, clap::Args)]
pub struct TuneArgs {
    #[command(flatten)]
    place: PlaceArgs,

    /// Only runs of this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,

    /// For programs: one JSON document with every value that was tried
    #[arg(long)]
    json: bool,
}

/// The runs of one agent with one model.
#[derive(Serialize)]
struct Group {
    agent: String,
    model: Option<String>,
    runs: usize,
    hung: usize,
    /// Whether any limit has enough runs to go by.
    enough: bool,
    /// The flags to paste; empty where there are too few runs.
    flags: Vec<String>,
    limits: Vec<Trial>,
}

/// Runs it.
pub(super) fn main(args: &TuneArgs) -> Result<u8, Failure> {
    let env = Env::read()?;
    let folder = args.place.folder(&env)?;
    let logs = logs_newest_first(&folder)?;
    if logs.is_empty() {
        return Err(find::none(&folder));
    }
    let mut runs: Vec<RunSilences> = Vec::new();
    let (mut skipped, mut unread) = (0, 0);
    for log in &logs {
        let mut survey = Survey::default();
        let read = each_record(log, |record| {
            survey.record(record);
            Ok(())
        });
        // One that is gone or not ours to read says nothing about the others.
        unread += u64::from(read.is_err());
        let (found, broken) = survey.finish();
        runs.extend(found);
        skipped += broken;
    }
    runs.retain(|run| args.agent.as_ref().is_none_or(|agent| is_called(&run.agent, agent)));
    if skipped + unread > 0 {
        say(&format!(
            "WARN {skipped} line(s) are no records and {unread} log(s) could not be read in `{}`",
            folder.display()
        ));
    }
    let groups = grouped(&runs);
    if args.json {
        return print_json(&serde_json::json!({
            "folder": folder.to_string_lossy(),
            "logs": logs.len(),
            "enough": ENOUGH,
            "groups": groups,
        }));
    }
    print(&words(&groups, logs.len(), Paint::new(&env)))
}

fn grouped(runs: &[RunSilences]) -> Vec<Group> {
    let mut groups: BTreeMap<(&str, Option<&str>), Vec<&RunSilences>> = BTreeMap::new();
    for run in runs {
        groups.entry((run.agent.as_str(), run.model.as_deref())).or_default().push(run);
    }
    groups
        .into_iter()
        .map(|((agent, model), runs)| {
            let limits = try_out(&runs);
            Group {
                agent: agent.to_owned(),
                model: model.map(str::to_owned),
                runs: runs.len(),
                hung: runs.iter().filter(|run| run.hang.is_some()).count(),
                enough: limits.iter().any(|trial| trial.proposed.is_some()),
                flags: flags(&limits),
                limits,
            }
        })
        .collect()
}

/// The flags that set what is proposed.
fn flags(limits: &[Trial]) -> Vec<String> {
    let proposed = |limit| limits.iter().find(|it| it.limit == limit).and_then(|it| it.proposed);
    let mut flags = Vec::new();
    for limit in TimeLimit::ALL {
        let value = match proposed(limit) {
            Some(value) => value,
            // The idle limit would hold for the first response, too, which nobody has looked at.
            None if limit == TimeLimit::FirstResponse && proposed(TimeLimit::Idle).is_some() => {
                Limits::modern().first_response
            }
            None => continue,
        };
        let (flag, class) = flag(limit);
        flags.push(match class {
            None => format!("{flag} {}", short(value)),
            Some(class) => format!("{flag} {class}={}", short(value)),
        });
    }
    flags
}

/// The flag of `run` that sets a limit, and the class of tools that it is about.
fn flag(limit: TimeLimit) -> (&'static str, Option<&'static str>) {
    const CLASS: &str = "--class-timeout";
    match limit {
        TimeLimit::Startup => ("--startup-timeout", None),
        TimeLimit::FirstResponse => ("--first-response-timeout", None),
        TimeLimit::Idle => ("--idle-timeout", None),
        TimeLimit::ToolGrace => ("--tool-grace", None),
        TimeLimit::Execute => (CLASS, Some("execute")),
        TimeLimit::Mcp => (CLASS, Some("mcp")),
        TimeLimit::SubAgent => (CLASS, Some("sub-agent")),
        TimeLimit::Local => (CLASS, Some("local")),
        TimeLimit::Fetch => (CLASS, Some("fetch")),
        TimeLimit::Other => (CLASS, Some("other")),
        TimeLimit::NoProgress => ("--no-progress-timeout", None),
        TimeLimit::ExitGrace => ("--exit-grace", None),
    }
}

/// A duration as a flag takes it.
fn short(duration: Duration) -> String {
    let secs = duration.as_secs();
    match secs {
        _ if duration.subsec_nanos() > 0 => format!("{}ms", duration.as_millis()),
        s if s > 0 && s % 3600 == 0 => format!("{}h", s / 3600),
        s if s > 0 && s % 60 == 0 => format!("{}m", s / 60),
        s => format!("{s}s"),
    }
}

fn words(groups: &[Group], logs: usize, paint: Paint) -> String {
    let mut out = String::new();
    if groups.is_empty() {
        return format!("no run is in these {logs} log(s)\n");
    }
    for group in groups {
        let model = group.model.as_deref().map(|model| format!(", {model}")).unwrap_or_default();
        let head = format!("{}{model}: {} run(s), {} hung", group.agent, group.runs, group.hung);
        let _infallible = writeln!(out, "{}", paint.bold(&one_line(&head)));
        out.push_str(&table(group).render(paint, 2));
        let last = if group.flags.is_empty() {
            paint.warn(&format!(
                "too few runs to propose anything: a limit needs {ENOUGH} that waited by it"
            ))
        } else {
            format!("proposed: {}", group.flags.join(" "))
        };
        let _infallible = writeln!(out, "  {last}");
        out.push('\n');
    }
    out.push_str(
        "CAUGHT: runs that hung by this limit and would have been stopped, LATE: after so long a \
         silence, half of them.\nKILLED: runs that were silent for longer and went on.\n",
    );
    out
}

/// The values at which something changes, and the proposed one.
fn table(group: &Group) -> Table {
    let mut table =
        Table::headed(&["LIMIT", "RUNS", "SURVIVED", "VALUE", "CAUGHT", "LATE", "KILLED", ""]);
    let plain_cell = |text: String| (text, Look::Plain);
    for trial in &group.limits {
        let (flag, class) = flag(trial.limit);
        let name = class.map_or_else(|| flag.to_owned(), |class| format!("{flag} {class}"));
        let mut first = true;
        for (n, rung) in trial.rungs.iter().enumerate() {
            let before = n.checked_sub(1).and_then(|n| trial.rungs.get(n));
            let as_before = before
                .is_some_and(|before| (before.caught, before.killed) == (rung.caught, rung.killed));
            let proposed = trial.proposed == Some(rung.value);
            if as_before && !proposed {
                continue;
            }
            let remark = match trial.proposed {
                _ if proposed => ("proposed".to_owned(), Look::Good),
                None if first => (format!("too few runs (of {ENOUGH})"), Look::Warn),
                _ => (String::new(), Look::Plain),
            };
            let once = |text: String| if first { text } else { String::new() };
            let killed = if rung.killed > 0 { Look::Bad } else { Look::Plain };
            table.row(vec![
                plain_cell(once(name.clone())),
                plain_cell(once(trial.runs.to_string())),
                plain_cell(once(human(trial.survived))),
                plain_cell(short(rung.value)),
                plain_cell(rung.caught.to_string()),
                plain_cell(rung.late.map(human).unwrap_or_default()),
                (rung.killed.to_string(), killed),
                remark,
            ]);
            first = false;
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_flags_take_them() {
        let shown = [1, 30, 60, 90, 300, 3600, 7200].map(|s| short(Duration::from_secs(s)));
        assert_eq!(shown, ["1s", "30s", "1m", "90s", "5m", "1h", "2h"]);
        assert_eq!(short(Duration::from_millis(1500)), "1500ms");
        assert_eq!(short(Duration::ZERO), "0s");
    }
}
