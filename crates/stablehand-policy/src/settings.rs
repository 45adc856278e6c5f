//! Settings: what a file of the user's or a project's says beside its rules, and how files add up.
//!
//! One file is read once and strictly: `[policy]` and `[[prompt]]` (the language is [`crate::Policy`]'s),
//! `[context]`, `[env]`, `[output]` and `[[continue]]`. A table or key that is not known is an error with
//! its place. Then
//! files are put on top of each other ([`Settings::layered`]), where a project's may not widen what the
//! user's allow. No file is opened here, and nothing is carried out. docs/settings.md is the language.

pub mod context;
pub(crate) mod place;
pub mod variable;

#[cfg(test)]
mod tests;

pub use place::FileError;
pub use variable::Variable;

use crate::prompt::{self, PromptTable};
use crate::{Policy, PolicyTable, RuleRef, Words, compile};
use context::Source;
use serde::Deserialize;
use stablehand_core::continuation::{ContinueRule, Rester, When};
use stablehand_core::size::MaxOutput;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;

/// Whose word a file is, the lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whose {
    /// The user's own.
    User,
    /// The project's: it comes with the repository and may be hostile.
    Project,
    /// Named on the command line, by the user.
    Named,
}

/// What one file says.
#[derive(Clone, Debug)]
pub struct SettingsFile {
    /// Whose it is.
    pub whose: Whose,
    /// Its rules about calls and prompts; none where it has neither `[policy]` nor `[[prompt]]`.
    pub policy: Option<Policy>,
    context: Vec<(Source, RuleRef)>,
    env: Vec<Variable>,
    continues: Vec<ContinueRule>,
    max_output: Option<MaxOutput>,
}

/// Something that the agent is to be told, and who says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextSource {
    /// Whose it is: a project's files must lie in the workspace.
    pub whose: Whose,
    /// What.
    pub source: Source,
    /// The file and line that name it. Relative paths begin in the folder of that file.
    pub place: RuleRef,
}

/// What several files say together.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// What the agent is told first, in order.
    pub context: Vec<ContextSource>,
    /// Its variables; each name once.
    pub env: Vec<Variable>,
    /// When it is told to go on; the first that fits counts.
    pub continues: Vec<ContinueRule>,
    /// How much of a tool's output faces show, as the topmost file says that has a word about it.
    pub max_output: Option<MaxOutput>,
    /// What does not hold, and why, for a person.
    pub ignored: Vec<String>,
}

/// A file of ours.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    policy: Option<PolicyTable>,
    #[serde(default)]
    prompt: Vec<Spanned<PromptTable>>,
    context: Option<Spanned<ContextTable>>,
    #[serde(default)]
    env: BTreeMap<Spanned<String>, Spanned<String>>,
    #[serde(default, rename = "continue")]
    continues: Vec<Spanned<ContinueTable>>,
    output: Option<OutputTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OutputTable {
    max: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ContextTable {
    #[serde(default)]
    files: Vec<Spanned<String>>,
    text: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ContinueTable {
    name: Option<String>,
    of: Option<Spanned<String>>,
    when: Option<Spanned<String>>,
    matches: Option<Spanned<String>>,
    agent: Option<Spanned<Words>>,
    prompt: Spanned<String>,
    max: Option<Spanned<i64>>,
}

impl SettingsFile {
    /// Reads a file. `file` is its name in messages.
    pub fn parse(text: &str, file: &str, whose: Whose) -> Result<SettingsFile, FileError> {
        let parsed: File =
            toml::from_str(text).map_err(|error| FileError::of_toml(text, file, &error))?;
        let reader = Reader { text, file };
        let prompts = prompt::compile(&parsed.prompt, text, file)?;
        let policy = match parsed.policy {
            None if prompts.is_empty() => None,
            table => {
                let calls = table.map_or(Ok(Vec::new()), |table| compile(table, text, file))?;
                let policy = Policy::of(calls).with_prompts(prompts);
                Some(if whose == Whose::Project { policy.of_project() } else { policy })
            }
        };
        let context = parsed.context.map_or(Ok(Vec::new()), |table| reader.context(&table))?;
        // In the order in which they stand, for messages.
        let mut env: Vec<_> = parsed.env.iter().collect();
        env.sort_by_key(|(name, _)| name.span().start);
        let env = env.into_iter().map(|(name, value)| reader.variable(name, value));
        let continues = parsed.continues.iter().map(|rule| reader.continues(rule));
        let max_output = parsed.output.and_then(|output| output.max);
        let max_output = max_output.map(|most| {
            most.as_ref().parse().map_err(|what: String| reader.error(most.span(), what))
        });
        Ok(SettingsFile {
            max_output: max_output.transpose()?,
            whose,
            policy,
            context,
            env: env.collect::<Result<_, _>>()?,
            continues: continues.collect::<Result<_, _>>()?,
        })
    }

    fn trusts_project(&self) -> bool {
        self.whose != Whose::Project && self.policy.as_ref().is_some_and(Policy::trusts_project)
    }
}

struct Reader<'t> {
    text: &'t str,
    file: &'t str,
}

impl Reader<'_> {
    fn error(&self, span: Range<usize>, what: impl Into<String>) -> FileError {
        FileError::new(self.text, self.file, Some(span), what)
    }

    fn place(&self, span: Range<usize>, name: Option<String>) -> RuleRef {
        let line = place::position(self.text, span.start).0;
        RuleRef { name, file: self.file.to_owned(), line }
    }

    fn context(&self, table: &Spanned<ContextTable>) -> Result<Vec<(Source, RuleRef)>, FileError> {
        let mut sources = Vec::new();
        for path in &table.as_ref().files {
            if path.as_ref().is_empty() || path.as_ref().contains('\0') {
                return Err(self.error(path.span(), "a file of `files` has no name"));
            }
            let source = Source::File(path.as_ref().clone());
            sources.push((source, self.place(path.span(), None)));
        }
        if let Some(text) = &table.as_ref().text {
            sources.push((Source::Text(text.clone()), self.place(table.span(), None)));
        }
        Ok(sources)
    }

    fn variable(
        &self,
        name: &Spanned<String>,
        value: &Spanned<String>,
    ) -> Result<Variable, FileError> {
        if let Some(fault) = variable::fault(name.as_ref(), value.as_ref()) {
            return Err(self.error(name.span(), fault));
        }
        Ok(Variable {
            name: name.as_ref().clone(),
            value: value.as_ref().clone(),
            place: Some(self.place(name.span(), None)),
        })
    }

    fn continues(&self, spanned: &Spanned<ContinueTable>) -> Result<ContinueRule, FileError> {
        let table = spanned.as_ref();
        let when = match &table.when {
            None => None,
            Some(words) => Some(When::by_words(words.as_ref()).ok_or_else(|| {
                let choices: Vec<_> =
                    When::ALL.iter().map(|when| format!("`{}`", when.words())).collect();
                let given = words.as_ref().escape_debug();
                let what =
                    format!("no `when` is called `{given}`; there are {}", choices.join(", "));
                self.error(words.span(), what)
            })?),
        };
        let of = match &table.of {
            None => Rester::Main,
            Some(word) => Rester::by_word(word.as_ref()).ok_or_else(|| {
                let given = word.as_ref().escape_debug();
                let what = format!("no `of` is called `{given}`; there are `main` and `subagent`");
                self.error(word.span(), what)
            })?,
        };
        if let (Rester::SubAgent, Some(when), Some(words)) = (of, when, &table.when)
            && !when.is_known_of_subagents()
        {
            let what = format!(
                "`when = \"{}\"` is not known of a sub-agent; use `matches` or `when = \"{}\"`",
                when.words(),
                When::NoAnswer.words()
            );
            return Err(self.error(words.span(), what));
        }
        let matches = match &table.matches {
            None => None,
            Some(pattern) => {
                let built = prompt::pattern(pattern.as_ref());
                Some(built.map_err(|what| self.error(pattern.span(), what))?)
            }
        };
        if when.is_none() && matches.is_none() {
            let what = "a [[continue]] needs `when` or `matches`, or it would never end";
            return Err(self.error(spanned.span(), what));
        }
        if table.prompt.as_ref().trim().is_empty() {
            return Err(
                self.error(table.prompt.span(), "`prompt` is empty; say what is to be done")
            );
        }
        let max = match &table.max {
            None => 1,
            Some(max) => u32::try_from(*max.as_ref())
                .ok()
                .filter(|max| *max > 0)
                .ok_or_else(|| self.error(max.span(), "`max` is a number from 1 on"))?,
        };
        let agents = table.agent.as_ref().map_or(Ok(Vec::new()), |agents| {
            let list = agents.as_ref().list();
            if list.is_empty() {
                return Err(
                    self.error(agents.span(), "`agent` is empty; name one, or leave it out")
                );
            }
            Ok(list)
        })?;
        Ok(ContinueRule {
            place: self.place(spanned.span(), table.name.clone()),
            of,
            when,
            matches,
            agents,
            prompt: table.prompt.as_ref().clone(),
            max,
        })
    }
}

impl Settings {
    /// Puts files on top of each other, in the order of [`Whose`]. Context of lower ones comes first;
    /// a variable has the value of the topmost; rules of the topmost are tried first.
    ///
    /// A project's variables and rules to go on hold only where a file of the user's says
    /// `trust_project = true`, and even then not the variables that steer programs
    /// ([`variable::steers`]) or that `reserved` knows.
    pub fn layered(files: Vec<SettingsFile>, reserved: impl Fn(&str) -> bool) -> Settings {
        let trusts = files.iter().any(SettingsFile::trusts_project);
        let mut files = files;
        files.sort_by_key(|file| file.whose);
        let mut settings = Settings::default();
        for mut file in files {
            if file.whose == Whose::Project {
                settings.narrow(&mut file, trusts, &reserved);
            }
            let whose = file.whose;
            let told = file.context.into_iter();
            settings.context.extend(told.map(|(source, place)| ContextSource {
                whose,
                source,
                place,
            }));
            for variable in file.env {
                settings.env.retain(|lower| lower.name != variable.name);
                settings.env.push(variable);
            }
            settings.continues.splice(0..0, file.continues);
            settings.max_output = file.max_output.or(settings.max_output);
        }
        settings
    }

    fn narrow(&mut self, file: &mut SettingsFile, trusts: bool, reserved: impl Fn(&str) -> bool) {
        let untrusted = "a project's holds only with `trust_project = true` in your own settings";
        if !trusts {
            if let Some(first) = file.env.first().and_then(|variable| variable.place.as_ref()) {
                let (at, line) = (&first.file, first.line);
                self.ignored.push(format!("{at}:{line}: `[env]` is ignored: {untrusted}"));
            }
            if let Some(first) = file.continues.first() {
                let (at, line) = (&first.place.file, first.place.line);
                self.ignored.push(format!("{at}:{line}: `[[continue]]` is ignored: {untrusted}"));
            }
            file.env.clear();
            file.continues.clear();
        }
        file.env.retain(|variable| {
            let forbidden = variable::steers(&variable.name) || reserved(&variable.name);
            if let (true, Some(place)) = (forbidden, &variable.place) {
                self.ignored.push(format!(
                    "{}:{}: `{}` is ignored: no project may set a variable that can make programs \
                     run something else or talk to somebody else",
                    place.file, place.line, variable.name
                ));
            }
            !forbidden
        });
    }

    /// The names of agents in its rules, with the rules' places.
    pub fn agents(&self) -> impl Iterator<Item = (&str, &RuleRef)> {
        let rules = self.continues.iter();
        rules.flat_map(|rule| rule.agents.iter().map(|agent| (agent.as_str(), &rule.place)))
    }
}
