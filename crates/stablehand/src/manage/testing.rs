//! What the tests of parsers share: recorded outputs and a short way to ask.

use super::{Answer, Heard, Output, Parse, Transcript, Trouble};
use stablehand_core::event::ProcessExit;
use std::path::Path;

/// A recorded output: `fixtures/<agent>/commands/<name>.out` and `.err`, of which one must exist.
pub(crate) fn recorded(agent: &str, name: &str, code: i32) -> Output {
    let (out, err) = (format!("{name}.out"), format!("{name}.err"));
    let read = |file: &str| file_of(agent, file);
    assert!(read(&out).is_some() || read(&err).is_some(), "no fixture {agent}/commands/{name}");
    Output {
        stdout: read(&out).unwrap_or_default(),
        stderr: read(&err).unwrap_or_default(),
        exit: ProcessExit::Code(code),
        cut: false,
    }
}

/// Any file of the recorded commands.
pub(crate) fn file_of(agent: &str, file: &str) -> Option<Vec<u8>> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    std::fs::read(fixtures.join(agent).join("commands").join(file)).ok()
}

/// An output that a test makes up.
pub(crate) fn printed(stdout: &str, stderr: &str, code: i32) -> Output {
    Output {
        stdout: stdout.into(),
        stderr: stderr.into(),
        exit: ProcessExit::Code(code),
        cut: false,
    }
}

/// Silence, to be filled in.
pub(crate) fn nothing() -> Heard<'static> {
    Heard {
        output: None,
        files: &[],
        set: &[],
        transcripts: None,
        work: Path::new("/home/rider/w"),
    }
}

/// A transcript that was recorded: `fixtures/<agent>/commands/<file>.jsonl`.
pub(crate) fn transcript(agent: &str, file: &str, name: &str) -> Transcript {
    let head = file_of(agent, &format!("{file}.jsonl")).expect("a recorded transcript");
    Transcript { name: name.into(), modified_ms: Some(1_794_850_563_000), head }
}

/// What a parser makes of an output.
pub(crate) fn heard(parse: Parse, output: &Output) -> Result<Answer, Trouble> {
    parse(&Heard { output: Some(output), ..nothing() })
}

/// What a parser makes of files and variables.
pub(crate) fn found(
    parse: Parse,
    files: &[Option<&str>],
    set: &[&'static str],
) -> Result<Answer, Trouble> {
    let files: Vec<_> =
        files.iter().map(|file| file.map(|text| text.as_bytes().to_vec())).collect();
    parse(&Heard { files: &files, set, ..nothing() })
}
