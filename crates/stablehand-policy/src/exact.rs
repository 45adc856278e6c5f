//! Rules for one call: what "always" means when a person says it.
//!
//! Owns how a call is spelled as rules, and the proof that these rules allow it. A rule may say no
//! more than the call did: words are quoted, paths escaped, hosts and tools named. Where the
//! language cannot say it so, there is no rule, and the reason why.

use super::call::{Call, World};
use super::host::Host;
use super::judge;
use super::parts::{Facet, Part};
use super::path::Places;
use super::pattern::Pattern;
use super::shell::Simple;
use super::{Policy, PolicyError};
use stablehand_core::decision::Action;
use stablehand_core::event::ToolKind;
use std::fmt::Write as _;

/// Why no rule can say "always this".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoExactRule(String);

/// What the rules of one call say, in the order of the tables.
#[derive(Debug, Default)]
struct Tables {
    commands: Vec<String>,
    paths: Vec<(ToolKind, Vec<String>)>,
    hosts: Vec<String>,
    servers: Vec<String>,
    tools: Vec<String>,
}

impl Policy {
    /// Rules as TOML that, put on top of this policy, allow the call: these very words, files, hosts
    /// or tools and no others. What the policy allows already is left out.
    ///
    /// They have been read back, and this policy with them allows the call.
    pub fn exact_rule(&self, call: &Call<'_>, world: &dyn World) -> Result<String, NoExactRule> {
        let mut tables = Tables::default();
        for (part, judged) in judge::not_allowed(self, call, world) {
            if let Some(rule) = &judged.rule {
                let what =
                    format!("{rule} says {}, which beats every rule that allows", judged.action);
                return Err(NoExactRule(what));
            }
            tables.add(&part, call)?;
        }
        let text = tables.text();
        let unread = |error: PolicyError| NoExactRule(format!("the rule cannot be read: {error}"));
        let rules = Policy::parse(&text, "the new rule").map_err(unread)?;
        let then = Policy::layered([self.clone(), rules]).decide(call, world);
        match then.action {
            Action::Allow => Ok(text),
            _ => Err(NoExactRule(format!("no rule can allow just this: {}", then.reason))),
        }
    }
}

impl Tables {
    fn add(&mut self, part: &Part, call: &Call<'_>) -> Result<(), NoExactRule> {
        match &part.facet {
            Facet::Command(simple) => put(&mut self.commands, command(simple)?),
            Facet::Path(places) => {
                let paths = paths(places, &part.what)?;
                match self.paths.iter_mut().find(|(kind, _)| *kind == part.kind) {
                    Some((_, known)) => paths.into_iter().for_each(|path| put(known, path)),
                    None => self.paths.push((part.kind, paths)),
                }
            }
            Facet::Host(host) => put(&mut self.hosts, name_of(host)?),
            Facet::Mcp { server, tool } => {
                if [server, tool]
                    .iter()
                    .any(|name| name.is_empty() || name.contains(['*', '?', ':']))
                {
                    return no("its name has characters in it that mean something in a rule");
                }
                put(&mut self.servers, format!("{server}:{tool}"));
            }
            Facet::Tool if call.tool.is_empty() || ToolKind::by_word(call.tool).is_some() => {
                return no(&format!(
                    "the tool `{}` is called like a whole kind of tools",
                    call.tool
                ));
            }
            Facet::Tool => put(&mut self.tools, call.tool.to_owned()),
            Facet::Opaque { .. } => {
                return no(&format!("nobody can tell what it does ({})", part.what));
            }
        }
        Ok(())
    }

    fn text(&self) -> String {
        let mut out = String::new();
        let mut table = |kind: Option<ToolKind>, key: &str, words: &[String]| {
            if words.is_empty() {
                return;
            }
            let gap = if out.is_empty() { "" } else { "\n" };
            let _infallible = writeln!(out, "{gap}[[policy.rule]]");
            if let Some(kind) = kind {
                let _infallible = writeln!(out, "tool = {}", string(kind.word()));
            }
            let list: Vec<String> = words.iter().map(|word| string(word)).collect();
            let _infallible = match list.as_slice() {
                [one] => writeln!(out, "{key} = {one}"),
                list => writeln!(out, "{key} = [{}]", list.join(", ")),
            };
            out.push_str("action = \"allow\"\n");
        };
        table(None, "command", &self.commands);
        for (kind, paths) in &self.paths {
            table(Some(*kind), "path", paths);
        }
        table(Some(ToolKind::Fetch), "host", &self.hosts);
        table(None, "mcp", &self.servers);
        table(None, "tool", &self.tools);
        out
    }
}

fn no<T>(why: &str) -> Result<T, NoExactRule> {
    Err(NoExactRule(why.to_owned()))
}

fn put(list: &mut Vec<String>, word: String) {
    if !list.contains(&word) {
        list.push(word);
    }
}

/// A pattern for these words and no others.
fn command(simple: &Simple) -> Result<String, NoExactRule> {
    if !simple.env.is_empty() {
        return no("it sets variables, and a rule cannot say to what");
    }
    let mut words = Vec::new();
    for word in &simple.words {
        match word.text() {
            Some(text) => words.push(quoted(text)),
            None => return no(&format!("only the shell knows what {} will be", word.show())),
        }
    }
    let pattern = words.join(" ");
    match Pattern::parse(&pattern) {
        Ok(read) if read.is_exact() && read.covers(simple, false) => Ok(pattern),
        _ => no(&format!("`{}` cannot be written as a pattern", simple.show())),
    }
}

/// A word that means itself in a pattern.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,~".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else if !word.contains('\'') {
        format!("'{word}'")
    } else if !word.contains('"') {
        format!("\"{word}\"")
    } else {
        word.chars().flat_map(|c| ['\\', c]).collect()
    }
}

/// The forms of a path as globs that match nothing else.
fn paths(places: &Places, what: &str) -> Result<Vec<String>, NoExactRule> {
    if !places.certain || places.forms.is_empty() {
        return no(&format!("nobody can say now where it will lead ({what})"));
    }
    let escaped = |form: &String| {
        let mut out = String::new();
        for c in form.chars() {
            if "*?[]{}\\!".contains(c) {
                out.push('\\');
            }
            out.push(c);
        }
        out
    };
    Ok(places.forms.iter().map(escaped).collect())
}

fn name_of(host: &Host) -> Result<String, NoExactRule> {
    match (host.names.as_slice(), host.certain) {
        ([name], true) => {
            let name = if name.contains(':') { format!("[{name}]") } else { name.clone() };
            Ok(match &host.port {
                Some(port) => format!("{name}:{port}"),
                None => name,
            })
        }
        _ => no("nobody can say for certain which host that is"),
    }
}

/// A TOML string.
fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _infallible = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests;
