//! Paths inside the arguments of a command: which stretches of a word may name a file, and which
//! commands go through everything below a folder.
//!
//! It errs on the side of finding one: what is found here can only be forbidden.

use super::shell::{Piece, Simple, Word};

/// So many letters of a word like `-rfetc/passwd` may be options before its value begins.
const MAX_CLUSTER: usize = 8;
/// Of a word with more stretches the first ones are looked at, and the whole word.
const MAX_STRETCHES: usize = 32;

/// Signs between the parts of a word: `key=path`, `HEAD:path`, `name=@path`, lists.
const SEPARATORS: &[char] = &['=', ':', '@', ',', ';', '<', '>', '|'];

/// Commands whose arguments may be programs, which name files in quotes.
const PROGRAMS: &[&str] = &[
    "python",
    "python2",
    "python3",
    "pypy",
    "pypy3",
    "perl",
    "ruby",
    "node",
    "nodejs",
    "deno",
    "bun",
    "php",
    "lua",
    "luajit",
    "awk",
    "gawk",
    "mawk",
    "nawk",
    "sed",
    "gsed",
    "jq",
    "yq",
    "vim",
    "vi",
    "nvim",
    "ex",
    "ed",
    "emacs",
    "sqlite3",
    "psql",
    "mysql",
    "gdb",
    "lldb",
    "tclsh",
    "osascript",
    "socat",
    "openssl",
    "ffmpeg",
    "gnuplot",
    "dc",
    "bc",
    "m4",
    "find",
    "git",
];

/// Signs that end a name of a file in a program.
const PROGRAM_SIGNS: &[char] =
    &[' ', '\t', '\n', '"', '\'', '`', '(', ')', '[', ']', '{', '}', ';', ',', '<', '>', '|', '='];

/// Commands that go through all that is below a folder.
const THOROUGH: &[&str] = &[
    "rg",
    "ripgrep",
    "ag",
    "ack",
    "ack-grep",
    "ugrep",
    "ug",
    "pt",
    "tree",
    "du",
    "gdu",
    "dust",
    "ncdu",
    "find",
    "gfind",
    "fd",
    "fdfind",
    "tar",
    "gtar",
    "bsdtar",
    "rsync",
    "mv",
    "gmv",
    "zip",
    "7z",
    "7za",
    "7zz",
    "rar",
    "cloc",
    "tokei",
    "scc",
    "restic",
    "borg",
    "duplicity",
    "bindfs",
    "rclone",
    "ditto",
    "cpio",
    "pax",
    "mksquashfs",
    "tarsnap",
    "trufflehog",
    "gitleaks",
    "http-server",
    "serve",
    "exa",
    "eza",
    "lsd",
    "entr",
    "inotifywait",
    "fswatch",
    "watchexec",
    "docker",
    "podman",
    "locate",
    "rgrep",
];
/// Commands that do so with an option.
const THOROUGH_BY_OPTION: &[&str] = &[
    "grep", "egrep", "fgrep", "ggrep", "zgrep", "pdfgrep", "cp", "gcp", "scp", "sftp", "ls", "gls",
    "dir", "vdir", "chmod", "chown", "chgrp", "setfacl", "chattr", "lsattr", "rm", "grm", "srm",
    "diff", "gdiff", "gzip", "shred", "chcon", "touch", "sum", "wc", "python", "python3",
];
/// Commands of these that begin where they are if no folder is named.
const BEGINS_HERE: &[&str] = &[
    "rg", "ripgrep", "ag", "ack", "ack-grep", "ugrep", "ug", "pt", "tree", "du", "gdu", "dust",
    "ncdu", "find", "gfind", "fd", "fdfind", "grep", "egrep", "fgrep", "ggrep", "rgrep", "ls",
    "gls", "exa", "eza", "lsd", "cloc", "tokei", "scc",
];
/// Of those, the ones whose first operand is no folder but what is looked for.
const LOOKS_FOR: &[&str] = &[
    "rg", "ripgrep", "ag", "ack", "ack-grep", "ugrep", "ug", "pt", "fd", "fdfind", "grep", "egrep",
    "fgrep", "ggrep", "rgrep",
];

/// Returns the stretches of an argument that may be paths.
pub(crate) fn paths(base: &str, word: &Word) -> Vec<Word> {
    let mut found = Vec::new();
    let text = word.text();
    if let Some(text) = text {
        found.extend(text.match_indices("file:").filter_map(|(at, _)| of_file_url(text, at)));
        if is_address(text) {
            return found;
        }
    }
    let signs = signs(word);
    let option = signs.first().is_some_and(|sign| is(sign, '-'));
    if option {
        cluster(&signs, &mut found);
    } else {
        found.push(word.clone());
    }
    let parts: Vec<&[Piece]> =
        signs.split(|sign| SEPARATORS.iter().any(|separator| is(sign, *separator))).collect();
    let mut at = 0;
    for part in parts.iter().take(MAX_STRETCHES) {
        let cut = at > 0 || part.len() < signs.len();
        if cut && !part.is_empty() && !(option && at == 0) {
            found.push(joined(part, word));
            found.push(joined(signs.get(at..).unwrap_or_default(), word));
        }
        at += part.len() + 1;
    }
    if let Some(text) = text.filter(|_| PROGRAMS.contains(&base)) {
        let files = text.split(PROGRAM_SIGNS).filter(|name| looks_like_path(name));
        found.extend(files.take(MAX_STRETCHES).flat_map(in_program));
    }
    found
}

/// A name in a program, and what is behind the letter of a command before it: `r/etc/passwd`.
fn in_program(name: &str) -> Vec<Word> {
    let mut found = vec![Word::literal(name)];
    let sign = name.find(['/', '~', '.']).filter(|at| *at > 0);
    found.extend(sign.and_then(|at| name.get(at..)).map(Word::literal));
    found
}

fn looks_like_path(name: &str) -> bool {
    name.contains('/') || name.starts_with(['.', '~'])
}

/// Schemes of addresses on the network.
const SCHEMES: &[&str] =
    &["http", "https", "ftp", "ftps", "ssh", "git", "ws", "wss", "redis", "postgres", "postgresql"];

/// Whether a text is an address on the network. A folder may be called `https:`, but then the way
/// out of it is `..`.
fn is_address(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let scheme = scheme.rsplit(['=', '+', '@', '-']).next().unwrap_or(scheme);
    SCHEMES.contains(&scheme.to_lowercase().as_str()) && !rest.split('/').any(|part| part == "..")
}

/// The path of `file:/x`, `file:///x` and `file://host/x`, as it stands there and decoded.
fn of_file_url(text: &str, at: usize) -> Option<Word> {
    let rest = text.get(at..)?.strip_prefix("file:")?;
    let path = match rest.strip_prefix("//") {
        Some(behind) => behind.get(behind.find('/')?..)?,
        None => rest,
    };
    Some(Word::literal(decoded(path)))
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut ahead = rest.clone();
        let digits = [ahead.next(), ahead.next()]
            .map(|digit| digit.and_then(|digit| char::from(digit).to_digit(16)));
        match (byte, digits) {
            (b'%', [Some(high), Some(low)]) => {
                bytes.extend(u8::try_from(high * 16 + low));
                rest = ahead;
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `-o/etc/passwd`, `-rfetc/passwd`: the value may begin behind any of the letters.
fn cluster(signs: &[Piece], found: &mut Vec<Word>) {
    let begins = |sign: &Piece| match sign {
        Piece::Text(text) => text.starts_with(['/', '~', '.']),
        _ => true,
    };
    let Some(first) = signs.iter().position(begins) else { return };
    for at in (2..first).take(MAX_CLUSTER).chain([first]) {
        let mut word = Word::default();
        for sign in signs.get(at..).unwrap_or_default() {
            word.push(sign.clone());
        }
        found.push(word);
    }
}

/// A word as single characters and holes.
fn signs(word: &Word) -> Vec<Piece> {
    let sign = |piece: &Piece| match piece {
        Piece::Text(text) => text.chars().map(|c| Piece::Text(c.to_string())).collect(),
        hole => vec![hole.clone()],
    };
    word.pieces.iter().flat_map(sign).collect()
}

fn is(sign: &Piece, c: char) -> bool {
    matches!(sign, Piece::Text(text) if text.starts_with(c))
}

fn joined(signs: &[Piece], whole: &Word) -> Word {
    let mut word = Word { pieces: Vec::new(), splits: whole.splits };
    for sign in signs {
        word.push(sign.clone());
    }
    word
}

/// Returns true if a command goes through everything below the folders that it is given.
pub(crate) fn is_thorough(simple: &Simple) -> bool {
    let Some(base) = simple.base() else { return true };
    let args = simple.words.get(1..).unwrap_or_default();
    if THOROUGH.contains(&base.as_str()) {
        return true;
    }
    if base == "git" {
        // What `git add ~` and `git grep --no-index KEY ~` are given is gone through.
        return args.iter().any(|word| {
            matches!(word.text(), Some("add" | "grep" | "mv" | "rm" | "clean" | "--no-index"))
        });
    }
    THOROUGH_BY_OPTION.contains(&base.as_str()) && args.iter().any(|word| goes_deep(&base, word))
}

fn goes_deep(base: &str, word: &Word) -> bool {
    let Some(text) = word.text() else { return word.beginning().is_empty() };
    if let Some(long) = text.strip_prefix("--") {
        const LONG: &[&str] =
            &["recursive", "dereference-recursive", "archive", "directories=recurse", "tree"];
        return !long.is_empty() && LONG.iter().any(|name| name.starts_with(long));
    }
    let letters = if matches!(base, "cp" | "gcp") { "rRa" } else { "rR" };
    let by_letter = text.starts_with('-') && text.contains(|c| letters.contains(c));
    // `grep -d recurse`, `python -m http.server`.
    by_letter || matches!(text, "recurse" | "-drecurse" | "http.server")
}

/// Returns true if a command that goes through folders may begin in the one that it works in.
pub(crate) fn begins_here(simple: &Simple) -> bool {
    let Some(base) = simple.base() else { return false };
    if !BEGINS_HERE.contains(&base.as_str()) {
        return false;
    }
    let args = simple.words.get(1..).unwrap_or_default();
    let is_option = |word: &Word| word.beginning().starts_with('-');
    let takes_value = |word: &Word| {
        let text = word.beginning();
        text.starts_with('-')
            && !text.starts_with("--")
            && text.ends_with(|c| "efmABCgtTL".contains(c))
    };
    let given = args.iter().any(|word| {
        let text = word.beginning();
        ["--regexp", "--file"].iter().any(|long| text.starts_with(long))
            || (is_option(word) && !text.starts_with("--") && text.contains(['e', 'f']))
    });
    let mut operands = 0;
    for (at, word) in args.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| args.get(at));
        if base == "find" && is_option(word) {
            break;
        }
        operands += usize::from(!is_option(word) && !before.is_some_and(takes_value));
    }
    let wanted = usize::from(LOOKS_FOR.contains(&base.as_str()) && !given);
    operands <= wanted
}
