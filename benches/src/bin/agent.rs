//! `bench-agent`: the agent, the reader or the tree of a measurement; see `stablehand_benches::agent`.

fn main() -> std::process::ExitCode {
    stablehand_benches::report::exit(stablehand_benches::agent::play())
}
