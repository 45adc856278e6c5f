//! Makes commands up: from the profile's own patterns, from the options that programs say they have,
//! from payloads that would trip a wire, and from the commands of the case tables.

use super::cell::Cell;
use super::rng::Rng;
use stablehand_policy::profile;
use std::collections::BTreeSet;
use std::path::Path;

/// Commands that were allowed and are kept to be changed again.
const MOST_LEARNT: usize = 4000;

const SHELLS: &[&str] = &["bash", "bash", "bash", "bash", "bash", "sh", "zsh"];

/// What stands behind programs: places, and texts that run or write something where they are let.
const VALUES: &[&str] = &[
    "a.txt",
    "src/lib.rs",
    "src",
    ".",
    "..",
    "./a.txt",
    "docs/*.md",
    "*",
    "names",
    "data.json",
    "evil.sh",
    "./evil.sh",
    "evil.sed",
    "evil.awk",
    ".env",
    "src/.env",
    "*.env",
    ".e*",
    ".[e]nv",
    "plain",
    "out/id_rsa",
    "up/home/u/.ssh/id_rsa",
    "~/.ssh/id_rsa",
    "~/.ssh",
    "~",
    "/",
    "/home",
    "/home/u/.ssh/id_rsa",
    "$HOME/.ssh/id_rsa",
    "/proc/self/cwd/.env",
    "/proc/self/root/home/u/.ssh/id_rsa",
    "~+/.env",
    "{a.txt,.env}",
    "file:///home/u/.ssh/id_rsa",
    "HEAD",
    "HEAD~1",
    "main",
    "other",
    "v1",
    "HEAD:.env",
    ":.env",
    "stash@{0}",
    "main..other",
    "--",
    "-",
    "1",
    "2",
    "+1",
    "-1",
    "0",
    "5p",
    "1,3p",
    "ran",
    "/tmp/ran",
    "/w/ran",
    "./ran",
    "=ran",
    "@names",
    "'1e touch ran'",
    "'e touch ran'",
    "'1w ran'",
    "'w ran'",
    "'s/o/x/w ran'",
    "'s/.*/touch ran/e'",
    "'1r .env'",
    "'$!N;1e touch ran'",
    "'{1e touch ran\n}'",
    "'1~1e touch ran'",
    "'/o/e touch ran'",
    "'\\,o,e touch ran'",
    "'1!e touch ran'",
    "'y/a/b/;e touch ran'",
    "'s/a/b/'",
    "'F;1W ran'",
    "'a\\\nx'",
    "'a[$(touch ran)]'",
    "'a[$(touch ran)0]'",
    "'x[`touch ran`]'",
    "'$(touch ran)'",
    "\"$(touch ran)\"",
    "$(touch ran)",
    "`touch ran`",
    "<(touch ran)",
    ">(touch ran)",
    "$((a[$(touch ran)]))",
    "${x:=ran}",
    "${x:-$(touch ran)}",
    "'touch ran'",
    "'sh -c \"touch ran\"'",
    "sh",
    "bash",
    "touch",
    "-c",
    "\\;",
    "';'",
    "'{}'",
    "+",
    "'.a'",
    "'.'",
    "'input'",
    "'env'",
    "'$ENV'",
    "'input_filename'",
    "'include \"a\"; .'",
    "ext::sh",
    "'ext::sh -c touch% ran'",
    "127.0.0.1",
    "http://127.0.0.1:9/x",
    "ssh://127.0.0.1/x",
    "git://127.0.0.1/x",
    "/dev/tcp/127.0.0.1/9",
    "/dev/stdin",
    "/dev/fd/3",
    "'a b'",
    "'*'",
    "'!x'",
    "-v",
    "-eq",
    "-nt",
    "=",
    "==",
    "!=",
    "-a",
    "-o",
    "!",
    "(",
    "')'",
    "'%s'",
    "%n",
    "'x\ny'",
    "$'\\x41'",
    "$'a\\'b'",
    "*(e:'touch ran':)",
    "*(+touch)",
    "=ls",
    "a[1]",
];

const JOINS: &[&str] = &["; ", " && ", " || ", " | ", " |& ", "\n", " & "];

/// What stands before a command.
const BEFORE: &[&str] = &[
    "cd src && ",
    "cd; ",
    "cd ..; ",
    "cd ~; ",
    "cd ~/.ssh && ",
    "cd - ; ",
    "cd out && ",
    "pushd ~ ; ",
    "cd -P up; ",
    "cd -e out;",
    "PATH=bin ",
    "PATH=bin:$PATH; ",
    "export PATH=/w/bin; ",
    "GIT_PAGER='touch ran' ",
    "PAGER='touch ran' ",
    "GIT_EXTERNAL_DIFF=./evil.sh ",
    "GIT_DIR=. ",
    "BASH_ENV=evil.sh ",
    "ENV=./evil.sh ",
    "LD_PRELOAD=x ",
    "IFS=x ",
    "LESSOPEN='|touch ran' ",
    "RIPGREP_CONFIG_PATH=names ",
    "POSIXLY_CORRECT=1 ",
    "x=ran; ",
    "x='a[$(touch ran)]'; ",
    "f() { touch ran; }; ",
    "alias ls='touch ran'; ",
    "ln -s ~/.ssh k; ",
    "! ",
    "time ",
    "command ",
    "builtin ",
    "env ",
    "env -C ~ ",
    "env -S ",
    "nice ",
    "nohup ",
    "timeout 1 ",
    "stdbuf -o0 ",
    "setsid ",
    "xargs ",
    "xargs -a names -0 ",
    "find . -exec ",
    "exec ",
    "eval ",
    "sudo ",
    "busybox ",
    "coproc ",
    "{ ",
    "( ",
    "if true; then ",
    "for x in a.txt .env; do ",
    "while false; do ",
    "case a in a) ",
    "set -o noglob; ",
    "shopt -s extglob; ",
    "trap 'touch ran' EXIT; ",
    "noglob ",
    "- ",
    "nocorrect ",
    "\\",
    "'",
    "\"",
];

/// What stands behind it.
const BEHIND: &[&str] = &[
    " > ran",
    " >> a.txt",
    " 2> ran",
    " &> ran",
    " >| ran",
    " <> ran",
    " > /dev/null",
    " 2>&1",
    " 2>/dev/null",
    " < .env",
    " < a.txt",
    " <<< x",
    " > /dev/tcp/127.0.0.1/9",
    " < /dev/tcp/127.0.0.1/9",
    " <<E\n$(touch ran)\nE\n",
    " <<'E'\n$(touch ran)\nE\n",
    " &",
    ";",
    " # x",
    "; }",
    " )",
    "; fi",
    "; done",
    " ;; esac",
    " | sh",
    " | tee ran",
    " | cat",
    " | xargs touch",
    " | xargs -n1 cat",
    " | sed -n 1p",
    " $x",
    " \"$x\"",
    " $@",
    " >&3",
    " {fd}> ran",
    "\\",
    "'",
];

/// The commands of case tables.
#[derive(Default)]
pub(super) struct Corpus(Vec<String>);

impl Corpus {
    /// Takes every text under `command` in a TOML file.
    pub(super) fn read(&mut self, path: &Path) -> Result<(), String> {
        let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
        let table: toml::Table = toml::from_str(&text).map_err(|error| wrong(&error))?;
        let cases = table.get("case").and_then(toml::Value::as_array);
        for command in cases.into_iter().flatten().filter_map(|case| case.get("command")) {
            let many = command.as_array().into_iter().flatten().filter_map(toml::Value::as_str);
            self.0.extend(command.as_str().into_iter().chain(many).map(str::to_owned));
        }
        Ok(())
    }
}

/// A command, and the shell for it.
pub(super) struct MadeUp {
    pub(super) shell: &'static str,
    pub(super) command: String,
}

pub(super) struct Maker {
    rng: Rng,
    corpus: Vec<String>,
    learnt: Vec<String>,
    /// Programs as the profile names them, with the options that they say they have.
    heads: Vec<(String, Vec<String>)>,
    shells: Vec<&'static str>,
}

impl Maker {
    pub(super) fn new(cell: &mut Cell, corpus: Corpus, rng: Rng) -> Maker {
        let found = heads();
        let heads = found
            .into_iter()
            .map(|head| {
                let all = options(cell, &head);
                (head, all)
            })
            .collect();
        let has = |shell: &&&str| Path::new("/usr/bin").join(shell).exists();
        let shells = SHELLS.iter().filter(has).copied().collect();
        Maker { rng, corpus: corpus.0, learnt: Vec::new(), heads, shells }
    }

    /// Keeps a command that was allowed, to change it again: what lies near it is what is worth trying.
    pub(super) fn learn(&mut self, command: &str) {
        if self.learnt.len() < MOST_LEARNT {
            self.learnt.push(command.to_owned());
        } else if let Some(place) = {
            let at = self.rng.below(MOST_LEARNT);
            self.learnt.get_mut(at)
        } {
            command.clone_into(place);
        }
    }

    pub(super) fn next(&mut self) -> MadeUp {
        let mut command = match self.rng.below(8) {
            0 if !self.corpus.is_empty() => self.rng.one(&self.corpus).to_owned(),
            1 | 2 if !self.learnt.is_empty() => self.rng.one(&self.learnt).to_owned(),
            _ => self.simple(),
        };
        for _ in 0..self.rng.below(4) {
            command = self.change(&command);
        }
        let shell = self.shells.get(self.rng.below(self.shells.len())).copied().unwrap_or("sh");
        MadeUp { shell, command }
    }

    /// A program with options and values.
    fn simple(&mut self) -> String {
        let at = self.rng.below(self.heads.len());
        let mut words = vec![self.heads.get(at).map_or_else(String::new, |(head, _)| head.clone())];
        for _ in 0..self.rng.below(4) {
            let word = self.word(at);
            words.push(word);
        }
        words.join(" ")
    }

    /// An option of the program, or a value.
    fn word(&mut self, head: usize) -> String {
        let value = self.rng.one(VALUES).to_owned();
        let options = self.heads.get(head).map_or(&[][..], |(_, options)| options);
        let option = self.rng.one(options).to_owned();
        let letter = |rng: &mut Rng| {
            rng.one(&[
                "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p",
                "q", "r", "s", "t", "u", "v", "w", "x", "y", "z", "A", "B", "C", "D", "E", "F",
                "G", "H", "I", "L", "M", "N", "O", "P", "R", "S", "T", "W", "X", "Z", "0", "1",
            ])
            .to_owned()
        };
        match self.rng.below(12) {
            0..4 => value,
            4..6 => option,
            6 => format!("{option}={value}"),
            7 => format!("{option} {value}"),
            // An abbreviation.
            8 if option.starts_with("--") => {
                let cut = 3 + self.rng.below(option.len().saturating_sub(3));
                let short = option.get(..cut).unwrap_or(&option);
                if self.rng.once_in(2) { short.to_owned() } else { format!("{short}={value}") }
            }
            9 if option.starts_with("--") => option.replacen("--", "--no-", 1),
            // A cluster.
            8..11 => {
                let mut cluster = format!("-{}", letter(&mut self.rng));
                for _ in 0..self.rng.below(3) {
                    cluster.push_str(&letter(&mut self.rng));
                }
                if self.rng.once_in(3) { cluster + &value } else { cluster }
            }
            _ => format!("-{} {value}", letter(&mut self.rng)),
        }
    }

    /// The same command with one thing changed.
    fn change(&mut self, command: &str) -> String {
        let mut words: Vec<&str> = command.split(' ').collect();
        let at = self.rng.below(words.len() + 1);
        match self.rng.below(11) {
            0 | 1 => {
                let head = self.rng.below(self.heads.len());
                let first = words.first().copied().unwrap_or_default();
                let same = self.heads.iter().position(|(head, _)| {
                    command.starts_with(head.as_str()) && head.starts_with(first)
                });
                let word = self.word(same.unwrap_or(head));
                words.insert(at, &word);
                words.join(" ")
            }
            2 => {
                let value = self.rng.one(VALUES);
                if let Some(word) = words.get_mut(at) {
                    *word = value;
                }
                words.join(" ")
            }
            3 => {
                let other = self.simple();
                format!("{command}{}{other}", self.rng.one(JOINS))
            }
            4 => format!("{}{command}", self.rng.one(BEFORE)),
            5 => format!("{command}{}", self.rng.one(BEHIND)),
            6 => {
                let other = self.simple();
                format!("{command} \"$({other})\"")
            }
            7 => {
                if at < words.len() {
                    words.remove(at);
                }
                words.join(" ")
            }
            // A word of another command.
            8 => {
                let from = if self.corpus.is_empty() { &self.learnt } else { &self.corpus };
                let other: Vec<&str> = self.rng.one(from).split(' ').collect();
                let word = self.rng.one(&other).to_owned();
                words.insert(at, &word);
                words.join(" ")
            }
            _ => self.quote(command),
        }
    }

    /// Puts a sign of the shell's into it somewhere.
    fn quote(&mut self, command: &str) -> String {
        let places: Vec<usize> = command.char_indices().map(|(at, _)| at).collect();
        let at = places.get(self.rng.below(places.len())).copied().unwrap_or(0);
        let (front, back) = command.split_at(at);
        let signs = [
            "''", "\"\"", "\\", "'", "\"", "$", "`", "*", "?", "~", "{", "}", ",", "[", "]", "!",
            "\\\n", "\t", "\n", ";", "&", "|", "<", ">", "(", ")", "#", "=", "-", "@", "^", "+",
            "$@", "${x}", "$''", "$\"\"", "\u{a0}", "\r", "%",
        ];
        format!("{front}{}{back}", self.rng.one(&signs))
    }
}

/// The commands that the profile names, without their wildcards.
fn heads() -> Vec<String> {
    let table: toml::Table =
        toml::from_str(profile("read-only").unwrap_or_default()).unwrap_or_default();
    let rules = table.get("policy").and_then(|it| it.get("rule")).and_then(toml::Value::as_array);
    let patterns = rules.into_iter().flatten().filter_map(|rule| rule.get("command")?.as_array());
    let texts = patterns.flatten().filter_map(toml::Value::as_str);
    let all: BTreeSet<String> =
        texts.map(|text| text.trim_end_matches([' ', '*']).to_owned()).collect();
    all.into_iter().collect()
}

/// The options that a program has, by its own help.
fn options(cell: &mut Cell, head: &str) -> Vec<String> {
    let mut asks = vec![format!("{head} --help"), format!("help {head}")];
    if head.starts_with("git ") {
        asks = vec![format!("{head} --git-completion-helper-all"), format!("{head} -h")];
    }
    let mut found = BTreeSet::new();
    for ask in asks {
        let text = cell.run("bash", &ask).text;
        for word in text.split(|c: char| {
            c.is_whitespace() || matches!(c, ',' | '[' | ']' | '=' | '|' | '<' | '(' | ')')
        }) {
            let name = word.trim_start_matches('-');
            let is_option = word.starts_with('-') && !name.is_empty() && word.len() < 40;
            if is_option && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
                found.insert(word.to_owned());
            }
        }
    }
    found.into_iter().collect()
}
