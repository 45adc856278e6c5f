//! The pieces that parsers are made of. All are pure, take any bytes, and know nothing of agents.

use super::{Answer, Heard, McpServer, McpState, Trouble};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::Value;
use stablehand_core::text;

/// Bytes as text that is safe to look at.
pub fn plain(bytes: &[u8]) -> String {
    text::plain(&String::from_utf8_lossy(bytes))
}

/// The lines that have something on them, without the space around it.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// A JSON value: the whole text, or what begins at the first line that opens one, because warnings
/// may come first.
pub fn json(bytes: &[u8]) -> Option<Value> {
    if let Ok(value) = serde_json::from_slice(bytes) {
        return Some(value);
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let mut rest = text.trim_start_matches('\u{feff}');
    while !rest.trim_start().starts_with(['{', '[']) {
        rest = rest.split_once('\n')?.1;
    }
    serde_json::from_str(rest).ok()
}

/// A configuration: JSON with comments and commas at the ends of lists.
pub fn config(bytes: &[u8]) -> Option<Value> {
    json(bytes).or_else(|| serde_json::from_str(&relaxed(std::str::from_utf8(bytes).ok()?)).ok())
}

/// The n-th file as a configuration; absent where there is no file. One that cannot be read says
/// nothing, not even that something is not set.
pub fn settings(heard: &Heard<'_>, index: usize) -> Result<Option<Value>, Trouble> {
    let Some(file) = heard.file(index) else { return Ok(None) };
    if file.trim_ascii().is_empty() {
        return Ok(None);
    }
    config(file).filter(Value::is_object).map(Some).ok_or(Trouble::Unreadable)
}

/// The first of several configurations that has a string at one of these paths.
pub fn setting(
    heard: &Heard<'_>,
    files: std::ops::Range<usize>,
    paths: &[&[&str]],
) -> Result<Option<String>, Trouble> {
    for index in files {
        if let Some(settings) = settings(heard, index)?
            && let Some(found) = paths.iter().find_map(|path| string(&settings, path))
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Without comments and without a comma before a closing bracket.
fn relaxed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.trim_start_matches('\u{feff}').chars().peekable();
    let mut quoted = false;
    while let Some(c) = chars.next() {
        match (quoted, c) {
            (true, '\\') => {
                out.push(c);
                out.extend(chars.next());
            }
            (_, '"') => {
                quoted = !quoted;
                out.push(c);
            }
            (false, '/') if chars.peek() == Some(&'/') => {
                while chars.next_if(|c| *c != '\n').is_some() {}
            }
            (false, '/') if chars.peek() == Some(&'*') => {
                chars.next();
                while let Some(c) = chars.next() {
                    if c == '*' && chars.next_if_eq(&'/').is_some() {
                        break;
                    }
                }
            }
            (false, '}' | ']') => {
                let kept = out.trim_end();
                if kept.ends_with(',') {
                    out.truncate(kept.len() - 1);
                }
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

/// A string at a path of members.
pub fn string(value: &Value, path: &[&str]) -> Option<String> {
    let found = path.iter().try_fold(value, |value, name| value.get(name))?;
    found.as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

/// The parser of every `--version`: exit code 0 and a number with a dot near the beginning.
pub fn version(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let output = heard.output()?;
    if !output.exited(0) {
        return Err(Trouble::Unreadable);
    }
    let text = plain(&output.stdout);
    let words = lines(&text).take(3).flat_map(str::split_whitespace).take(12);
    words
        .map(|word| word.strip_prefix('v').unwrap_or(word))
        .find(|word| is_version(word))
        .map(|word| Answer::Version(word.to_owned()))
        .ok_or(Trouble::Unreadable)
}

fn is_version(word: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '_');
    word.starts_with(|c: char| c.is_ascii_digit())
        && word.contains('.')
        && word.len() <= 64
        && word.chars().all(fits)
}

/// The first e-mail address in a text.
pub fn email(text: &str) -> Option<String> {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '+' | '%');
    text.split(|c: char| !part(c) && c != '@').find_map(|word| {
        let word = word.trim_matches('.');
        let (name, host) = word.split_once('@')?;
        let whole = !name.is_empty() && !host.contains('@') && word.len() <= 254;
        let dotted = host.split_once('.').is_some_and(|(a, b)| !a.is_empty() && !b.is_empty());
        (whole && dotted).then(|| word.to_owned())
    })
}

/// An address without user, query and fragment, or a program without arguments: what is left out
/// may hold a secret.
pub fn target(text: &str) -> Option<String> {
    let text = text.trim();
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.split_whitespace().next().map(str::to_owned);
    };
    let rest = rest.split(['?', '#', ' ']).next().unwrap_or_default();
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.rsplit('@').next().unwrap_or(host);
    let slash = if path.is_empty() { "" } else { "/" };
    Some(format!("{scheme}://{host}{slash}{}", hide_secrets(path)))
}

/// What an agent says of an MCP server: by its mark, or else by the words that are known.
pub fn mcp_state(said: &str) -> McpState {
    let said = said.trim();
    match said.chars().next() {
        Some('✓' | '✔') => return McpState::Connected,
        Some('✗' | '✘' | '✖') => return McpState::Failed,
        Some('⏸') => return McpState::NeedsApproval,
        Some('○') => return McpState::Disabled,
        _ => {}
    }
    let lower = said.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if has(&["needs approval", "pending approval"]) {
        McpState::NeedsApproval
    } else if has(&["needs auth", "needs login", "requires login", "requires auth", "needs_auth"]) {
        McpState::NeedsLogin
    } else if has(&["disabled", "blocked"]) {
        McpState::Disabled
    } else if has(&["disconnected", "not connected", "failed", "error"]) {
        McpState::Failed
    } else if lower.starts_with("connected") || lower == "ready" {
        McpState::Connected
    } else if lower.starts_with("enabled") {
        McpState::Enabled
    } else {
        McpState::Unknown
    }
}

/// Servers in lines like `✗ name: program args (stdio) - Disconnected`, where the mark comes first.
pub fn marked_servers(text: &str) -> Vec<McpServer> {
    let server = |line: &str| {
        let (mark, rest) = line.split_once(' ')?;
        let marked = mark.chars().count() == 1 && !mark.is_ascii();
        let (name, rest) = rest.split_once(": ").filter(|_| marked)?;
        let (reached, said) = rest.rsplit_once(" - ")?;
        Some(McpServer {
            name: name.to_owned(),
            state: mcp_state(line),
            target: target(reached),
            detail: Some(said.to_owned()),
        })
    };
    lines(text).filter_map(server).collect()
}

/// The claims in a login token. They are not verified: they only say who the agent thinks it is.
pub fn claims(token: &str) -> Option<Value> {
    let payload = token.split('.').nth(1)?;
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// A string at the top of a TOML file, before its first table.
pub fn toml_string(bytes: &[u8], key: &str) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let top = lines(&text).take_while(|line| !line.starts_with('['));
    top.filter_map(|line| line.split_once('=')).find(|(name, _)| name.trim() == key).and_then(
        |(_, value)| {
            let value = value.trim();
            let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            let inner = value.strip_prefix(quote)?;
            inner.split_once(quote).map(|(word, _)| word.to_owned())
        },
    )
}

/// Whether a file of variables sets one of these to something.
pub fn sets_variable(bytes: &[u8], names: &[&str]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    lines(&text).any(|line| {
        let line = line.strip_prefix("export ").unwrap_or(line);
        line.split_once('=').is_some_and(|(name, value)| {
            names.contains(&name.trim()) && !value.trim().trim_matches(['"', '\'']).is_empty()
        })
    })
}

/// Text without the words that look like keys and tokens.
pub fn hide_secrets(text: &str) -> String {
    let belongs = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '*' | '+');
    let mut out = String::with_capacity(text.len());
    let mut word = String::new();
    for c in text.chars().map(Some).chain([None]) {
        if let Some(c) = c.filter(|c| belongs(*c)) {
            word.push(c);
            continue;
        }
        let key = word.starts_with("sk-") || word.starts_with("AIza") || word.starts_with("eyJ");
        let digits = word.chars().any(|c| c.is_ascii_digit());
        let random = word.len() >= 20 && digits && word.chars().any(|c| c.is_ascii_alphabetic());
        out.push_str(if key || random { "[hidden]" } else { &word });
        word.clear();
        out.extend(c);
    }
    out
}

/// The objects in the lines of a transcript; a line that is cut off is none.
pub fn records(head: &[u8]) -> impl Iterator<Item = Value> {
    head.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok())
}

/// What a person said in a message: its text, or the first of its parts that has one.
pub fn message_text(content: &Value) -> Option<String> {
    let parts = content.as_array().into_iter().flatten();
    let text = content
        .as_str()
        .map(str::to_owned)
        .or_else(|| parts.into_iter().find_map(|part| string(part, &["text"])));
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The parser of an action whose exit code tells whether it was done.
pub fn done(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let output = heard.output()?;
    let said = said(heard);
    if output.exited(0) { Ok(Answer::Done(said)) } else { Err(Trouble::Refused(said)) }
}

/// The first lines that a command printed, on either stream.
pub fn said(heard: &Heard<'_>) -> String {
    let Some(output) = heard.output else { return String::new() };
    let both = [plain(&output.stdout), plain(&output.stderr)].join("\n");
    lines(&both).take(3).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
