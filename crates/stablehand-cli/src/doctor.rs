//! `stablehand doctor`: looks at everything that a run depends on, and says what to fix. With a log
//! it looks at a run that is over instead (`post_mortem`).
//!
//! Owns the findings and how they are shown. Each module looks at one thing: `agents`, `state`
//! (folders, leases and leftovers), `system` (what the kernel gives us), `trial` (a real run).

mod agents;
mod post_mortem;
mod state;
mod system;
mod trial;

use crate::env::Env;
use crate::failure::Failure;
use crate::manage::{How, Look, Paint, Table, print, print_json};
use serde::Serialize;
use stablehand_core::text;

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

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    /// As it should be.
    Ok,
    /// Good to know; nothing suffers.
    Note,
    /// Something is less good than it could be.
    Warning,
    /// Runs will fail.
    Broken,
}

/// What was found out about one thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Finding {
    check: String,
    level: Level,
    text: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

impl Finding {
    fn new(check: impl Into<String>, level: Level, text: impl Into<String>) -> Finding {
        Finding { check: check.into(), level, text: text.into(), fix: None }
    }

    fn ok(check: impl Into<String>, text: impl Into<String>) -> Finding {
        Finding::new(check, Level::Ok, text)
    }

    #[must_use]
    fn fix(mut self, fix: impl Into<String>) -> Finding {
        self.fix = Some(fix.into());
        self
    }
}

/// Runs all checks; 0 when nothing is broken.
pub fn main(args: &DoctorArgs) -> Result<u8, Failure> {
    let env = Env::read()?;
    if let Some(which) = args.run.which() {
        return post_mortem::main(which, &args.run, args.json, &env);
    }
    let mut findings = agents::look(&env, &args.how);
    findings.extend(trial::look(&env));
    findings.extend(state::look(&env));
    findings.extend(system::look(&env));
    let broken = count(&findings, Level::Broken);
    let printed = if args.json {
        print_json(&serde_json::json!({
            "broken": broken,
            "warnings": count(&findings, Level::Warning),
            "findings": findings,
        }))
    } else {
        print(&report(&findings, Paint::new(&env)))
    };
    printed.map(|_| u8::from(broken > 0))
}

fn count(findings: &[Finding], level: Level) -> usize {
    findings.iter().filter(|finding| finding.level == level).count()
}

fn report(findings: &[Finding], paint: Paint) -> String {
    let names = findings.iter().map(|finding| finding.check.chars().count());
    let width = names.max().unwrap_or(0);
    let indent = 9 + width + 2;
    let mut out = String::new();
    for finding in findings {
        let (word, look) = match finding.level {
            Level::Ok => ("ok", Look::Good),
            Level::Note => ("note", Look::Dim),
            Level::Warning => ("warning", Look::Warn),
            Level::Broken => ("BROKEN", Look::Bad),
        };
        let mut head = Table::default();
        head.row(vec![(format!("{word:<7}"), look), (finding.check.clone(), Look::Plain)]);
        let head = head.render(paint, 0);
        let padding = " ".repeat((width + 2).saturating_sub(finding.check.chars().count()));
        let said = text::plain(&finding.text).replace(['\n', '\t'], " ");
        out.push_str(head.trim_end());
        out.push_str(&padding);
        out.push_str(paint.wrapped(&format!("{}{said}", " ".repeat(indent)), indent).trim_start());
        if let Some(fix) = &finding.fix {
            let line = format!("{}fix: {}", " ".repeat(indent), text::plain(fix));
            out.push_str(&paint.wrapped(&line, indent + 5));
        }
    }
    let (broken, warnings) = (count(findings, Level::Broken), count(findings, Level::Warning));
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
            Finding::ok("clock", "it is now"),
            Finding::new("logs", Level::Broken, "cannot be\u{1b}[31m written").fix("mkdir it"),
            Finding::new("x", Level::Warning, "meh"),
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
