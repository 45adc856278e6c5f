//! `stablehand`; see `stablehand_cli::main_stablehand`.

fn main() -> std::process::ExitCode {
    stablehand_cli::main_stablehand::main()
}
