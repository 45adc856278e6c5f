//! `stablehand doctor`: looks at everything that a run depends on, and says what to fix. With a log
//! it looks at a run that is over instead (`post_mortem`).
//!
//! Owns how findings are shown, and the checks of what only this face depends on: whether agents
//! answer (`agents`), and the terminal. The other checks are [`stablehand::checkup`]'s.

mod agents;
mod post_mortem;

use crate::env::Env;
use crate::failure::Failure;
use crate::manage::How;
use crate::output::{Look, Paint, print, print_json};
use stablehand::checkup::{CheckFinding, CheckLevel, Checkup};
use stablehand_core::text::one_line;
use std::fmt::Write as _;

/// Check everything that runs depend on, and say what to fix; or say why a run ended as it did
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 when nothing is broken and the run ended well, 1 otherwise, 64 \
                        wrong usage."
)]
pub struct DoctorArgs {
    #[command(flatten)]
    run: post_mortem::RunArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    how: How,
}

/// Runs all checks; 0 when nothing is broken.
pub fn main(args: &DoctorArgs) -> Result<u8, Failure> {
    let env = Env::read()?;
    if let Some(which) = args.run.which() {
        return post_mortem::main(which, &args.run, args.json, &env);
    }
    let mut findings = agents::look(&env, &args.how);
    let checkup = Checkup {
        program: env.program.clone(),
        keeper: env.keeper(),
        path: env.path.clone(),
        state: env.state().ok(),
    };
    findings.extend(checkup.run());
    findings.push(terminal(&env));
    let broken = count(&findings, CheckLevel::Broken);
    let printed = if args.json {
        print_json(&serde_json::json!({
            "broken": broken,
            "warnings": count(&findings, CheckLevel::Warning),
            "findings": findings,
        }))
    } else {
        print(&report(&findings, Paint::new(&env)))
    };
    printed.map(|_| u8::from(broken > 0))
}

fn terminal(env: &Env) -> CheckFinding {
    let kind = std::env::var("TERM").unwrap_or_default();
    if !env.stdout_is_terminal {
        return CheckFinding::ok("terminal", "standard output is none: no colours, no status line");
    }
    let width = terminal_size::terminal_size().map_or(0, |(width, _)| width.0);
    if kind.is_empty() || kind == "dumb" {
        let text = "TERM is not set, or dumb: no status line";
        return CheckFinding::new("terminal", CheckLevel::Note, text)
            .fix("export TERM=xterm-256color");
    }
    CheckFinding::ok("terminal", format!("{kind}, {width} columns"))
}

fn count(findings: &[CheckFinding], level: CheckLevel) -> usize {
    findings.iter().filter(|finding| finding.level == level).count()
}

fn report(findings: &[CheckFinding], paint: Paint) -> String {
    let names = findings.iter().map(|finding| finding.check.chars().count());
    let width = names.max().unwrap_or(0);
    let indent = 9 + width + 2;
    let mut out = String::new();
    for finding in findings {
        let (word, look) = match finding.level {
            CheckLevel::Ok => ("ok", Look::Good),
            CheckLevel::Note => ("note", Look::Dim),
            CheckLevel::Warning => ("warning", Look::Warn),
            CheckLevel::Broken => ("BROKEN", Look::Bad),
        };
        let (word, check) = (paint.look(&format!("{word:<7}"), look), one_line(&finding.check));
        let said = format!("{}{}", " ".repeat(indent), one_line(&finding.text));
        let said = paint.wrapped(&said, indent);
        let _infallible = write!(out, "{word}  {check:<width$}  {}", said.trim_start());
        if let Some(fix) = &finding.fix {
            let line = format!("{}fix: {}", " ".repeat(indent), one_line(fix));
            out.push_str(&paint.wrapped(&line, indent + 5));
        }
    }
    let (broken, warnings) =
        (count(findings, CheckLevel::Broken), count(findings, CheckLevel::Warning));
    let things = |count: usize, one: &str, many: &str| match count {
        0 => format!("no {many}"),
        1 => format!("1 {one}"),
        n => format!("{n} {many}"),
    };
    let verdict = match broken {
        0 => "nothing is broken".to_owned(),
        1 => "1 thing is broken".to_owned(),
        n => format!("{n} things are broken"),
    };
    let verdict = format!("{verdict}, {}", things(warnings, "warning", "warnings"));
    let painted = if broken > 0 { paint.bad(&verdict) } else { paint.good(&verdict) };
    format!("{out}\n{painted}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_says_what_to_do_and_counts() {
        let findings = [
            CheckFinding::ok("clock", "it is now"),
            CheckFinding::new("logs", CheckLevel::Broken, "cannot be\u{1b}[31m written")
                .fix("mkdir it"),
            CheckFinding::new("x", CheckLevel::Warning, "meh"),
        ];
        let expected = "\
ok       clock  it is now
BROKEN   logs   cannot be written
                fix: mkdir it
warning  x      meh

1 thing is broken, 1 warning
";
        assert_eq!(report(&findings, Paint::none()), expected);
        assert!(
            report(&findings[..1], Paint::none()).ends_with("nothing is broken, no warnings\n")
        );
    }
}
