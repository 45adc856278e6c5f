//! How agents are told by their arguments of servers of tools for one session.
//!
//! Owns the two shapes and what of them may be written down. Nothing here is kept in a file of the
//! agent's: what a session is given ends with it.

use serde_json::{Map, Value, json};
use stablehand_core::mcp::{McpServer, McpTransport};
use std::ffi::OsString;

/// The option of whoever takes a whole configuration.
const CONFIG: &str = "--mcp-config";
/// How settings of servers begin where they are given one by one.
const SETTING: &str = "mcp_servers.";
/// The settings that may hold secrets.
const SECRET_SETTINGS: [&str; 2] = ["env", "http_headers"];

const HIDDEN: &str = "[redacted]";

/// One argument with all of them, as JSON.
pub(super) fn as_config(servers: &[McpServer]) -> Vec<OsString> {
    if servers.is_empty() {
        return Vec::new();
    }
    let entry = |server: &McpServer| {
        let mut entry = match &server.transport {
            McpTransport::Stdio { command, args, env } => {
                json!({ "command": command, "args": args, "env": map(env) })
            }
            McpTransport::Http { url, headers } | McpTransport::Sse { url, headers } => {
                json!({ "url": url, "headers": map(headers) })
            }
        };
        entry["type"] = server.transport.word().into();
        (server.name.clone(), entry)
    };
    let entries: Map<String, Value> = servers.iter().map(entry).collect();
    vec![CONFIG.into(), json!({ "mcpServers": entries }).to_string().into()]
}

/// Settings one by one, each as `-c KEY=VALUE` with a value in TOML.
pub(super) fn as_settings(servers: &[McpServer]) -> Vec<OsString> {
    let mut args = Vec::new();
    for server in servers {
        let name = plain_name(&server.name);
        let mut set = |key: &str, value: String| {
            args.push("-c".into());
            args.push(format!("{SETTING}{name}.{key}={value}").into());
        };
        match &server.transport {
            McpTransport::Stdio { command, args, env } => {
                set("command", quoted(command));
                let words: Vec<String> = args.iter().map(|arg| quoted(arg)).collect();
                set("args", format!("[{}]", words.join(",")));
                if !env.is_empty() {
                    set("env", table(env));
                }
            }
            McpTransport::Http { url, headers } | McpTransport::Sse { url, headers } => {
                set("url", quoted(url));
                if !headers.is_empty() {
                    set("http_headers", table(headers));
                }
            }
        }
    }
    args
}

/// An argument as it may be written down, where it tells of servers; `before` is the one in front.
pub(super) fn shown(before: Option<&str>, arg: &str) -> Option<String> {
    if before == Some(CONFIG) {
        // A file is a path, and no secret.
        let config: Value = serde_json::from_str(arg).ok()?;
        let servers = config.get("mcpServers")?.as_object()?;
        let names = servers.keys().map(|name| (name.clone(), HIDDEN.into()));
        return Some(json!({ "mcpServers": names.collect::<Map<_, _>>() }).to_string());
    }
    let (key, _) = arg.strip_prefix(SETTING)?.split_once('=')?;
    let (_, setting) = key.rsplit_once('.')?;
    SECRET_SETTINGS.contains(&setting).then(|| format!("{SETTING}{key}={HIDDEN}"))
}

fn map(pairs: &[(String, String)]) -> Map<String, Value> {
    pairs.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect()
}

/// A name that is one part of a key: a dot would begin another one.
fn plain_name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// A text in TOML: every escape of JSON is one there too, but for a lone DEL, which has to be one.
fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

fn table(pairs: &[(String, String)]) -> String {
    let pairs: Vec<String> =
        pairs.iter().map(|(name, value)| format!("{}={}", quoted(name), quoted(value))).collect();
    format!("{{{}}}", pairs.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers() -> Vec<McpServer> {
        let pairs = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        let stdio = McpTransport::Stdio {
            command: "oats".into(),
            args: vec!["--port".into(), "a \"b\"\n\u{7f}".into()],
            env: pairs("KEY", "s3cret"),
        };
        let http = McpTransport::Http {
            url: "https://barn.example/mcp".into(),
            headers: pairs("Authorization", "Bearer s3cret"),
        };
        [("barn.door", stdio), ("hay", http)]
            .map(|(name, transport)| McpServer { name: name.into(), transport })
            .into()
    }

    fn words(args: &[OsString]) -> Vec<String> {
        args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_configuration_has_them_all() {
        let args = words(&as_config(&servers()));
        let config: Value = serde_json::from_str(&args[1]).unwrap();
        let expected = json!({ "mcpServers": {
            "barn.door": {
                "type": "stdio", "command": "oats", "args": ["--port", "a \"b\"\n\u{7f}"],
                "env": { "KEY": "s3cret" },
            },
            "hay": {
                "type": "http", "url": "https://barn.example/mcp",
                "headers": { "Authorization": "Bearer s3cret" },
            },
        }});
        assert_eq!((args[0].as_str(), config), (CONFIG, expected));
        assert!(as_config(&[]).is_empty() && as_settings(&[]).is_empty());
    }

    #[test]
    fn settings_are_toml() {
        let args = words(&as_settings(&servers()));
        let text: Vec<&str> = args.iter().filter(|arg| *arg != "-c").map(String::as_str).collect();
        let table: toml::Table = text.join("\n").parse().unwrap();
        let door = &table["mcp_servers"]["barn_door"];
        assert_eq!(door["command"].as_str(), Some("oats"));
        assert_eq!(door["args"][1].as_str(), Some("a \"b\"\n\u{7f}"));
        assert_eq!(door["env"]["KEY"].as_str(), Some("s3cret"));
        let hay = &table["mcp_servers"]["hay"];
        assert_eq!(hay["http_headers"]["Authorization"].as_str(), Some("Bearer s3cret"));
    }

    #[test]
    fn secrets_are_not_written_down_and_the_rest_is() {
        for args in [as_config(&servers()), as_settings(&servers())] {
            let args = words(&args);
            let mut before = None;
            let mut all = String::new();
            for arg in &args {
                all += &shown(before, arg).unwrap_or_else(|| arg.clone());
                before = Some(arg.as_str());
            }
            assert!(!all.contains("s3cret") && all.contains("hay"), "{all}");
        }
        assert_eq!(shown(Some(CONFIG), "mine.json"), None);
    }
}
