//! `[policy]` as TOML: from its table to rules, each with its line.
//!
//! The file around it is read in [`crate::settings`]. Strict on purpose. A key that is not known is an error, because a typing mistake in a policy must
//! not make it wider; so is a pattern that could never match.

use super::host::HostPattern;
use super::path::PathPatterns;
use super::pattern::Pattern;
use super::profile;
use super::rule::{About, Rule, Variables};
use super::sandbox::SandboxTable;
use super::{Layer, Origin, Policy, Tools};
pub use crate::settings::place::FileError as PolicyError;
use crate::settings::place::position;
use serde::Deserialize;
use serde_json::Value;
use stablehand_core::decision::{Action, OnUnasked, RuleRef};
use std::ops::Range;
use toml::Spanned;

/// `[policy]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PolicyTable {
    default: Option<Action>,
    unattended: Option<Spanned<Action>>,
    on_unasked: Option<OnUnasked>,
    profile: Option<Spanned<Words>>,
    trust_project: Option<bool>,
    tools: Option<ToolsTable>,
    sandbox: Option<Spanned<SandboxTable>>,
    #[serde(default)]
    tool: Vec<Spanned<ToolTable>>,
    #[serde(default)]
    rule: Vec<Spanned<RuleTable>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolsTable {
    #[serde(default)]
    known_only: bool,
    #[serde(default)]
    known: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolTable {
    name: String,
    schema: Option<Spanned<Value>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleTable {
    name: Option<String>,
    action: Action,
    reason: Option<String>,
    unattended: Option<Spanned<Action>>,
    agent: Option<Spanned<Words>>,
    tool: Option<Spanned<Words>>,
    command: Option<Spanned<Words>>,
    path: Option<Spanned<Words>>,
    host: Option<Spanned<Words>>,
    mcp: Option<Spanned<Words>>,
    env: Option<Spanned<Env>>,
    any_folder: Option<Spanned<bool>>,
    protected: Option<Spanned<bool>>,
}

/// One word or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "a string or a list of strings")]
pub(crate) enum Words {
    One(String),
    Many(Vec<String>),
}

impl Words {
    pub(crate) fn list(&self) -> Vec<String> {
        match self {
            Words::One(word) => vec![word.clone()],
            Words::Many(words) => words.clone(),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "true, or a list of names of variables")]
enum Env {
    All(bool),
    Names(Vec<String>),
}

/// Makes layers of a table that was read from `text`.
pub(crate) fn compile(
    table: PolicyTable,
    text: &str,
    file: &str,
) -> Result<Vec<Layer>, PolicyError> {
    let reader = Reader { text, file };
    let mut layers = Vec::new();
    if let Some(profiles) = &table.profile {
        for name in reader.words(profiles, "profile")? {
            let Some(profile) = profile::by_name(&name) else {
                let names: Vec<_> = profile::ALL.iter().map(|(name, _)| *name).collect();
                let what = format!("no profile is called `{name}`; there are {}", names.join(", "));
                return Err(reader.error(profiles.span(), what));
            };
            layers.extend(Policy::parse(profile, &format!("profile:{name}"))?.layers);
        }
    }
    if let Some(unattended) = &table.unattended {
        reader.not_ask(unattended)?;
    }
    if let Some(sandbox) = &table.sandbox
        && let Some(fault) = sandbox.as_ref().fault()
    {
        return Err(reader.error(sandbox.span(), fault));
    }
    let rules = table.rule.iter().map(|rule| reader.rule(rule)).collect::<Result<_, _>>()?;
    let tools = table.tools.unwrap_or_default();
    let schema = |tool: &Spanned<ToolTable>| {
        let line = position(text, tool.span().start).0;
        let place = RuleRef { name: None, file: file.to_owned(), line };
        let given = tool.as_ref();
        let schema = match given.schema.as_ref().map(|schema| (schema.as_ref(), schema.span())) {
            Some((Value::String(json), span)) => {
                Some(serde_json::from_str(json).map_err(|error| {
                    reader.error(span, format!("the schema is no JSON: {error}"))
                })?)
            }
            Some((table @ (Value::Object(_) | Value::Bool(_)), _)) => Some(table.clone()),
            Some((_, span)) => {
                return Err(reader.error(span, "a schema is a table, or JSON in a string"));
            }
            None => None,
        };
        Ok((given.name.clone(), schema, place))
    };
    let described = table.tool.iter().map(schema).collect::<Result<_, _>>()?;
    layers.push(Layer {
        origin: Origin::User,
        default: table.default,
        unattended: table.unattended.map(Spanned::into_inner),
        on_unasked: table.on_unasked,
        trust_project: table.trust_project.unwrap_or_default(),
        tools: Tools { known_only: tools.known_only, known: tools.known, described },
        rules,
        prompts: Vec::new(),
        sandbox: table.sandbox.map(Spanned::into_inner),
    });
    Ok(layers)
}

struct Reader<'t> {
    text: &'t str,
    file: &'t str,
}

impl Reader<'_> {
    fn error(&self, span: Range<usize>, what: impl Into<String>) -> PolicyError {
        PolicyError::new(self.text, self.file, Some(span), what)
    }

    fn words(&self, words: &Spanned<Words>, key: &str) -> Result<Vec<String>, PolicyError> {
        let list = words.as_ref().list();
        if list.is_empty() || list.iter().any(String::is_empty) {
            let what = format!("`{key}` is empty; name something, or leave it out");
            return Err(self.error(words.span(), what));
        }
        Ok(list)
    }

    fn not_ask(&self, action: &Spanned<Action>) -> Result<(), PolicyError> {
        if *action.as_ref() == Action::Ask {
            let what = "`unattended` says what to do when nobody can be asked: deny or allow";
            return Err(self.error(action.span(), what));
        }
        Ok(())
    }

    fn rule(&self, spanned: &Spanned<RuleTable>) -> Result<(Rule, Option<Action>), PolicyError> {
        let table = spanned.as_ref();
        let line = position(self.text, spanned.span().start).0;
        let place = RuleRef { name: table.name.clone(), file: self.file.to_owned(), line };
        let list = |words: &Option<Spanned<Words>>, key| match words {
            Some(words) => self.words(words, key),
            None => Ok(Vec::new()),
        };
        if let Some(unattended) = &table.unattended {
            self.not_ask(unattended)?;
            if table.action != Action::Ask {
                let what = "`unattended` belongs to a rule with action = \"ask\"";
                return Err(self.error(unattended.span(), what));
            }
        }
        if let Some(flag) = &table.protected
            && table.action != Action::Allow
        {
            return Err(
                self.error(flag.span(), "`protected` belongs to a rule with action = \"allow\"")
            );
        }
        if let Some(flag) = &table.any_folder
            && table.command.is_none()
        {
            return Err(self.error(flag.span(), "`any_folder` belongs to a rule with `command`"));
        }
        let env = match &table.env {
            None => Variables::Named(Vec::new()),
            Some(env) => match env.as_ref() {
                Env::All(true) => Variables::Any,
                Env::All(false) => Variables::Named(Vec::new()),
                Env::Names(names) => Variables::Named(names.clone()),
            },
        };
        Ok((
            Rule {
                place,
                action: table.action,
                reason: table.reason.clone(),
                agents: list(&table.agent, "agent")?,
                tools: list(&table.tool, "tool")?,
                about: self.about(table, spanned.span())?,
                env,
                any_folder: table.any_folder.as_ref().is_some_and(|flag| *flag.as_ref()),
                protected: table.protected.as_ref().is_some_and(|flag| *flag.as_ref()),
            },
            table.unattended.as_ref().map(|action| *action.as_ref()),
        ))
    }

    fn about(&self, table: &RuleTable, span: Range<usize>) -> Result<About, PolicyError> {
        let given = [&table.command, &table.path, &table.host, &table.mcp];
        if given.iter().filter(|words| words.is_some()).count() > 1 {
            let what =
                "a rule is about one of `command`, `path`, `host` and `mcp`; make two rules of it";
            return Err(self.error(span, what));
        }
        if table.env.is_some() && given.iter().skip(1).any(|words| words.is_some()) {
            return Err(self.error(span, "`env` belongs to a rule with `command`, or stands alone"));
        }
        if let Some(words) = &table.command {
            let patterns = self.words(words, "command")?;
            let parse = |text: &String| {
                Pattern::parse(text).map_err(|why| {
                    self.error(words.span(), format!("the pattern `{text}` is wrong: {why}"))
                })
            };
            return Ok(About::Commands(patterns.iter().map(parse).collect::<Result<_, _>>()?));
        }
        if let Some(words) = &table.path {
            let patterns = PathPatterns::parse(&self.words(words, "path")?);
            return patterns.map(About::Paths).map_err(|why| self.error(words.span(), why));
        }
        if let Some(words) = &table.host {
            let parse = |text: &String| {
                HostPattern::parse(text).map_err(|why| self.error(words.span(), why))
            };
            return Ok(About::Hosts(
                self.words(words, "host")?.iter().map(parse).collect::<Result<_, _>>()?,
            ));
        }
        if let Some(words) = &table.mcp {
            let split = |text: &String| {
                let (server, tool) = text.split_once(':').unwrap_or((text, "*"));
                (server.to_owned(), tool.to_owned())
            };
            return Ok(About::Mcp(self.words(words, "mcp")?.iter().map(split).collect()));
        }
        Ok(if table.env.is_some() { About::Variables } else { About::Anything })
    }
}
