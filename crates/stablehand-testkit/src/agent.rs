//! The fake agent itself: takes its section of the script and performs it, step by step.
//!
//! Owns the process: its outputs, its signals, its end. It reads only `FAKE_AGENT_SCRIPT` (the
//! script) and `FAKE_AGENT_RECORD` (the folder in which it notes what it was given and which
//! processes it made); its command-line arguments are recorded and otherwise ignored. Whatever the
//! script says, it is gone after [`LONGEST_LIFE`], so that a failing test leaves nothing for ever.

mod child;
mod record;

use crate::script::{self, EventKind, Step, Writes};
use nix::sys::signal::raise;
use nix::unistd;
use record::Record;
use signal_hook::iterator::Signals;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// The script, as a path.
pub const SCRIPT_VARIABLE: &str = "FAKE_AGENT_SCRIPT";
/// The folder for what the agent notes.
pub const RECORD_VARIABLE: &str = "FAKE_AGENT_RECORD";
/// After this the kernel ends the agent and each of its children, whatever the script says.
pub const LONGEST_LIFE: Duration = Duration::from_mins(1);

/// What stands for the last child's process id in a line.
const CHILD: &str = "\"@CHILD@\"";
/// Exit code for a script that cannot be read or has no section for this start.
const BAD_SCRIPT: u8 = 96;
/// Exit code when our reader went away.
const OUTPUT_CLOSED: u8 = 97;

/// Runs the agent, or one of its children; the whole of the `fake-agent` binary.
pub fn main() -> ExitCode {
    // SIGALRM's default action is the one bound that no script can lift.
    unistd::alarm::set(LONGEST_LIFE.as_secs() as u32);
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|first| first == child::FLAG) {
        return child::main(&arguments);
    }
    let record = Record::begin(&arguments);
    let section = match section(record.number()) {
        Ok(section) => section,
        Err(why) => {
            say_to_stderr(why.as_bytes());
            return ExitCode::from(BAD_SCRIPT);
        }
    };
    let mut agent = Agent { record, children: 0 };
    for step in section {
        match agent.perform(step) {
            Ok(None) => {}
            Ok(Some(code)) => return code,
            Err(error) => {
                agent.record.note("write-error", error.to_string().as_bytes());
                return ExitCode::from(OUTPUT_CLOSED);
            }
        }
    }
    ExitCode::SUCCESS
}

fn section(number: usize) -> Result<Vec<Step>, String> {
    let path = std::env::var_os(SCRIPT_VARIABLE)
        .ok_or_else(|| format!("fake-agent: no script: `{SCRIPT_VARIABLE}` is not set"))?;
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("fake-agent: reading {}: {error}", path.display()))?;
    let mut sections = script::parse(&text).map_err(|error| format!("fake-agent: {error}"))?;
    if number > sections.len() {
        let count = sections.len();
        return Err(format!("fake-agent: start {number}, but the script has {count} sections"));
    }
    Ok(sections.swap_remove(number - 1))
}

struct Agent {
    record: Record,
    children: u32,
}

impl Agent {
    /// Does one step; an exit code ends the agent.
    fn perform(&mut self, step: Step) -> io::Result<Option<ExitCode>> {
        match step {
            Step::Write(bytes) => stdout()?.write_all(&self.with_child(bytes))?,
            Step::Cat(path, delay) => cat(&path, delay)?,
            Step::Events(kind, count, writes) => events(kind, count, writes)?,
            Step::Giant(bytes) => giant(bytes)?,
            Step::Stderr(text) => say_to_stderr(text.as_bytes()),
            Step::StderrGiant(bytes) => {
                let mut stderr = File::from(io::stderr().as_fd().try_clone_to_owned()?);
                write_repeated(&mut stderr, bytes)?;
                stderr.write_all(b"\n")?;
            }
            Step::ReadStdin => {
                let mut prompt = Vec::new();
                io::stdin().lock().read_to_end(&mut prompt)?;
                self.record.note_run("stdin", &prompt);
            }
            Step::Sleep(time) => std::thread::sleep(time),
            Step::Burn(time) => {
                let start = Instant::now();
                while start.elapsed() < time {
                    std::hint::spin_loop();
                }
            }
            // The alarm bounds this wait.
            Step::WaitFile(name) => {
                while !self.record.has(&name) {
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
            Step::WaitChild => {
                while self.child_pid().is_some_and(crate::census::is_alive) {
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
            Step::Touch(name) => self.record.note(&name, b""),
            Step::Ignore(signals) => {
                for signal in signals {
                    ignore(signal as i32)?;
                }
            }
            Step::OnSignal(signal, name, code) => self.on_signal(signal as i32, name, code)?,
            Step::Spawn(plan) => {
                self.children += 1;
                child::spawn(&plan, &self.record, self.children)?;
            }
            Step::Close(stream) => unistd::close(stream)?,
            Step::Exit(code) => return Ok(Some(ExitCode::from(code as u8))),
            Step::Die(signal) => {
                // A core file would only fill the disk.
                nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_CORE, 0, 0)?;
                // Rust's own handler takes the first SIGSEGV and gives the signal back.
                for _ in 0..2 {
                    raise(signal)?;
                }
            }
        }
        Ok(None)
    }

    fn child_pid(&self) -> Option<i32> {
        let text = std::fs::read_to_string(self.record.child_pid_file(self.children)?).ok()?;
        text.split(' ').next()?.parse().ok()
    }

    /// Puts the last child's process id where a line asks for it.
    fn with_child(&self, bytes: Vec<u8>) -> Vec<u8> {
        match (std::str::from_utf8(&bytes), self.child_pid()) {
            (Ok(text), Some(pid)) if text.contains(CHILD) => {
                text.replace(CHILD, &pid.to_string()).into_bytes()
            }
            _ => bytes,
        }
    }

    fn on_signal(&self, signal: i32, name: String, code: i32) -> io::Result<()> {
        let mut signals = Signals::new([signal])?;
        let record = self.record.clone();
        std::thread::spawn(move || {
            if signals.forever().next().is_some() {
                record.note(&name, b"");
                exit_now(code);
            }
        });
        Ok(())
    }
}

#[expect(clippy::exit, reason = "a signal thread ends the process while the main thread sleeps")]
fn exit_now(code: i32) -> ! {
    std::process::exit(code)
}

/// A handler that does nothing: to the sender it is the same as ignoring, and it needs no `unsafe`.
fn ignore(signal: i32) -> io::Result<()> {
    signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false))).map(|_| ())
}

/// Standard output without a buffer, so that one write is one write.
fn stdout() -> io::Result<File> {
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

fn say_to_stderr(line: &[u8]) {
    let mut bytes = line.to_vec();
    bytes.push(b'\n');
    // Nobody is left to tell when standard error is gone.
    drop(io::stderr().write_all(&bytes));
}

fn cat(path: &std::path::Path, delay: Duration) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut stdout = stdout()?;
    if delay.is_zero() {
        io::copy(&mut file, &mut stdout)?;
        return Ok(());
    }
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        stdout.write_all(&line)?;
        line.clear();
        std::thread::sleep(delay);
    }
    Ok(())
}

fn events(kind: EventKind, count: u64, writes: Writes) -> io::Result<()> {
    let mut stdout = stdout()?;
    let mut block = Vec::with_capacity(80 * 1024);
    for number in 0..count {
        event(kind, number, &mut block)?;
        if writes == Writes::Line || block.len() >= 64 * 1024 {
            stdout.write_all(&block)?;
            block.clear();
        }
    }
    stdout.write_all(&block)
}

/// Written by hand: hundreds of thousands of them are made at once.
fn event(kind: EventKind, number: u64, block: &mut Vec<u8>) -> io::Result<()> {
    let session = crate::cursor::DEFAULT_SESSION;
    let at = 1_790_000_100_000 + number;
    match kind {
        EventKind::Thinking => writeln!(
            block,
            r#"{{"type":"thinking","subtype":"delta","text":"step {number} ","session_id":"{session}","timestamp_ms":{at}}}"#
        ),
        EventKind::Assistant => writeln!(
            block,
            r#"{{"type":"assistant","message":{{"role":"assistant","content":[{{"type":"text","text":"word {number} "}}]}},"session_id":"{session}","timestamp_ms":{at}}}"#
        ),
        EventKind::Tool => {
            let id = format!("tool_{}", number / 2);
            let (subtype, result) = if number.is_multiple_of(2) {
                ("started", "")
            } else {
                ("completed", r#","result":{"success":{"content":"","isEmpty":true}}"#)
            };
            writeln!(
                block,
                r#"{{"type":"tool_call","subtype":"{subtype}","call_id":"{id}","tool_call":{{"readToolCall":{{"args":{{"path":"/srv/barn/{number}"}}{result}}}}},"session_id":"{session}","timestamp_ms":{at}}}"#
            )
        }
    }
}

/// What comes before and after the long string of a giant line.
pub const GIANT_HEAD: &[u8] =
    br#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":""#;
/// See [`GIANT_HEAD`].
pub const GIANT_TAIL: &[u8] = b"\"}]},\"session_id\":\"5e551017-0000-4000-8000-0000000000a1\"}\n";

fn giant(bytes: u64) -> io::Result<()> {
    let mut stdout = stdout()?;
    stdout.write_all(GIANT_HEAD)?;
    write_repeated(&mut stdout, bytes)?;
    stdout.write_all(GIANT_TAIL)
}

fn write_repeated(to: &mut File, bytes: u64) -> io::Result<()> {
    let block = vec![b'x'; 1 << 20];
    let mut left = bytes;
    while left > 0 {
        let size = left.min(block.len() as u64);
        to.write_all(block.get(..size as usize).unwrap_or(&block))?;
        left -= size;
    }
    Ok(())
}
