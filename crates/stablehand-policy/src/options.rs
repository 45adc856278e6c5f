//! Reads the options of a command line by a list of those that a program knows.
//!
//! Owns the notation of these lists and the one reader of options. Which options are harmless is said
//! by the tables of `hazard`, which command follows the options by those of `wrap`, and which values
//! are hosts by `network`.
//!
//! A list is words with blanks between them:
//!
//! | word | option |
//! |---|---|
//! | `-abc` | the letters `a`, `b` and `c`, without a value |
//! | `-nk:` | the letters `n` and `k`, each with a value, attached or in the next word |
//! | `-C?` | the letter `C`, with or without a value, which can only be attached |
//! | `-#` | a number: `-20` |
//! | `--all` | a long option without a value |
//! | `--lines=` | with a value, behind `=` or in the next word |
//! | `--color[=]` | with or without a value, which can only stand behind `=` |
//! | `@name`, `@name=` | a word with one dash or two: `-name`, `--name` |
//! | `+` | words that begin with `+` are options |
//!
//! A last `!` says that the option is known and not harmless. Long options must be written in full: an
//! abbreviation is unknown. So is a value in a word of its own that begins with a dash, because
//! versions of a program differ in whether they take it for a value.

use super::shell::{Piece, Word};

/// Where a program looks for options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Everywhere, until `--`.
    Mixed,
    /// Before the first operand.
    First,
}

/// The role of one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A harmless option, or the value of one.
    Option,
    /// An option that is known and not harmless, or the value of one.
    Hazard,
    /// A word that looks like an option and is in no list.
    Unknown,
    /// A word that only the shell knows and that may be an option, or several words.
    Hole,
    /// The word `--`.
    End,
    /// Anything else.
    Operand,
}

/// An option that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    /// Its letter or its name, without dashes.
    pub(crate) name: String,
    pub(crate) value: Option<Word>,
    /// The argument in which its value stands, or the option itself.
    pub(crate) at: usize,
}

/// The arguments of a command, read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    /// One for each argument that was read.
    pub(crate) roles: Vec<Role>,
    pub(crate) given: Vec<Given>,
}

impl Reading {
    /// Returns true if every option is known.
    pub(crate) fn is_certain(&self) -> bool {
        !self.roles.iter().any(|role| matches!(role, Role::Unknown | Role::Hole))
    }

    /// The places of the operands among the arguments.
    pub(crate) fn operands(&self) -> impl Iterator<Item = usize> {
        let places = self.roles.iter().enumerate();
        places.filter(|(_, role)| **role == Role::Operand).map(|(at, _)| at)
    }

    /// Returns true if one of these options was given.
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        self.given.iter().any(|given| names.contains(&given.name.as_str()))
    }

    /// The value of the first of these options.
    pub(crate) fn value(&self, names: &[&str]) -> Option<&Word> {
        let given = self.given.iter().find(|given| names.contains(&given.name.as_str()))?;
        given.value.as_ref()
    }
}

/// Whether an option has a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    Attached,
}

#[derive(Clone, Copy)]
struct Known {
    takes: Takes,
    harmless: bool,
}

/// Reads arguments. With [`Order::First`] it stops at the first operand, whose role is the last one.
pub(crate) fn read(lists: &[&str], order: Order, args: &[Word]) -> Reading {
    let mut reader = Reader { lists, args, at: 0, reading: Reading::default() };
    let mut ended = false;
    while let Some(word) = args.get(reader.at) {
        let role = if ended { Role::Operand } else { reader.role(word) };
        ended |= role == Role::End;
        reader.push(role);
        if order == Order::First && matches!(role, Role::Operand | Role::Hole) {
            break;
        }
    }
    reader.reading
}

struct Reader<'a> {
    lists: &'a [&'a str],
    args: &'a [Word],
    at: usize,
    reading: Reading,
}

impl Reader<'_> {
    fn push(&mut self, role: Role) {
        self.reading.roles.push(role);
        self.at += 1;
    }

    fn specs(&self) -> impl Iterator<Item = &str> {
        self.lists.iter().flat_map(|list| list.split_whitespace())
    }

    /// The role of the next word. The roles of the values in further words are pushed by the caller's
    /// next steps, so an option with such a value pushes its own role here.
    fn role(&mut self, word: &Word) -> Role {
        let begins = word.beginning();
        let Some(text) = word.text() else {
            let attached = begins.starts_with("--") && begins.contains('=') && !word.splits;
            return match begins.chars().next() {
                Some('-') if attached => self.long(word, begins),
                Some(c) if c != '-' && c != '+' => Role::Operand,
                Some('+') if !self.specs().any(|spec| spec.starts_with('+')) => Role::Operand,
                None if !word.splits && matches!(word.pieces.first(), Some(Piece::Home)) => {
                    Role::Operand
                }
                _ => Role::Hole,
            };
        };
        match text {
            "--" => Role::End,
            "-" => Role::Operand,
            _ if text.starts_with('+') => match self.specs().find(|spec| spec.starts_with('+')) {
                Some(spec) if spec.ends_with('!') => Role::Hazard,
                Some(_) => Role::Option,
                None => Role::Operand,
            },
            _ if text.starts_with("--") => self.long(word, text),
            _ if text.starts_with('-') => match self.word(word, text) {
                Some(role) => role,
                None => self.cluster(text),
            },
            _ => Role::Operand,
        }
    }

    fn long(&mut self, word: &Word, text: &str) -> Role {
        let (name, attached) = match text.split_once('=') {
            Some((name, _)) => (name, Some(behind(word, name.len() + 1))),
            None => (text, None),
        };
        let known = self.specs().filter(|spec| spec.starts_with("--")).find_map(|spec| {
            let (spec, harmless) = marked(spec);
            let (spec, takes) = match (spec.strip_suffix("[=]"), spec.strip_suffix('=')) {
                (Some(spec), _) => (spec, Takes::Attached),
                (None, Some(spec)) => (spec, Takes::Value),
                (None, None) => (spec, Takes::Nothing),
            };
            (spec == name).then_some(Known { takes, harmless })
        });
        let bare = name.trim_start_matches('-').to_owned();
        match known {
            Some(known) => self.give(&bare, known, attached),
            None => self.word(word, text).unwrap_or(Role::Unknown),
        }
    }

    /// An option like `-name`, which is no cluster.
    fn word(&mut self, word: &Word, text: &str) -> Option<Role> {
        let name = text.split('=').next().unwrap_or(text);
        let bare = name.strip_prefix("--").or_else(|| name.strip_prefix('-'))?.to_owned();
        let known = self.specs().filter_map(|spec| spec.strip_prefix('@')).find_map(|spec| {
            let (spec, harmless) = marked(spec);
            let (spec, takes) = match spec.strip_suffix('=') {
                Some(spec) => (spec, Takes::Value),
                None => (spec, Takes::Nothing),
            };
            (spec == bare).then_some(Known { takes, harmless })
        })?;
        let attached = text.contains('=').then(|| behind(word, name.len() + 1));
        Some(self.give(&bare, known, attached))
    }

    fn cluster(&mut self, text: &str) -> Role {
        let letters = text.strip_prefix('-').unwrap_or(text);
        let mut role = Role::Option;
        for (at, letter) in letters.char_indices() {
            let Some(known) = self.letter(letter) else { return Role::Unknown };
            let rest = letters.get(at + letter.len_utf8()..).unwrap_or_default();
            let name = letter.to_string();
            let attached = (!rest.is_empty()).then(|| Word::literal(rest));
            if known.takes == Takes::Nothing {
                self.reading.given.push(Given { name, value: None, at: self.at });
                role = if known.harmless { role } else { Role::Hazard };
                continue;
            }
            let last = self.give(&name, known, attached);
            return if last == Role::Option { role } else { last };
        }
        role
    }

    fn letter(&self, letter: char) -> Option<Known> {
        self.specs().find_map(|spec| {
            let spec = spec.strip_prefix('-').filter(|spec| !spec.starts_with('-'))?;
            let (spec, harmless) = marked(spec);
            let (letters, takes) = match (spec.strip_suffix(':'), spec.strip_suffix('?')) {
                (Some(letters), _) => (letters, Takes::Value),
                (None, Some(letters)) => (letters, Takes::Attached),
                (None, None) => (spec, Takes::Nothing),
            };
            let fits = (spec == "#" && letter.is_ascii_digit())
                || (spec != "#" && letters.contains(letter));
            fits.then_some(Known { takes, harmless })
        })
    }

    /// Notes an option; the role of its own word.
    fn give(&mut self, name: &str, known: Known, attached: Option<Word>) -> Role {
        let own = if known.harmless { Role::Option } else { Role::Hazard };
        let name = name.to_owned();
        if known.takes != Takes::Value || attached.is_some() {
            // `--all=x` is a mistake for most programs, and something else for the others.
            let odd = known.takes == Takes::Nothing && attached.is_some();
            self.reading.given.push(Given { name, value: attached, at: self.at });
            return if odd { Role::Unknown } else { own };
        }
        let value = self.args.get(self.at + 1);
        self.reading.given.push(Given { name, value: value.cloned(), at: self.at + 1 });
        let Some(value) = value else { return own };
        self.push(own);
        if value.text().is_none() && value.splits {
            return Role::Hole;
        }
        let begins = value.beginning();
        let number = begins
            .strip_prefix('-')
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_digit()));
        if begins.starts_with('-') && !number { Role::Unknown } else { own }
    }
}

fn marked(spec: &str) -> (&str, bool) {
    spec.strip_suffix('!').map_or((spec, true), |spec| (spec, false))
}

/// A word without its first bytes, which are known.
fn behind(word: &Word, bytes: usize) -> Word {
    let mut rest = Word { pieces: Vec::new(), splits: word.splits };
    for (at, piece) in word.pieces.iter().enumerate() {
        match piece {
            Piece::Text(text) if at == 0 => {
                rest.push(Piece::Text(text.get(bytes..).unwrap_or_default().to_owned()));
            }
            piece => rest.push(piece.clone()),
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use Role::{End, Hazard, Operand, Option, Unknown};

    const LIST: &[&str] = &["-ab -n: -C? -# -o:! --all --lines= --color[=] --out=! @name= @print"];

    #[test]
    fn every_argument_has_its_role() {
        let table: &[(&str, &[Role])] = &[
            ("-a -b x", &[Option, Option, Operand]),
            ("-ab -ba", &[Option, Option]),
            ("-n 5 x", &[Option, Option, Operand]),
            ("-an5 x", &[Option, Operand]),
            ("-n -5 -", &[Option, Option, Operand]),
            ("-n -a", &[Option, Unknown]),
            ("-n --", &[Option, Unknown]),
            ("-ax", &[Unknown]),
            ("-C3 -C 3", &[Option, Option, Operand]),
            ("-20 -a20", &[Option, Option]),
            ("-o x -ox -aox", &[Hazard, Hazard, Hazard, Hazard]),
            ("--all --al --all=x --no-all", &[Option, Unknown, Unknown, Unknown]),
            ("--lines 5 --lines=-5 --line=5", &[Option, Option, Option, Unknown]),
            ("--color x --color=x", &[Option, Operand, Option]),
            ("--out=x --out x", &[Hazard, Hazard, Hazard]),
            ("x -a -- -a --all", &[Operand, Option, End, Operand, Operand]),
            ("-name x --name=x -print", &[Option, Option, Option, Option]),
            ("-name -delete", &[Option, Unknown]),
        ];
        for (line, roles) in table {
            let args: Vec<Word> = line.split(' ').map(Word::literal).collect();
            assert_eq!(read(LIST, Order::Mixed, &args).roles, *roles, "{line}");
        }
    }

    #[test]
    fn values_are_found_wherever_they_stand() {
        for line in ["-n 5", "-n5", "-an5", "-an 5", "x -n 5", "-n 5 -- -n 6"] {
            let args: Vec<Word> = line.split(' ').map(Word::literal).collect();
            let reading = read(LIST, Order::Mixed, &args);
            assert_eq!(reading.value(&["n"]), Some(&Word::literal("5")), "{line}");
        }
        let args = ["-a", "x", "-n", "5"].map(Word::literal);
        let reading = read(LIST, Order::First, &args);
        assert_eq!(reading.roles, [Option, Operand]);
    }
}
