//! The door of `cursor-wrap`.

use crate::env::KEEPER;
use crate::wrap::{self, PROGRAM, WrapArgs};
use clap::Parser;
use std::process::ExitCode;

/// Parses the command line and runs.
pub fn main() -> ExitCode {
    let mut args = std::env::args_os();
    // Before anything else is set up: a keeper is to be small.
    if args.nth(1).is_some_and(|word| word == KEEPER) {
        return crate::keeper_exit();
    }
    stablehand::pages::return_large_blocks();
    match WrapArgs::try_parse() {
        Ok(args) => crate::finish(PROGRAM, wrap::main(&args)),
        Err(error) => crate::explain(&error),
    }
}
