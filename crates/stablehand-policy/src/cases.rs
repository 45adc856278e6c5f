//! Tables of cases: a policy with what it is to say of which calls, for `policy test` and our own tests.
//!
//! The world of a table is written in it, so a case means the same on every machine.

use super::call::{Call, World};
use super::file::{self, PolicyError, PolicyTable};
use super::path::clean;
use super::prompt::{self, PromptTable};
use super::{Origin, Policy};
use crate::settings::place::position;
use serde::Deserialize;
use serde_json::Value;
use stablehand_core::Dialect;
use stablehand_core::decision::{Action, Decision};
use stablehand_core::event::{ToolInput, ToolKind};
use std::collections::BTreeMap;
use toml::Spanned;

/// Symbolic links that are followed in one path, as on most systems.
const MAX_LINKS: usize = 40;

/// A table of cases, read.
#[derive(Debug)]
pub struct CaseTable {
    file: String,
    policy: Policy,
    has_policy: bool,
    world: WorldTable,
    cases: Vec<Case>,
}

/// A case that came out differently.
#[derive(Clone, Debug)]
pub struct CaseFailure {
    /// Where the case stands: `file:line`.
    pub place: String,
    /// The case's name, where it has one.
    pub name: Option<String>,
    /// What was called, in a few words.
    pub call: String,
    /// What was expected and what came, in a sentence.
    pub difference: String,
    /// The whole decision.
    pub decision: Decision,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TableFile {
    policy: Option<PolicyTable>,
    project: Option<PolicyTable>,
    #[serde(default)]
    prompt: Vec<Spanned<PromptTable>>,
    #[serde(default)]
    world: WorldTable,
    #[serde(default)]
    case: Vec<Spanned<CaseEntry>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct WorldTable {
    workspace: String,
    home: String,
    /// Links and where they lead, both absolute.
    links: BTreeMap<String, String>,
    protected: Vec<String>,
}

impl Default for WorldTable {
    fn default() -> Self {
        WorldTable {
            workspace: "/workspace".to_owned(),
            home: "/home/user".to_owned(),
            links: BTreeMap::new(),
            protected: Vec::new(),
        }
    }
}

/// One entry; a list of commands, paths, addresses or prompts is as many cases.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseEntry {
    name: Option<String>,
    expect: Action,
    rule: Option<String>,
    unattended: Option<Action>,
    #[serde(default)]
    agent: String,
    tool: Option<String>,
    kind: Option<ToolKind>,
    cwd: Option<String>,
    command: Option<OneOrMany>,
    path: Option<OneOrMany>,
    url: Option<OneOrMany>,
    mcp: Option<OneOrMany>,
    input: Option<Value>,
    prompt: Option<OneOrMany>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "a string or a list of strings")]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn list(self) -> Vec<String> {
        match self {
            OneOrMany::One(text) => vec![text],
            OneOrMany::Many(texts) => texts,
        }
    }
}

#[derive(Debug)]
struct Case {
    entry: CaseEntry,
    line: usize,
    subject: Subject,
}

/// What a case is about.
#[derive(Debug)]
enum Subject {
    Call { tool: String, kind: ToolKind, input: ToolInput, also: Vec<ToolInput>, arguments: Value },
    Prompt(String),
}

impl Subject {
    /// What was called or asked, in a few words.
    fn describe(&self) -> String {
        match self {
            Subject::Call { tool, input, .. } => format!("{tool} {}", input.headline()),
            Subject::Prompt(text) => format!("prompt {text}"),
        }
    }
}

impl CaseTable {
    /// Reads a table. `file` is its name in messages.
    pub fn parse(text: &str, file: &str) -> Result<CaseTable, PolicyError> {
        let parsed: TableFile =
            toml::from_str(text).map_err(|error| PolicyError::of_toml(text, file, &error))?;
        let has_policy = parsed.policy.is_some() || !parsed.prompt.is_empty();
        let prompts = prompt::compile(&parsed.prompt, text, file)?;
        let mut layers = file::compile(parsed.policy.unwrap_or_default(), text, file)?;
        for mut layer in file::compile(parsed.project.unwrap_or_default(), text, file)? {
            layer.origin = Origin::Project;
            layers.push(layer);
        }
        let mut cases = Vec::new();
        for entry in parsed.case {
            let line = position(text, entry.span().start).0;
            let span = entry.span();
            let found = expand(&entry.into_inner(), line);
            let found = found.map_err(|what| PolicyError::new(text, file, Some(span), what))?;
            cases.extend(found);
        }
        if cases.is_empty() {
            return Err(PolicyError::new(text, file, None, "there is no [[case]] in it"));
        }
        let policy = Policy { layers }.with_prompts(prompts);
        Ok(CaseTable { file: file.to_owned(), policy, has_policy, world: parsed.world, cases })
    }

    /// How many cases it has.
    pub fn len(&self) -> usize {
        self.cases.len()
    }

    /// Whether it has none; a table that was read has some.
    pub fn is_empty(&self) -> bool {
        self.cases.is_empty()
    }

    /// Whether the table brings a policy of its own.
    pub fn has_policy(&self) -> bool {
        self.has_policy
    }

    /// Decides every case under the table's own policy on top of `below`, and says which came out
    /// differently. `schema_error` checks arguments as [`World::schema_error`] does.
    pub fn run(
        &self,
        below: &Policy,
        schema_error: &dyn Fn(&Value, &Value) -> Option<String>,
    ) -> Vec<CaseFailure> {
        let policy = Policy::layered([below.clone(), self.policy.clone()]);
        let world = TableWorld { table: &self.world, schema_error };
        self.cases.iter().filter_map(|case| self.judge(case, &policy, &world)).collect()
    }

    fn judge(&self, case: &Case, policy: &Policy, world: &TableWorld<'_>) -> Option<CaseFailure> {
        let entry = &case.entry;
        let decision = match &case.subject {
            Subject::Prompt(text) => policy.prompt_rules(&entry.agent).decide(text),
            Subject::Call { tool, kind, input, also, arguments } => {
                let (agent, cwd) = (entry.agent.as_str(), entry.cwd.as_deref());
                policy
                    .decide(&Call { agent, tool, kind: *kind, input, also, arguments, cwd }, world)
            }
        };
        let name = decision.rule.as_ref().and_then(|rule| rule.name.clone());
        let mut difference = Vec::new();
        if decision.action != entry.expect {
            difference.push(format!("expected {}, got {}", entry.expect, decision.action));
        }
        if let Some(unattended) = entry.unattended.filter(|wanted| *wanted != decision.unattended) {
            let got = decision.unattended;
            difference.push(format!("expected {unattended} when nobody is there, got {got}"));
        }
        if let Some(rule) = entry.rule.as_ref().filter(|rule| name.as_ref() != Some(rule)) {
            let got = name.unwrap_or_else(|| "none".to_owned());
            difference.push(format!("expected the rule `{rule}`, got `{got}`"));
        }
        (!difference.is_empty()).then(|| CaseFailure {
            place: format!("{}:{}", self.file, case.line),
            name: entry.name.clone(),
            call: case.subject.describe(),
            difference: difference.join("; "),
            decision,
        })
    }
}

fn expand(entry: &CaseEntry, line: usize) -> Result<Vec<Case>, String> {
    let given = [&entry.command, &entry.path, &entry.url, &entry.mcp, &entry.prompt];
    if given.iter().filter(|given| given.is_some()).count() > 1 {
        return Err("a case has one of `command`, `path`, `url`, `mcp` and `prompt`".into());
    }
    if let Some(prompts) = &entry.prompt {
        let one = |text| Case { entry: entry.clone(), line, subject: Subject::Prompt(text) };
        return Ok(prompts.clone().list().into_iter().map(one).collect());
    }
    let named = entry.tool.clone();
    let dialect = Dialect::by_name(&entry.agent).unwrap_or(Dialect::Acp);
    let read = |tool: &str, arguments: &Value| dialect.read_call(tool, arguments);
    let kind_or = |usual: ToolKind| {
        entry.kind.unwrap_or_else(|| {
            entry.tool.as_deref().map_or(usual, |tool| read(tool, &Value::Null).tool_kind)
        })
    };
    let case = |tool: &str, kind: ToolKind, input: ToolInput, arguments: Value| Case {
        entry: entry.clone(),
        line,
        subject: Subject::Call {
            tool: named.clone().unwrap_or_else(|| tool.to_owned()),
            kind,
            input,
            also: Vec::new(),
            arguments,
        },
    };
    let arguments = || entry.input.clone().unwrap_or_default();
    if let Some(commands) = &entry.command {
        let one = |command| {
            let input = ToolInput::Command { command, cwd: None };
            case("Shell", ToolKind::Execute, input, arguments())
        };
        return Ok(commands.clone().list().into_iter().map(one).collect());
    }
    if let Some(paths) = &entry.path {
        let kind = kind_or(ToolKind::Read);
        let one = |path| case("Read", kind, ToolInput::Path { path }, arguments());
        return Ok(paths.clone().list().into_iter().map(one).collect());
    }
    if let Some(urls) = &entry.url {
        let one = |url| case("Fetch", ToolKind::Fetch, ToolInput::Url { url }, arguments());
        return Ok(urls.clone().list().into_iter().map(one).collect());
    }
    if let Some(names) = &entry.mcp {
        let one = |text: String| {
            let (server, tool) = text.split_once(':').unwrap_or((&text, ""));
            let input = ToolInput::Mcp { server: server.to_owned(), tool: tool.to_owned() };
            case("Mcp", entry.kind.unwrap_or(ToolKind::Other), input, arguments())
        };
        return Ok(names.clone().list().into_iter().map(one).collect());
    }
    let Some(tool) = &entry.tool else {
        return Err(
            "a case needs a `tool`, a `command`, a `path`, a `url`, `mcp` or a `prompt`".into()
        );
    };
    let kind = kind_or(ToolKind::Other);
    let given = read(tool, &arguments());
    let mut case = case(tool, kind, given.input, arguments());
    if let Subject::Call { also, .. } = &mut case.subject {
        *also = given.also;
    }
    Ok(vec![case])
}

/// The world of a table.
struct TableWorld<'t> {
    table: &'t WorldTable,
    schema_error: &'t dyn Fn(&Value, &Value) -> Option<String>,
}

impl World for TableWorld<'_> {
    fn workspace(&self) -> &str {
        &self.table.workspace
    }

    fn home(&self) -> Option<&str> {
        Some(&self.table.home).filter(|home| !home.is_empty()).map(String::as_str)
    }

    fn real(&self, path: &str) -> Option<String> {
        let mut left: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
        let mut done: Vec<String> = Vec::new();
        let mut links = 0;
        while let Some(part) = left.pop() {
            match part.as_str() {
                "" | "." => continue,
                ".." => {
                    done.pop();
                    continue;
                }
                _ => done.push(part),
            }
            if let Some(target) = self.table.links.get(&format!("/{}", done.join("/"))) {
                links += 1;
                if links > MAX_LINKS {
                    return None;
                }
                done.clear();
                left.extend(target.split('/').rev().map(str::to_owned));
            }
        }
        Some(clean(&done.join("/")))
    }

    fn protected(&self) -> &[String] {
        &self.table.protected
    }

    fn schema_error(&self, schema: &Value, arguments: &Value) -> Option<String> {
        (self.schema_error)(schema, arguments)
    }
}
