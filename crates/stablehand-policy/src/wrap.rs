//! Commands that run other commands: `sudo`, `env`, `xargs`, `bash -c`, `find -exec` and their kin.
//!
//! The inner command is judged like any other; the outer one stays a simple command that needs its
//! own permission. Behind an option that is in no list (`table`) nobody can tell where the inner
//! command begins: that is opaque.

mod special;
mod table;

use super::hazard;
use super::options::{self, Order, Reading, Role};
use super::shell::{Piece, Simple, Word};
use table::{Bare, Then, Wrapper};

/// What a command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Inner {
    /// A simple command.
    Command(Simple),
    /// Text for a shell.
    Text(String),
    /// Something that cannot be known; why.
    Opaque(String),
}

/// Words with which a compound command begins.
const RESERVED: &[&str] = &[
    "!", "{", "(", "((", "[[", "if", "for", "while", "until", "case", "select", "function", "time",
];

const SHELLS: &[&str] =
    &["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "yash", "rbash", "fish", "csh", "tcsh"];

/// Whether it is a shell.
pub(crate) fn is_shell(base: &str) -> bool {
    SHELLS.contains(&base)
}

/// What a simple command runs in turn; usually nothing.
pub(crate) fn inner(command: &Simple) -> Vec<Inner> {
    let Some(name) = command.words.first() else { return Vec::new() };
    let args = command.words.get(1..).unwrap_or_default();
    let Some(base) = command.base() else {
        return vec![Inner::Opaque(format!(
            "only the shell knows which command {} is",
            name.show()
        ))];
    };
    let base = base.as_str();
    if let Some(found) = special::inner(base, args) {
        return found;
    }
    if hazard::EVALUATES.contains(&base) && args.iter().any(has_subscript)
        || base == "printf" && args.iter().skip(1).any(has_subscript)
    {
        return vec![Inner::Opaque(format!("`{base}` may run a command in an array subscript"))];
    }
    let mut found = Vec::new();
    for wrapper in table::of(base) {
        found.extend(unwrap(wrapper, base, args, &command.env));
    }
    found
}

/// The roles of a wrapper's words up to the command that it runs; none if it is no wrapper, or one
/// only by a subcommand.
pub(crate) fn roles(base: &str, args: &[Word]) -> Option<Vec<Role>> {
    let wrapper = table::of(base).next().filter(|wrapper| wrapper.subs.is_empty())?;
    Some(options::read(wrapper.options, Order::First, args).roles)
}

/// Reads options and operands of a wrapper; what is left is the inner command.
fn unwrap(wrapper: &Wrapper, base: &str, args: &[Word], outer: &[String]) -> Vec<Inner> {
    let lost = |what: &str| vec![Inner::Opaque(format!("cannot tell what `{base}` runs ({what})"))];
    let mut rest = args;
    for sub in wrapper.subs {
        match subcommand(wrapper, sub, rest) {
            Sub::Found(behind) => rest = behind,
            Sub::Other => return Vec::new(),
            Sub::Unclear(what) => return lost(&what),
        }
    }
    let mut found = Vec::new();
    let mut operands = wrapper.operands;
    let mut sign = None;
    loop {
        let reading = options::read(wrapper.options, Order::First, rest);
        let unclear = reading.roles.iter().position(|role| *role == Role::Unknown);
        if let Some(at) = unclear {
            return lost(&rest.get(at).map(Word::show).unwrap_or_default());
        }
        found.extend(texts(wrapper, base, &reading));
        if let Some(value) = reading.value(wrapper.replaces) {
            sign = Some(value.text().unwrap_or_default().to_owned());
        }
        let end = reading.roles.len().saturating_sub(1);
        match reading.roles.last() {
            Some(Role::Hole) => {
                let word = rest.get(end);
                // The host of `ssh` may be anything; the command behind it is still read.
                if operands == 0 || word.is_none_or(|word| word.splits) {
                    return lost(&word.map(Word::show).unwrap_or_default());
                }
            }
            Some(Role::Operand) => {}
            _ => break,
        }
        if operands == 0 && !(wrapper.then == Then::AfterDashes) {
            found.extend(run(
                wrapper,
                base,
                rest.get(end..).unwrap_or_default(),
                outer,
                sign.as_deref(),
            ));
            return found;
        }
        let dashes = reading.roles.contains(&Role::End);
        if wrapper.then == Then::AfterDashes && dashes {
            found.push(command(rest.get(end..).unwrap_or_default(), outer));
            return found;
        }
        operands = operands.saturating_sub(1);
        rest = rest.get(end + 1..).unwrap_or_default();
        if operands == 0 && !wrapper.again && wrapper.then != Then::AfterDashes {
            if !rest.is_empty() {
                found.extend(run(wrapper, base, rest, outer, sign.as_deref()));
                return found;
            }
            break;
        }
    }
    if found.is_empty() {
        match wrapper.bare {
            Bare::Nothing => {}
            Bare::Shell => found.push(Inner::Opaque(format!("`{base}` starts a shell"))),
            Bare::Echo => found.push(command(&[Word::literal("echo"), Word::unknown()], outer)),
        }
    }
    found
}

enum Sub<'a> {
    Found(&'a [Word]),
    Other,
    Unclear(String),
}

/// The words behind a subcommand such as `exec` in `npm --silent exec`.
fn subcommand<'a>(wrapper: &Wrapper, sub: &str, args: &'a [Word]) -> Sub<'a> {
    let is_it = |word: &Word| word.text().is_some_and(|text| sub.split('|').any(|it| it == text));
    let reading = options::read(wrapper.options, Order::First, args);
    let end = reading.roles.len().saturating_sub(1);
    match args.get(end).filter(|_| reading.roles.last() == Some(&Role::Operand)) {
        Some(word) if is_it(word) && reading.is_certain() => {
            Sub::Found(args.get(end + 1..).unwrap_or_default())
        }
        // Behind an unknown option, any word may be the subcommand.
        _ if !reading.is_certain() && args.iter().any(is_it) => Sub::Unclear(sub.to_owned()),
        _ => Sub::Other,
    }
}

/// What options such as `-c` of `flock` run.
fn texts(wrapper: &Wrapper, base: &str, reading: &Reading) -> Vec<Inner> {
    let runs = |given: &&options::Given| wrapper.texts.contains(&given.name.as_str());
    let value = |given: &options::Given| given.value.clone().map(|word| text(base, &[word]));
    reading.given.iter().filter(runs).filter_map(value).collect()
}

fn command(words: &[Word], env: &[String]) -> Inner {
    Inner::Command(Simple { words: words.to_vec(), env: env.to_vec() })
}

fn run(
    wrapper: &Wrapper,
    base: &str,
    rest: &[Word],
    outer: &[String],
    replaced: Option<&str>,
) -> Option<Inner> {
    match wrapper.then {
        Then::Nothing => None,
        Then::Text => Some(text(base, rest)),
        Then::Assignments => {
            let mut env = outer.to_vec();
            // `env -` is `env -i`.
            let minus = base == "env" && rest.first().and_then(Word::text) == Some("-");
            let mut words = rest.get(usize::from(minus)..).unwrap_or_default();
            while let Some(name) = words.first().and_then(Word::text).and_then(assignment) {
                env.push(name.to_owned());
                words = words.get(1..).unwrap_or_default();
            }
            let compound =
                words.first().and_then(Word::text).is_some_and(|it| RESERVED.contains(&it));
            if base == "time" && compound {
                return Some(Inner::Opaque(format!("cannot tell what `{base}` runs")));
            }
            (!words.is_empty()).then_some(Inner::Command(Simple { words: words.to_vec(), env }))
        }
        Then::Command | Then::AfterDashes => Some(command(rest, outer)),
        Then::MoreWords => {
            let hole = |word: &Word| match (word.text(), replaced) {
                (Some(text), Some(sign)) if sign.is_empty() || text.contains(sign) => {
                    Word::unknown()
                }
                _ => word.clone(),
            };
            let mut words: Vec<Word> = rest.iter().map(hole).collect();
            if replaced.is_none() {
                words.push(Word::unknown());
            }
            Some(command(&words, outer))
        }
    }
}

/// The name that a word like `NAME=value` sets.
fn assignment(word: &str) -> Option<&str> {
    let (name, _) = word.split_once('=')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(plain)).then_some(name)
}

/// Whether a word may be an element of an array, whose subscript the shell reads once more: quotes do
/// not keep a command in it from being run.
fn has_subscript(word: &Word) -> bool {
    word.pieces.iter().any(|piece| matches!(piece, Piece::Text(text) if hides_command(text)))
}

/// Whether a text has the signs of a command within those of a subscript.
pub(crate) fn hides_command(text: &str) -> bool {
    let inside = text.split_once('[').map(|(_, inside)| inside);
    inside.is_some_and(|inside| inside.contains("$(") || inside.contains('`'))
}

/// Words that are joined and read by a shell.
fn text(base: &str, words: &[Word]) -> Inner {
    let words: Option<Vec<&str>> = words.iter().map(Word::text).collect();
    match words {
        Some(words) => Inner::Text(words.join(" ")),
        None => Inner::Opaque(format!("only the shell knows what `{base}` runs")),
    }
}
