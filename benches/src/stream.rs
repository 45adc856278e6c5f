//! The streams that everything is measured on: Cursor's shapes, realistic sizes, the same bytes
//! every time.

use std::fmt::Write;

const SESSION: &str = "6f1c2a90-4b7d-4e35-9a18-c0d2e4f60718";
const MODEL_CALL: &str = "9d41a7c2-05be-4f6a-8c13-7be2904d5a61-3-q7zt";

/// The wall clock of the stream's first line, in milliseconds.
const EPOCH: u64 = 1_784_800_000_000;

/// Every so many events one tool answers with a megabyte.
const LARGE_EVERY: usize = 2_000;

/// What a stream is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// 85 % reasoning deltas of about 241 bytes, 10 % assistant messages, 2.5 % tools started, 2.5 %
    /// tools completed with 10 KB of output, one of them in 2,000 events with a megabyte.
    Mix,
    /// Reasoning deltas only.
    Small,
    /// Calls with 10 KB of output each, and nothing else.
    Outputs,
}

impl Shape {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Shape::Mix => "mix",
            Shape::Small => "small",
            Shape::Outputs => "outputs",
        }
    }
}

/// A whole session.
#[derive(Debug)]
pub struct Stream {
    /// The bytes, from `system/init` to `result`.
    pub bytes: Vec<u8>,
    /// How many lines that is.
    pub events: usize,
}

impl Stream {
    /// A stream of so many events, `init` and `result` among them.
    pub fn of_events(shape: Shape, events: usize) -> Stream {
        Writer::new(shape).write(|_, count| count + 1 >= events)
    }

    /// A stream of at least so many bytes.
    pub fn of_bytes(shape: Shape, bytes: usize) -> Stream {
        Writer::new(shape).write(|len, _| len >= bytes)
    }

    /// Megabytes.
    pub fn megabytes(&self) -> f64 {
        self.bytes.len() as f64 / 1e6
    }
}

struct Writer {
    shape: Shape,
    random: Random,
    out: String,
    events: usize,
    /// Calls that were started and not completed.
    open: Vec<usize>,
    calls: usize,
}

impl Writer {
    fn new(shape: Shape) -> Self {
        let random = Random(0x005e_ed0f_57ab_1e4a);
        Writer { shape, random, out: String::new(), events: 0, open: Vec::new(), calls: 0 }
    }

    fn write(mut self, done: impl Fn(usize, usize) -> bool) -> Stream {
        self.line(|out, _| {
            let _infallible = write!(
                out,
                r#"{{"type":"system","subtype":"init","apiKeySource":"login","cwd":"/srv/barn","session_id":"{SESSION}","model":"Pony 2 Thinking","permissionMode":"default"}}"#
            );
        });
        // A session does not end while a tool runs.
        while !done(self.out.len(), self.events) || !self.open.is_empty() {
            let place = self.events % 40;
            match (self.shape, place) {
                (Shape::Mix, 7 | 17 | 27 | 37) => self.assistant(),
                (Shape::Mix, 20) => self.started(),
                (Shape::Mix, 32) | (Shape::Outputs, _) => self.completed(),
                (Shape::Mix | Shape::Small, _) => self.thinking(),
            }
        }
        self.line(|out, at| {
            let _infallible = write!(
                out,
                r#"{{"type":"result","subtype":"success","duration_ms":{at},"duration_api_ms":{at},"is_error":false,"result":"Done.","session_id":"{SESSION}","request_id":"9d41a7c2-05be-4f6a-8c13-7be2904d5a61","usage":{{"inputTokens":10210,"outputTokens":96,"cacheReadTokens":20480,"cacheWriteTokens":0}}}}"#
            );
        });
        Stream { bytes: self.out.into_bytes(), events: self.events }
    }

    /// One line; what writes it is given the time since the beginning, in milliseconds.
    fn line(&mut self, fill: impl FnOnce(&mut String, usize)) {
        fill(&mut self.out, self.events * 13);
        self.out.push('\n');
        self.events += 1;
    }

    fn stamp(&mut self) {
        let at = EPOCH + self.events as u64 * 13;
        let _infallible = write!(self.out, r#","session_id":"{SESSION}","timestamp_ms":{at}}}"#);
        self.out.push('\n');
        self.events += 1;
    }

    fn thinking(&mut self) {
        self.out.push_str(r#"{"type":"thinking","subtype":"delta","text":""#);
        // Together with everything around it, 241 bytes on average.
        let length = 85 + self.random.below(64);
        self.prose(length);
        self.out.push('"');
        self.stamp();
    }

    fn assistant(&mut self) {
        self.out.push_str(
            r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":""#,
        );
        let length = 60 + self.random.below(64);
        self.prose(length);
        let _infallible = write!(self.out, r#""}}]}},"model_call_id":"{MODEL_CALL}""#);
        self.stamp();
    }

    fn started(&mut self) {
        let call = self.calls;
        self.calls += 1;
        self.open.push(call);
        self.tool_head("started", call);
        self.out.push_str("}}");
        self.tool_tail();
    }

    fn completed(&mut self) {
        let Some(call) = self.open.pop() else { return self.started() };
        self.tool_head("completed", call);
        let command = command(call);
        let _infallible = write!(
            self.out,
            r#","result":{{"success":{{"command":"{command}","workingDirectory":"","exitCode":0,"signal":"","stdout":""#
        );
        let large = self.shape == Shape::Mix && self.events % LARGE_EVERY >= LARGE_EVERY - 40;
        self.output(if large { 1_000_000 } else { 10_000 });
        self.out.push_str(r#"","stderr":"","executionTime":5400},"isBackground":false}}}"#);
        self.tool_tail();
    }

    /// Up to and including the arguments, which both lines of a call carry.
    fn tool_head(&mut self, subtype: &str, call: usize) {
        let command = command(call);
        let _infallible = write!(
            self.out,
            r#"{{"type":"tool_call","subtype":"{subtype}","call_id":"call_{call:08x}\nfc_{call:08x}","tool_call":{{"shellToolCall":{{"args":{{"command":"{command}","workingDirectory":"","timeout":30000,"toolCallId":"tool_{call:08x}","simpleCommands":["cargo"],"hasInputRedirect":false,"hasOutputRedirect":false,"parsingResult":{{"parsingFailed":false,"executableCommands":[{{"name":"cargo","args":[{{"type":"word","value":"test"}}],"fullText":"{command}"}}],"hasRedirects":false,"hasCommandSubstitution":false}},"fileOutputThresholdBytes":"40000","isBackground":false,"skipApproval":false,"timeoutBehavior":"TIMEOUT_BEHAVIOR_BACKGROUND"}}"#
        );
    }

    fn tool_tail(&mut self) {
        let _infallible = write!(self.out, r#","model_call_id":"{MODEL_CALL}""#);
        self.stamp();
    }

    /// Words; one text in twenty has letters beyond ASCII, one in eight an escape.
    fn prose(&mut self, length: usize) {
        let until = self.out.len() + length;
        match self.random.below(40) {
            0 => self.out.push_str("naïve façade: "),
            1 => self.out.push_str("→ 第一歩 "),
            2..=6 => self.out.push_str(r"\n\n"),
            _ => {}
        }
        while self.out.len() < until {
            let word = self.random.word();
            self.out.push_str(word);
            self.out.push(' ');
        }
        self.out.truncate(until);
    }

    /// What a tool printed: lines of 20 to 90 bytes, tabs and quotes here and there, a tick beyond
    /// ASCII on some.
    fn output(&mut self, length: usize) {
        let until = self.out.len() + length;
        while self.out.len() < until {
            let line = self.out.len() + 20 + self.random.below(70);
            match self.random.below(16) {
                0 => self.out.push_str(r"\t"),
                1 => self.out.push_str(r#"\"quoted\" "#),
                2 => self.out.push_str("✓ "),
                _ => {}
            }
            while self.out.len() < line {
                let word = self.random.word();
                self.out.push_str(word);
                self.out.push(' ');
            }
            self.out.push_str(r"\n");
        }
    }
}

fn command(call: usize) -> String {
    format!("cargo test --package barn-{} --lib stall_{call}", call % 17)
}

/// A small generator of numbers (xorshift64*): the same stream on every machine, for ever.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32
    }

    fn below(&mut self, bound: usize) -> usize {
        self.next() as usize % bound
    }

    fn word(&mut self) -> &'static str {
        const WORDS: [&str; 16] = [
            "the",
            "parser",
            "returns",
            "a",
            "borrowed",
            "slice",
            "when",
            "no",
            "escape",
            "was",
            "seen",
            "otherwise",
            "it",
            "allocates",
            "test",
            "passed",
        ];
        WORDS.get(self.below(WORDS.len())).copied().unwrap_or("oats")
    }
}

#[cfg(test)]
mod tests {
    use super::{Shape, Stream};
    use stablehand_core::decode::Summary;
    use stablehand_core::json::{Scan, scan};
    use stablehand_core::{Depth, Dialect, LineSplitter};

    #[test]
    fn the_mix_is_what_it_says() {
        let stream = Stream::of_events(Shape::Mix, 8_000);
        let lines: Vec<&[u8]> =
            stream.bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty()).collect();
        assert_eq!(lines.len(), 8_000);
        assert_eq!(stream.events, 8_000);
        assert!(lines.iter().all(|line| matches!(scan(line), Scan::Object(_))));
        let mean = stream.bytes.len() / lines.len();
        assert!((980..1_090).contains(&mean), "a mean of {mean} bytes");
        let thinking: Vec<usize> = lines
            .iter()
            .filter(|line| line.starts_with(br#"{"type":"thinking""#))
            .map(|line| line.len() + 1)
            .collect();
        let mean = thinking.iter().sum::<usize>() / thinking.len();
        assert!((236..247).contains(&mean), "deltas of {mean} bytes");
        assert_eq!(lines.iter().filter(|line| line.len() > 1_000_000).count(), 4);
    }

    #[test]
    fn the_mix_decodes_with_nothing_left_over() {
        let stream = Stream::of_events(Shape::Mix, 4_000);
        let (mut decoder, mut summary) = (Dialect::Cursor.decoder(), Summary::default());
        let (mut splitter, mut events) = (LineSplitter::default(), Vec::new());
        for chunk in stream.bytes.chunks(50_000) {
            splitter.space()[..chunk.len()].copy_from_slice(chunk);
            splitter.filled(chunk.len());
            while let Some(line) = splitter.next() {
                decoder.line(&line, &scan(line.bytes), Depth::Full, &mut events);
                summary.push(&line, &events);
                events.clear();
            }
        }
        let totals = summary.finish();
        assert_eq!((totals.noise, totals.torn, totals.unrecognized), (0, 0, 0));
        assert_eq!(totals.tools.unpaired, 0);
        assert_eq!(totals.tools.opened, 100);
    }
}
