//! `sessions search`: full text over everything that was said and done.

mod show;

use super::fresh::{self, Pace, is_written};
use super::read::PlaceArgs;
use super::select::SelectArgs;
use super::when::Clock;
use crate::env::Env;
use crate::failure::Failure;
use crate::output;
use stablehand_analysis::chronicle::PassageKind;
use stablehand_store::query::{Count, Found, Order, Search, Terms};
use std::ffi::OsString;

/// Search everything that was asked, said, thought and done
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Words are all to occur in one passage, in any order; \"a phrase\" as it stands; word* is a \
    beginning, -word must not occur. Signs are looked for as they are typed: src/main.rs, C++, --force."
)]
pub struct SearchArgs {
    /// What to look for
    #[arg(value_name = "WORDS", required = true)]
    words: Vec<String>,

    #[command(flatten)]
    select: SelectArgs,

    /// Only in what a tool was given and gave back: a part of its name (bash, shell) or its sort
    /// (execute, edit, read …)
    #[arg(long, value_name = "TOOL")]
    tool: Option<String>,

    /// Only in texts of these kinds: prompt, message, reasoning, command, output, diff, notice,
    /// stderr, decision. Several with commas
    #[arg(long = "in", value_name = "KIND", value_delimiter = ',', value_parser = kind_named)]
    kinds: Vec<PassageKind>,

    /// At most so many sessions
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10)]
    limit: usize,

    /// At most so many matches of each session
    #[arg(long, value_name = "N", default_value_t = 3)]
    each: usize,

    /// The newest first [default: the best first, unless more than 1,000 passages match]
    #[arg(long, conflicts_with = "best")]
    newest: bool,

    /// The best first, also where so many match that only the last 1,000 are compared
    #[arg(long)]
    best: bool,

    /// For programs: an object with the sessions, their matches, and what was found where
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    place: PlaceArgs,
}

fn kind_named(word: &str) -> Result<PassageKind, String> {
    PassageKind::by_word(word.trim()).ok_or_else(|| {
        let words: Vec<_> = PassageKind::ALL.iter().map(|kind| kind.word()).collect();
        format!("a kind is one of {}", words.join(", "))
    })
}

/// Stands for the minus of a word while flags are read.
const MINUS: char = '\u{1}';

/// Marks what is a word although it begins as a flag does, in the arguments of `sessions search`:
/// `-word`, `->`. A flag that does not exist, such as `--agnet`, stays one, so that it is noticed.
pub(super) fn mark_words(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.collect();
    let is = |n: usize, word: &str| arguments.get(n).is_some_and(|it| it == word);
    if !is(1, "sessions") || !is(2, "search") {
        return arguments;
    }
    for argument in arguments.iter_mut().skip(3) {
        let Some(text) = argument.to_str() else { continue };
        if text == "--" {
            break;
        }
        let Some(rest) = text.strip_prefix('-').filter(|rest| !rest.is_empty()) else { continue };
        let is_flag = match rest.strip_prefix('-') {
            Some(name) => name.starts_with(|c: char| c.is_ascii_alphabetic()),
            None => rest == "h" || is_limit(rest),
        };
        if !is_flag {
            *argument = format!("{MINUS}{rest}").into();
        }
    }
    arguments
}

/// `-n`, `-n5`, `-n=5`.
fn is_limit(rest: &str) -> bool {
    let Some(number) = rest.strip_prefix('n') else { return false };
    number.strip_prefix('=').unwrap_or(number).bytes().all(|byte| byte.is_ascii_digit())
}

/// Runs it.
pub(super) fn main(args: &SearchArgs) -> Result<u8, Failure> {
    let env = Env::read()?;
    let clock = Clock::read();
    let words: Vec<String> = args.words.iter().map(|word| word.replace(MINUS, "-")).collect();
    let wanted = Search {
        terms: Terms::of_arguments(&words),
        filter: args.select.filter(&clock)?,
        outcomes: args.select.outcomes(),
        tool: args.tool.clone(),
        kinds: args.kinds.clone(),
        sessions: args.limit,
        each: args.each,
        order: match (args.newest, args.best) {
            (true, _) => Order::Newest,
            (_, true) => Order::Best,
            _ => Order::Auto,
        },
    };
    let folder = args.place.folder(&env)?;
    let answer = fresh::ask(&env, &folder, Pace::Thorough, |store| {
        let found = store.search(&wanted, &is_written)?;
        let chats: Vec<&str> = found.sessions.iter().map(|it| it.chat.as_str()).collect();
        let shorts = store.short_ids(&chats)?;
        Ok((found, shorts))
    })?;
    let (found, shorts) = answer.unwrap_or_else(|| (nothing(), Vec::new()));
    let view = show::View::new(&env, &clock, &wanted.terms);
    if args.json {
        return output::print_json(&view.json(&found, &shorts));
    }
    output::print(&view.text(&found, &shorts))?;
    if found.sessions.is_empty() && wanted.terms.wanted.iter().any(|it| it.text.contains(' ')) {
        output::say("words that may stand apart are given without quotes");
    }
    Ok(0)
}

fn nothing() -> Found {
    let none = Count::Exactly(0);
    Found { sessions: Vec::new(), order: Order::Best, matches: none, in_sessions: none }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_may_begin_as_a_flag_does() {
        let marked = |words: &[&str]| {
            let all = ["stablehand", "sessions", "search"].iter().chain(words);
            let marked = mark_words(all.map(OsString::from));
            let words = marked.iter().skip(3).map(|it| it.to_string_lossy().replace(MINUS, "!"));
            words.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(marked(&["x", "-hay", "--json", "-n", "3"]), "x !hay --json -n 3");
        assert_eq!(marked(&["-n5", "-n=5", "-no", "-h", "-"]), "-n5 -n=5 !no -h -");
        assert_eq!(marked(&["->", "-->", "--agnet", "--", "-x"]), "!> !-> --agnet -- -x");
        let other = ["stablehand", "run", "-x"].map(OsString::from);
        assert_eq!(mark_words(other.clone().into_iter()), other);
    }
}
