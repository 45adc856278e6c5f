//! Claude Code's answers, recorded from 2.1.325 with invented accounts.

use super::*;
use crate::manage::McpState;
use crate::manage::testing::{found, heard, nothing, printed, recorded, transcript};

fn yes(account: Option<&str>, method: &str) -> Answer {
    Answer::Login(Login::yes(account.map(Into::into), method))
}

#[test]
fn version_and_login() {
    let version = heard(parse::version, &recorded("claude", "version", 0));
    assert_eq!(version, Ok(Answer::Version("2.1.325".into())));
    let table = [
        ("logged-out", 1, Answer::Login(Login::no())),
        ("logged-in", 0, yes(Some("rider@example.com"), "claude.ai account, max")),
        ("api-key", 0, yes(None, "API key (ANTHROPIC_API_KEY)")),
        ("oauth-token", 0, yes(None, "token from the environment")),
        ("bedrock", 0, yes(None, "bedrock")),
    ];
    for (name, code, expected) in table {
        assert_eq!(heard(login, &recorded("claude", name, code)), Ok(expected), "{name}");
    }
    for text in ["", "{}", "{\"loggedIn\":\"true\"}", "{\"loggedIn\":tr", "Logged in"] {
        assert_eq!(heard(login, &printed(text, "", 0)), Err(Trouble::Unreadable), "{text}");
    }
}

#[test]
fn the_nearer_settings_name_the_model() {
    let user = Some(r#"{ "model": "opus" }"#);
    let model = |files: &[Option<&str>]| match found(about, files, &[]) {
        Ok(Answer::About(about)) => about.model,
        other => panic!("{other:?}"),
    };
    assert_eq!(model(&[None, None, user]).as_deref(), Some("opus"));
    assert_eq!(model(&[None, Some(r#"{"model":"haiku"}"#), user]).as_deref(), Some("haiku"));
    assert_eq!(model(&[Some("{}"), None, Some("")]), None);
    assert_eq!(found(about, &[Some("{ torn"), None, user], &[]), Err(Trouble::Unreadable));
}

#[test]
fn mcp_servers() {
    assert_eq!(heard(mcp, &recorded("claude", "mcp-none", 0)), Ok(Answer::Mcp(Vec::new())));
    let Ok(Answer::Mcp(servers)) = heard(mcp, &recorded("claude", "mcp", 0)) else {
        panic!("unread");
    };
    let rows: Vec<_> = servers
        .iter()
        .map(|server| (server.name.as_str(), server.state, server.target.as_deref().unwrap()))
        .collect();
    let expected = [
        ("paddock", McpState::NeedsApproval, "/bin/true"),
        ("hay", McpState::Failed, "/bin/true"),
        ("oats", McpState::Failed, "http://127.0.0.1:9/mcp"),
    ];
    assert_eq!(rows, expected);
    let odd = printed(
        "a: prog - x --key k - ✔ Connected\nb: https://h/x?k=1 (HTTP) - △ Needs authentication\n",
        "",
        0,
    );
    let Ok(Answer::Mcp(servers)) = heard(mcp, &odd) else { panic!("unread") };
    let states: Vec<_> = servers.iter().map(|server| server.state).collect();
    assert_eq!(states, [McpState::Connected, McpState::NeedsLogin]);
    assert_eq!(servers[0].target.as_deref(), Some("prog"));
    assert_eq!(servers[1].target.as_deref(), Some("https://h/x"));
    assert_eq!(heard(mcp, &printed("something else", "", 0)), Err(Trouble::Unreadable));
}

#[test]
fn logging_out_twice_is_no_failure() {
    for name in ["logout", "logout-again"] {
        assert!(matches!(heard(done, &recorded("claude", name, 0)), Ok(Answer::Done(_))));
    }
}

#[test]
fn chats_by_their_transcripts() {
    let id = "e80cf0e9-3ad2-4429-81df-443b716658e1";
    let one = transcript("claude", "transcript", id);
    let sub_agent = Transcript { name: "agent-1".into(), ..one.clone() };
    let empty = Transcript { head: Vec::new(), name: id.replace('e', "f"), ..one.clone() };
    let transcripts = [one, sub_agent, empty];
    let answer = chats(&Heard { transcripts: Some(&transcripts), ..nothing() });
    let chat = |id: &str, title: Option<&str>| Chat {
        id: id.into(),
        title: title.map(Into::into),
        updated_ms: Some(1_794_850_563_000),
        updated: None,
    };
    let expected = vec![chat(id, Some("feed the ponies")), chat(&id.replace('e', "f"), None)];
    assert_eq!(answer, Ok(Answer::Chats(expected)));
    assert_eq!(chats(&nothing()), Err(Trouble::Unreadable));
}
