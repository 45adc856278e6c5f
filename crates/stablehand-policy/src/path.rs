//! Paths: where a word leads, and which patterns cover that place.
//!
//! A place is looked at in every form it may have: as written with `.` and `..` taken out, and with
//! symbolic links followed. To allow, every form must fit; to deny, one is enough.

use super::call::World;
use super::shell::{Piece, Word};
use super::wild::{self, Sign};
use globset::{GlobBuilder, GlobMatcher};
use stablehand_core::Dialect;
use std::collections::BTreeSet;

/// Links of `/proc` that are followed in one path.
const MAX_PROCESS_LINKS: usize = 5;

/// Everywhere a path may lead.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// Absolute paths without `.` and `..`.
    pub(crate) forms: Vec<String>,
    /// Absolute paths with holes, where only the shell knows all of it.
    vague: Vec<Vec<Sign>>,
    /// Whether the forms are all there is.
    pub(crate) certain: bool,
    /// Whether not even the beginning is known.
    adrift: bool,
    /// Whether all that is known is the folder, because the shell looks up the names in it.
    looked_up: bool,
    /// Whether it may begin in more than one folder.
    has_folders: bool,
    /// Whether everything below it is meant too.
    pub(crate) thorough: bool,
    /// Whether it is taken away or changed with everything that is below it.
    pub(crate) removed: bool,
}

impl Places {
    /// A place of which nothing is known.
    pub(crate) fn unknown() -> Places {
        Places { vague: vec![vec![Sign::Many]], adrift: true, ..Places::default() }
    }

    /// Where a path of a tool leads.
    pub(crate) fn of_text(text: &str, from: &[String], world: &dyn World) -> Places {
        let has_folders = from.len() > 1;
        let mut places = Places { certain: true, has_folders, ..Places::default() };
        let odd = text.is_empty()
            || text.chars().any(|c| {
                c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            })
            || text.contains("://");
        // The `~user` of somebody else, and names that end in blanks, are no plain paths.
        let foreign = text.starts_with('~') && text != "~" && !text.starts_with("~/");
        if odd || foreign || text.trim() != text {
            places.certain = false;
        }
        for here in from {
            places.add(text, here, world);
        }
        if let (Some(rest), Some(home)) = (text.strip_prefix('~'), world.home())
            && (rest.is_empty() || rest.starts_with('/'))
        {
            places.add(&format!("{home}{rest}"), "/", world);
        }
        places
    }

    /// Where a word of a command leads.
    pub(crate) fn of_word(given: &Word, from: &[String], world: &dyn World) -> Places {
        if let Some(text) = given.text() {
            return Places::of_text(text, from, world);
        }
        let mut places = Places { has_folders: from.len() > 1, ..Places::default() };
        for here in from {
            let row = given.guess(world.home(), here);
            if let [Some(text)] = row.as_slice() {
                places.add(text, here, world);
                continue;
            }
            let signs = row.iter().flat_map(|piece| match piece {
                Some(text) => text.chars().map(Sign::Char).collect(),
                None => vec![Sign::Many],
            });
            match row.first() {
                Some(Some(text)) => {
                    let start = match (text.strip_prefix("~/"), world.home()) {
                        (Some(rest), Some(home)) => format!("{home}/{rest}"),
                        _ => join(here, text),
                    };
                    // What is left of the last slash is known, so its dots are known too.
                    let (folder, name) = start.rsplit_once('/').unwrap_or(("", &start));
                    let mut known: Vec<Sign> = clean(folder).chars().map(Sign::Char).collect();
                    if known.len() > 1 {
                        known.push(Sign::Char('/'));
                    }
                    known.extend(name.chars().map(Sign::Char));
                    known.extend(signs.skip(text.chars().count()));
                    places.vague.push(known);
                }
                _ if matches!(given.pieces.first(), Some(Piece::Glob)) => {
                    places.looked_up = true;
                    let folder = clean(here);
                    let folder = folder.trim_end_matches('/').chars().chain(['/']);
                    places.vague.push(folder.map(Sign::Char).chain(signs).collect());
                }
                _ => {
                    places.adrift = true;
                    places.vague.push(vec![Sign::Many]);
                }
            }
        }
        places
    }

    /// Notes that any folder on the way may be a link to, or a copy of, one of these.
    pub(crate) fn alias(&mut self, sources: &[String]) {
        if sources.is_empty() {
            return;
        }
        let mut known: BTreeSet<String> = self.forms.iter().cloned().collect();
        let whole = if self.thorough { sources } else { &[] };
        let led = self.forms.clone();
        let led = led.iter().flat_map(|form| through(form, sources)).chain(whole.iter().cloned());
        for found in led {
            if known.insert(found.clone()) {
                self.forms.push(found);
                self.certain = false;
            }
        }
        for row in self.vague.clone() {
            let slashes = row.iter().enumerate().filter(|(_, sign)| **sign == Sign::Char('/'));
            for (at, _) in slashes {
                let rest = row.get(at..).unwrap_or_default();
                for source in sources {
                    let start = source.trim_end_matches('/').chars().map(Sign::Char);
                    self.vague.push(start.chain(rest.iter().copied()).collect());
                }
            }
        }
    }

    /// Notes that it may also lead anywhere else.
    pub(crate) fn drift(&mut self) {
        self.certain = false;
        self.adrift = true;
        self.vague.push(vec![Sign::Many]);
    }

    fn add(&mut self, text: &str, here: &str, world: &dyn World) {
        self.add_from(text, here, world, MAX_PROCESS_LINKS);
    }

    fn add_from(&mut self, text: &str, here: &str, world: &dyn World, links: usize) {
        let joined = join(here, text);
        self.add_of_process(&joined, here, world, links);
        let mut forms = vec![clean(&joined)];
        match world.real(&joined) {
            Some(real) => {
                if real != joined {
                    self.add_of_process(&real, here, world, links);
                }
                forms.push(clean(&real));
            }
            None => self.certain = false,
        }
        for form in forms {
            if !self.forms.contains(&form) {
                self.forms.push(form);
            }
        }
    }

    /// Follows the links that the system makes for each process: `/proc/self/cwd`, `/proc/1/root`.
    fn add_of_process(&mut self, joined: &str, here: &str, world: &dyn World, links: usize) {
        let Some(links) = links.checked_sub(1) else { return self.drift() };
        for (at, _) in joined.match_indices('/') {
            let (before, rest) = (joined.get(..at), joined.get(at + 1..).unwrap_or_default());
            let Some(before) = before.filter(|before| !before.is_empty()).map(clean) else {
                continue;
            };
            let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
            let Some(process) = process_of(&before) else { continue };
            let is_own = matches!(process, "self" | "thread-self");
            match name {
                "root" => self.add_from(rest.trim_start_matches('/'), "/", world, links),
                "cwd" => {
                    let from = if here.starts_with("/proc/") { world.workspace() } else { here };
                    let rest = rest.trim_start_matches('/');
                    self.add_from(rest, from, world, links);
                    if !is_own {
                        if let Some(home) = world.home() {
                            self.add_from(rest, home, world, links);
                        }
                        self.drift();
                    }
                }
                // A descriptor may be that of a folder.
                "fd" if rest.contains('/') => self.drift(),
                _ => {}
            }
        }
        let clean = clean(joined);
        if clean.strip_prefix("/dev/fd/").is_some_and(|rest| rest.contains('/')) {
            self.drift();
        }
    }

    /// The place for a message.
    pub(crate) fn show(&self) -> String {
        match (self.forms.first(), self.forms.last(), self.vague.first()) {
            (Some(first), Some(last), _) if first != last && self.has_folders => {
                format!("{first} or {last}")
            }
            (Some(first), Some(last), _) if first != last => format!("{first} (really {last})"),
            (Some(first), _, _) => first.clone(),
            (None, _, Some(vague)) => wild::show(vague),
            (None, _, None) => "an unknown place".to_owned(),
        }
    }

    /// Which protected name it leads to, if it does.
    pub(crate) fn protected(&self, world: &dyn World) -> Option<String> {
        for form in &self.forms {
            if world.protected().iter().any(|path| path.eq_ignore_ascii_case(form)) {
                return Some(form.clone());
            }
            let parts: Vec<String> = form.split('/').map(str::to_lowercase).collect();
            for name in protected_names() {
                let length = name.split('/').count();
                if parts.windows(length).any(|window| window.iter().eq(name.split('/'))) {
                    return Some(name.to_owned());
                }
            }
        }
        self.protected_below(world)
    }

    /// Which protected name goes with it, where a folder above is changed as a whole or the shell
    /// looks the names up.
    fn protected_below(&self, world: &dyn World) -> Option<String> {
        let workspace = clean(world.workspace());
        let in_workspace = protected_names().map(|name| (name, format!("{workspace}/{name}")));
        let own = world.protected().iter().map(|path| (path.as_str(), path.clone()));
        let all = in_workspace.chain(own).map(|(name, path)| (name, path.to_lowercase()));
        for (name, path) in all {
            let is_above = |form: &String| {
                let form = form.trim_end_matches('/').to_lowercase();
                path.strip_prefix(&form).is_some_and(|rest| rest.starts_with('/'))
            };
            // `.cursor` is the folder of `.cursor/hooks.json`, wherever it lies.
            let folder = name.split_once('/').map(|(folder, _)| folder).filter(|it| !it.is_empty());
            let is_folder = |form: &String| {
                folder.is_some_and(|folder| {
                    form.rsplit('/').next().is_some_and(|last| last.eq_ignore_ascii_case(folder))
                })
            };
            let above = self.removed && self.forms.iter().any(is_above);
            if above || (self.removed || self.thorough) && self.forms.iter().any(is_folder) {
                return Some(name.to_owned());
            }
            let mut steps = path.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
            let whole = wild::parse(&path);
            let named = |row: &Vec<Sign>| {
                wild::may_match(row, &whole)
                    || steps.any(|at| {
                        let above = path.get(..at).unwrap_or_default();
                        above.len() > workspace.len() && wild::may_match(row, &wild::parse(above))
                    })
            };
            if !self.adrift && self.vague.iter().any(named) {
                return Some(name.to_owned());
            }
        }
        None
    }
}

/// What changes how agents, git or we ourselves behave: whoever writes there can run anything later.
/// The files of agents are in their rows.
pub(crate) fn protected_names() -> impl Iterator<Item = &'static str> {
    let of_agents = Dialect::ALL.iter().flat_map(|dialect| dialect.settings_paths());
    PROTECTED_FIRST.iter().chain(of_agents).chain(PROTECTED_LAST).copied()
}

/// What belongs to version control and to us.
const PROTECTED_FIRST: &[&str] = &[".git", ".hg", ".stablehand", "stablehand.toml"];

/// What several agents read, and other programs that run what they find.
const PROTECTED_LAST: &[&str] =
    &[".mcp.json", ".envrc", ".vscode/tasks.json", ".vscode/settings.json"];

/// The process whose folder under `/proc` this is, by the clean path of that folder.
fn process_of(folder: &str) -> Option<&str> {
    let mut parts = folder.strip_prefix("/proc/")?.split('/');
    let process = parts.next()?;
    match (parts.next(), parts.next(), parts.next()) {
        (None, ..) | (Some("task"), Some(_), None) => Some(process),
        _ => None,
    }
}

/// Where a path may lead if any folder on the way is in truth one of the sources.
pub(crate) fn through(form: &str, sources: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in form.match_indices('/') {
        let Some(rest) = form.get(at..).filter(|rest| rest.len() > 1) else { continue };
        for source in sources {
            found.push(clean(&format!("{source}{rest}")));
        }
    }
    found
}

/// A path from a folder on.
pub(crate) fn join(here: &str, path: &str) -> String {
    if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{}/{path}", here.trim_end_matches('/'))
    }
}

/// An absolute path without `.`, `..` and doubled slashes.
pub(crate) fn clean(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Whether a clean path is the workspace or below it.
pub(crate) fn is_below(form: &str, world: &dyn World) -> bool {
    let roots =
        [Some(clean(world.workspace())), world.real(world.workspace()).map(|root| clean(&root))];
    roots.iter().flatten().any(|root| {
        let rest = form.strip_prefix(root.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// How well something fits a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fit {
    /// Not at all.
    No,
    /// Nothing speaks against it, and nothing for it.
    Conceivable,
    /// What is known fits.
    Possible,
    /// It is so.
    Certain,
}

/// Where the first folder of a pattern is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Workspace,
    Home,
    Root,
}

/// Patterns of paths of one rule: any of the plain ones, and none of those with `!`.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathPatterns {
    plain: Vec<PathPattern>,
    except: Vec<PathPattern>,
}

#[derive(Clone, Debug)]
struct PathPattern {
    base: Base,
    /// Relative to the base.
    text: String,
    exact: GlobMatcher,
    any_case: GlobMatcher,
    /// `x/**` is about `x` too, for those who deny.
    folder: Option<String>,
}

impl PathPatterns {
    /// Reads patterns, or says which is wrong and why.
    pub(crate) fn parse(texts: &[String]) -> Result<PathPatterns, String> {
        let mut patterns = PathPatterns::default();
        for text in texts {
            match text.strip_prefix('!') {
                Some(rest) => patterns.except.push(PathPattern::parse(rest)?),
                None => patterns.plain.push(PathPattern::parse(text)?),
            }
        }
        Ok(patterns)
    }

    /// Whether every form of a place is covered.
    pub(crate) fn covers(&self, places: &Places, world: &dyn World) -> bool {
        places.certain
            && !places.forms.is_empty()
            && places.forms.iter().all(|form| {
                (self.plain.is_empty() || self.plain.iter().any(|p| p.matches(form, world)))
                    && !self.except.iter().any(|p| p.may_match(form, world))
            })
    }

    /// Whether the place may be one of these.
    pub(crate) fn may_cover(&self, places: &Places, world: &dyn World) -> Fit {
        let hit = places.forms.iter().any(|form| {
            (self.plain.is_empty() || self.plain.iter().any(|p| p.may_match(form, world)))
                && !self.except.iter().any(|p| p.matches(form, world))
        });
        let goes_through = |form: &String| self.plain.iter().any(|p| p.is_below(form, world));
        if hit || (places.thorough && places.forms.iter().any(goes_through)) {
            return Fit::Certain;
        }
        if places.vague.is_empty() && places.certain {
            return Fit::No;
        }
        if places.adrift || self.plain.is_empty() {
            return if places.vague.is_empty() { Fit::No } else { Fit::Conceivable };
        }
        let overlaps = |row: &Vec<Sign>| self.plain.iter().any(|p| p.overlaps(row, world));
        match places.vague.iter().any(overlaps) {
            true if places.looked_up => Fit::Conceivable,
            true => Fit::Possible,
            false => Fit::No,
        }
    }

    /// Returns the files and folders that the patterns begin with, and whether one of the workspace
    /// begins with a wildcard.
    pub(crate) fn beginnings(&self, world: &dyn World) -> (Vec<String>, bool) {
        let (mut found, mut searches) = (Vec::new(), false);
        for pattern in &self.plain {
            match pattern.named() {
                Some(named) => {
                    let roots = pattern.roots(world);
                    found.extend(roots.iter().map(|root| clean(&format!("{root}/{named}"))));
                }
                None => searches |= pattern.base == Base::Workspace,
            }
        }
        (found, searches)
    }

    /// Whether a pattern says the protected name itself, and not only by a wildcard.
    pub(crate) fn names(&self, protected: &str) -> bool {
        let wanted: Vec<&str> = protected.trim_start_matches('/').split('/').collect();
        self.plain.iter().any(|pattern| {
            let lower = pattern.text.to_lowercase();
            let parts: Vec<&str> = lower.split('/').collect();
            parts.windows(wanted.len()).any(|window| {
                window.iter().zip(&wanted).all(|(ours, theirs)| ours.eq_ignore_ascii_case(theirs))
            })
        })
    }
}

impl PathPattern {
    fn parse(text: &str) -> Result<PathPattern, String> {
        let (base, rest) = match text {
            "" => return Err("a path pattern is empty".into()),
            "~" => (Base::Home, ""),
            _ => match (text.strip_prefix("~/"), text.strip_prefix('/')) {
                (Some(rest), _) => (Base::Home, rest),
                (None, Some(rest)) => (Base::Root, rest),
                (None, None) => (Base::Workspace, text.strip_prefix("./").unwrap_or(text)),
            },
        };
        if rest.split('/').any(|part| part == "..") {
            return Err(format!("`{text}` has `..` in it; write where it leads"));
        }
        let rest = match rest.strip_suffix('/') {
            Some(folder) => format!("{folder}/**"),
            None if rest == "." => String::new(),
            None => rest.to_owned(),
        };
        let glob = |any_case: bool| {
            GlobBuilder::new(&rest)
                .literal_separator(true)
                .backslash_escape(true)
                .case_insensitive(any_case)
                .build()
                .map(|glob| glob.compile_matcher())
                .map_err(|error| format!("`{text}` is no glob: {}", error.kind()))
        };
        let folder = rest
            .strip_suffix("/**")
            .map(str::to_owned)
            .filter(|f| !f.contains(['*', '?', '[', '{']));
        Ok(PathPattern { base, exact: glob(false)?, any_case: glob(true)?, folder, text: rest })
    }

    /// The path as seen from the base of the pattern, in each form that the base has.
    fn seen<'p>(&self, form: &'p str, world: &dyn World) -> Vec<&'p str> {
        let below = |root: &str| {
            let rest = form.strip_prefix(root.trim_end_matches('/'))?;
            (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
        };
        self.roots(world).iter().filter_map(|root| below(root)).collect()
    }

    fn roots(&self, world: &dyn World) -> Vec<String> {
        let root = match self.base {
            Base::Root => return vec![String::new()],
            Base::Workspace => Some(world.workspace()),
            Base::Home => world.home(),
        };
        let Some(root) = root else { return Vec::new() };
        let mut roots = vec![clean(root)];
        roots.extend(world.real(root).map(|real| clean(&real)).filter(|real| *real != clean(root)));
        roots
    }

    fn matches(&self, form: &str, world: &dyn World) -> bool {
        self.seen(form, world)
            .iter()
            .any(|rest| self.exact.is_match(rest) || (rest.is_empty() && self.text == "**"))
    }

    fn may_match(&self, form: &str, world: &dyn World) -> bool {
        let seen = self.seen(form, world);
        // The root in other letters is the same folder on some systems.
        let lower = form.to_lowercase();
        let seen_in_lower = self.roots(world).iter().any(|root| {
            lower.strip_prefix(&root.to_lowercase()).is_some_and(|rest| {
                (rest.is_empty() || rest.starts_with('/'))
                    && self.fits_somehow(rest.trim_start_matches('/'))
            })
        });
        seen_in_lower || seen.iter().any(|rest| self.fits_somehow(rest))
    }

    /// Whether it begins with a folder or file that is named and lies below the path.
    fn is_below(&self, form: &str, world: &dyn World) -> bool {
        let form = form.trim_end_matches('/').to_lowercase();
        self.named().is_some_and(|named| {
            self.roots(world).iter().any(|root| {
                let named = clean(&format!("{root}/{named}")).to_lowercase();
                named.strip_prefix(&form).is_some_and(|rest| rest.starts_with('/'))
            })
        })
    }

    /// The folders or the file that it names before its first wildcard.
    fn named(&self) -> Option<String> {
        let is_plain = |part: &&str| !part.contains(['*', '?', '[', '{']);
        let named: Vec<&str> = self.text.split('/').take_while(is_plain).collect();
        (!named.is_empty()).then(|| named.join("/"))
    }

    fn fits_somehow(&self, rest: &str) -> bool {
        self.any_case.is_match(rest)
            || (rest.is_empty() && self.text == "**")
            || self.folder.as_deref().is_some_and(|folder| folder.eq_ignore_ascii_case(rest))
    }

    fn overlaps(&self, row: &[Sign], world: &dyn World) -> bool {
        self.roots(world).iter().any(|root| {
            let mut signs: Vec<Sign> = format!("{root}/").chars().map(Sign::Char).collect();
            signs.extend(loosely(&self.text));
            wild::may_match(&signs, row)
        })
    }
}

/// A glob as wildcards that match at least as much.
fn loosely(glob: &str) -> Vec<Sign> {
    // `**/x` is also `x`.
    let glob = glob.replace("**/", "**");
    if glob.contains(['[', '{', '\\']) {
        let known: String = glob.chars().take_while(|c| !"[{\\*?".contains(*c)).collect();
        return wild::parse(&format!("{known}*"));
    }
    wild::parse(&glob)
}
