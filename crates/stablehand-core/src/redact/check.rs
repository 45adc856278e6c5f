//! Whether a value looks like a secret: by what it is called, and by how random it is.

/// Bits per character from which on a text is taken for random. English words have below three, a
/// key of sixteen random characters has about 3.7.
const RANDOM_BITS: f64 = 3.5;

/// Shorter ones are never guessed to be secrets.
const SHORTEST_GUESS: usize = 10;

/// Hardly a word is longer.
const LONGEST_WORD: usize = 15;

/// Shorter values are not taken as known: they would be found where they are not meant.
pub(super) const SHORTEST_VALUE: usize = 8;

/// Whether a variable of the environment holds a secret: its name says key, token, secret, password,
/// credential or authorization, and its value is neither short nor a path, a number or a switch.
pub fn is_secret_variable(name: &str, value: &str) -> bool {
    const SAYS: &[&str] = &["KEY", "TOKEN", "SECRET", "PASS", "PWD", "CREDENTIAL", "AUTH"];
    const OTHERWISE: &[&str] = &["AUTHOR", "KEYBOARD", "KEYMAP", "TOKENS", "TOKENIZER", "PASSIVE"];
    let name = name.to_ascii_uppercase();
    // The shell's own, which are folders.
    let is_folder = matches!(name.as_str(), "PWD" | "OLDPWD");
    let value = value.trim();
    let is_path = value.starts_with(['/', '~', '.']) && value.contains('/');
    let is_number = value.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    value.len() >= SHORTEST_VALUE
        && SAYS.iter().any(|word| name.contains(word))
        && !OTHERWISE.iter().any(|word| name.contains(word))
        && !(is_folder || is_path || is_number)
        && !matches!(value, "disabled" | "enabled")
}

/// What is known of a name that something is assigned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    Nothing,
    Password,
    Secret,
}

fn names(name: &str) -> Names {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let has = |words: &[&str]| words.iter().any(|word| plain.contains(word));
    if has(&["password", "passwd", "passphrase", "pwd"]) {
        return Names::Password;
    }
    let harmless = [
        "tokens",
        "tokeniz",
        "tokentype",
        "tokenurl",
        "tokenlimit",
        "tokencount",
        "tokenid",
        "secretary",
        "secretname",
        "publickey",
        "keyid",
        "keyname",
        "author",
    ];
    if has(&harmless) {
        return Names::Nothing;
    }
    let keys = [
        "apikey",
        "accesskey",
        "secretkey",
        "privatekey",
        "authkey",
        "encryptionkey",
        "signingkey",
        "masterkey",
        "accountkey",
        "clientkey",
        "servicekey",
        "licensekey",
        "sharedkey",
        "subscriptionkey",
        "appkey",
        "deploykey",
        "adminkey",
        "userkey",
        "sessionkey",
    ];
    if has(&["secret", "token", "credential"]) || has(&keys) || plain.ends_with("auth") {
        return Names::Secret;
    }
    Names::Nothing
}

/// Whether a value that is assigned to a name is a secret.
pub(super) fn is_assigned_secret(name: &str, value: &str) -> bool {
    if !is_no_placeholder(name, value) || is_address(value) {
        return false;
    }
    if name.ends_with("auth") && is_basic(value) {
        return true;
    }
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    match names(name) {
        Names::Nothing => false,
        Names::Password => {
            let symbols = value.len() - digits - letters;
            // One that is made of letters alone is more often a word or a name in code.
            (digits > 0 || symbols > 1) && letters > 0 && bits(value) >= 2.5 && !is_code(value)
        }
        Names::Secret => {
            value.len() >= SHORTEST_GUESS
                && digits >= 2
                && letters > 0
                && bits(value) >= RANDOM_BITS.min(longest_bits(value))
                && !is_code(value)
        }
    }
}

/// A text of sixteen characters cannot have more than four bits per character, and one of hexadecimal
/// digits never has: a random one of those gets near it, but not to it.
fn longest_bits(value: &str) -> f64 {
    if value.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') && value.len() >= 32 {
        3.0
    } else {
        RANDOM_BITS
    }
}

/// Whether a value looks random, whatever it is called.
pub(super) fn looks_random(name: &str, value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    is_no_placeholder(name, value) && digits >= 2 && bits(value) >= RANDOM_BITS && !is_code(value)
}

/// Whether a value is written out, and not a place for one.
pub(super) fn is_no_placeholder(_: &str, value: &str) -> bool {
    let begins =
        value.starts_with(['$', '{', '%', '*', '<', '[', '.', '(']) || value.contains("${");
    let words =
        ["xxxx", "****", "your", "example", "placeholder", "changeme", "redacted", "process.env"];
    let lower = value.to_ascii_lowercase();
    !begins && !words.iter().any(|word| lower.contains(word))
}

/// Whether the value of an option is written out; a word in capitals stands for one.
pub(super) fn is_given(name: &str, value: &str) -> bool {
    let stands_for_one = value.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    is_no_placeholder(name, value) && !stands_for_one && !value.starts_with('-')
}

/// Whether a word behind an option or a name is a password rather than the next word of a sentence:
/// it has a digit or a sign in it, or is longer than words are.
pub(super) fn is_password_word(name: &str, value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let signs = value.len() - digits - letters;
    let is_mixed = digits > 0 && value.len() >= 5 || signs > 1 || hills(value) > 0;
    is_given(name, value)
        && !is_address(value)
        && (is_mixed || value.len() > LONGEST_WORD)
        && !value.contains(['(', ')', '=', '{'])
}

/// Whether what stands behind a user's name and a colon is a password, and not a group or a port.
pub(super) fn is_login(user: &str, value: &str) -> bool {
    let numbers = [user, value].iter().all(|text| text.bytes().all(|b| b.is_ascii_digit()));
    !numbers && user != value && is_given(user, value)
}

/// The same where no program is named that takes one: a group's name is a plain word.
pub(super) fn is_login_anywhere(user: &str, value: &str) -> bool {
    let is_word = value.bytes().all(|b| b.is_ascii_lowercase() || matches!(b, b'-' | b'_'));
    is_login(user, value) && !is_word
}

/// Whether this is `user:password` in base64, as Docker keeps it under `auth`.
fn is_basic(value: &str) -> bool {
    use base64::Engine as _;
    let decoded = base64::engine::general_purpose::STANDARD.decode(value);
    decoded
        .is_ok_and(|bytes| bytes.contains(&b':') && bytes.iter().all(|b| matches!(b, b' '..=b'~')))
}

/// Returns true if a word of a command line is an option whose value is a secret.
pub fn is_secret_option(word: &str) -> bool {
    let Some(name) = word.strip_prefix("--") else { return false };
    let last = name.rsplit_once('-').map_or(name, |(_, last)| last);
    matches!(last, "password" | "passwd" | "pass" | "passphrase" | "token" | "secret" | "apikey")
        || name.ends_with("api-key")
        || name.ends_with("secret-key")
        || name.ends_with("secret-access-key")
}

/// A place rather than a value: a path or a URL.
fn is_address(value: &str) -> bool {
    let path = value.starts_with('/') || value.starts_with("./") || value.starts_with("~/");
    (path && value.bytes().filter(|b| *b == b'/').count() > 1) || value.contains("://")
}

/// Words, numbers and dots, as names in code and files are made of; nothing random.
fn is_code(value: &str) -> bool {
    let mut parts =
        value.split(['.', '_', '-', '/', ':', '@', '=', '#']).filter(|part| !part.is_empty());
    parts.all(|part| {
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        let is_number = digits == part.len() && part.len() <= 8;
        // `sha256`, `v2`, `getItem2`: letters first, few digits behind them.
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_word = letters.bytes().all(|b| b.is_ascii_alphabetic())
            && digits <= 3
            && hills(letters) <= 1 + letters.len() / 4;
        is_number || is_word
    })
}

/// How often a text goes from small to capital letters: seldom in names, often in random ones.
fn hills(text: &str) -> usize {
    let bytes = text.as_bytes();
    bytes
        .windows(2)
        .filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
        .count()
}

/// The value without what only ends the sentence, and how much that is.
pub(super) fn trimmed(value: &str) -> (&str, usize) {
    let kept = value.trim_end_matches(['.', ':', '!', '?', '*']);
    (kept, value.len() - kept.len())
}

/// Shannon's entropy, in bits per byte.
pub(super) fn bits(text: &str) -> f64 {
    let mut counts = [0u32; 256];
    for byte in text.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let length = text.len() as f64;
    let part = |count: &u32| {
        let share = f64::from(*count) / length;
        -share * share.log2()
    };
    counts.iter().filter(|count| **count > 0).map(part).sum()
}

/// Whether what begins at `at` is no part of a longer word. Letters of an escape (`\n`) or of a
/// colour sequence before it are no part of a word.
pub(super) fn begins_a_word(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default().as_bytes();
    let is_escape = matches!(before, [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f']);
    let is_word =
        matches!(before, [.., b] if b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    !is_word || is_escape || ends_with_colour(before)
}

fn ends_with_colour(before: &[u8]) -> bool {
    let Some(before) = before.strip_suffix(b"m") else { return false };
    let mut bytes = before.iter().rev().take(16);
    let stop = bytes.by_ref().find(|b| !(b.is_ascii_digit() || **b == b';'));
    stop == Some(&b'[') && bytes.next() == Some(&0x1b)
}
