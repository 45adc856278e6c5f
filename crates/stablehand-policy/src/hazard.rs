//! Options that make a harmless command run another one, or write where nobody looks.
//!
//! A wildcard in a pattern does not cover them; they must stand in the pattern themselves. The table
//! errs on the side of asking: a letter counts wherever it stands in a cluster of short options, and
//! a long option also when it is cut short. The programs of `sed` and `awk` are `program`'s.

mod program;

use super::shell::{Simple, Word};
use super::wrap;

/// Commands, what they are told to do first (or empty), and the options that `*` does not cover.
///
/// `-x` is a letter in any cluster, `-word` that word, `--word` a long option, `word*` a beginning,
/// and `*` every argument.
type Row = (&'static [&'static str], &'static str, &'static [&'static str]);

const RUNS: &str = "can make it run another command or write a file";

/// Of any command.
const COMMON: &[&str] = &[
    "--exec",
    "--exec-batch",
    "--exec-path",
    "--to-command",
    "--use-compress-program",
    "--compress-program",
    "--pager",
    "--editor",
    "--rsh",
    "--shell",
    "--eval",
    "--output",
    "--output-file",
    "--output-dir",
    "--output-document",
    "--out",
    "--upload-pack",
    "--receive-pack",
    "--config-env",
    "--init-file",
    "--rcfile",
    "--plugin",
    "--checkpoint-action",
    "--rsync-path",
    "--in-place",
    "--preload",
    "--require",
    "--log-file",
    "--files0-from",
    "--config",
    "--exec-prefix",
];

const TABLE: &[Row] = &[
    (
        &["git"],
        "",
        &[
            "--git-dir",
            "--work-tree",
            "--namespace",
            "--super-prefix",
            "--ext-diff",
            "--textconv",
            "--extcmd",
            "--open-files-in-pager",
            "--template",
            "--separate-git-dir",
            "--file",
            "--tool",
            "--no-index",
            "--reference",
            "-O",
            "ext::*",
            "--gpg-sign",
            "--hooks",
            "--receive-pack",
        ],
    ),
    (
        &["git"],
        "branch",
        &[
            // `--list` can be taken back, and then the words behind it are new branches.
            "--no-l*",
            "-m",
            "-M",
            "-c",
            "-C",
            "-d",
            "-D",
            "-f",
            "-u",
            "-t",
            "--move",
            "--copy",
            "--delete",
            "--force",
            "--track",
            "--set-upstream-to",
            "--unset-upstream",
            "--edit-description",
            "--create-reflog",
        ],
    ),
    (
        &["git"],
        "tag",
        &[
            "--no-l*",
            "-a",
            "-s",
            "-u",
            "-f",
            "-d",
            "-m",
            "-F",
            "-e",
            "--annotate",
            "--sign",
            "--local-user",
            "--force",
            "--delete",
            "--message",
            "--edit",
            "--create-reflog",
            "--trailer",
        ],
    ),
    (&["git"], "clone", &["-u", "-c", "--recurse-submodules"]),
    (&["git"], "rebase", &["-x", "-i", "--interactive"]),
    (&["git"], "difftool", &["*"]),
    (&["git"], "mergetool", &["*"]),
    (&["git"], "bisect", &["run"]),
    (&["git"], "submodule", &["foreach"]),
    (&["git"], "config", &["*"]),
    (&["git"], "filter-branch", &["*"]),
    (&["git"], "archive", &["-o", "--remote"]),
    (&["git"], "format-patch", &["-o"]),
    (
        &["find", "gfind"],
        "",
        &[
            "-exec",
            "-execdir",
            "-ok",
            "-okdir",
            "-delete",
            "-fprint",
            "-fprint0",
            "-fprintf",
            "-fls",
            "-files0-from",
        ],
    ),
    (&["fd", "fdfind"], "", &["-x", "-X"]),
    (&["rg", "ripgrep"], "", &["--pre", "--hostname-bin", "--search-zip", "-z"]),
    (&["file"], "", &["-C", "-m", "--compile", "--magic-file"]),
    (&["tree"], "", &["-o", "-R"]),
    (
        &["tar", "gtar", "bsdtar"],
        "",
        &[
            "-I",
            "-F",
            "--info-script",
            "--new-volume-script",
            "-C",
            "--rmt-command",
            "-P",
            "--absolute-names",
            "--transform",
        ],
    ),
    (&["zip"], "", &["-T", "--unzip-command", "-TT"]),
    (&["unzip"], "", &["-d", "-o"]),
    (&["rsync"], "", &["-e", "-M", "--remote-option", "--daemon", "--delete"]),
    (&["ssh", "scp", "sftp"], "", &["-o", "-F", "-J", "-S", "-D", "-L", "-R", "-w", "-E", "-i"]),
    (
        &["curl"],
        "",
        &[
            "-o",
            "-O",
            "-K",
            "-T",
            "-F",
            "-d",
            "-x",
            "-D",
            "-c",
            "-u",
            "--proxy",
            "--preproxy",
            "--resolve",
            "--connect-to",
            "--upload-file",
            "--data*",
            "--form*",
            "--remote-name*",
            "--dump-header",
            "--cookie-jar",
            "--trace*",
            "--stderr",
            "--engine",
            "--libcurl",
            "--unix-socket",
            "--next",
            "--json",
            "--netrc*",
            "--create-dirs",
            "--url-query",
            "--doh-url",
            "--etag-save",
            "--hsts",
            "--alt-svc",
            "@*",
            "file:*",
        ],
    ),
    (
        &["wget"],
        "",
        &[
            "-O",
            "-o",
            "-a",
            "-P",
            "-i",
            "-e",
            "--post*",
            "--body*",
            "--use-askpass",
            "--execute",
            "--directory-prefix",
            "--append-output",
            "--input-file",
            "--method",
            "--warc*",
            "--save*",
        ],
    ),
    (&["sort", "gsort"], "", &["-o", "-T", "--temporary-directory"]),
    (&["man"], "", &["-P", "-H", "-C", "-M", "-l", "--html", "--preprocessor", "-p", "-T"]),
    (&["less", "more", "most"], "", &["+*", "-o", "-O", "-k", "-K", "--lesskey*"]),
    (&["vi", "vim", "nvim", "ex", "view", "ed", "emacs", "nano", "pico"], "", &["*"]),
    (&["env", "genv"], "", &["-S", "--split-string"]),
    (&["xargs", "gxargs"], "", &["-a", "-I", "-J", "-i", "--replace", "--arg-file"]),
    (
        &[
            "perl",
            "ruby",
            "lua",
            "luajit",
            "php",
            "tclsh",
            "wish",
            "osascript",
            "jshell",
            "ghci",
            "irb",
            "gdb",
            "lldb",
            "expect",
        ],
        "",
        &["-*"],
    ),
    (&["python", "python2", "python3", "pypy", "pypy3"], "", &["-c", "-m", "-i", "-"]),
    (
        &["node", "nodejs", "deno", "bun"],
        "",
        &[
            "-e",
            "-p",
            "-r",
            "-i",
            "--print",
            "--import",
            "--loader",
            "--experimental-loader",
            "--inspect*",
            "--env-file",
            "eval",
            "x",
        ],
    ),
    (
        &["make", "gmake", "ninja"],
        "",
        &["-f", "-C", "-I", "--file", "--makefile", "--directory", "--include-dir", "*=*"],
    ),
    (&["cargo"], "", &["+*", "-Z", "-C", "--manifest-path"]),
    (
        &["go"],
        "",
        &[
            "-exec",
            "-toolexec",
            "-overlay",
            "-modfile",
            "-vettool",
            "-o",
            "-exec=*",
            "-toolexec=*",
            "-vettool=*",
        ],
    ),
    (
        &["npm", "pnpm", "yarn"],
        "",
        &[
            "--script-shell",
            "--prefix",
            "-C",
            "--dir",
            "--cwd",
            "--node-options",
            "--userconfig",
            "--globalconfig",
        ],
    ),
    (
        &["docker", "podman", "nerdctl"],
        "",
        &[
            "-v",
            "--volume",
            "--mount",
            "--privileged",
            "--pid",
            "--network",
            "-H",
            "--host",
            "--cap-add",
            "--device",
            "--security-opt",
        ],
    ),
    (&["printf"], "", &["-v"]),
    (&["test"], "", &["-v", "-R"]),
    (&["kubectl"], "", &["--kubeconfig", "exec", "--server"]),
    (&["date", "hostname", "hostnamectl"], "", &["-s", "--set", "-F", "--file"]),
    (&["sysctl"], "", &["-w", "-p"]),
    (&["openssl"], "", &["-out", "-engine", "-provider", "-config"]),
    (&["jq", "yq"], "", &["-i", "--inplace"]),
    (
        &["pip", "pip3", "uv"],
        "",
        &["--index-url", "--extra-index-url", "-i", "-e", "--target", "-t"],
    ),
    (&["psql", "sqlite3", "mysql"], "", &["-c", "-cmd", "-f", "-o", "-init", "-e", "-L"]),
    (
        &[
            "eval",
            "source",
            ".",
            "alias",
            "hash",
            "enable",
            "bind",
            "complete",
            "mapfile",
            "readarray",
            "exec",
            "let",
            "set",
            "shopt",
            "trap",
        ],
        "",
        &["*"],
    ),
];

/// Builtins that evaluate names of variables, and with them the subscripts of arrays.
pub(super) const EVALUATES: &[&str] = &[
    "test",
    "[",
    "[[",
    "let",
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "unset",
    "read",
    "getopts",
    "mapfile",
    "readarray",
    "wait",
];

/// Why the word at this place is not covered by a wildcard, if it is not.
pub(crate) fn of(command: &Simple, at: usize) -> Option<&'static str> {
    let base = command.base()?;
    let base = base.as_str();
    let word = command.words.get(at)?;
    if at == 0 {
        return None;
    }
    if wrap::is_shell(base) {
        return Some("is run by a shell");
    }
    let Some(text) = word.text() else { return Some("is known to the shell alone") };
    if COMMON.iter().any(|spec| is(spec, text)) {
        return Some(RUNS);
    }
    if base == "git" && matches!(first_letters(text), Some(letters) if letters.contains(['c', 'C']))
    {
        // Before the subcommand these are the repository's configuration and folder.
        let before = command.words.get(1..at).unwrap_or_default();
        if before.iter().all(|word| word.beginning().starts_with('-')) {
            return Some(RUNS);
        }
    }
    let has =
        |sub: &str| sub.is_empty() || command.words.iter().any(|word| word.text() == Some(sub));
    let rows = TABLE.iter().filter(|(names, sub, _)| names.contains(&base) && has(sub));
    if rows.flat_map(|(_, _, specs)| specs.iter()).any(|spec| is(spec, text)) {
        return Some(RUNS);
    }
    if EVALUATES.contains(&base) && text.contains(['[', '`', '$']) {
        return Some("may have a command in an array subscript");
    }
    program::of(base, &command.words, at)
}

/// Why the command as a whole is not covered by `name *`, if it is not: without arguments an
/// interpreter runs what comes from its input.
pub(crate) fn bare(command: &Simple) -> Option<&'static str> {
    const INTERPRETERS: &[&str] = &[
        "python",
        "python2",
        "python3",
        "pypy",
        "pypy3",
        "node",
        "nodejs",
        "perl",
        "ruby",
        "lua",
        "php",
        "deno",
        "bun",
        "psql",
        "sqlite3",
        "mysql",
        "tclsh",
        "irb",
        "osascript",
    ];
    let base = command.base()?;
    let operand = |word: &Word| !word.beginning().starts_with('-');
    let none = !command.words.iter().skip(1).any(operand);
    let runs = INTERPRETERS.contains(&base.as_str()) || wrap::is_shell(&base);
    (none && runs).then_some("it runs what comes from its input")
}

fn first_letters(text: &str) -> Option<&str> {
    text.strip_prefix('-').filter(|rest| !rest.starts_with('-') && !rest.is_empty())
}

fn is(spec: &str, text: &str) -> bool {
    if spec == "*" {
        return true;
    }
    if spec == "*=*" {
        return !text.starts_with('-') && text.contains('=');
    }
    if spec.strip_suffix('*').is_some_and(|beginning| text.starts_with(beginning)) {
        return true;
    }
    if let Some(long) = spec.strip_prefix("--") {
        // One letter is enough where no other option begins with it: `sort --o=x`.
        return text.strip_prefix("--").is_some_and(|given| {
            let given = given.split('=').next().unwrap_or(given);
            !given.is_empty() && long.starts_with(given)
        });
    }
    match first_letters(spec) {
        Some(letter) if letter.chars().count() == 1 => {
            first_letters(text).is_some_and(|letters| letters.contains(letter))
        }
        _ => text == spec,
    }
}
