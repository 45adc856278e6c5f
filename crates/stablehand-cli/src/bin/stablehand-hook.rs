//! `stablehand-hook`: what agents start before every tool, and nothing else; see `hook`.

use std::process::ExitCode;

fn main() -> ExitCode {
    stablehand_cli::hook::small_main()
}
