//! Command lines of `sed` and `awk`, whose arguments are programs.
//!
//! Owns which words are the program, as the options of GNU and of BSD have it: where the two differ,
//! a word is checked as both. What is not in the short list of options is not looked into.

use super::super::shell::Word;

/// What a word of such a command line is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Role {
    /// An option that changes how text is shown, or a file to read.
    Harmless,
    /// A program, or a part of one.
    Program(String),
    /// Something that we do not know.
    Unknown,
}

/// Why the word at this place is not harmless, if it is not.
pub(super) fn of(base: &str, words: &[Word], at: usize) -> Option<&'static str> {
    let (roles, harmless): (_, fn(&str) -> bool) = match base {
        "sed" | "gsed" => (sed(words), harmless_sed),
        "awk" | "gawk" | "mawk" | "nawk" => (awk(words), harmless_awk),
        _ => return None,
    };
    match roles.get(at)? {
        Role::Harmless => None,
        Role::Program(text) => (!harmless(text)).then_some("is a program that it runs"),
        Role::Unknown => Some("is an option that is not known to be harmless"),
    }
}

/// Options of `sed` without a value, in no version with a dangerous meaning.
const SED_LETTERS: &str = "nErsuz";
const SED_WORDS: &[&str] = &[
    "quiet",
    "silent",
    "regexp-extended",
    "separate",
    "unbuffered",
    "null-data",
    "zero-terminated",
    "posix",
    "sandbox",
    "debug",
    "help",
    "version",
];

/// GNU reads options behind operands too, and takes the first operand for the program only where
/// there is no `-e` at all; BSD reads none there. So an operand that comes before any `-e` is a
/// program, and every `-e` is one as well.
fn sed(words: &[Word]) -> Vec<Role> {
    let mut roles = vec![Role::Harmless; words.len()];
    let mut options = true;
    let mut has_program = false;
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let text = word.text().unwrap_or_default();
        let mut place = at;
        let role = if word.text().is_none() {
            Role::Unknown
        } else if options && text == "--" {
            options = false;
            Role::Harmless
        } else if let Some(long) = text.strip_prefix("--").filter(|_| options) {
            match long.split_once('=') {
                Some(("expression", program)) => Role::Program(program.to_owned()),
                None if long == "expression" => value(words, &mut place),
                None if SED_WORDS.contains(&long) => Role::Harmless,
                _ => Role::Unknown,
            }
        } else if let Some(letters) = text.strip_prefix('-').filter(|it| options && !it.is_empty())
        {
            match letters.trim_start_matches(|letter| SED_LETTERS.contains(letter)) {
                "" => Role::Harmless,
                "e" => value(words, &mut place),
                rest => match rest.strip_prefix('e') {
                    Some(program) => Role::Program(program.to_owned()),
                    None => Role::Unknown,
                },
            }
        } else if has_program {
            Role::Harmless
        } else {
            Role::Program(text.to_owned())
        };
        has_program |= matches!(role, Role::Program(_));
        if let Some(slot) = roles.get_mut(place.min(words.len() - 1)) {
            *slot = role;
        }
        at = place + 1;
    }
    roles
}

/// The value of an option in the next word.
fn value(words: &[Word], place: &mut usize) -> Role {
    *place += 1;
    match words.get(*place).and_then(Word::text) {
        Some(program) => Role::Program(program.to_owned()),
        None => Role::Unknown,
    }
}

/// The first operand is the program. No version that we know reads options behind it; a word there
/// that looks like one is in doubt all the same.
fn awk(words: &[Word]) -> Vec<Role> {
    let mut roles = vec![Role::Harmless; words.len()];
    let mut options = true;
    let mut has_program = false;
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let text = word.text().unwrap_or_default();
        let looks_like_option = options && text.len() > 1 && text.starts_with('-');
        let role = match text {
            _ if word.text().is_none() => Role::Unknown,
            _ if has_program && looks_like_option => Role::Unknown,
            _ if has_program => Role::Harmless,
            "--" if options => {
                options = false;
                Role::Harmless
            }
            "-F" | "-v" if options => {
                at += 1;
                Role::Harmless
            }
            _ if looks_like_option => {
                let known = ["-F", "-v", "--field-separator=", "--assign="];
                let is_known = known.iter().any(|known| text.starts_with(known));
                if is_known { Role::Harmless } else { Role::Unknown }
            }
            _ => {
                has_program = true;
                Role::Program(text.to_owned())
            }
        };
        if let Some(slot) = roles.get_mut(at) {
            *slot = role;
        }
        at += 1;
    }
    roles
}

/// Programs of `sed` that print or replace, and nothing else.
fn harmless_sed(text: &str) -> bool {
    let address =
        text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ',' | '$' | ' '));
    if matches!(address, "p" | "d" | "q" | "=" | "l") {
        return true;
    }
    let Some(rest) = address.strip_prefix('s') else { return false };
    let mut chars = rest.chars();
    let Some(mark) = chars.next().filter(|c| !c.is_alphanumeric() && !matches!(c, '\\' | '\n'))
    else {
        return false;
    };
    let body = chars.as_str();
    if body.contains(['\\', '\n', ';', '{', '[']) {
        return false;
    }
    let mut parts = body.split(mark);
    matches!(
        (parts.next(), parts.next(), parts.next(), parts.next()),
        (Some(_), Some(_), Some(flags), None)
            if flags.chars().all(|c| matches!(c, 'g' | 'p' | 'i' | 'I') || c.is_ascii_digit())
    )
}

/// Programs of `awk` that cannot run or write: no call, no pipe, no redirect, no file.
fn harmless_awk(text: &str) -> bool {
    const PLAIN: &str = " \t{}$+-*/%,.;:'\"_=!<()[]#&^~?\n";
    let plain = |c: char| c.is_ascii_alphanumeric() || PLAIN.contains(c);
    let words = ["system", "getline", "close", "fflush", "include", "load", "@", "<"];
    text.chars().all(plain) && !words.iter().any(|word| text.contains(word))
}
