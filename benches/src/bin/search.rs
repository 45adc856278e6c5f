//! `benches/search`: what the index of the logs costs to make, and how quickly it answers, against
//! `rg` over the same logs in the same run.

use stablehand_benches::logs::{self, RARE, RARE_PHRASE, Words};
use stablehand_benches::options::{Options, on_path, sibling, work_folder};
use stablehand_benches::report::{self, Goals, Table, say};
use stablehand_benches::stats::median;
use stablehand_benches::{Outcome, proc};
use stablehand_store::query::{Search, Terms};
use stablehand_store::{FILE, Store};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn main() -> std::process::ExitCode {
    report::exit(measure())
}

fn measure() -> Outcome<()> {
    let options = Options::read(&["--events", "--logs", "--rounds", "--sessions"])?;
    let (events, count) = (options.number("--events", 1_000_000)?, options.number("--logs", 100)?);
    let rounds = options.number("--rounds", 9)?;
    let folder = work_folder()?;
    let logs = folder.path().join("logs");
    std::fs::create_dir(&logs)?;
    let mut words = Words::default();
    let bytes = logs::write(&logs, &mut words, count, events)?;
    let mut goals = Goals::default();
    indexing(&logs, events, bytes, &mut goals)?;
    let program = sibling("stablehand")?;
    searching(&program, &logs, &words, rounds, &mut goals)?;
    listing(&program, folder.path(), options.number("--sessions", 10_000)?, rounds, &mut goals)?;
    goals.print()
}

/// What indexing takes, with and without what makes text searchable, one after the other so that
/// both have the same machine.
fn indexing(logs: &Path, events: usize, bytes: u64, goals: &mut Goals) -> Outcome<()> {
    say(format!("{events} events, {} MB, load {}", bytes / 1_000_000, proc::load()))?;
    let mut table = Table::new(&["indexing", "s", "CPU s", "events/s", "events/CPU s", "MB/s"]);
    let mut speeds = Vec::new();
    let mut row = |name: &str, work: &mut dyn FnMut() -> Outcome<()>| -> Outcome<f64> {
        let (began, cpu) = (Instant::now(), proc::own_cpu()?);
        work()?;
        let (took, cpu) = (began.elapsed(), proc::own_cpu()?.saturating_sub(cpu));
        let per = |time: Duration| events as f64 / time.as_secs_f64();
        table.row([
            name.to_owned(),
            format!("{:.2}", took.as_secs_f64()),
            format!("{:.2}", cpu.as_secs_f64()),
            format!("{:.0}", per(took)),
            format!("{:.0}", per(cpu)),
            format!("{:.1}", bytes as f64 / 1e6 / took.as_secs_f64()),
        ]);
        Ok(per(cpu))
    };
    for _ in 0..3 {
        let without = row("without full text", &mut || {
            Store::index_aside(logs, false)?;
            Ok(())
        })?;
        let with = row("with full text", &mut || {
            Store::index_aside(logs, true)?;
            Ok(())
        })?;
        speeds.push(with / without);
    }
    row("sessions reindex", &mut || {
        Store::reindex(logs, &mut |_| {})?;
        Ok(())
    })?;
    table.print()?;
    let size = std::fs::metadata(logs.join(FILE))?.len();
    say(format!(
        "the index has {} MB, {:.2} x the logs\n",
        size / 1_000_000,
        size as f64 / bytes as f64
    ))?;
    goals.at_least("indexing with full text vs without", median(&speeds), 0.15, "x");
    Ok(())
}

/// So often a question is put to an open index in each round.
const ASKED: usize = 5;

struct Query {
    name: &'static str,
    /// Before the words: whatever follows the first of them is a word too.
    options: Vec<String>,
    words: Vec<String>,
    pattern: String,
    wanted: f64,
    /// Whether there is anything to be found.
    finds: bool,
}

fn queries(words: &Words) -> Vec<Query> {
    let (first, second) = (words.ranked(0).to_owned(), words.ranked(1).to_owned());
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    let query = |name, options: &[&str], words: &[&str], pattern: &str, wanted| Query {
        name,
        options: owned(options),
        words: owned(words),
        pattern: pattern.to_owned(),
        wanted,
        finds: true,
    };
    let phrase = format!("\"{RARE_PHRASE}\"");
    let prefix = format!("{}*", RARE.get(..4).unwrap_or(RARE));
    let either = format!("\\b{first}\\b.*\\b{second}\\b|\\b{second}\\b.*\\b{first}\\b");
    let alone = format!("\\b{first}\\b");
    vec![
        query("rare word", &[], &[RARE], RARE, 100.0),
        query("rare phrase", &[], &[&phrase], RARE_PHRASE, 100.0),
        query("prefix", &[], &[&prefix], &prefix.replace('*', ""), 100.0),
        query("rare word, one agent", &["--agent", "cursor"], &[RARE], RARE, 100.0),
        query("emoji", &[], &["🐴"], "🐴", 1.0),
        query("signs", &[], &["=>"], "=>", 1.0),
        query("script without spaces", &[], &["小屋"], "小屋", 1.0),
        query("common word", &[], &[&first], &alone, 1.0),
        query("common word, newest", &["--newest"], &[&first], &alone, 1.0),
        query("common word, best", &["--best"], &[&first], &alone, 1.0),
        query("two common words", &[], &[&first, &second], &either, 1.0),
        query("common word in messages", &["--in", "message"], &[&first], &alone, 1.0),
        query("common word in prompts", &["--in", "prompt"], &["horses"], "horses", 1.0),
        query("common word, oldest day", &["--until", "2025-10-10"], &[&first], &alone, 1.0),
        Query {
            finds: false,
            ..query("common word, no such agent", &["--agent", "codex"], &[&first], &alone, 1.0)
        },
    ]
}

/// Each question as a person asks it: a process from start to exit.
fn searching(
    program: &Path,
    logs: &Path,
    words: &Words,
    rounds: usize,
    goals: &mut Goals,
) -> Outcome<()> {
    let Some(rg) = on_path("rg") else {
        goals.unknown("search vs rg", "rg is missing; Debian package ripgrep");
        return Ok(());
    };
    let mut table = Table::new(&[
        "search",
        "ms",
        "rg ms",
        "rg / search",
        "asked within a program, ms",
        "rg / that",
        "matches",
        "rg lines",
    ]);
    let store = Store::open(logs)?;
    for Query { name, options, words, pattern, wanted, finds } in queries(words) {
        let ours = || {
            let mut command = Command::new(program);
            command.args(["sessions", "search", "--json", "--limit", "20", "--log-dir"]);
            command.arg(logs).args(&options).args(&words);
            command
        };
        let theirs = || {
            let mut command = Command::new(&rg);
            command
                .args(["--no-config", "--no-ignore", "-g", "*.jsonl", "-e"])
                .arg(&pattern)
                .arg(logs);
            command
        };
        let (mut times, mut peers, mut within) = (Vec::new(), Vec::new(), Vec::new());
        let (mut found, mut lines) = (0, 0);
        let plain = options.is_empty().then(|| Search {
            terms: Terms::of_arguments(&words),
            sessions: 20,
            each: 3,
            ..Search::default()
        });
        for _ in 0..rounds {
            let (took, output) = run(&mut ours(), &[0])?;
            times.push(took);
            found = output.matches("\"snippet\"").count();
            // 1 means that nothing was found.
            let (took, output) = run(&mut theirs(), &[0, 1])?;
            peers.push(took);
            lines = output.lines().count();
            if let Some(wanted) = &plain {
                // Whoever has an index open asks more than once.
                let mut asked = Vec::new();
                for _ in 0..ASKED {
                    let began = Instant::now();
                    store.search(wanted, &|_| false)?;
                    asked.push(began.elapsed().as_secs_f64() * 1e3);
                }
                within.push(median(&asked));
            }
        }
        // A question that is answered quickly because it went wrong is no measurement.
        if finds != (found > 0) || lines == 0 {
            return Err(format!("`{name}` has {found} matches, rg {lines} lines").into());
        }
        let ratio = median(&peers) / median(&times);
        let ratio_within = median(&peers) / median(&within);
        let shown = |value: String| if within.is_empty() { "-".to_owned() } else { value };
        table.row([
            name.to_owned(),
            format!("{:.1}", median(&times)),
            format!("{:.1}", median(&peers)),
            format!("{ratio:.1}"),
            shown(format!("{:.2}", median(&within))),
            shown(format!("{ratio_within:.0}")),
            found.to_string(),
            lines.to_string(),
        ]);
        // A hundredth of what rg takes is less than any process needs to start.
        goals.at_least(&format!("search, {name}, start to exit, vs rg"), ratio, 1.0, "x");
        if !within.is_empty() {
            goals.at_least(
                &format!("search, {name}, within a program, vs rg"),
                ratio_within,
                wanted,
                "x",
            );
        }
    }
    table.print()
}

fn listing(
    program: &Path,
    folder: &Path,
    sessions: usize,
    rounds: usize,
    goals: &mut Goals,
) -> Outcome<()> {
    let logs: PathBuf = folder.join("many");
    std::fs::create_dir(&logs)?;
    logs::write(&logs, &mut Words::default(), sessions, sessions * 40)?;
    let began = Instant::now();
    Store::reindex(&logs, &mut |_| {})?;
    say(format!("{sessions} logs are indexed in {:.1} s", began.elapsed().as_secs_f64()))?;
    let mut table = Table::new(&["list", "ms"]);
    for (name, args) in [
        ("ls --json", &["--json"][..]),
        ("ls --limit 20", &["--limit", "20"]),
        ("ls --agent cursor --since 3650d", &["--agent", "cursor", "--since", "3650d"]),
    ] {
        let mut times = Vec::new();
        for _ in 0..rounds {
            let mut command = Command::new(program);
            command.args(["sessions", "ls", "--log-dir"]).arg(&logs).args(args);
            times.push(run(&mut command, &[0])?.0);
        }
        table.row([name.to_owned(), format!("{:.1}", median(&times))]);
        goals.at_most(&format!("{name} of {sessions}"), median(&times), 100.0, " ms");
    }
    table.print()
}

/// Milliseconds from start to exit, and what it printed.
fn run(command: &mut Command, codes: &[i32]) -> Outcome<(f64, String)> {
    let began = Instant::now();
    let output = command.stdin(Stdio::null()).stderr(Stdio::piped()).output()?;
    let took = began.elapsed().as_secs_f64() * 1e3;
    if !output.status.code().is_some_and(|code| codes.contains(&code)) {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{command:?} failed: {text}").into());
    }
    Ok((took, String::from_utf8_lossy(&output.stdout).into_owned()))
}
