//! The folders that a command line may work in: where `cd`, `env -C`, `git -C` and their kin lead.
//!
//! The shell's own order is not followed: loops, functions and `||` would need it run. So every
//! folder that some command may reach counts for every path of the line. A rule that denies needs
//! one of them to fit, a rule that allows all. Where a target cannot be known, the line is lost: no
//! relative path is certain then, and the folders that are worth most to an attacker are tried.

use super::call::World;
use super::path::{self, Places};
use super::shell::{Piece, Script, Simple, Word};

/// Folders that relative targets are followed to; of a line with more, the rest is unknown.
const MAX_FOLDERS: usize = 16;

/// Variables that decide where `cd`, `~` and `$PWD` lead.
const VARIABLES: &[&str] = &["HOME", "PWD", "OLDPWD", "CDPATH", "DIRSTACK"];

/// Long options that name the folder in which a command works, of whatever command.
const LONG: &[&str] = &[
    "directory",
    "chdir",
    "cwd",
    "dir",
    "prefix",
    "output-dir",
    "work-tree",
    "working-directory",
    "workdir",
    "root",
    "cd",
    "base-directory",
    "wd",
    "test-dir",
];

/// Commands after which a path may lead to what one of their arguments names.
const MAKES_ALIASES: &[&str] = &[
    "ln", "gln", "link", "cp", "gcp", "mv", "gmv", "mount", "bindfs", "rsync", "install", "ditto",
];

/// Aliases of aliases are followed to so many folders; of a line with more, the rest is unknown.
const MAX_ALIASED: usize = 64;

/// Variables that name the folder in which a command works.
const FOLDER_VARIABLES: &[&str] = &["GIT_WORK_TREE", "GIT_DIR", "MAKEFLAGS"];

/// Options of a shell with which a name can become a change of folder.
const FOLDER_OPTIONS: &[&str] =
    &["autocd", "auto_cd", "cdable_vars", "cdablevars", "cdspell", "expand_aliases", "aliases"];

/// The folders that a command line may work in.
#[derive(Debug)]
pub(crate) struct Folders {
    /// Folders that the shell is certain to know: where it begins, and where `cd` leads.
    reached: Vec<String>,
    /// The same and those that a command is given by an option, or begins in by itself.
    given: Vec<String>,
    /// Whether it may also work where nobody can tell.
    pub(crate) lost: bool,
    /// Whether `~` and `$PWD` may be others than they are now.
    variables_set: bool,
    /// What links, copies, renames and mounts of the same line may be made of.
    aliased: Vec<String>,
    /// How many entries of the folder stack the line itself has made.
    pushed: usize,
}

impl Folders {
    /// Every folder in which a part of the command line may work.
    pub(crate) fn of(script: &Script, here: &str, world: &dyn World) -> Folders {
        let mut folders = Folders {
            reached: vec![path::clean(here)],
            given: Vec::new(),
            lost: false,
            variables_set: script.commands.iter().any(sets_variable),
            aliased: Vec::new(),
            pushed: 0,
        };
        for simple in &script.commands {
            folders.change(simple, script.repeats, world);
        }
        folders.given = folders.reached.clone();
        if folders.lost || script.commands.iter().any(begins_at_home) {
            folders.given.extend(world.home().map(path::clean));
        }
        if folders.lost {
            folders.given.push("/".to_owned());
        }
        for value in script.commands.iter().flat_map(options) {
            let mut given = std::mem::take(&mut folders.given);
            folders.lost |= !follow(&mut given, &value, world);
            folders.given = given;
        }
        folders.alias(script, world);
        folders
    }

    /// Notes what the arguments of `ln`, `cp`, `mv`, `mount` and their kin lead to.
    fn alias(&mut self, script: &Script, world: &dyn World) {
        let makes = |simple: &&Simple| {
            simple.base().is_some_and(|base| MAKES_ALIASES.contains(&base.as_str()))
        };
        for simple in script.commands.iter().filter(makes) {
            for word in simple.words.iter().skip(1) {
                if word.text().is_some_and(|text| text.starts_with('-')) {
                    continue;
                }
                let places = Places::of_word(word, &self.given, world);
                if places.forms.is_empty() {
                    // Only the shell knows what is linked: it may be worth most to an attacker.
                    self.aliased.extend(world.home().map(path::clean));
                    self.aliased.push("/".to_owned());
                }
                self.aliased.extend(places.forms);
            }
        }
        // A link may lead through one that was made before it.
        let named = self.aliased.clone();
        let mut next = 0;
        while let Some(source) = self.aliased.get(next).cloned() {
            next += 1;
            for found in path::through(&source, &named) {
                // Links through links through links are followed as far as they come nearer to `/`.
                let is_near = next <= named.len() || found.len() < source.len();
                let is_new = is_near && !self.aliased.contains(&found);
                if is_new && self.aliased.len() < MAX_ALIASED {
                    self.aliased.push(found);
                }
            }
        }
    }

    /// What links, copies, renames and mounts of the same line may be made of.
    pub(crate) fn aliased(&self) -> &[String] {
        &self.aliased
    }

    /// Where the target of a redirect may begin.
    pub(crate) fn of_shell(&self) -> &[String] {
        // Somebody who is lost may be anywhere, also where an option leads.
        if self.lost { &self.given } else { &self.reached }
    }

    /// Where an argument of a command may begin.
    pub(crate) fn of_arguments(&self) -> &[String] {
        &self.given
    }

    /// Folders other than the first that the shell works in.
    pub(crate) fn changed(&self) -> &[String] {
        self.reached.get(1..).unwrap_or_default()
    }

    /// Whether a path may lead elsewhere than these folders say.
    pub(crate) fn may_mislead(&self, word: &Word) -> bool {
        match word.pieces.first() {
            Some(Piece::Home) => self.variables_set,
            Some(Piece::Here) => self.variables_set || self.lost,
            Some(Piece::Text(text)) if text == "~" || text.starts_with("~/") => self.variables_set,
            Some(Piece::Text(text)) if text.starts_with('/') => false,
            _ => self.lost,
        }
    }

    /// Follows a command that changes the folder for those after it.
    fn change(&mut self, simple: &Simple, repeats: bool, world: &dyn World) {
        let Some(base) = simple.base() else {
            // An assignment goes nowhere; a command whose name nobody knows may.
            self.lost |= !simple.words.is_empty();
            return;
        };
        self.lost |= simple.env.iter().any(|name| FOLDER_VARIABLES.contains(&name.as_str()));
        let args = simple.words.get(1..).unwrap_or_default();
        let values = match base.as_str() {
            "cd" | "chdir" | "pushd" => match target(args) {
                Target::Folder(named) => {
                    self.pushed += usize::from(base == "pushd");
                    vec![named.clone()]
                }
                Target::Home if base != "pushd" => {
                    vec![Word { pieces: vec![Piece::Home], splits: false }]
                }
                Target::Home | Target::Unknown => {
                    self.lost = true;
                    return;
                }
            },
            // It leads back to where `pushd` of the same line began, or to a place of earlier days.
            "popd" => {
                self.lost |= repeats || self.pushed == 0 || !args.is_empty();
                self.pushed = self.pushed.saturating_sub(1);
                return;
            }
            "alias" => {
                self.lost |= !args.is_empty();
                return;
            }
            "shopt" | "setopt" | "set" | "unsetopt" => {
                let named = |word: &Word| match word.text() {
                    Some(text) => FOLDER_OPTIONS.contains(&text.to_lowercase().as_str()),
                    None => true,
                };
                self.lost |= args.iter().any(named);
                return;
            }
            // A folder as a command is `cd` to some shells.
            "~" | ".." if args.is_empty() => simple.words.clone(),
            "env" | "genv" => option_values(args, "C", &["chdir"]),
            "sudo" => option_values(args, "DR", &["chdir", "chroot"]),
            // It works in every folder that is found.
            "find" | "gfind" => {
                let exec = |word: &Word| matches!(word.text(), Some("-execdir" | "-okdir"));
                self.lost |= args.iter().any(exec);
                return;
            }
            _ => return,
        };
        for value in values {
            // In a loop `cd ..` may be done any number of times.
            let relative = !value.beginning().starts_with(['/', '~'])
                && value.pieces.first() != Some(&Piece::Home);
            self.lost |= (repeats && relative) || self.variables_set;
            self.lost |= !follow(&mut self.reached, &value, world);
        }
    }
}

/// Adds where a target leads from each folder; whether all of that is known.
fn follow(folders: &mut Vec<String>, target: &Word, world: &dyn World) -> bool {
    let mut known = true;
    for from in folders.clone() {
        let Some(text) = meant(target, &from, world) else { return false };
        let joined = path::join(&from, &text);
        // As the shell counts `..`, and as the system does.
        let forms =
            [Some(path::clean(&joined)), world.real(&joined).map(|real| path::clean(&real))];
        for form in forms.into_iter().flatten() {
            if folders.contains(&form) {
                continue;
            }
            // What is absolute is the same from everywhere, so there are never too many of them.
            if folders.len() >= MAX_FOLDERS && !text.starts_with('/') {
                known = false;
            } else {
                folders.push(form);
            }
        }
    }
    known
}

/// The text of a target, with the home folder in its place.
fn meant(target: &Word, from: &str, world: &dyn World) -> Option<String> {
    let row = target.guess(world.home(), from);
    let [Some(text)] = row.as_slice() else { return None };
    match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            Some(format!("{}{rest}", world.home()?))
        }
        _ if text.is_empty() => None,
        _ => Some(text.clone()),
    }
}

/// What `cd` is told.
enum Target<'w> {
    Folder(&'w Word),
    Home,
    Unknown,
}

fn target(args: &[Word]) -> Target<'_> {
    let mut rest = args;
    let mut options = true;
    while let [word, more @ ..] = rest {
        match word.text() {
            Some("--") if options => options = false,
            Some(text)
                if options
                    && text.len() > 1
                    && text.strip_prefix('-').is_some_and(|letters| {
                        letters.chars().all(|letter| "PLe@".contains(letter))
                    }) => {}
            // `cd -`, `pushd +1`: a folder that was somebody's before.
            Some(text) if text.starts_with(['-', '+']) => return Target::Unknown,
            // zsh puts the second word in place of the first.
            _ if !more.is_empty() => return Target::Unknown,
            _ => return Target::Folder(word),
        }
        rest = more;
    }
    Target::Home
}

/// Whether a command may set one of the variables that decide where paths lead.
fn sets_variable(simple: &Simple) -> bool {
    let is_one = |name: &str| VARIABLES.contains(&name);
    // `read HOME`, `printf -v HOME`, `unset HOME`: whoever names it as a word of its own may set it.
    let names = |word: &Word| {
        let text = word.beginning();
        is_one(text.split(['=', '+', '[']).next().unwrap_or(text))
    };
    simple.env.iter().any(|name| is_one(name)) || simple.words.iter().skip(1).any(names)
}

/// Whether what a command runs begins in the home folder.
fn begins_at_home(simple: &Simple) -> bool {
    let login = |word: &Word| matches!(word.text(), Some("-" | "-l" | "--login"));
    match simple.base().as_deref() {
        Some("ssh" | "mosh") => true,
        Some("su" | "runuser") => simple.words.iter().any(login),
        Some("sudo" | "doas") => simple
            .words
            .iter()
            .any(|word| matches!(word.text(), Some("-i" | "-s" | "--login" | "--shell"))),
        _ => false,
    }
}

/// The folders that a command is given by options. `-C` is one for many commands and for none
/// that matters something worse than a number.
fn options(simple: &Simple) -> Vec<Word> {
    let args = simple.words.get(1..).unwrap_or_default();
    let letters = match simple.base().as_deref() {
        Some("patch" | "gpatch" | "unzip" | "start-stop-daemon") => "Cd",
        Some("cpio" | "sudo") => "CD",
        Some("docker" | "podman" | "nerdctl" | "nsenter") => "Cw",
        Some("tmux" | "screen") => "Cc",
        Some("wget") => "CP",
        // `tar cfC out.tar / etc` names its values in the order of the letters.
        Some("tar" | "gtar" | "bsdtar")
            if args.iter().any(|word| {
                let text = word.beginning();
                text.contains('C') && !text.contains('/') && !text.starts_with("--")
            }) =>
        {
            return args
                .iter()
                .filter(|word| !word.beginning().starts_with('-'))
                .cloned()
                .collect();
        }
        _ => "C",
    };
    option_values(args, letters, LONG)
}

/// The values of options, next to their letter, behind `=` or in the next word.
fn option_values(args: &[Word], letters: &str, long: &[&str]) -> Vec<Word> {
    let mut values = Vec::new();
    for (at, word) in args.iter().enumerate() {
        let text = word.beginning();
        let next = args.get(at + 1);
        if let Some(name) = text.strip_prefix("--") {
            let name = name.split('=').next().unwrap_or(name);
            let is_one = !name.is_empty() && long.iter().any(|long| long.starts_with(name));
            match text.find('=').filter(|_| is_one) {
                Some(sign) => values.push(behind(word, sign + 1)),
                None if is_one => values.extend(next.cloned()),
                None => {}
            }
        } else if text.starts_with('-')
            && let Some(letter) = text.find(|c| letters.contains(c))
        {
            let value = behind(word, letter + 1);
            if value.pieces.is_empty() { values.extend(next.cloned()) } else { values.push(value) }
        }
    }
    values
}

/// A word without its first bytes, which are known.
fn behind(word: &Word, bytes: usize) -> Word {
    let mut rest = Word { pieces: Vec::new(), splits: word.splits };
    for (at, piece) in word.pieces.iter().enumerate() {
        match piece {
            Piece::Text(text) if at == 0 => {
                let text = text.get(bytes..).unwrap_or_default();
                if !text.is_empty() {
                    rest.push(Piece::Text(text.to_owned()));
                }
            }
            piece => rest.push(piece.clone()),
        }
    }
    rest
}
