//! Everybody who reads logs, for the property test of damaged ones and for the fuzz target
//! `log_reader`, which both use this very file.
//!
//! Owns the list of readers and what must hold for each of them whatever a log says. Whoever adds a
//! fold over records or events adds it here. Makes no log.

use stablehand_analysis::chronicle::{Chronicle, Row};
use stablehand_analysis::document::{self, DocumentHead};
use stablehand_analysis::history::History;
use stablehand_analysis::ledger::Ledger;
use stablehand_analysis::post_mortem::{PostMortem, Which};
use stablehand_analysis::rerun::{Check, Survey, WhatIf, tune};
use stablehand_analysis::timeline;
use stablehand_core::Depth;
use stablehand_core::monitor::Limits;
use stablehand_core::record::{LogReader, Record};
use stablehand_core::redact::Redactor;
use stablehand_core::replay::EventReader;

/// What each of them made of a log: all of it that lines which are no records must not change.
pub(crate) type Shown = [(&'static str, String); 9];

/// Hands the lines to every reader.
pub(crate) fn read_by_everybody(lines: &[Vec<u8>]) -> Shown {
    let skipped = lines.iter().filter(|line| !is_record(line)).count() as u64;
    let (events, ledger) = events_and_questions(lines, skipped);
    [
        ("events", events),
        ("ledger", ledger),
        ("documents", documented(lines)),
        ("timeline", drawn(lines, skipped)),
        ("rows", format!("{:?}", kept(lines, skipped))),
        ("causes", explained(lines, skipped)),
        ("judged again", judged(lines, skipped)),
        ("judged otherwise", judged_otherwise(lines)),
        ("silences", surveyed(lines, skipped)),
    ]
}

/// Whether a line is one of ours.
pub(crate) fn is_record(line: &[u8]) -> bool {
    !matches!(Record::read(line), Record::Foreign(_) | Record::Broken(_))
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("whatever is shown can be written as JSON")
}

fn events_and_questions(lines: &[Vec<u8>], skipped: u64) -> (String, String) {
    let mut reader = EventReader::of(LogReader::default(), Depth::Full);
    let mut ledger = Ledger::default();
    let (mut events, mut seq, mut told) = (Vec::new(), 0, Vec::new());
    for line in lines {
        let record = Record::read(line);
        ledger.record(&record);
        reader.record(&record, &mut events);
        // One that the agent's own stream told before, too, is told once.
        let stated = match &record {
            Record::Decision(decision) => decision.event(),
            _ => None,
        };
        let stated = stated.filter(|event| event.name() != "approval.resolved");
        assert!(
            stated.is_none_or(|stated| events.iter().any(|event| event.event == stated)),
            "an event of a whole record was not told: {}",
            String::from_utf8_lossy(line)
        );
        for event in events.drain(..) {
            seq += 1;
            assert_eq!(event.seq.0, seq, "a sequence number is missing");
            told.push(event.event);
        }
    }
    assert_eq!((ledger.skipped(), reader.log().skipped()), (skipped, skipped));
    (json(&told), json(&ledger.entries()))
}

/// The documents of a log: nothing in it is a tag, and nothing drives a terminal.
fn documented(lines: &[Vec<u8>]) -> String {
    let mut reader = EventReader::of(LogReader::default(), Depth::Full);
    let (mut history, mut events) = (History::default(), Vec::new());
    for line in lines {
        reader.record(&Record::read(line), &mut events);
        events.drain(..).for_each(|event| history.event(&event));
    }
    let head = DocumentHead::default();
    let (markdown, html) = (document::markdown(&head, &history), document::html(&head, &history));
    assert!(!markdown.contains('\u{1b}') && !html.contains('\u{1b}'));
    assert!(!html.contains("<script") && !html.contains("<img"), "{html}");
    markdown + &html
}

fn drawn(lines: &[Vec<u8>], skipped: u64) -> String {
    let redactor = Redactor::new();
    let mut fold = timeline::Fold::new(Some(&redactor));
    for line in lines {
        fold.record(&Record::read(line));
    }
    let mut timeline = fold.finish();
    assert_eq!(std::mem::take(&mut timeline.skipped), skipped);
    for span in &timeline.spans {
        assert!(span.start_ms <= span.end_ms && span.end_ms <= timeline.length_ms, "{span:?}");
        assert!(span.lane < timeline.lanes.len(), "{span:?} is in no lane");
        // Everything is cut short, and drives no terminal.
        let shown = span.text.chars().chain(span.output.iter().flat_map(|text| text.chars()));
        assert!(shown.clone().count() < 10_000 && !shown.clone().any(|it| it == '\u{1b}'));
    }
    let (picture, page) = (timeline.svg(800), timeline.html());
    assert!(!picture.contains('\u{1b}') && !page.contains('\u{1b}'));
    assert!(!picture.contains("<script"), "{picture}");
    json(&timeline) + &picture
}

/// The rows of a log, and that whoever begins in the middle of it gets the same.
fn kept(lines: &[Vec<u8>], skipped: u64) -> Vec<Row> {
    let mut chronicle = Chronicle::default();
    let mut later: Option<Chronicle> = None;
    let (mut rows, mut others) = (Vec::new(), Vec::new());
    for line in lines {
        let record = Record::read(line);
        let begins = Chronicle::begins(&record);
        let had = rows.len();
        chronicle.record(&record, &mut rows);
        if begins && let Some(restart) = chronicle.restart() {
            later = Some(Chronicle::resume(&restart).expect("a dialect that we know"));
        }
        if let Some(later) = &mut later {
            others.clear();
            later.record(&record, &mut others);
            // The record that a process begins with also ends the one before.
            assert!(begins || rows[had..] == others, "{:?} are not {others:?}", &rows[had..]);
        }
    }
    let had = rows.len();
    chronicle.flush(&mut rows);
    if let Some(later) = &mut later {
        others.clear();
        later.flush(&mut others);
        assert_eq!(rows[had..], others);
        assert_eq!(later.skipped(), chronicle.skipped());
    }
    assert_eq!(chronicle.skipped(), skipped);
    let numbers: Vec<u32> = rows
        .iter()
        .filter_map(|row| match row {
            Row::Passage(passage) => Some(passage.passage),
            _ => None,
        })
        .collect();
    assert!(numbers.iter().copied().eq(0..numbers.len() as u32), "passages are not counted on");
    rows
}

fn explained(lines: &[Vec<u8>], skipped: u64) -> String {
    let mut causes = String::new();
    for which in [Which::Troubled, Which::Number(1), Which::Id("r1".into())] {
        let mut post_mortem = PostMortem::of(which);
        for line in lines {
            post_mortem.record(&Record::read(line));
        }
        assert_eq!(post_mortem.skipped(), skipped);
        let Some(report) = post_mortem.report() else { continue };
        // All that it quotes is cut short, however long the log is.
        let length = json(&report).len();
        assert!(length < 200_000, "a report of {length} bytes");
        causes.push_str(&json(&report.causes));
    }
    causes
}

fn judged(lines: &[Vec<u8>], skipped: u64) -> String {
    let mut check = Check::default();
    for line in lines {
        check.record(&Record::read(line));
    }
    let mut report = check.finish();
    assert_eq!(std::mem::take(&mut report.skipped), skipped);
    assert!(report.differences.len() as u64 <= report.differing);
    for difference in &mut report.differences {
        assert!((1..=lines.len() as u64).contains(&difference.line), "{difference:?}");
        difference.line = 0;
    }
    json(&report)
}

fn judged_otherwise(lines: &[Vec<u8>]) -> String {
    let of_then = |limits: Option<&Limits>| limits.cloned().unwrap_or_else(Limits::modern);
    let mut found = String::new();
    for limits in [None, Some(Limits::none()), Some(impatient())] {
        let mut what_if = WhatIf::new(|_, then| limits.clone().unwrap_or_else(|| of_then(then)));
        for line in lines {
            what_if.record(&Record::read(line));
        }
        found.push_str(&json(&what_if.finish()));
    }
    found
}

/// Limits that nearly everything is beyond.
fn impatient() -> Limits {
    let moment = std::time::Duration::from_millis(1);
    Limits {
        wall: Some(moment),
        max_turns: Some(1),
        max_tool_calls: Some(1),
        max_tokens: Some(1),
        max_cost_usd: Some(0.0),
        livelock_kill: Some(2),
        ..Limits::cursor_wrap(moment, moment, moment)
    }
}

fn surveyed(lines: &[Vec<u8>], skipped: u64) -> String {
    let mut survey = Survey::default();
    for line in lines {
        survey.record(&Record::read(line));
    }
    let (runs, lost) = survey.finish();
    assert_eq!(lost, skipped);
    for run in &runs {
        for (limit, silence) in &run.silences {
            assert!(silence.survived <= silence.longest, "{limit:?} {silence:?}");
        }
    }
    let all: Vec<_> = runs.iter().collect();
    json(&tune::try_out(&all))
}
