//! Commands that run other commands: `sudo`, `env`, `xargs`, `bash -c`, `find -exec` and their kin.
//!
//! The inner command is judged like any other; the outer one stays a simple command that needs its
//! own permission. An option that is not in the table may take a value, and then nobody can tell
//! where the inner command begins: that is opaque.

use super::hazard;
use super::shell::{Piece, Simple, Word};

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

/// How a wrapper reads its arguments.
struct Wrapper {
    names: &'static [&'static str],
    /// Short options without a value.
    flags: &'static str,
    /// Short options with a value.
    values: &'static str,
    /// Long options without a value.
    long_flags: &'static [&'static str],
    /// Long options with a value in the next word.
    long_values: &'static [&'static str],
    /// Words before the inner command.
    operands: usize,
    then: Then,
}

/// What follows options and operands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    /// A command.
    Command,
    /// Assignments, then a command.
    Assignments,
    /// A command that is given more words from its input.
    MoreWords,
    /// Words that are joined and given to a shell.
    Text,
}

const fn plain(
    names: &'static [&'static str],
    flags: &'static str,
    values: &'static str,
) -> Wrapper {
    Wrapper {
        names,
        flags,
        values,
        long_flags: &[],
        long_values: &[],
        operands: 0,
        then: Then::Command,
    }
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        long_flags: &["non-interactive", "preserve-env", "set-home", "stdin", "background"],
        long_values: &["user", "group", "chdir", "prompt", "host"],
        then: Then::Assignments,
        ..plain(&["sudo"], "AEHnPSbk", "CDghpRrtTuU")
    },
    plain(&["doas"], "nL", "uC"),
    Wrapper {
        long_flags: &["ignore-environment", "null", "debug"],
        long_values: &["unset", "chdir"],
        then: Then::Assignments,
        ..plain(&["env"], "i0v", "uC")
    },
    plain(&["nohup", "builtin", "setarch", "busybox", "toybox", "noglob", "nocorrect"], "", ""),
    Wrapper { long_values: &["adjustment"], ..plain(&["nice"], "0123456789", "n") },
    plain(&["ionice"], "t", "cn"),
    Wrapper {
        long_flags: &["foreground", "preserve-status", "verbose"],
        long_values: &["kill-after", "signal"],
        operands: 1,
        ..plain(&["timeout", "gtimeout"], "fpv", "ks")
    },
    // To the shell it is no command but a word before one, with its assignments.
    Wrapper { then: Then::Assignments, ..plain(&["time"], "pvaqV", "fo") },
    plain(&["stdbuf"], "", "ioe"),
    Wrapper { long_flags: &["ctty", "fork", "wait"], ..plain(&["setsid"], "cfw", "") },
    Wrapper { operands: 1, ..plain(&["taskset", "chrt"], "abcfior", "") },
    plain(&["command"], "p", ""),
    plain(&["exec"], "cl", "a"),
    plain(&["strace", "ltrace"], "cCdDfFiknqrtTvwxyYzZ", "aAeEIbopPsSuUX"),
    Wrapper {
        long_flags: &["null", "no-run-if-empty", "verbose", "interactive", "exit", "open-tty"],
        long_values: &["arg-file", "delimiter", "max-args", "max-procs", "max-lines", "max-chars"],
        then: Then::MoreWords,
        ..plain(&["xargs", "gxargs"], "0rtpxo", "adEILnPsJRS")
    },
    Wrapper {
        long_flags: &["beep", "color", "differences", "errexit", "chgexit", "no-title", "precise"],
        long_values: &["interval"],
        then: Then::Text,
        ..plain(&["watch"], "bcdegptrw", "n")
    },
    Wrapper {
        operands: 1,
        then: Then::Text,
        ..plain(&["ssh"], "46AaCfGgKkMNnqsTtVvXxYy", "BbcDEeFIiJLlmOoPpQRSWw")
    },
    Wrapper {
        long_flags: &["shared", "exclusive", "nonblock", "close", "no-fork", "verbose"],
        long_values: &["timeout", "wait", "conflict-exit-code"],
        operands: 1,
        ..plain(&["flock"], "sxenoFv", "wE")
    },
];

/// Programs that start something that cannot be read off their arguments.
const ALWAYS_OPAQUE: &[&str] = &[
    "parallel",
    "coproc",
    // To what it runs, every path is another one.
    "chroot",
    "unshare",
    "nsenter",
    "systemd-run",
    "bwrap",
    "firejail",
    "pkexec",
    "machinectl",
];

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
    if is_shell(base) {
        return shell(base, args).into_iter().collect();
    }
    if ALWAYS_OPAQUE.contains(&base) {
        return vec![Inner::Opaque(format!("nobody can tell what `{base}` runs"))];
    }
    match base {
        "eval" => return args.is_empty().then(Vec::new).unwrap_or_else(|| vec![text(base, args)]),
        "trap" => return trap(args),
        "su" | "runuser" => return vec![su(base, args)],
        "script" => return option_text(base, args, "c"),
        "flock" if args.iter().any(|arg| arg.text() == Some("-c")) => {
            return option_text(base, args, "c");
        }
        "command"
            if args
                .first()
                .and_then(Word::text)
                .is_some_and(|a| a.starts_with("-v") || a.starts_with("-V")) =>
        {
            return Vec::new();
        }
        _ if hazard::EVALUATES.contains(&base) && args.iter().any(has_subscript) => {
            return vec![Inner::Opaque(format!(
                "`{base}` may run a command in an array subscript"
            ))];
        }
        "printf"
            if args.iter().any(has_subscript) && args.iter().any(|it| it.beginning() == "-v") =>
        {
            return vec![Inner::Opaque(format!(
                "`{base}` may run a command in an array subscript"
            ))];
        }
        "find" | "gfind" => return find(args),
        "fd" | "fdfind" => return fd(args),
        _ => {}
    }
    match WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&base)) {
        Some(wrapper) => unwrap(wrapper, base, args, &command.env).into_iter().collect(),
        None => Vec::new(),
    }
}

/// Reads options and operands of a wrapper; what is left is the inner command.
fn unwrap(wrapper: &Wrapper, base: &str, args: &[Word], outer: &[String]) -> Option<Inner> {
    let lost = |what: &str| Some(Inner::Opaque(format!("cannot tell what `{base}` runs ({what})")));
    let mut env = outer.to_vec();
    let mut operands = wrapper.operands;
    let mut options = true;
    let mut replaced: Option<String> = None;
    let mut at = 0;
    while let Some(word) = args.get(at) {
        let Some(word) = word.text() else {
            // The host of `ssh` may be anything; the command behind it is still read.
            if operands > 0 && !word.splits {
                operands -= 1;
                at += 1;
                continue;
            }
            return lost(&word.show());
        };
        at += 1;
        if options && word == "--" {
            options = false;
        } else if options && word == "-" && base == "env" {
            // `-` is `-i`.
        } else if let Some(long) = word.strip_prefix("--").filter(|_| options) {
            let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
            if wrapper.long_values.contains(&name) {
                at += usize::from(value.is_none());
            } else if !wrapper.long_flags.contains(&name) {
                return lost(word);
            }
        } else if let Some(cluster) = word.strip_prefix('-').filter(|c| options && !c.is_empty()) {
            let mut letters = cluster.chars();
            while let Some(letter) = letters.next() {
                if wrapper.values.contains(letter) {
                    let attached = letters.as_str();
                    let value = if attached.is_empty() {
                        at += 1;
                        args.get(at - 1).and_then(Word::text).map(str::to_owned)
                    } else {
                        Some(attached.to_owned())
                    };
                    if wrapper.then == Then::MoreWords && matches!(letter, 'I' | 'J') {
                        replaced = Some(value.unwrap_or_default());
                    }
                    break;
                } else if !wrapper.flags.contains(letter) {
                    return lost(word);
                }
            }
        } else if operands > 0 {
            operands -= 1;
            // `ssh host -p 22 cmd` reads options behind the host too.
            options = wrapper.then == Then::Text && options;
        } else if let Some(name) = assignment(word).filter(|_| wrapper.then == Then::Assignments) {
            env.push(name.to_owned());
            options = false;
        } else {
            let rest = args.get(at - 1..).unwrap_or_default();
            return Some(run(wrapper, base, rest, env, replaced.as_deref()));
        }
    }
    (wrapper.then == Then::MoreWords).then(|| {
        Inner::Command(Simple { words: vec![Word::literal("echo"), Word::unknown()], env })
    })
}

fn run(
    wrapper: &Wrapper,
    base: &str,
    rest: &[Word],
    env: Vec<String>,
    replaced: Option<&str>,
) -> Inner {
    match wrapper.then {
        Then::Text => text(base, rest),
        Then::Assignments
            if base == "time"
                && rest
                    .first()
                    .and_then(Word::text)
                    .is_some_and(|word| RESERVED.contains(&word)) =>
        {
            Inner::Opaque(format!("cannot tell what `{base}` runs"))
        }
        Then::Command | Then::Assignments => Inner::Command(Simple { words: rest.to_vec(), env }),
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
            Inner::Command(Simple { words, env })
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

fn shell(base: &str, args: &[Word]) -> Option<Inner> {
    let from_input = || Some(Inner::Opaque(format!("`{base}` reads its commands from its input")));
    let mut wants_text = false;
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let Some(arg) = word.text() else {
            return Some(Inner::Opaque(format!("only the shell knows what `{base}` runs")));
        };
        match arg {
            "--" | "--login" | "--norc" | "--noprofile" | "--posix" => {}
            "-o" | "+o" | "-O" | "+O" => {
                words.next();
            }
            _ if arg.starts_with("--") => {
                return Some(Inner::Opaque(format!("cannot tell what `{base} {arg}` runs")));
            }
            _ if (arg.starts_with('-') || arg.starts_with('+')) && arg.len() > 1 => {
                wants_text |= arg.starts_with('-') && arg.contains('c');
                if arg.contains('s') {
                    return from_input();
                }
                if arg.contains(['o', 'O']) {
                    words.next();
                }
            }
            _ if wants_text => return Some(Inner::Text(arg.to_owned())),
            "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" => return from_input(),
            // A script: the command itself is what is judged.
            _ => return None,
        }
    }
    from_input()
}

fn trap(args: &[Word]) -> Vec<Inner> {
    match args.first().map(Word::text) {
        None | Some(Some("" | "-" | "-l" | "-p")) => Vec::new(),
        Some(Some("--")) => vec![text("trap", args.get(1..2).unwrap_or_default())],
        _ => vec![text("trap", args.get(..1).unwrap_or_default())],
    }
}

fn su(base: &str, args: &[Word]) -> Inner {
    let mut words = args.iter();
    while let Some(word) = words.next() {
        if matches!(word.text(), Some("-c" | "--command")) {
            return text(base, words.next().map(std::slice::from_ref).unwrap_or_default());
        }
    }
    Inner::Opaque(format!("`{base}` starts a shell"))
}

fn option_text(base: &str, args: &[Word], letter: &str) -> Vec<Inner> {
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let Some(arg) = word.text() else {
            return vec![Inner::Opaque(format!("only the shell knows what `{base}` runs"))];
        };
        if arg.starts_with('-') && !arg.starts_with("--") && arg.ends_with(letter) {
            return vec![text(base, words.next().map(std::slice::from_ref).unwrap_or_default())];
        }
    }
    vec![Inner::Opaque(format!("`{base}` starts a shell"))]
}

fn hole(word: &Word) -> Word {
    if word.text().is_some_and(|text| text.contains('{')) { Word::unknown() } else { word.clone() }
}

fn find(args: &[Word]) -> Vec<Inner> {
    let mut found = Vec::new();
    let mut words = args.iter();
    while let Some(word) = words.next() {
        if !matches!(word.text(), Some("-exec" | "-execdir" | "-ok" | "-okdir")) {
            // A word that only the shell knows may be `-exec` with all that follows.
            if word.text().is_none() && word.splits && word.beginning().is_empty() {
                found.push(Inner::Opaque("only the shell knows what `find` runs".to_owned()));
            }
            continue;
        }
        let command: Vec<Word> = words
            .by_ref()
            .take_while(|word| !matches!(word.text(), Some(";" | "+")))
            .map(hole)
            .collect();
        found.push(Inner::Command(Simple { words: command, env: Vec::new() }));
    }
    found
}

fn fd(args: &[Word]) -> Vec<Inner> {
    let exec = |word: &Word| matches!(word.text(), Some("-x" | "-X" | "--exec" | "--exec-batch"));
    match args.iter().position(exec) {
        None => Vec::new(),
        Some(at) => {
            let rest = args.get(at + 1..).unwrap_or_default();
            let mut words: Vec<Word> = rest.iter().map(hole).collect();
            words.push(Word::unknown());
            vec![Inner::Command(Simple { words, env: Vec::new() })]
        }
    }
}
