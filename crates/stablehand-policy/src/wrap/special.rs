//! Commands that run others in ways of their own: shells, `trap`, `find -exec`, editors, terminals.

use super::{Inner, is_shell, text};
use crate::shell::{Simple, Word};

/// Programs that start something that cannot be read off their arguments.
const OPAQUE: &[&str] = &[
    "parallel",
    "coproc",
    // To what these run, every path is another one.
    "chroot",
    "unshare",
    "nsenter",
    "bwrap",
    "firejail",
    "machinectl",
    "proot",
    "systemd-nspawn",
    "systemd-run",
    "pkexec",
    "at",
    "batch",
    "expect",
    "screen",
    "pwsh",
    "powershell",
    "cmd",
    "wsl",
    "osascript",
    "setarch",
    "i386",
    "x86_64",
    "arch",
    "gdb",
    "lldb",
    "ed",
    "ex",
    "rlwrap",
    "hyperfine",
    "watchexec",
    "nodemon",
    "start-stop-daemon",
    "daemonize",
    "sg",
    "newgrp",
    "runcon",
    "chpst",
    "cgexec",
    "xvfb-run",
    "proxychains",
    "proxychains4",
    "torsocks",
    "dotenv",
    "doppler",
    "aws-vault",
    "git-shell",
    "dtach",
    "abduco",
    "zellij",
    "byobu",
];

/// Editors that run commands given by an option or by `+`.
const EDITORS: &[&str] = &[
    "vi",
    "vim",
    "nvim",
    "view",
    "vimdiff",
    "gvim",
    "emacs",
    "emacsclient",
    "nano",
    "pico",
    "kak",
    "hx",
    "less",
    "more",
    "most",
    "man",
];

/// Commands of `tmux` that run nothing.
const TMUX: &[&str] = &[
    "ls",
    "list-sessions",
    "list-windows",
    "list-panes",
    "list-clients",
    "has-session",
    "has",
    "kill-session",
    "kill-server",
    "capture-pane",
];

/// Sections of git's settings that name no program.
const GIT_SETTINGS: &[&str] = &[
    "color.",
    "advice.",
    "user.name",
    "user.email",
    "core.quotepath",
    "core.autocrlf",
    "core.abbrev",
    "log.",
    "status.",
    "init.defaultbranch",
    "commit.gpgsign=false",
    "tag.gpgsign=false",
    "pull.rebase",
    "push.default",
    "diff.renames",
    "diff.context",
    "diff.noprefix",
    "merge.conflictstyle",
    "rebase.autostash",
    "rebase.autosquash",
    "fetch.prune",
    "gc.auto",
    "safe.directory",
];

/// What such a command runs; none if it is not one of them.
pub(super) fn inner(base: &str, args: &[Word]) -> Option<Vec<Inner>> {
    let opaque = |why: String| Some(vec![Inner::Opaque(why)]);
    if is_shell(base) {
        return Some(shell(base, args).into_iter().collect());
    }
    if OPAQUE.contains(&base) {
        return opaque(format!("nobody can tell what `{base}` runs"));
    }
    let first = args.first().and_then(Word::text);
    match base {
        "eval" => Some(args.is_empty().then(Vec::new).unwrap_or_else(|| vec![text(base, args)])),
        "trap" => Some(trap(args)),
        "runuser" => Some(vec![runuser(args)]),
        "command" if first.is_some_and(|it| it.starts_with("-v") || it.starts_with("-V")) => {
            Some(Vec::new())
        }
        "find" | "gfind" => Some(find(args)),
        "fd" | "fdfind" => Some(fd(args)),
        "crontab" if first == Some("-l") => Some(Vec::new()),
        "crontab" => opaque("`crontab` runs commands later".to_owned()),
        "tmux" if args.is_empty() || first.is_some_and(|it| TMUX.contains(&it)) => Some(Vec::new()),
        "tmux" => opaque("nobody can tell what `tmux` runs".to_owned()),
        "socat" if args.iter().any(|word| may_run(word.beginning())) => {
            opaque("`socat` runs a command".to_owned())
        }
        "just"
            if args.iter().any(|word| {
                matches!(word.beginning(), "-c" | "--command" | "--shell" | "--set")
            }) =>
        {
            opaque("cannot tell what `just` runs".to_owned())
        }
        "nix"
            if args.iter().any(|word| matches!(word.text(), Some("-c" | "--command" | "run"))) =>
        {
            opaque("cannot tell what `nix` runs".to_owned())
        }
        "git" => git(args),
        "ssh" | "scp" | "sftp" if args.iter().any(names_command) => {
            opaque(format!("an option of `{base}` names a command"))
        }
        _ if EDITORS.contains(&base)
            && args.iter().any(|word| word.beginning().starts_with(['-', '+'])) =>
        {
            let known = |word: &Word| {
                matches!(
                    word.text(),
                    Some(
                        "-N" | "-R"
                            | "-n"
                            | "-F"
                            | "-X"
                            | "-S"
                            | "-k"
                            | "-nw"
                            | "--version"
                            | "--help"
                    )
                )
            };
            let commands = args
                .iter()
                .filter(|word| word.beginning().starts_with(['-', '+']))
                .any(|word| !known(word));
            commands
                .then(|| vec![Inner::Opaque(format!("an option of `{base}` may run a command"))])
        }
        _ => None,
    }
}

fn may_run(address: &str) -> bool {
    let upper = address.to_ascii_uppercase();
    ["EXEC", "SYSTEM", "SHELL"].iter().any(|kind| upper.contains(kind))
}

/// `-o ProxyCommand=…`, in any form.
fn names_command(word: &Word) -> bool {
    let lower = word.beginning().to_ascii_lowercase();
    ["proxycommand", "localcommand", "knownhostscommand", "remotecommand", "proxyusefdpass"]
        .iter()
        .any(|name| lower.contains(name))
}

/// Settings that are given on the command line may name a program.
fn git(args: &[Word]) -> Option<Vec<Inner>> {
    let mut found = Vec::new();
    let mut words = args.iter();
    while let Some(word) = words.next().filter(|word| word.beginning().starts_with('-')) {
        let value = match word.text() {
            Some("-c" | "--config-env") => words.next(),
            Some("-C" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path") => {
                words.next();
                None
            }
            _ => None,
        };
        if let Some(value) = value {
            let lower = value.beginning().to_ascii_lowercase();
            if !GIT_SETTINGS.iter().any(|known| lower.starts_with(known)) {
                found.push(Inner::Opaque(format!(
                    "the setting {} may name a program",
                    value.show()
                )));
            }
        }
    }
    let runs = args.iter().any(|word| {
        matches!(word.text(), Some("filter-branch" | "mergetool" | "remote-ext" | "remote-fd"))
            || word.beginning().contains("ext::")
    });
    let upload = args.iter().any(|word| {
        let begins = word.beginning();
        begins.starts_with("--upload-p")
            || begins.starts_with("--receive-p")
            || begins.starts_with("--exec=")
            || begins.starts_with("--open-files-in-p")
    });
    if runs || upload {
        found.push(Inner::Opaque("`git` runs a program that is named in its arguments".to_owned()));
    }
    (!found.is_empty()).then_some(found)
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

/// `fd -x`, alone, in a cluster, or cut short.
fn fd(args: &[Word]) -> Vec<Inner> {
    let exec = |word: &Word| {
        let begins = word.beginning();
        let cluster = begins.starts_with('-') && !begins.starts_with("--");
        begins.starts_with("--exe") || (cluster && begins.contains(['x', 'X']))
    };
    let Some(at) = args.iter().position(exec) else { return Vec::new() };
    let plain = |word: &Word| matches!(word.text(), Some("-x" | "-X" | "--exec" | "--exec-batch"));
    if !args.get(at).is_some_and(plain) {
        return vec![Inner::Opaque("cannot tell what `fd` runs".to_owned())];
    }
    let mut words: Vec<Word> = args.get(at + 1..).unwrap_or_default().iter().map(hole).collect();
    words.push(Word::unknown());
    vec![Inner::Command(Simple { words, env: Vec::new() })]
}

/// `runuser -u NAME -- command`, or like `su`.
fn runuser(args: &[Word]) -> Inner {
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.text() {
            Some("-c" | "--command" | "--session-command") => {
                return text("runuser", words.next().map(std::slice::from_ref).unwrap_or_default());
            }
            Some("--") => {
                return Inner::Command(Simple { words: words.cloned().collect(), env: Vec::new() });
            }
            _ => {}
        }
    }
    Inner::Opaque("`runuser` starts a shell".to_owned())
}
