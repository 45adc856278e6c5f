//! `stablehand decode`: a recorded stream on standard input, our events on standard output.

use crate::failure::Failure;
use crate::redact;
use stablehand::redact::Redactor;
use stablehand_core::decode::Summary;
use stablehand_core::event::{Event, EventKind, Origin};
use stablehand_core::id::{Seq, SessionId};
use stablehand_core::json::{self, Scan};
use stablehand_core::text::safe_json;
use stablehand_core::{Depth, Dialect, Line, LineSplitter, Part};
use std::io::{self, BufWriter, Read, Write};

/// Read an agent's recorded output as events
#[derive(Debug, clap::Args)]
pub struct DecodeArgs {
    /// Whose output it is
    #[arg(long, value_name = "AGENT", value_parser = dialect)]
    agent: Dialect,

    /// Print one JSON object with counts instead of the events
    #[arg(long)]
    summary: bool,

    /// Take what looks like a secret out of the events; a recording is shown as it is otherwise
    #[arg(long)]
    redact: bool,
}

fn dialect(name: &str) -> Result<Dialect, String> {
    Dialect::by_name(name).ok_or_else(|| {
        let known: Vec<_> = Dialect::ALL.iter().map(|dialect| dialect.name()).collect();
        format!("no decoder for `{name}`; there is one for: {}", known.join(", "))
    })
}

/// Runs it.
pub fn main(args: &DecodeArgs) -> Result<u8, Failure> {
    let mut output = BufWriter::new(io::stdout().lock());
    let done = decode(args, &mut io::stdin().lock(), &mut output).and_then(|()| output.flush());
    match done {
        Ok(()) => Ok(0),
        // `stablehand decode | head` has had enough.
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(0),
        Err(e) => Err(Failure::new(format!("failed to decode: {e}"))),
    }
}

fn decode(args: &DecodeArgs, input: &mut impl Read, output: &mut impl Write) -> io::Result<()> {
    let mut decoder = args.agent.decoder();
    let mut splitter = LineSplitter::default();
    let redactor = args.redact.then(|| redact::redactor(&[]));
    let run = stablehand::new_run_id();
    let mut stamper = Stamper { run, seq: Seq(0), session: None, redactor };
    let mut summary = Summary::default();
    let mut events = Vec::new();
    let mut take = |line: &Line<'_>, output: &mut dyn Write| -> io::Result<()> {
        let scan = if line.part == Part::Whole { json::scan(line.bytes) } else { Scan::Text };
        decoder.line(line, &scan, Depth::Full, &mut events);
        summary.push(line, &events);
        for event in events.drain(..).filter(|_| !args.summary) {
            stamper.write(event, output)?;
        }
        Ok(())
    };
    loop {
        let n = input.read(splitter.space())?;
        splitter.filled(n);
        while let Some(line) = splitter.next() {
            take(&line, output)?;
        }
        if n == 0 {
            break;
        }
    }
    while let Some(line) = splitter.finish() {
        take(&line, output)?;
    }
    decoder.finish(Depth::Full, &mut events);
    summary.events(&events);
    if args.summary {
        let json = serde_json::to_string(&summary.finish())?;
        return writeln!(output, "{}", safe_json(&json));
    }
    events.into_iter().try_for_each(|event| stamper.write(event, output))
}

/// Gives events their place in the stream.
struct Stamper {
    run: stablehand_core::id::RunId,
    seq: Seq,
    session: Option<SessionId>,
    redactor: Option<Redactor>,
}

impl Stamper {
    fn write(&mut self, kind: EventKind, output: &mut dyn Write) -> io::Result<()> {
        if let EventKind::SessionStarted { native_id, .. } = &kind {
            self.session = Some(native_id.clone());
        }
        self.seq.0 += 1;
        let at = stablehand::clock::unix_now();
        let (session, run) = (self.session.clone(), self.run.clone());
        let event = Event::stamp(self.seq, at, session, run, Origin::Agent, kind);
        let json = serde_json::to_string(&event)?;
        let json = match &self.redactor {
            Some(redactor) => redactor.redact_json_text(&json),
            None => json.into(),
        };
        writeln!(output, "{}", safe_json(&json))
    }
}
