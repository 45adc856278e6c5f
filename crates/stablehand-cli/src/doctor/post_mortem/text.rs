//! A post-mortem as a person reads it: short, the answer first, the evidence below it.

use crate::output::{Look, Paint, Table};
use stablehand_analysis::post_mortem::{Cause, Note, Report, Standing, Sure};
use stablehand_core::event::{Evidence, ProcessExit, ProcessRow};
use stablehand_core::text::one_line;
use stablehand_core::time::human;
use std::path::Path;
use std::time::Duration;

/// Under every heading.
const INDENT: usize = 2;

/// The most processes that are shown.
const PROCESSES: usize = 12;

/// Where what follows `likely` begins.
const CAUSE: usize = INDENT + 10;

/// The report as text.
pub(super) fn of(report: &Report, log: &Path, paint: Paint) -> String {
    let mut page = Page { out: String::new(), paint };
    page.head(report, log);
    page.heading("What it was doing");
    page.line(&report.doing, INDENT, INDENT);
    page.causes(report);
    page.processes(report);
    page.stops(report);
    if report.standing != Standing::Well {
        page.notes("Last events", &report.last_events);
        page.silences(report);
    }
    page.retries(report);
    page.notes("Denied, or answered by nobody", &report.refusals);
    page.notes("The end of standard error", &report.stderr);
    page.remarks(report);
    page.out
}

struct Page {
    out: String,
    paint: Paint,
}

impl Page {
    fn heading(&mut self, text: &str) {
        self.out.push('\n');
        self.out.push_str(&self.paint.bold(text));
        self.out.push('\n');
    }

    /// One paragraph; whatever it quotes stays on its lines and drives no terminal.
    fn line(&mut self, text: &str, first: usize, rest: usize) {
        let text = one_line(text);
        self.out.push_str(&self.paint.wrapped(&format!("{}{text}", " ".repeat(first)), rest));
    }

    fn head(&mut self, report: &Report, log: &Path) {
        let run = &report.run;
        let mut about: Vec<String> = Vec::new();
        about.extend(run.agent.clone());
        about.extend(run.agent_version.clone());
        about.extend(run.model.as_ref().map(|model| format!("model {model}")));
        let title = format!("run {} of {}: {}", run.number, run.of, about.join(", "));
        let title = one_line(&title);
        self.out.push_str(&self.paint.bold(title.trim_end_matches(": ")));
        self.out.push('\n');
        let took = human(Duration::from_millis(run.elapsed_ms));
        let began = run.began.as_deref().unwrap_or("at an unknown time");
        self.line(&format!("log      {}", log.display()), INDENT, INDENT + 9);
        if let Some(session) = &run.session {
            self.line(&format!("session  {session}"), INDENT, INDENT + 9);
        }
        self.line(&format!("began    {began}, took {took}"), INDENT, INDENT + 9);
        self.ended(report);
        if let Some(version) = report.newer_format {
            let text = format!(
                "note     the log has version {version} of the format; read as far as known"
            );
            self.line(&text, INDENT, INDENT + 9);
        }
    }

    fn ended(&mut self, report: &Report) {
        let ended = &report.ended;
        let outcome = ended.outcome.as_ref().map(word).unwrap_or_default();
        let mut facts: Vec<String> = Vec::new();
        facts.extend((!outcome.is_empty()).then(|| outcome.clone()));
        facts.extend(ended.exit_code.map(|code| format!("exit status {code}")));
        facts.extend(ended.agent.map(|exit| agent_exit(exit, ended.forced)));
        let line = |name: &str, said: &str| {
            let said = one_line(said);
            self.paint.wrapped(&format!("{}{name:<9}{said}", " ".repeat(INDENT)), INDENT + 9)
        };
        let text = if facts.is_empty() {
            line("ended", &ended.text)
        } else {
            line("ended", &facts.join(", ")) + &line("because", &ended.text)
        };
        let painted = match report.standing {
            Standing::Well => self.paint.good(&outcome),
            Standing::Open => self.paint.warn(&outcome),
            Standing::Explained | Standing::Unexplained => self.paint.bad(&outcome),
        };
        let text = if outcome.is_empty() { text } else { text.replacen(&outcome, &painted, 1) };
        self.out.push_str(&text);
    }

    fn causes(&mut self, report: &Report) {
        self.heading(match report.standing {
            Standing::Well => "Verdict",
            _ if report.causes.len() > 1 => "Likely causes",
            _ => "Likely cause",
        });
        match report.standing {
            Standing::Well => {
                let text = if report.remarks.is_empty() {
                    "Nothing is wrong: the agent delivered its result."
                } else {
                    "Nothing is wrong: the agent delivered its result. See the remarks below."
                };
                self.out
                    .push_str(&self.paint.wrapped(&format!("  {}", self.paint.good(text)), INDENT));
            }
            Standing::Unexplained => {
                let text = "It cannot be told from the log. The agent says nothing about it, and nothing \
                            that is known to go wrong fits. Start it by hand in the same folder, or run \
                            it again and send SIGQUIT (Ctrl-\\) while it is stuck: that puts its state \
                            into the log.";
                self.line(text, INDENT, INDENT);
            }
            Standing::Explained | Standing::Open => {
                for cause in &report.causes {
                    self.cause(cause);
                }
            }
        }
    }

    fn cause(&mut self, cause: &Cause) {
        let (name, painted) = match cause.sure {
            Sure::Certain => ("certain", self.paint.bold("certain")),
            Sure::Likely => ("likely", self.paint.warn("likely")),
            Sure::Possible => ("possible", self.paint.dim("possible")),
        };
        let padding = " ".repeat(CAUSE - INDENT - name.len());
        let text = one_line(&cause.text);
        let wrapped = self.paint.wrapped(&format!("{}{text}", " ".repeat(CAUSE)), CAUSE);
        for part in ["  ", &painted, &padding, wrapped.trim_start()] {
            self.out.push_str(part);
        }
        self.table(&cause.evidence, CAUSE);
        for change in &cause.change {
            self.line(&format!("→ {change}"), CAUSE, CAUSE + 2);
        }
    }

    /// Records with their times, in columns.
    fn table(&mut self, notes: &[Note], indent: usize) {
        let mut table = Table::default();
        for note in notes {
            let count = note.count.map(|count| format!(" (×{count})")).unwrap_or_default();
            let mut row = vec![(before(note.before_end_ms), Look::Dim)];
            if !note.record.is_empty() {
                row.push((note.record.clone(), Look::Dim));
            }
            row.push((format!("{}{count}", note.text), Look::Plain));
            table.row(row);
        }
        self.out.push_str(&table.render(self.paint, indent));
    }

    fn notes(&mut self, heading: &str, notes: &[Note]) {
        if notes.is_empty() {
            return;
        }
        self.heading(heading);
        // The heading says what they are.
        let bare: Vec<Note> =
            notes.iter().map(|note| Note { record: String::new(), ..note.clone() }).collect();
        self.table(&bare, INDENT);
    }

    fn processes(&mut self, report: &Report) {
        let looked = report.verdict.as_ref().map(|verdict| ("at the verdict", verdict));
        let dumped = report.state_dump.as_ref().map(|dump| ("when its state was asked for", dump));
        for (when, verdict) in looked.into_iter().chain(dumped) {
            let evidence = &verdict.evidence;
            if !evidence.processes.is_empty() {
                self.heading(&format!("Processes {when} ({})", before(verdict.before_end_ms)));
                self.rows(&evidence.processes);
                self.cpu(evidence);
            }
            if !evidence.screen.is_empty() {
                self.heading(&format!("Its screen {when}"));
                for line in &evidence.screen {
                    self.line(&format!("│ {line}"), INDENT, INDENT + 2);
                }
            }
        }
    }

    fn rows(&mut self, rows: &[ProcessRow]) {
        let mut table = Table::headed(&["PID", "PARENT", "STATE", "CPU", "NAME"]);
        for row in rows.iter().take(PROCESSES) {
            table.row(vec![
                (row.pid.to_string(), Look::Plain),
                (row.ppid.to_string(), Look::Plain),
                (state(row.state).to_owned(), Look::Plain),
                (human(Duration::from_millis(row.cpu_ms)), Look::Plain),
                (row.command.as_ref().unwrap_or(&row.name).clone(), Look::Plain),
            ]);
        }
        self.out.push_str(&table.render(self.paint, INDENT));
        if rows.len() > PROCESSES {
            self.line(&format!("and {} more", rows.len() - PROCESSES), INDENT, INDENT);
        }
    }

    fn cpu(&mut self, evidence: &Evidence) {
        if let Some((used, window)) = evidence.cpu_ms.zip(evidence.cpu_window_ms) {
            let (used, window) = (Duration::from_millis(used), Duration::from_millis(window));
            let text = format!("together {} of processor time in {}", human(used), human(window));
            self.line(&text, INDENT, INDENT);
        }
    }

    fn stops(&mut self, report: &Report) {
        let quiet = report.stops.is_empty() && report.left_behind.is_empty();
        if quiet && report.survivors.is_empty() {
            return;
        }
        self.heading("Stopped");
        let mut table = Table::default();
        for stop in &report.stops {
            let many = processes(stop.left.len());
            table.row(vec![
                (before(stop.before_end_ms), Look::Dim),
                (stop.stage.clone(), Look::Plain),
                (format!("{many}, {}", stop.reason), Look::Plain),
            ]);
        }
        self.out.push_str(&table.render(self.paint, INDENT));
        if report.left_behind.is_empty() && report.survivors.is_empty() {
            self.line("nobody outlived it", INDENT, INDENT);
        }
        if !report.left_behind.is_empty() {
            let many = processes(report.left_behind.len());
            self.line(
                &format!("{many} outlived the agent and went with the tree:"),
                INDENT,
                INDENT,
            );
            self.rows(&report.left_behind);
        }
        if !report.survivors.is_empty() {
            let many = processes(report.survivors.len());
            self.line(&format!("{many} could not be stopped:"), INDENT, INDENT);
            self.rows(&report.survivors);
        }
    }

    fn silences(&mut self, report: &Report) {
        // A pause that is a small part of the run is how agents work.
        let telling = |ms: u64| ms >= 10_000 || ms.saturating_mul(5) >= report.run.elapsed_ms;
        let mut table = Table::default();
        let mut any = false;
        for silence in report.silences.iter().filter(|silence| telling(silence.ms)) {
            any = true;
            table.row(vec![
                (before(silence.before_end_ms), Look::Dim),
                (human(Duration::from_millis(silence.ms)), Look::Plain),
                (silence.during.clone(), Look::Plain),
            ]);
        }
        if any {
            self.heading("Longest silences");
            self.out.push_str(&table.render(self.paint, INDENT));
        }
    }

    fn retries(&mut self, report: &Report) {
        if report.retry_count > 0 {
            self.notes(
                &format!("The agent tried again ({} in all)", report.retry_count),
                &report.retries,
            );
        }
    }

    fn remarks(&mut self, report: &Report) {
        if report.remarks.is_empty() {
            return;
        }
        self.heading("Remarks");
        for remark in &report.remarks {
            self.line(&format!("• {}", remark.text), INDENT, INDENT + 2);
            self.table(&remark.evidence, INDENT + 2);
            for change in &remark.change {
                self.line(&format!("→ {change}"), INDENT + 2, INDENT + 4);
            }
        }
    }
}

/// How long before the end, as a column.
fn before(ms: i64) -> String {
    let span = human(Duration::from_millis(ms.unsigned_abs()));
    match ms {
        0 => "at the end".to_owned(),
        1.. => format!("-{span}"),
        _ => format!("+{span}"),
    }
}

fn processes(count: usize) -> String {
    if count == 1 { "1 process".to_owned() } else { format!("{count} processes") }
}

fn agent_exit(exit: ProcessExit, forced: bool) -> String {
    let by = if forced { " after we stopped it" } else { "" };
    match exit {
        ProcessExit::Code(code) => format!("the agent exited with {code}{by}"),
        ProcessExit::Signal(signal) => format!("the agent was ended by signal {signal}{by}"),
        ProcessExit::Unknown => format!("nobody knows how the agent exited{by}"),
    }
}

fn state(letter: char) -> &'static str {
    match letter {
        'R' => "running",
        'S' => "sleeping",
        'D' => "in the kernel",
        'T' | 't' => "stopped",
        'Z' => "ended",
        'I' => "idle",
        _ => "unknown",
    }
}

/// The word that a value is written as.
fn word<T: serde::Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
