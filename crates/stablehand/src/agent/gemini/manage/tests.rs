//! The Gemini CLI's answers, recorded from 0.61.0, and the logins that its files can say.

use super::*;
use crate::manage::McpState;
use crate::manage::testing::{found, heard, printed, recorded};

const KEY: &str = r#"{"security":{"auth":{"selectedType":"gemini-api-key"}}}"#;
const GOOGLE: &str = r#"{ // chosen by /auth
    "security": { "auth": { "selectedType": "oauth-personal", }, },
}"#;
const ACCOUNT: &str = r#"{"active":"rider@example.com","old":[]}"#;

#[test]
fn the_login_by_files_and_variables() {
    let files = |settings, creds, stored, account, env| {
        [None, settings, creds, stored, account, None, None, env, None]
    };
    let yes = |account: Option<&str>, method| Login::yes(account.map(Into::into), method);
    let rider = yes(Some("rider@example.com"), "Google account");
    let table: [(_, &[&'static str], Login); 9] = [
        (files(None, None, None, None, None), &[], Login::no()),
        (files(None, None, None, None, None), &["GEMINI_API_KEY"], yes(None, "API key")),
        (files(Some(KEY), None, None, None, None), &["GEMINI_API_KEY"], yes(None, "API key")),
        (files(Some(KEY), None, None, None, Some("GEMINI_API_KEY=x")), &[], yes(None, "API key")),
        (files(Some(KEY), None, Some("x"), None, None), &[], yes(None, "stored API key")),
        (
            files(Some(KEY), None, None, None, None),
            &[],
            Login::unknown("an API key is chosen, but GEMINI_API_KEY is not set"),
        ),
        (files(Some(GOOGLE), Some("{}"), None, Some(ACCOUNT), None), &["GEMINI_API_KEY"], rider),
        (files(Some(GOOGLE), None, None, Some(ACCOUNT), None), &[], Login::no()),
        (
            files(None, None, None, None, None),
            &["GOOGLE_GENAI_USE_GCA"],
            Login::unknown("by the credentials of Google Cloud"),
        ),
    ];
    for (files, set, expected) in table {
        assert_eq!(found(login, &files, set), Ok(Answer::Login(expected)), "{files:?} {set:?}");
    }
    let torn = [None, Some("{ torn"), None, None, None];
    assert_eq!(found(login, &torn, &["GEMINI_API_KEY"]), Err(Trouble::Unreadable));
}

#[test]
fn version_and_default_model() {
    let version = heard(parse::version, &recorded("gemini", "version", 0));
    assert_eq!(version, Ok(Answer::Version("0.61.0".into())));
    let model = |text| match found(about, &[None, Some(text)], &[]) {
        Ok(Answer::About(about)) => about.model,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        model(r#"{"model":{"name":"gemini-3.8-flash"}}"#).as_deref(),
        Some("gemini-3.8-flash")
    );
    assert_eq!(model(KEY), None);
}

#[test]
fn mcp_servers_are_on_standard_error() {
    assert_eq!(heard(mcp, &recorded("gemini", "mcp-none", 0)), Ok(Answer::Mcp(Vec::new())));
    for (name, state) in [("mcp", McpState::Failed), ("mcp-untrusted", McpState::Disabled)] {
        let Ok(Answer::Mcp(servers)) = heard(mcp, &recorded("gemini", name, 0)) else {
            panic!("unread");
        };
        let rows: Vec<_> = servers
            .iter()
            .map(|server| (server.name.as_str(), server.state, server.target.as_deref().unwrap()))
            .collect();
        let expected = [
            ("hay", state, "/bin/true"),
            ("oats", state, "http://127.0.0.1:9/mcp"),
            ("barn", state, "http://127.0.0.1:9/sse"),
        ];
        assert_eq!(rows, expected, "{name}");
    }
    assert_eq!(heard(mcp, &printed("", "[DEP0040] Warning", 0)), Err(Trouble::Unreadable));
}

#[test]
fn a_refusal_with_exit_code_0_is_a_refusal() {
    let answer = heard(switched, &recorded("gemini", "mcp-enable-unknown", 0));
    assert!(
        matches!(&answer, Err(Trouble::Refused(said)) if said.contains("nosuch")),
        "{answer:?}"
    );
    let done = heard(switched, &printed("", "\u{1b}[32m✓\u{1b}[0m MCP server 'hay' enabled.\n", 0));
    assert_eq!(done, Ok(Answer::Done("MCP server 'hay' enabled.".into())));
}

#[test]
fn chats() {
    let none = heard(super::chats, &recorded("gemini", "sessions-none", 0));
    assert_eq!(none, Ok(Answer::Chats(Vec::new())));
    let Ok(Answer::Chats(chats)) = heard(super::chats, &recorded("gemini", "sessions", 0)) else {
        panic!("unread");
    };
    let first = Chat {
        id: "33855b01-ea8c-4e81-b682-9e0073479bb1".into(),
        title: Some("feed the ponies".into()),
        updated_ms: None,
        updated: Some("Just now".into()),
    };
    assert_eq!((chats.len(), chats.first()), (2, Some(&first)));
    let out = heard(super::chats, &recorded("gemini", "sessions-logged-out", 41));
    assert!(matches!(&out, Err(Trouble::Refused(said)) if said.contains("Auth method")));
}
