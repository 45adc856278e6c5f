//! Words that a wildcard of a rule does not cover: they must stand in the pattern themselves.
//!
//! For a program in the tables (`table`, `git`, `net`, and the wrappers of `wrap`) these are all
//! options but those that are known to be harmless, and operands that make it run or write something.
//! For any other program they are the options of [`COMMON`]. docs/policy.md says so to users.

mod git;
pub(crate) mod net;
mod program;
mod table;

use super::options::{self, Order, Reading, Role};
use super::shell::{Simple, Word};
use super::wrap;

/// A program, or a command of `git`.
pub(super) struct Row {
    /// Its names, with blanks between them.
    names: &'static str,
    /// Lists in the notation of `options`.
    options: &'static [&'static str],
    order: Order,
    operands: Operands,
}

/// Which operands a wildcard covers.
#[derive(Clone, Copy)]
enum Operands {
    Any,
    /// Every word is text, also one that looks like an option.
    Text,
    /// The first few; the next one is written to.
    AtMost(usize),
    /// Those for which it returns true.
    If(fn(&str) -> bool),
    /// All, where one of these options stands.
    WithOption(&'static [&'static str]),
    /// A script, which is no device; the words behind it are the script's own.
    Script,
    /// All; the words behind `--` are another program's.
    AfterDashes,
    /// Operands of `test`.
    Test,
    /// The first may be letters of options: `tar xf a`.
    Tar,
    Sed,
    Awk,
}

const RUNS: &str = "can make it run another command or write a file";
const UNKNOWN: &str = "is an option that is not known to be harmless";
const SHELL_ONLY: &str = "is known to the shell alone";
const PROGRAM: &str = "is a program that it runs";

/// Options that are a hazard for programs that are in no table, also when they are cut short.
const COMMON: &[&str] = &[
    "--exec",
    "--exec-batch",
    "--exec-path",
    "--to-command",
    "--use-compress-program",
    "--compress-program",
    "--pager",
    "--editor",
    "--rsh",
    "--shell",
    "--eval",
    "--output",
    "--output-file",
    "--output-dir",
    "--output-document",
    "--out",
    "--upload-pack",
    "--receive-pack",
    "--config-env",
    "--init-file",
    "--rcfile",
    "--plugin",
    "--checkpoint-action",
    "--rsync-path",
    "--in-place",
    "--preload",
    "--require",
    "--log-file",
    "--files0-from",
    "--config",
    "--exec-prefix",
];

/// Builtins that evaluate names of variables, and with them the subscripts of arrays.
pub(super) const EVALUATES: &[&str] = &[
    "test",
    "[",
    "[[",
    "let",
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "unset",
    "read",
    "getopts",
    "mapfile",
    "readarray",
    "wait",
];

/// For each word of a command, why a wildcard does not cover it, if it does not.
pub(crate) fn of(command: &Simple) -> Vec<Option<&'static str>> {
    let mut found: Vec<Option<&'static str>> = vec![None; command.words.len()];
    let Some(base) = command.base() else { return vec![Some(SHELL_ONLY); command.words.len()] };
    let base = base.as_str();
    let args = command.words.get(1..).unwrap_or_default();
    let judged = if wrap::is_shell(base) {
        vec![Some("is run by a shell"); args.len()]
    } else if table::NOTHING.contains(&base) {
        vec![Some(RUNS); args.len()]
    } else if base == "git" {
        of_git(args)
    } else if let Some(row) = lookup(table::PROGRAMS, base) {
        by_row(row, args)
    } else if let Some(roles) = wrap::roles(base, args) {
        // The command that it runs is judged by itself.
        let role = |at: usize| roles.get(at).map_or(Role::Operand, |role| *role);
        (0..args.len()).map(|at| by_role(role(at), None)).collect()
    } else {
        args.iter().map(foreign).collect()
    };
    for (at, (slot, why)) in found.iter_mut().skip(1).zip(judged).enumerate() {
        let word = args.get(at);
        let text = word.and_then(Word::text);
        let evaluated =
            EVALUATES.contains(&base) && text.is_some_and(|text| text.contains(['[', '`', '$']));
        *slot = match text {
            None => Some(SHELL_ONLY),
            Some(_) if evaluated => Some("may have a command in an array subscript"),
            Some(_) => why,
        };
    }
    found
}

/// Returns true if the options of the program are in a table.
pub(crate) fn knows(command: &Simple) -> bool {
    let Some(base) = command.base() else { return false };
    let args = command.words.get(1..).unwrap_or_default();
    wrap::is_shell(&base)
        || base == "git"
        || lookup(table::PROGRAMS, &base).is_some()
        || wrap::roles(&base, args).is_some()
}

/// Why the command as a whole is not covered by `name *`, if it is not: without arguments an
/// interpreter runs its input.
pub(crate) fn bare(command: &Simple) -> Option<&'static str> {
    let base = command.base()?;
    let operand = |word: &Word| !word.beginning().starts_with('-');
    let none = !command.words.iter().skip(1).any(operand);
    let interpreter =
        lookup(table::PROGRAMS, &base).is_some_and(|row| matches!(row.operands, Operands::Script));
    (none && (interpreter || wrap::is_shell(&base))).then_some("it runs what comes from its input")
}

fn lookup(rows: &'static [Row], name: &str) -> Option<&'static Row> {
    rows.iter().find(|row| row.names.split(' ').any(|known| known == name))
}

/// Options before the command are `git`'s; what follows is the command's.
fn of_git(args: &[Word]) -> Vec<Option<&'static str>> {
    let global = options::read(git::GLOBAL, Order::First, args);
    let mut judged: Vec<_> = global.roles.iter().map(|role| by_role(*role, None)).collect();
    let Some(at) = global.operands().next() else {
        judged.resize(args.len(), Some(UNKNOWN));
        return judged;
    };
    let name = args.get(at).and_then(Word::text).unwrap_or_default();
    let rest = args.get(at + 1..).unwrap_or_default();
    if let Some(row) = lookup(git::COMMANDS, name) {
        judged.extend(by_row(row, rest));
    } else {
        // An alias, a program `git-NAME`, or a command that is not in the table.
        judged.pop();
        judged.resize(args.len(), Some(RUNS));
    }
    judged
}

fn by_role(role: Role, operand: Option<&'static str>) -> Option<&'static str> {
    match role {
        Role::Option | Role::End => None,
        Role::Hazard => Some(RUNS),
        Role::Unknown => Some(UNKNOWN),
        Role::Hole => Some(SHELL_ONLY),
        Role::Operand => operand,
    }
}

fn by_row(row: &Row, args: &[Word]) -> Vec<Option<&'static str>> {
    if matches!(row.operands, Operands::Text) {
        return vec![None; args.len()];
    }
    let reading = options::read(row.options, row.order, args);
    let mut operands = 0;
    let mut ended = false;
    let mut judged = Vec::with_capacity(args.len());
    for (at, word) in args.iter().enumerate() {
        let text = word.text().unwrap_or_default();
        let why = match reading.roles.get(at) {
            // The first operand was the last word that was read.
            None if matches!(row.operands, Operands::Script) => foreign(word),
            None => None,
            Some(Role::Operand) => {
                operands += 1;
                of_operand(row.operands, &reading, at, operands, text, ended)
            }
            Some(role) => {
                ended |= *role == Role::End;
                let program = program_in(row.operands, &reading, at);
                by_role(*role, None).or(program)
            }
        };
        judged.push(why);
    }
    judged
}

/// Why an operand is not covered; `count` is its number among the operands.
fn of_operand(
    operands: Operands,
    reading: &Reading,
    at: usize,
    count: usize,
    text: &str,
    ended: bool,
) -> Option<&'static str> {
    let fine = match operands {
        Operands::Any | Operands::Text | Operands::Test => true,
        Operands::AtMost(most) => count <= most,
        Operands::If(fits) => fits(text),
        Operands::WithOption(names) => reading.has(names),
        Operands::Script => !is_input(text),
        Operands::AfterDashes => !ended || foreign(&Word::literal(text)).is_none(),
        Operands::Tar => at != 0 || text.chars().all(|c| "ctxvzjJaprukmSOhf".contains(c)),
        Operands::Sed => {
            let given = |given: &options::Given| is_program(&given.name) && given.at < at;
            let is_file = count > 1 || reading.given.iter().any(given);
            return (!is_file && !program::harmless_sed(text)).then_some(PROGRAM);
        }
        Operands::Awk => {
            return (count == 1 && !program::harmless_awk(text)).then_some(PROGRAM);
        }
    };
    (!fine).then_some(RUNS)
}

/// Programs of `sed` in options.
fn program_in(operands: Operands, reading: &Reading, at: usize) -> Option<&'static str> {
    let bad = |given: &options::Given| {
        let text = given.value.as_ref().and_then(Word::text).unwrap_or_default();
        given.at == at && is_program(&given.name) && !program::harmless_sed(text)
    };
    (matches!(operands, Operands::Sed) && reading.given.iter().any(bad)).then_some(PROGRAM)
}

fn is_program(name: &str) -> bool {
    matches!(name, "e" | "expression")
}

/// Whether a path is where a program's input comes from.
fn is_input(text: &str) -> bool {
    text == "-" || text.starts_with("/dev/") || text.starts_with("/proc/") || text.contains("/../")
}

/// A word of a program that is in no table.
fn foreign(word: &Word) -> Option<&'static str> {
    let given = word.beginning().strip_prefix("--")?;
    let given = given.split('=').next().unwrap_or(given);
    let long = COMMON.iter().filter_map(|known| known.strip_prefix("--"));
    // One letter is enough where no other option begins with it.
    let mut long = long.filter(|known| !given.is_empty() && known.starts_with(given));
    long.next().map(|_| RUNS)
}
