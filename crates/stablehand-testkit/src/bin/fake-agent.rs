//! The `fake-agent` binary: an agent that does what its script says. See `stablehand_testkit::script`.

use std::process::ExitCode;

fn main() -> ExitCode {
    stablehand_testkit::agent::main()
}
