//! Folders of logs to be searched: Cursor's shapes in our records, words as they are spread in
//! texts, the same bytes every time.

use crate::Outcome;
use std::fmt::Write as _;
use std::path::Path;

/// So many different words there are.
const VOCABULARY: usize = 50_000;

/// When the first log begins, in milliseconds; each further one begins an hour later.
const EPOCH: u64 = 1_760_000_000_000;

/// A word that stands in ten texts of all, and two that stand together in ten.
pub const RARE: &str = "zebraquux";
/// See [`RARE`]; no index of words knows these.
pub const RARE_SIGNS: &str = "🐴=>馬小屋";
/// See [`RARE`].
pub const RARE_PHRASE: &str = "marmalade farrier";

/// Words with the frequencies of a language: the second half as often as the first, and so on.
#[derive(Debug)]
pub struct Words {
    ranked: Vec<String>,
    /// The sum of the weights up to each word.
    sums: Vec<f64>,
    random: u64,
}

impl Default for Words {
    fn default() -> Self {
        let mut sum = 0.0;
        let sums = (1..=VOCABULARY).map(|rank| {
            sum += 1.0 / rank as f64;
            sum
        });
        let sums = sums.collect();
        Words { ranked: (0..VOCABULARY).map(word).collect(), sums, random: 0x5eed_0f57_ab1e_4a11 }
    }
}

/// A word that can be spoken, and that only this number has.
fn word(mut number: usize) -> String {
    const SYLLABLES: [&str; 16] = [
        "ka", "lo", "mi", "ru", "te", "sa", "no", "fi", "ha", "be", "du", "wo", "pi", "ga", "ze",
        "vu",
    ];
    let mut text = String::new();
    loop {
        text.push_str(SYLLABLES.get(number % 16).copied().unwrap_or_default());
        number /= 16;
        if number == 0 {
            return text + "r";
        }
    }
}

impl Words {
    /// The word of that rank; 0 is the most common.
    pub fn ranked(&self, rank: usize) -> &str {
        self.ranked.get(rank).map_or("", String::as_str)
    }

    fn chance(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn push(&mut self, out: &mut String, count: usize) {
        let total = self.sums.last().copied().unwrap_or_default();
        for _ in 0..count {
            let at = (self.chance() >> 11) as f64 / (1u64 << 53) as f64 * total;
            let rank = self.sums.partition_point(|sum| *sum < at);
            out.push_str(self.ranked.get(rank).map_or("", String::as_str));
            out.push(' ');
        }
    }
}

/// Writes logs of together so many events; their bytes.
pub fn write(folder: &Path, words: &mut Words, logs: usize, events: usize) -> Outcome<u64> {
    let each = events / logs.max(1);
    let mut bytes = 0;
    for number in 0..logs {
        let text = log(words, number, each, number % (logs / 10).max(1) == 0);
        bytes += text.len() as u64;
        let path = folder.join(format!("stablehand-{number:05}.jsonl"));
        std::fs::write(&path, text)?;
        // Newest last, as real ones are.
        let at = std::time::Duration::from_millis(EPOCH + number as u64 * 3_600_000);
        let file = std::fs::OpenOptions::new().append(true).open(&path)?;
        file.set_modified(std::time::UNIX_EPOCH + at)?;
    }
    Ok(bytes)
}

fn log(words: &mut Words, number: usize, events: usize, has_rare: bool) -> String {
    let mut out = String::with_capacity(events * 340);
    let mut at = EPOCH + number as u64 * 3_600_000;
    let session = format!("6f1c2a90-4b7d-4e35-9a18-{number:012}");
    let ours = |out: &mut String, at: u64, rest: &str| {
        let _infallible = writeln!(
            out,
            r#"{{"time":"2026-01-01T00:00:00.000Z","level":"INFO",{rest}}}"#,
            rest = rest.replace('@', &at.to_string())
        );
    };
    ours(
        &mut out,
        at,
        &format!(
            r#""msg":"log_opened","ts":@,"v":1,"log":"bench-{number}","program":"stablehand","version":"0.1.0","dialect":"cursor""#
        ),
    );
    ours(
        &mut out,
        at,
        &format!(
            r#""msg":"agent_spawned","ts":@,"run":"run-{number}","agent":"cursor","cwd":"/srv/barn{}""#,
            number % 7
        ),
    );
    ours(&mut out, at, r#""msg":"prompt_given","ts":@,"bytes":20,"text":"count the horses""#);
    let mut calls = 0;
    for event in 0..events {
        at += 13;
        let _infallible = write!(
            out,
            r#"{{"time":"2026-01-01T00:00:00.000Z","level":"DEBUG","msg":"raw_event","recv_ts":{at},"raw":{{"#
        );
        let shell = |call: usize| {
            format!(
                r#""call_id":"c{call}","tool_call":{{"shellToolCall":{{"args":{{"command":"cargo test stable{call}"}}"#
            )
        };
        match event % 40 {
            _ if event == 0 => {
                out.push_str(
                    r#""type":"system","subtype":"init","model":"Pony 2","cwd":"/srv/barn""#,
                );
            }
            7 | 17 | 27 | 37 => {
                out.push_str(r#""type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":""#);
                words.push(&mut out, 14);
                if has_rare && event == 47 {
                    let _infallible = write!(out, "{RARE} and a {RARE_PHRASE} {RARE_SIGNS} ");
                }
                out.push_str(r#""}]}"#);
            }
            20 => {
                let _infallible =
                    write!(out, r#""type":"tool_call","subtype":"started",{}}}}}"#, shell(calls));
            }
            32 => {
                let _infallible = write!(
                    out,
                    r#""type":"tool_call","subtype":"completed",{},"result":{{"success":{{"command":"cargo","exitCode":0,"stdout":""#,
                    shell(calls)
                );
                calls += 1;
                words.push(&mut out, 160);
                out.push_str(r#""}}}}"#);
            }
            _ => {
                out.push_str(r#""type":"thinking","subtype":"delta","text":""#);
                words.push(&mut out, 8);
                out.push('"');
            }
        }
        let _infallible = writeln!(out, r#","session_id":"{session}","timestamp_ms":{at}}}}}"#);
    }
    ours(
        &mut out,
        at,
        &format!(
            r#""msg":"run_ended","ts":@,"outcome":"success","ended_by":"agent","exit_code":0,"session_id":"{session}","text":"the agent succeeded""#
        ),
    );
    out
}
