//! The `fake-agent` binary of the tests: `stablehand_fake` with everything from the environment.
//!
//! It reads only `FAKE_AGENT_SCRIPT` (the script), `FAKE_AGENT_DIALECT` (Cursor's, unless it is set),
//! `FAKE_AGENT_RECORD` (the folder in which it notes what it was given and which processes it made)
//! `FAKE_AGENT_TALKS` (set where it takes prompts by standard input as long as they come, the n-th
//! turn of a process being the n-th section) and, as the real agents do, the hook files of its workspace and of `HOME` (`FAKE_AGENT_HOOKS` says
//! which of them it runs). Of its command-line arguments those that say where hooks are matter, the
//! others are recorded and ignored. Whatever the script says, it is gone after [`LONGEST_LIFE`], so that a failing test leaves nothing for ever.

use stablehand_core::Dialect;
use stablehand_fake::hooks::{Mode, Surroundings};
use stablehand_fake::native::Native;
use stablehand_fake::perform::{self, Options, Record};
use stablehand_fake::script::{self, Step};
use stablehand_fake::{Clock, Identity};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

pub use stablehand_fake::perform::{GIANT_HEAD, GIANT_TAIL, LONGEST_LIFE};

/// The script, as a path.
pub const SCRIPT_VARIABLE: &str = "FAKE_AGENT_SCRIPT";
/// The folder for what the agent notes.
pub const RECORD_VARIABLE: &str = "FAKE_AGENT_RECORD";
/// The dialect, by its name.
pub const DIALECT_VARIABLE: &str = "FAKE_AGENT_DIALECT";
/// Set where it is talked with.
pub const TALKS_VARIABLE: &str = "FAKE_AGENT_TALKS";
/// Set where it takes no images.
pub const BLIND_VARIABLE: &str = "FAKE_AGENT_BLIND";
/// Which hooks it runs: `print`, unless it is set, `all`, `old` or `none`.
pub const HOOKS_VARIABLE: &str = "FAKE_AGENT_HOOKS";

/// Exit code for a script that cannot be read or has no section for this start.
const BAD_SCRIPT: u8 = 96;
/// Exit code when our reader went away.
const OUTPUT_CLOSED: u8 = 97;

/// Runs the agent, or one of its children; the whole of the `fake-agent` binary.
pub fn main() -> ExitCode {
    if let Some(code) = perform::child_main() {
        return code;
    }
    perform::end_after(LONGEST_LIFE);
    let arguments = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let arguments: Vec<String> = arguments.collect();
    let record = Record::begin(std::env::var_os(RECORD_VARIABLE).map(PathBuf::from), &arguments);
    let dialect = std::env::var(DIALECT_VARIABLE).ok().and_then(|name| Dialect::by_name(&name));
    let dialect = dialect.unwrap_or(Dialect::Cursor);
    let is_set = |name: &str| std::env::var_os(name).is_some();
    let talks = is_set(TALKS_VARIABLE);
    let sections = match sections(dialect, if talks { 1 } else { record.number() }) {
        Ok(sections) => sections,
        Err(why) => {
            // Nobody is left to tell when standard error is gone.
            drop(io::stderr().write_all(format!("fake-agent: {why}\n").as_bytes()));
            return ExitCode::from(BAD_SCRIPT);
        }
    };
    let options = Options {
        dialect,
        clock: Clock::Invented,
        identity: Identity { asks: talks, sees: !is_set(BLIND_VARIABLE), ..Identity::invented() },
        prompt: String::new(),
        record,
        speed: 1.0,
        child_words: Vec::new(),
        closed_code: OUTPUT_CLOSED,
        hooks: surroundings(dialect),
    };
    ExitCode::from(if talks {
        perform::converse(&sections, options)
    } else {
        perform::play(&sections, options)
    })
}

fn surroundings(dialect: Dialect) -> Surroundings {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let native = Native::read(dialect, &arguments);
    let mode = std::env::var(HOOKS_VARIABLE).ok().and_then(|word| Mode::from_word(&word));
    Surroundings {
        mode: mode.unwrap_or_default(),
        workspace: native.cwd.or_else(|| std::env::current_dir().ok()).unwrap_or_default(),
        home: std::env::home_dir(),
        settings: native.settings,
        system_settings: std::env::var_os(stablehand_fake::hooks::SYSTEM_SETTINGS).map(Into::into),
        environment: std::env::vars_os().collect(),
    }
}

fn sections(dialect: Dialect, number: usize) -> Result<Vec<Vec<Step>>, String> {
    let path = std::env::var_os(SCRIPT_VARIABLE)
        .ok_or_else(|| format!("no script: `{SCRIPT_VARIABLE}` is not set"))?;
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("reading {}: {error}", path.display()))?;
    let sections = script::parse(&text, dialect).map_err(|error| error.to_string())?;
    if number > sections.len() {
        let count = sections.len();
        return Err(format!("start {number}, but the script has {count} sections"));
    }
    Ok(sections)
}
