//! OpenCode's answers, recorded from 1.18.33 with invented accounts.

use super::*;
use crate::manage::testing::{heard, printed, recorded};

#[test]
fn version_and_logins() {
    let version = heard(parse::version, &recorded("opencode", "version", 0));
    assert_eq!(version, Ok(Answer::Version("1.18.33".into())));
    let out = heard(login, &recorded("opencode", "logged-out", 0));
    assert_eq!(out, Ok(Answer::Login(Login::no())));
    let yes = Login::yes(None, "Anthropic (oauth), OpenRouter (api), OpenAI (OPENAI_API_KEY)");
    assert_eq!(heard(login, &recorded("opencode", "logged-in", 0)), Ok(Answer::Login(yes)));
    // A number that does not fit its list, or no frame at all.
    for text in ["┌  C\n●  A oauth\n└  2 credentials\n", "●  A oauth\n", "1 credential", ""]
    {
        assert_eq!(heard(login, &printed(text, "", 0)), Err(Trouble::Unreadable), "{text}");
    }
}

#[test]
fn models_and_default_model() {
    let Ok(Answer::Models(models)) = heard(models, &recorded("opencode", "models-free", 0)) else {
        panic!("unread");
    };
    assert_eq!((models.len(), models[0].id.as_str()), (8, "opencode/big-pickle"));
    let Ok(Answer::About(about)) = heard(about, &recorded("opencode", "config", 0)) else {
        panic!("unread");
    };
    assert_eq!(about.model.as_deref(), Some("mock/mock-model"));
    assert_eq!(heard(super::about, &printed("[]", "", 0)), Err(Trouble::Unreadable));
    assert_eq!(heard(super::models, &printed("no models here", "", 0)), Err(Trouble::Unreadable));
}

#[test]
fn mcp_servers() {
    assert_eq!(heard(mcp, &recorded("opencode", "mcp-none", 0)), Ok(Answer::Mcp(Vec::new())));
    let Ok(Answer::Mcp(servers)) = heard(mcp, &recorded("opencode", "mcp", 0)) else {
        panic!("unread");
    };
    let rows: Vec<_> = servers
        .iter()
        .map(|server| (server.name.as_str(), server.state, server.target.as_deref().unwrap()))
        .collect();
    let expected = [
        ("hay", McpState::Failed, "/bin/true"),
        ("oats", McpState::Failed, "http://127.0.0.1:9/mcp"),
        ("barn", McpState::Disabled, "/bin/true"),
    ];
    assert_eq!(rows, expected);
    let reason = "MCP error -32000: Connection closed";
    let said: Vec<_> = servers.iter().map(|server| server.detail.as_deref()).collect();
    assert_eq!((said.first(), said.last()), (Some(&Some(reason)), Some(&Some("disabled"))));
    let odd =
        "┌  M\n●  ⚠ a needs authentication\n│  https://h/x?k=1\n●  ✓ b connected\n│  b\n└  2\n";
    let Ok(Answer::Mcp(servers)) = heard(mcp, &printed(odd, "", 0)) else { panic!("unread") };
    let states: Vec<_> = servers.iter().map(|server| server.state).collect();
    assert_eq!(states, [McpState::NeedsLogin, McpState::Connected]);
    assert_eq!(heard(mcp, &printed("hello", "", 0)), Err(Trouble::Unreadable));
}

#[test]
fn chats() {
    let none = heard(super::chats, &printed("", "", 0));
    assert_eq!(none, Ok(Answer::Chats(Vec::new())));
    let Ok(Answer::Chats(chats)) = heard(super::chats, &recorded("opencode", "sessions", 0)) else {
        panic!("unread");
    };
    let first = Chat {
        id: "ses_e1abcea92ffezGr1k4TJR3Qb1t".into(),
        title: Some("mock title".into()),
        updated_ms: Some(1_794_847_743_400),
        updated: None,
    };
    assert_eq!((chats.len(), chats.first()), (2, Some(&first)));
    assert_eq!(heard(super::chats, &printed("{}", "", 0)), Err(Trouble::Unreadable));
}
