//! `cursor-wrap`; see `stablehand_cli::wrap`.

fn main() -> std::process::ExitCode {
    stablehand_cli::main_wrap::main()
}
