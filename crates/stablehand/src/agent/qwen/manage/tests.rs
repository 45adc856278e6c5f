//! Qwen Code's files, and its list of servers in the shape of its source.

use super::*;
use crate::manage::McpState;
use crate::manage::testing::{found, heard, printed};

#[test]
fn the_login_by_files_and_variables() {
    let oauth = Some(r#"{"security":{"auth":{"selectedType":"qwen-oauth"}}}"#);
    let openai = Some(r#"{"security":{"auth":{"selectedType":"openai"}},"model":{"name":"m"}}"#);
    let ask = |settings, creds, set: &[&'static str]| found(login, &[None, settings, creds], set);
    let says = |login| Ok(Answer::Login(login));
    assert_eq!(ask(None, None, &[]), says(Login::no()));
    assert_eq!(ask(oauth, None, &[]), says(Login::no()));
    assert_eq!(ask(oauth, Some("{}"), &[]), says(Login::yes(None, "Qwen account")));
    let key = Login::yes(None, "API key (OPENAI_API_KEY)");
    assert_eq!(ask(openai, None, &["OPENAI_API_KEY"]), says(key));
    assert_eq!(ask(openai, None, &[]), says(Login::unknown("the login method `openai`")));
    assert_eq!(ask(Some("{"), None, &["OPENAI_API_KEY"]), Err(Trouble::Unreadable));
    let model = found(about, &[None, openai], &[]);
    assert_eq!(model, Ok(Answer::About(About { model: Some("m".into()), facts: Vec::new() })));
}

#[test]
fn mcp_servers() {
    let text = "Configured MCP servers:\n\n✓ hay: /bin/true a (stdio) - Connected\n";
    let Ok(Answer::Mcp(servers)) = heard(mcp, &printed(text, "", 0)) else { panic!("unread") };
    assert_eq!((servers.len(), servers[0].state), (1, McpState::Connected));
    let none = heard(mcp, &printed("No MCP servers configured.\n", "", 0));
    assert_eq!(none, Ok(Answer::Mcp(Vec::new())));
}
