//! What the tests of parsers share: recorded outputs and a short way to ask.

use super::{Answer, Heard, Output, Parse, Trouble};
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

/// What a parser makes of an output.
pub(crate) fn heard(parse: Parse, output: &Output) -> Result<Answer, Trouble> {
    parse(&Heard { output: Some(output), files: &[], set: &[] })
}

/// What a parser makes of files and variables.
pub(crate) fn found(
    parse: Parse,
    files: &[Option<&str>],
    set: &[&'static str],
) -> Result<Answer, Trouble> {
    let files: Vec<_> =
        files.iter().map(|file| file.map(|text| text.as_bytes().to_vec())).collect();
    parse(&Heard { output: None, files: &files, set })
}
