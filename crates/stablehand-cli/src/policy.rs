//! `stablehand policy`: what a policy says of a call or a prompt, of a table of them, and the profiles.
//!
//! Finds and reads files, and prints. The language and the decision are core's.

mod check;
mod exec;
mod find;
mod test;

use crate::env::Env;
use crate::failure::Failure;
use crate::output::print;
use stablehand::config::Sources;
use stablehand_core::text;
use stablehand_policy::{Decision, PROFILES, profile};
use std::fmt::Write as _;

/// Exit statuses of `policy check`
const CHECK_CODES: &str = "\
Exit status: 0 allow; 3 deny; 4 ask; 1 a policy cannot be read; 64 wrong usage.";

/// Examples of `policy exec`
const EXEC_EXAMPLES: &str = "\
Examples:
  stablehand policy exec --profile workspace-write -- cargo test
  stablehand policy exec --profile read-only --profile no-network -- ./suspicious.sh

Exit status: that of the command; 1 if it or the sandbox cannot be started; 64 wrong usage.";

/// The call is denied.
const DENIED: u8 = 3;
/// Somebody has to be asked.
const ASKED: u8 = 4;

/// Try out the rules about what an agent may do
#[derive(Debug, clap::Args)]
pub struct PolicyArgs {
    #[command(subcommand)]
    command: PolicyCommand,
}

#[derive(Debug, clap::Subcommand)]
enum PolicyCommand {
    /// Say what the policy decides of one call or prompt, and which rule does
    #[command(after_help = CHECK_CODES)]
    Check(Box<check::CheckArgs>),
    /// Run a table of cases against a policy; exit status 1 if one comes out differently
    Test(test::TestArgs),
    /// Run a command in the sandbox that the policy makes, to try it out
    #[command(after_help = EXEC_EXAMPLES)]
    Exec(exec::ExecArgs),
    /// Print a profile, or the profiles and the policy files that hold here
    Show(ShowArgs),
}

/// Print a profile
#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// Which one
    profile: Option<String>,
}

/// Runs it.
pub fn main(args: &PolicyArgs) -> Result<u8, Failure> {
    let env = Env::read()?;
    match &args.command {
        PolicyCommand::Check(args) => check::main(args, &env),
        PolicyCommand::Test(args) => test::main(args),
        PolicyCommand::Exec(args) => exec::main(args, &env),
        PolicyCommand::Show(args) => show(args, &env),
    }
}

fn show(args: &ShowArgs, env: &Env) -> Result<u8, Failure> {
    let Some(name) = &args.profile else {
        let mut out = String::from("Profiles:\n");
        for (name, text) in PROFILES {
            let first = text.lines().next().unwrap_or_default().trim_start_matches('#').trim();
            let _infallible = writeln!(out, "  {name:<16} {first}");
        }
        out.push_str("Files here, later ones on top:\n");
        let found = Sources::default().files(&env.places())?;
        for file in &found {
            let _infallible = writeln!(out, "  {}", text::plain(&file.describe()));
        }
        if found.is_empty() {
            out.push_str("  none\n");
        }
        let (policy, _) = Sources::default().policy(&env.places())?;
        for (nth, rule) in policy.prompts().enumerate() {
            if nth == 0 {
                out.push_str("Rules about prompts:\n");
            }
            let patterns: Vec<_> = rule.matches.iter().map(ToString::to_string).collect();
            let shown =
                format!("{} by {}: {}", rule.action.word(), rule.place, patterns.join(", "));
            let _infallible = writeln!(out, "  {}", text::plain(&shown));
        }
        return print(&out);
    };
    if let Some(text) = profile(name) {
        return print(text);
    }
    let names: Vec<_> = PROFILES.iter().map(|(name, _)| *name).collect();
    Err(Failure::usage(format!("no profile is called `{name}`"))
        .hint(format!("there are: {}", names.join(", "))))
}

/// A decision for a person.
fn explain(decision: &Decision) -> String {
    let mut out = format!("{}: {}\n", decision.action, text::plain(&decision.reason));
    if decision.action != decision.unattended {
        let _infallible = writeln!(out, "when nobody is there: {}", decision.unattended);
    }
    if decision.parts.len() > 1 {
        for part in &decision.parts {
            let shown = text::plain(&part.part).replace('\n', "\\n");
            let shown = text::excerpt(shown.as_bytes(), 160);
            let _infallible =
                writeln!(out, "  {:<5}  {shown}: {}", part.action.word(), text::plain(&part.why));
        }
    }
    out
}
