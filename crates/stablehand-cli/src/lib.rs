//! The faces: everything that reads arguments, touches the terminal or prints.
//!
//! `stablehand` and `cursor-wrap` are two doors to the same house. What they have in common is
//! here: [`mod@env`] (what surrounds us, read once), [`signals`], [`console`] (our own words on
//! standard error), [`shell`] (one session with its sinks and views), [`render`]. Only this crate prints.

// Standard output belongs to the agent's bytes and to `render`; all else goes to standard error
// through `console`. The lint that forbids printing elsewhere holds here too.

pub mod acp;
pub mod again;
pub mod ask;
pub mod choice;
pub mod console;
pub mod decode;
pub mod demo;
pub mod doctor;
pub mod duration;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "what runs before `main` is found by the name of its section")]
mod early;
pub mod env;
pub mod failure;
pub mod fake;
pub mod hook;
mod hook_alone;
pub mod hooks;
pub mod input;
pub mod limits;
pub mod main_stablehand;
pub mod main_wrap;
pub mod manage;
mod output;
pub mod policy;
pub mod redact;
pub mod render;
pub mod run;
pub mod screen;
pub mod sessions;
pub mod settings;
pub mod shell;
pub mod signals;
pub mod talk;
pub mod wrap;

use failure::Failure;
use std::process::ExitCode;

/// What a keeper's process ends with.
pub(crate) fn keeper_exit() -> ExitCode {
    ExitCode::from(u8::try_from(stablehand::keeper::serve()).unwrap_or(1))
}

/// Exit status and message of a wrong command line, or of `--help`.
pub(crate) fn explain(error: &clap::Error) -> ExitCode {
    // `clap` prints help to standard output and errors to standard error.
    match error.print() {
        _ if error.use_stderr() => ExitCode::from(failure::USAGE),
        Err(failed) if failed.kind() != std::io::ErrorKind::BrokenPipe => {
            output::say(&format!("failed to print: {failed}"));
            ExitCode::FAILURE
        }
        Ok(()) | Err(_) => ExitCode::SUCCESS,
    }
}

/// From a result to an exit status, with a message where there is something to say.
pub(crate) fn finish(program: &str, result: Result<u8, Failure>) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            // Whatever was typed or found may be quoted in it.
            let message = failure.message(program);
            let message = redact::redactor(&[]).redact(&message).into_owned();
            let _nobody_there =
                std::io::Write::write_all(&mut std::io::stderr(), message.as_bytes());
            ExitCode::from(failure.code())
        }
    }
}
