//! Commands that can change protected files without being told apart as writers: which of their
//! arguments they may write, and which of them may change anything in the folder.
//!
//! Which files are protected is `path`'s.

use super::shell::{Simple, Word};

/// How a command may change files beside what its kind says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// It does not, as far as we know.
    Nothing,
    /// Every path that it is given.
    Arguments,
    /// Those, and whatever is in the folder that it works in.
    Folder,
    /// Those, and the settings of the repository.
    Repository,
}

/// Programs that may write what they are given, or take it away.
const MAY_WRITE: &[&str] = &[
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
    "vim",
    "vi",
    "nvim",
    "ex",
    "ed",
    "emacs",
    "nano",
    "sqlite3",
    "curl",
    "wget",
    "aria2c",
    "gcc",
    "g++",
    "cc",
    "clang",
    "ld",
    "rustc",
    "go",
    "ffmpeg",
    "openssl",
    "ssh-keygen",
    "zip",
    "7z",
    "cpio",
    "pax",
    "bsdtar",
    "gtar",
    "sort",
    "gsort",
    "uniq",
    "shuf",
    "xxd",
    "jq",
    "yq",
    "objcopy",
    "strip",
    "gpg",
    "socat",
    "m4",
    "dos2unix",
    "unix2dos",
    "prettier",
    "rustfmt",
    "gofmt",
    "black",
    "recode",
    "iconv",
    "rename",
    "prename",
    "fallocate",
    "rclone",
    "docker",
    "podman",
    "script",
    "time",
    "gtee",
    "gcp",
    "gmv",
    "gln",
    "grm",
    "ginstall",
    "gdd",
    "gtruncate",
];

/// Subcommands of git that write, move or remove the paths that they are given.
const GIT_WRITES: &[&str] = &[
    "mv",
    "rm",
    "checkout",
    "restore",
    "clean",
    "stash",
    "reset",
    "apply",
    "am",
    "switch",
    "worktree",
    "config",
    "init",
    "clone",
    "submodule",
    "archive",
    "bundle",
    "format-patch",
    "sparse-checkout",
];

/// Returns how a command may change files beside what its kind says.
pub(crate) fn reach(simple: &Simple) -> Reach {
    let args = simple.words.get(1..).unwrap_or_default();
    match simple.base().as_deref() {
        Some("git") => git(args),
        Some("find" | "gfind") => {
            let acts = |word: &Word| {
                let text = word.beginning();
                text == "-delete" || text.starts_with("-fprint") || text == "-fls"
            };
            if args.iter().any(acts) { Reach::Arguments } else { Reach::Nothing }
        }
        Some("sed" | "gsed" | "awk" | "gawk" | "mawk" | "nawk") => Reach::Arguments,
        // The names are in the patch.
        Some("patch" | "gpatch") => Reach::Folder,
        Some(base) if MAY_WRITE.contains(&base) => Reach::Arguments,
        _ => Reach::Nothing,
    }
}

fn git(args: &[Word]) -> Reach {
    let Some(at) = args.iter().position(|word| {
        word.text().is_none_or(|text| GIT_WRITES.contains(&text.to_lowercase().as_str()))
    }) else {
        return Reach::Nothing;
    };
    let rest = args.get(at + 1..).unwrap_or_default();
    let has =
        |letters: &str, long: &[&str]| rest.iter().any(|word| has_option(word, letters, long));
    let folder = || rest.iter().any(|word| matches!(word.text(), Some("." | "./" | ":/" | "*")));
    let all = match args.get(at).and_then(Word::text) {
        Some("clean") => !has("n", &["dry-run"]),
        Some("reset") => has("", &["hard", "merge", "keep"]),
        Some("checkout" | "switch") => folder() || has("f", &["force", "discard-changes"]),
        Some("restore") => folder() && (has("W", &["worktree"]) || !has("S", &["staged"])),
        Some("stash") => has("ua", &["include-untracked", "all"]),
        Some("apply") => !has("", &["check", "stat", "numstat", "summary"]),
        Some("am" | "sparse-checkout") | None => true,
        Some("config") => return if only_reads(rest) { Reach::Nothing } else { Reach::Repository },
        Some("init" | "clone") => {
            return if has("", &["template", "separate-git-dir"]) {
                Reach::Repository
            } else {
                Reach::Arguments
            };
        }
        _ => false,
    };
    if all { Reach::Folder } else { Reach::Arguments }
}

/// Whether a word is one of these options, alone, in a cluster or cut short.
fn has_option(word: &Word, letters: &str, long: &[&str]) -> bool {
    let Some(text) = word.text() else { return true };
    match text.strip_prefix("--") {
        Some(name) => {
            let name = name.split('=').next().unwrap_or(name);
            !name.is_empty() && long.iter().any(|long| long.starts_with(name))
        }
        None => text.starts_with('-') && text.contains(|c| letters.contains(c)),
    }
}

/// Whether `git config` is only asked: by an option that says so, or for one name.
fn only_reads(args: &[Word]) -> bool {
    const READS: &[&str] = &[
        "--get",
        "--get-all",
        "--get-regexp",
        "--get-urlmatch",
        "--list",
        "-l",
        "get",
        "list",
        "--get-color",
        "--get-colorbool",
    ];
    const PLACES: &[&str] =
        &["--global", "--local", "--system", "--worktree", "--show-origin", "--show-scope", "-z"];
    let texts: Option<Vec<&str>> = args.iter().map(Word::text).collect();
    let Some(texts) = texts else { return false };
    let mut texts = texts.into_iter().skip_while(|text| PLACES.contains(text));
    match (texts.next(), texts.next()) {
        (Some(first), _) if READS.contains(&first) => true,
        (Some(name), None) => !name.starts_with('-') && name != "edit",
        _ => false,
    }
}
