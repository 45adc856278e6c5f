//! Cursor's answers, of 2026.01 in words and of 2026.10 in JSON, with invented accounts.

use super::*;
use crate::manage::McpState;
use crate::manage::testing::{heard, nothing, printed, recorded};

fn rider() -> Answer {
    Answer::Login(Login::yes(Some("rider@example.com".into()), "Cursor account"))
}

#[test]
fn the_login_in_json_and_in_words() {
    assert_eq!(heard(login, &recorded("cursor", "status-json", 0)), Ok(rider()));
    assert_eq!(heard(login, &recorded("cursor", "status-2026.01", 0)), Ok(rider()));
    let out = recorded("cursor", "status-json-logged-out", 0);
    assert_eq!(heard(login, &out), Ok(Answer::Login(Login::no())));
    let words = printed("\n Not logged in\n", "", 0);
    assert_eq!(heard(login, &words), Ok(Answer::Login(Login::no())));
    let key = login(&Heard { output: Some(&out), set: &["CURSOR_API_KEY"], ..nothing() });
    assert_eq!(key, Ok(Answer::Login(Login::unknown("CURSOR_API_KEY is set, not tried"))));
    for text in ["", "{}", "{\"isAuthenticated\":1}", "Logged in as", "error: unknown option", "✓"]
    {
        assert_eq!(heard(login, &printed(text, "", 0)), Err(Trouble::Unreadable), "{text}");
    }
}

#[test]
fn about_in_json_and_in_words() {
    let ask = |name| match heard(about, &recorded("cursor", name, 0)) {
        Ok(Answer::About(about)) => about,
        other => panic!("{other:?}"),
    };
    let new = ask("about-json");
    assert_eq!(new.model.as_deref(), Some("Composer 2"));
    assert!(!new.facts.iter().any(|(name, _)| name == "lastRequestId"));
    let old = ask("about-2026.01");
    assert_eq!(old.model.as_deref(), Some("Claude 4.6 Opus (Thinking)"));
    assert!(old.facts.contains(&("User Email".into(), "rider@example.com".into())));
    assert_eq!(heard(about, &printed("{}", "", 0)), Err(Trouble::Unreadable));
}

#[test]
fn models() {
    let Ok(Answer::Models(models)) = heard(super::models, &recorded("cursor", "models", 0)) else {
        panic!("unread");
    };
    assert_eq!(models.len(), 6);
    let default: Vec<_> = models.iter().filter(|model| model.default).collect();
    let opus = Model {
        id: "opus-4.6-thinking".into(),
        name: Some("Claude 4.6 Opus (Thinking)".into()),
        default: true,
        current: true,
    };
    assert_eq!(default, [&opus]);
    let apart = "auto - Auto (default)\ngpt-6 - GPT 6 (current)\nopus - Opus (Thinking)\n";
    let Ok(Answer::Models(models)) = heard(super::models, &printed(apart, "", 0)) else {
        panic!("unread");
    };
    let marks: Vec<_> = models.iter().map(|model| (model.default, model.current)).collect();
    assert_eq!(marks, [(true, false), (false, true), (false, false)]);
    assert_eq!(models[2].name.as_deref(), Some("Opus (Thinking)"));
    assert_eq!(
        heard(super::models, &printed("Available models\n", "", 0)),
        Err(Trouble::Unreadable)
    );
    let refused = heard(super::models, &printed("", "Error: Authentication required.", 1));
    assert_eq!(refused, Err(Trouble::Refused("Error: Authentication required.".into())));
}

#[test]
fn mcp_servers() {
    let Ok(Answer::Mcp(servers)) = heard(mcp, &recorded("cursor", "mcp", 0)) else {
        panic!("unread");
    };
    let rows: Vec<_> = servers.iter().map(|server| (server.name.as_str(), server.state)).collect();
    let expected = [
        ("hay", McpState::NeedsApproval),
        ("oats", McpState::Connected),
        ("barn", McpState::Disabled),
        ("trough", McpState::Unknown),
    ];
    assert_eq!(rows, expected);
    assert_eq!(heard(mcp, &recorded("cursor", "mcp-none", 0)), Ok(Answer::Mcp(Vec::new())));
    assert_eq!(heard(mcp, &printed("what", "", 0)), Err(Trouble::Unreadable));
}

#[test]
fn a_new_chat_is_an_id_and_nothing_else() {
    let id = "0b7c6f0e-0000-4000-8000-000000000001";
    let answer = heard(new_chat, &printed(&format!("{id}\n"), "", 0));
    assert_eq!(answer, Ok(Answer::Created(id.into())));
    assert_eq!(heard(new_chat, &printed("--force\n", "", 0)), Err(Trouble::Unreadable));
    let refused = heard(new_chat, &printed("", "Error: Authentication required.", 1));
    assert!(matches!(refused, Err(Trouble::Refused(_))));
}
