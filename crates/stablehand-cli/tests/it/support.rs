//! What the modules share: the binaries, short names for times, and the plain scripts.

use stablehand_testkit::browser::{self, Browser};
use stablehand_testkit::{Bins, Run, TestEnv};
use std::path::Path;
use std::time::Duration;

/// A turn in which nothing goes wrong.
pub(crate) const GOOD: &str = "
    read-stdin
    init
    user feed the ponies
    thinking oats or hay
    assistant Fed.
    result Fed.
";

/// The prompt of most tests.
pub(crate) const PROMPT: &str = "feed the ponies";

/// The binaries of this build, or those in `STABLEHAND_BIN_DIR`, so that a package can be tested.
pub(crate) fn bins() -> Bins {
    match std::env::var_os("STABLEHAND_BIN_DIR") {
        None => Bins::new(env!("CARGO_BIN_EXE_cursor-wrap"), env!("CARGO_BIN_EXE_stablehand")),
        Some(folder) => {
            let built = Bins::new("", env!("CARGO_BIN_EXE_stablehand"));
            Bins {
                cursor_wrap: Path::new(&folder).join("cursor-wrap"),
                stablehand: Path::new(&folder).join("stablehand"),
                ..built
            }
        }
    }
}

/// A place with a script.
pub(crate) fn env(script: &str) -> TestEnv {
    TestEnv::with_script(bins(), script)
}

/// `cursor-wrap -p` with the prompt.
pub(crate) fn print(env: &TestEnv) -> Run<'_> {
    env.cursor_wrap().args(["-p", PROMPT])
}

/// `stablehand run -p` with the prompt.
pub(crate) fn run(env: &TestEnv) -> Run<'_> {
    env.stablehand_run().args(["-p", PROMPT])
}

/// What the fake agent writes for a script when nobody is in between.
pub(crate) fn agent_output(script: &str) -> Vec<u8> {
    env(script).fake_agent().stdin(PROMPT).finish().stdout
}

pub(crate) fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub(crate) fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Says aloud that a test could not do its part here.
pub(crate) fn skip(why: &str) {
    eprintln!("SKIPPED: {why}");
}

/// A browser; where there is none the test is skipped aloud, which in CI is a failure.
pub(crate) fn browser() -> Option<Browser> {
    let Some(program) = browser::find() else {
        let why = "there is no Chromium; `./check` installs it, or STABLEHAND_CHROMIUM names it";
        assert!(std::env::var("CI").as_deref() != Ok("true"), "a skip is a failure in CI: {why}");
        skip(why);
        return None;
    };
    Some(Browser::start(&program))
}
