//! The fold itself: what each record and event begins, changes and ends.

mod decided;
mod told;

use super::quiet::{self, Gap, Quiet};
use super::words::Words;
use super::{SILENCE_MS, Span, TIMELINE_VERSION, Timeline, Tone, Track, lanes};
use stablehand_core::decode::Depth;
use stablehand_core::event::Event;
use stablehand_core::id::ItemId;
use stablehand_core::record::{LogReader, Record};
use stablehand_core::redact::Redactor;
use stablehand_core::replay::EventReader;
use stablehand_core::time::UnixMillis;
use std::collections::HashMap;

/// So many spans are kept.
const MOST_SPANS: usize = 1_000_000;

/// No log is younger than the year 9999; a time beyond it is none.
const LAST_TIME: i64 = 253_402_300_799_999;

/// Takes the records of a log in their order and makes a [`Timeline`] of them.
#[derive(Debug)]
pub struct Fold<'r> {
    reader: EventReader,
    words: Words<'r>,
    quiet: Quiet,
    /// Silences by run, as far as we knew then.
    gaps: Vec<(usize, Gap)>,
    /// When tools went on that had been taken for complete.
    went_on: Vec<Gap>,
    silence_ms: u64,
    /// Spans with absolute times.
    drafts: Vec<(Track, Draft)>,
    /// What has begun and is not over: which draft it is.
    open: HashMap<Key, usize>,
    /// The texts of open items, as far as they have been heard.
    texts: HashMap<ItemId, Heard>,
    /// Tools that were taken for complete; their own word still counts when it comes.
    presumed: HashMap<ItemId, usize>,
    first: Option<i64>,
    last: i64,
    run: usize,
    turns: usize,
    /// A process was told of; in a log without, the first line says that there is one.
    spawned: bool,
    about: About,
    left_out: u64,
}

/// Who it was.
#[derive(Debug, Default)]
struct About {
    agent: Option<String>,
    session: Option<String>,
    model: Option<String>,
    cwd: Option<String>,
    end: Option<String>,
}

/// A span in the making.
#[derive(Clone, Debug)]
struct Draft {
    start: i64,
    end: i64,
    span: Span,
}

/// What can be open.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Run,
    Turn,
    Item(ItemId),
    Question(String),
    /// The agent tries again.
    Retry,
    /// We do.
    Rerun,
    Health,
    Stop,
}

/// What was heard of a text.
#[derive(Debug, Default)]
struct Heard {
    text: String,
    /// When its last piece came.
    last: Option<i64>,
}

/// The words of a span before it is one.
#[derive(Debug, Default)]
struct Sketch {
    tone: Option<Tone>,
    kind: Option<&'static str>,
    name: String,
    text: String,
    call: Option<String>,
    hook: bool,
}

impl<'r> Fold<'r> {
    /// One that takes out what the redactor finds.
    pub fn new(redactor: Option<&'r Redactor>) -> Self {
        Fold {
            reader: EventReader::of(LogReader::default(), Depth::Full).of_runs(),
            words: Words::new(redactor),
            quiet: Quiet::new(SILENCE_MS),
            gaps: Vec::new(),
            went_on: Vec::new(),
            silence_ms: SILENCE_MS,
            drafts: Vec::new(),
            open: HashMap::new(),
            texts: HashMap::new(),
            presumed: HashMap::new(),
            first: None,
            last: 0,
            run: 0,
            turns: 0,
            spawned: false,
            about: About::default(),
            left_out: 0,
        }
    }

    /// Shows silence from so many milliseconds on.
    #[must_use]
    pub fn silence_from(mut self, ms: u64) -> Self {
        self.quiet = Quiet::new(ms);
        self.silence_ms = ms;
        self
    }

    /// Takes the next record.
    pub fn record(&mut self, record: &Record<'_>) {
        let at = record.at().map(|at| self.now(at)).unwrap_or_default();
        match record {
            Record::Raw { .. } => self.heard(at),
            Record::Decision(decision) => self.before(at, decision),
            Record::Foreign(_) | Record::Broken(_) => {}
        }
        let mut events: Vec<Event> = Vec::new();
        self.reader.record(record, &mut events);
        self.events(at, &events);
        if let Some(decision) = record.decision() {
            self.after(at, decision);
        }
    }

    /// The timeline of all records so far.
    pub fn finish(mut self) -> Timeline {
        let last = self.last;
        let gap = self.quiet.end(last);
        self.silence(gap);
        self.tell_silences(gap);
        self.close_all(last, |_| true);
        let starts = self.drafts.iter().map(|(_, draft)| draft.start);
        let zero = starts.chain(self.first).min().unwrap_or(0);
        let ends = self.drafts.iter().map(|(_, draft)| draft.end);
        let end = ends.chain([last]).max().unwrap_or(0);
        let since = |at: i64| u64::try_from(at.saturating_sub(zero)).unwrap_or(0);
        let spans = self.drafts.into_iter().map(|(track, draft)| {
            let (start_ms, end_ms) = (since(draft.start), since(draft.end));
            (track, Span { start_ms, end_ms, ..draft.span })
        });
        let (lanes, spans) = lanes::assign(spans.collect());
        Timeline {
            v: TIMELINE_VERSION,
            began: UnixMillis(zero).rfc3339(),
            began_ms: zero,
            length_ms: since(end),
            agent: self.about.agent,
            session: self.about.session,
            model: self.about.model,
            cwd: self.about.cwd,
            end: self.about.end,
            silence_ms: self.silence_ms,
            lanes,
            spans,
            skipped: self.reader.log().skipped(),
            left_out: self.left_out,
        }
    }

    /// The time of a record; of one without, that of the record before it.
    fn now(&mut self, at: UnixMillis) -> i64 {
        let at = if (1..=LAST_TIME).contains(&at.0) { at.0 } else { self.last };
        self.last = if at == 0 { self.last } else { at };
        if self.last != 0 {
            self.first.get_or_insert(self.last);
        }
        self.last
    }

    /// The agent, or a hook of it, gave a sign of life.
    fn heard(&mut self, at: i64) {
        if !self.spawned {
            self.spawned = true;
            self.quiet.begin(at);
        }
        let gap = self.quiet.hear(at);
        self.silence(gap);
    }

    fn silence(&mut self, gap: Option<Gap>) {
        self.gaps.extend(gap.map(|gap| (self.run, gap)));
    }

    /// The silences become spans once everything is known; `open` is the one that has no end.
    fn tell_silences(&mut self, open: Option<Gap>) {
        let gaps = std::mem::take(&mut self.gaps);
        let went_on = quiet::apart(std::mem::take(&mut self.went_on));
        let last_run = self.run;
        for of_run in gaps.chunk_by(|a, b| a.0 == b.0) {
            let gaps: Vec<Gap> = of_run.iter().map(|(_, gap)| *gap).collect();
            self.run = of_run.first().map_or(last_run, |(run, _)| *run);
            for (from, to) in quiet::without(&gaps, &went_on, self.silence_ms, MOST_SPANS) {
                let sketch = Sketch { name: "silence".into(), ..Sketch::default() };
                if let Some(index) = self.push(Track::Silence, from, to, sketch)
                    && let Some((_, draft)) = self.drafts.get_mut(index)
                {
                    draft.span.open = open.is_some_and(|open| open.1 == to);
                }
            }
        }
        self.run = last_run;
    }

    /// A new span; where it is, unless there are too many.
    fn push(&mut self, track: Track, start: i64, end: i64, sketch: Sketch) -> Option<usize> {
        if self.drafts.len() == MOST_SPANS {
            self.left_out += 1;
            return None;
        }
        let span = Span {
            lane: 0,
            start_ms: 0,
            end_ms: 0,
            open: false,
            tone: sketch.tone.unwrap_or(Tone::Plain),
            kind: sketch.kind,
            name: sketch.name,
            text: sketch.text,
            outcome: None,
            own_ms: None,
            output: None,
            call: sketch.call,
            run: self.run,
            hook: sketch.hook,
        };
        self.drafts.push((track, Draft { start, end: end.max(start), span }));
        Some(self.drafts.len() - 1)
    }

    /// A moment.
    fn moment(&mut self, track: Track, at: i64, sketch: Sketch) -> Option<usize> {
        self.push(track, at, at, sketch)
    }

    /// Begins something; what was open under the key is over.
    fn begin(&mut self, key: Key, track: Track, at: i64, sketch: Sketch) {
        self.end(&key, at);
        if explains_silence(track) {
            let gap = self.quiet.opened(at);
            self.silence(gap);
        }
        if let Some(index) = self.push(track, at, at, sketch) {
            self.open.insert(key, index);
        }
    }

    /// Ends what is open under the key; the span, for what there is to say of its end.
    fn end(&mut self, key: &Key, at: i64) -> Option<&mut Span> {
        let index = self.open.remove(key)?;
        let (track, draft) = self.drafts.get_mut(index)?;
        if explains_silence(*track) {
            self.quiet.closed(at);
        }
        draft.end = at.max(draft.start);
        Some(&mut draft.span)
    }

    /// The open span of a key.
    fn opened(&mut self, key: &Key) -> Option<&mut Span> {
        let index = *self.open.get(key)?;
        self.drafts.get_mut(index).map(|(_, draft)| &mut draft.span)
    }

    /// Ends what nobody will end any more; it stays marked.
    fn close_all(&mut self, at: i64, which: impl Fn(&Key) -> bool) {
        let keys: Vec<Key> = self.open.keys().filter(|key| which(key)).cloned().collect();
        for key in keys {
            if let Key::Item(id) = &key {
                self.last_words(*id);
            }
            if let Some(span) = self.end(&key, at) {
                // A state and a stage last until something else does.
                span.open = !matches!(key, Key::Health | Key::Stop);
            }
        }
    }
}

fn explains_silence(track: Track) -> bool {
    matches!(track, Track::Tool | Track::SubAgent | Track::Approval)
}
