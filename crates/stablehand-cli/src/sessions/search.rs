//! `sessions search`: full text over everything that was said and done.

mod show;

use super::fresh::{self, Pace, is_written};
use super::read::PlaceArgs;
use super::select::SelectArgs;
use super::when::Clock;
use crate::env::Env;
use crate::failure::Failure;
use crate::manage;
use stablehand_core::chronicle::PassageKind;
use stablehand_store::query::{Count, Found, Order, Search, Terms};

/// Search everything that was asked, said, thought and done
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Words are all to occur in one passage, in any order; \"a phrase\" as it stands; word* is a \
    beginning, -word must not occur. Signs are looked for as they are typed: src/main.rs, C++, --force."
)]
pub struct SearchArgs {
    /// What to look for
    #[arg(value_name = "WORDS", required = true, allow_hyphen_values = true)]
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

/// Runs it.
pub(super) fn main(args: &SearchArgs) -> Result<u8, Failure> {
    let env = Env::read()?;
    let clock = Clock::read();
    let wanted = Search {
        terms: Terms::of_arguments(&args.words),
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
        return manage::print_json(&view.json(&found, &shorts));
    }
    manage::print(&view.text(&found, &shorts))?;
    if found.sessions.is_empty() && wanted.terms.wanted.iter().any(|it| it.text.contains(' ')) {
        fresh::say("words that may stand apart are given without quotes");
    }
    Ok(0)
}

fn nothing() -> Found {
    let none = Count::Exactly(0);
    Found { sessions: Vec::new(), order: Order::Best, matches: none, in_sessions: none }
}
