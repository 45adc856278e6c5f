//! `stablehand policy test`: a table of cases, each decided and compared.

use super::explain;
use super::find::SourceArgs;
use crate::failure::Failure;
use crate::output::print;
use stablehand::config::ConfigError;
use stablehand::policy_world::schema_error;
use stablehand_core::text;
use stablehand_policy::CaseTable;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Run a table of cases against a policy
#[derive(Debug, clap::Args)]
pub(super) struct TestArgs {
    #[command(flatten)]
    sources: SourceArgs,

    /// The tables: TOML with [[case]] entries, and a [policy] of their own if they like
    #[arg(value_name = "FILE", required = true)]
    tables: Vec<PathBuf>,
}

/// Runs it.
pub(super) fn main(args: &TestArgs) -> Result<u8, Failure> {
    let sources = args.sources.sources();
    let below = sources.named()?;
    let mut out = String::new();
    let (mut cases, mut wrong_ones) = (0, 0);
    for path in &args.tables {
        let name = path.display().to_string();
        let content = std::fs::read_to_string(path)
            .map_err(|error| Failure::new(format!("failed to read the table `{name}`: {error}")))?;
        let table = CaseTable::parse(&content, &name)
            .map_err(|error| ConfigError::Policy { text: error.to_string() })?;
        if !table.has_policy() && !sources.is_named() {
            return Err(Failure::usage(format!(
                "`{name}` has no [policy] and no [[prompt]] in it"
            ))
            .hint("name the policy to test with --policy or --profile"));
        }
        cases += table.len();
        for failure in table.run(&below, &schema_error) {
            wrong_ones += 1;
            let case = failure.name.as_deref().map_or(String::new(), |name| format!(" ({name})"));
            let call = text::excerpt(text::plain(&failure.call).as_bytes(), 200);
            let _infallible = writeln!(
                out,
                "{}{}: {}\n  {call}",
                text::plain(&failure.place),
                text::plain(&case),
                text::plain(&failure.difference)
            );
            for line in explain(&failure.decision).lines() {
                let _infallible = writeln!(out, "  {line}");
            }
        }
    }
    let said = match wrong_ones {
        0 => format!("{cases} cases, all as expected\n"),
        wrong => format!("{cases} cases, {wrong} not as expected\n"),
    };
    out.push_str(&said);
    print(&out).map(|_| u8::from(wrong_ones > 0))
}
