//! Patterns of commands: which words a rule covers.
//!
//! `git status` is these two words. A last word `*` stands for any further words that are known and
//! harmless; `**` for any further words at all. `*` and `?` within a word stand for characters of it.
//! To allow, every word must be certain to fit ([`Pattern::covers`]); to deny, it is enough
//! that the command may be what the pattern says ([`Pattern::may_be`]).

use super::hazard;
use super::shell::{Piece, Simple, Word};
use super::wild::{self, Sign};

/// A pattern of a command.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    words: Vec<Vec<Sign>>,
    rest: Rest,
}

/// What may follow the words of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Nothing,
    /// `*`: words that are known, and no option that makes the command run or write something.
    Harmless,
    /// `**`: anything.
    Anything,
}

impl Pattern {
    /// Reads a pattern, or says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Pattern, String> {
        let mut words = split(text)?;
        let mut rest = Rest::Nothing;
        match words.last().map(Vec::as_slice) {
            Some([Sign::Many]) => rest = Rest::Harmless,
            Some([Sign::Many, Sign::Many]) => rest = Rest::Anything,
            _ => {}
        }
        if rest != Rest::Nothing {
            words.pop();
        }
        if words.is_empty() && rest != Rest::Anything {
            return Err("a pattern begins with the name of a command; every command is `**`".into());
        }
        let doubled =
            |word: &Vec<Sign>| word.windows(2).any(|pair| pair == [Sign::Many, Sign::Many]);
        if words.iter().any(doubled) {
            return Err("`**` stands for all further words and can only be the last one".into());
        }
        Ok(Pattern { words, rest })
    }

    /// Whether it stands for one row of words and no other.
    pub(crate) fn is_exact(&self) -> bool {
        let literal = |sign: &Sign| matches!(sign, Sign::Char(_));
        self.rest == Rest::Nothing && self.words.iter().flatten().all(literal)
    }

    /// Whether the command is certainly what the pattern says.
    pub(crate) fn covers(&self, command: &Simple, any_folder: bool) -> bool {
        let mut given = command.words.iter().enumerate();
        if command.words.is_empty() {
            return false;
        }
        let mut wild = Vec::new();
        for (place, pattern) in self.words.iter().enumerate() {
            let Some((at, word)) = given.next() else { return false };
            let Some(mut text) = word.text() else { return false };
            if place == 0 && any_folder {
                text = text.rsplit('/').next().unwrap_or(text);
            }
            if !covers_word(pattern, text) {
                return false;
            }
            let has_wildcard = pattern.iter().any(|sign| !matches!(sign, Sign::Char(_)));
            if has_wildcard {
                wild.push(at);
            }
        }
        if self.rest == Rest::Nothing && given.len() > 0 {
            return false;
        }
        if self.rest == Rest::Harmless {
            if hazard::bare(command).is_some() {
                return false;
            }
            wild.extend(given.map(|(at, _)| at));
        }
        if wild.is_empty() {
            return true;
        }
        let hazards = hazard::of(command);
        wild.iter().all(|at| hazards.get(*at).is_some_and(Option::is_none))
    }

    /// Why the words fit but for one that `*` does not cover; for the explanation.
    pub(crate) fn near_miss(&self, command: &Simple) -> Option<String> {
        if self.rest != Rest::Harmless || self.words.is_empty() {
            return None;
        }
        let fits = self
            .words
            .iter()
            .zip(&command.words)
            .all(|(pattern, word)| word.text().is_some_and(|text| covers_word(pattern, text)));
        if !fits || command.words.len() < self.words.len() {
            return None;
        }
        if let Some(why) = hazard::bare(command) {
            return Some(why.to_owned());
        }
        let judged = command.words.iter().zip(hazard::of(command)).skip(self.words.len());
        judged.into_iter().find_map(|(word, why)| Some(format!("`{}` {}", word.show(), why?)))
    }

    /// Whether the command may be what the pattern says: under another folder or in other letters,
    /// with its options in another order, with what only the shell knows.
    pub(crate) fn may_be(&self, command: &Simple) -> bool {
        let Some(name) = command.words.first() else { return false };
        let Some(pattern) = self.words.first() else { return true };
        let name_fits = match name.text() {
            Some(text) => {
                let base = text.rsplit('/').next().unwrap_or(text);
                wild::matches_any_case(pattern, base) || wild::matches_any_case(pattern, text)
            }
            None => wild::may_match(pattern, &holes(name)),
        };
        let args = command.words.get(1..).unwrap_or_default();
        let (options, operands): (Vec<_>, Vec<_>) = self
            .words
            .iter()
            .skip(1)
            .partition(|word| matches!(word.first(), Some(Sign::Char('-'))));
        name_fits
            && options.iter().all(|option| may_have_option(option, args))
            && may_have_operands(&operands, args)
    }
}

/// One word of a pattern against a known word.
fn covers_word(pattern: &[Sign], text: &str) -> bool {
    let literal = |c: char| pattern.first() == Some(&Sign::Char(c));
    // An option is never what a wildcard at the beginning of a longer word was meant for, and no
    // wildcard leads out of the folder that stands before it.
    let option = text.starts_with('-') && pattern.len() > 1 && !literal('-');
    let climbs = text.split('/').any(|part| part == "..")
        && pattern.len() > 1
        && pattern.contains(&Sign::Many)
        && !wild::show(pattern).contains("..");
    !option && !climbs && wild::matches(pattern, text)
}

fn holes(word: &Word) -> Vec<Sign> {
    let mut signs = Vec::new();
    for piece in &word.pieces {
        match piece {
            Piece::Text(text) => signs.extend(text.chars().map(Sign::Char)),
            Piece::Any | Piece::Glob | Piece::Home | Piece::Here => signs.push(Sign::Many),
        }
    }
    signs
}

/// Whether an option of a pattern may be among the arguments, alone or in a cluster.
fn may_have_option(option: &[Sign], args: &[Word]) -> bool {
    if args.iter().any(|arg| wild::may_match(option, &holes(arg))) {
        return true;
    }
    let letters: Vec<char> = option
        .iter()
        .skip(1)
        .filter_map(|sign| if let Sign::Char(c) = sign { Some(*c) } else { None })
        .collect();
    if letters.first().is_none_or(|c| *c == '-') {
        // `--force` may come as `--force=…`, or cut short.
        let name: String = letters.iter().skip(1).collect();
        let short = SHORT.iter().find(|(long, _)| *long == name).map_or("", |(_, short)| short);
        return args.iter().filter_map(Word::text).any(|arg| match arg.strip_prefix("--") {
            Some(given) => {
                let given = given.split('=').next().unwrap_or(given);
                !given.is_empty() && name.starts_with(given)
            }
            None => arg.starts_with('-') && arg.contains(|c| short.contains(c)),
        });
    }
    // `-rf` may come as `-r -f`, `-fr` or `--recursive --force`.
    letters.iter().all(|letter| {
        args.iter().any(|arg| {
            let text = arg.beginning();
            match text.strip_prefix("--") {
                Some(long) => long.chars().next().is_some_and(|c| c.eq_ignore_ascii_case(letter)),
                None => text.starts_with('-') && text.contains(|c| same_option(c, *letter)),
            }
        })
    })
}

/// Long options and the letters that usually mean the same.
const SHORT: &[(&str, &str)] =
    &[("force", "f"), ("recursive", "rR"), ("delete", "dD"), ("yes", "y"), ("no-verify", "n")];

/// Whether two letters are the same option: `-R` is `-r` to many commands.
fn same_option(a: char, b: char) -> bool {
    a == b || (a.eq_ignore_ascii_case(&'r') && b.eq_ignore_ascii_case(&'r'))
}

/// Whether the operands of a pattern may be the first ones of a command. Options between them, and
/// what may be the values of these, are passed over.
fn may_have_operands(operands: &[&Vec<Sign>], args: &[Word]) -> bool {
    let Some((wanted, more)) = operands.split_first() else { return true };
    let mut may_be_value = false;
    for (at, arg) in args.iter().enumerate() {
        if arg.splits {
            // It may be all the words that are still missing.
            return true;
        }
        let rest = args.get(at + 1..).unwrap_or_default();
        let option =
            arg.beginning().starts_with('-') || arg.text().is_none() && arg.beginning().is_empty();
        if wild::may_match(wanted, &holes(arg)) && may_have_operands(more, rest) {
            return true;
        }
        if !option && !may_be_value {
            return false;
        }
        may_be_value = option;
    }
    false
}

/// Splits a pattern into words; quotes make characters mean themselves.
fn split(text: &str) -> Result<Vec<Vec<Sign>>, String> {
    let mut words = Vec::new();
    let mut word: Option<Vec<Sign>> = None;
    let mut quote: Option<char> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ' | '\t') => words.extend(word.take()),
            (None, '*') => word.get_or_insert_default().push(Sign::Many),
            (None, '?') => word.get_or_insert_default().push(Sign::One),
            (None, '\\') => match chars.next() {
                Some(c) => word.get_or_insert_default().push(Sign::Char(c)),
                None => return Err("it ends with a backslash".into()),
            },
            (None, ';' | '|' | '&' | '<' | '>' | '(' | ')' | '`' | '$') => {
                return Err(format!(
                    "`{c}` has a meaning for the shell; a pattern is one simple command (write '{c}' in quotes to mean the character)"
                ));
            }
            (None, c) if c.is_control() => return Err("it has a control character in it".into()),
            (_, c) => word.get_or_insert_default().push(Sign::Char(c)),
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed".into());
    }
    words.extend(word);
    Ok(words)
}
