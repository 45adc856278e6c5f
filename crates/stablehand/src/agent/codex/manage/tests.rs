//! Codex's answers, recorded from 0.166.0 with invented accounts.

use super::*;
use crate::manage::testing::{file_of, heard, nothing, printed, recorded, transcript};

fn login_with(
    name: &str,
    code: i32,
    files: &[Option<Vec<u8>>],
    set: &[&'static str],
) -> Result<Answer, Trouble> {
    let output = recorded("codex", name, code);
    login(&Heard { output: Some(&output), files, set, ..nothing() })
}

#[test]
fn version_and_login() {
    let version = heard(parse::version, &recorded("codex", "version", 0));
    assert_eq!(version, Ok(Answer::Version("0.166.0".into())));
    let no = Ok(Answer::Login(Login::no()));
    assert_eq!(login_with("logged-out", 1, &[], &[]), no);
    let key = [file_of("codex", "auth-api-key.json"), None];
    let by_key = Ok(Answer::Login(Login::yes(None, "API key")));
    assert_eq!(login_with("api-key", 0, &key, &[]), by_key);
    let chatgpt = [file_of("codex", "auth-chatgpt.json"), None];
    let rider = Login::yes(Some("rider@example.com".into()), "ChatGPT account");
    assert_eq!(login_with("chatgpt", 0, &chatgpt, &[]), Ok(Answer::Login(rider)));
    let nobody_known = Ok(Answer::Login(Login::yes(None, "ChatGPT account")));
    assert_eq!(login_with("chatgpt", 0, &[Some(b"{".to_vec())], &[]), nobody_known);
}

#[test]
fn a_login_that_it_does_not_know_of_is_not_denied() {
    let unknown = |text: &str| Ok(Answer::Login(Login::unknown(text)));
    let key = login_with("logged-out", 1, &[], &["CODEX_API_KEY"]);
    assert_eq!(key, unknown("CODEX_API_KEY is set, not tried"));
    let config = [None, Some(b"model_provider = \"local\"\n".to_vec())];
    let provider = login_with("logged-out", 1, &config, &[]);
    assert_eq!(provider, unknown("left to the model provider `local`"));
    let config = [None, Some(b"model_provider = \"openai\"\n".to_vec())];
    assert_eq!(login_with("logged-out", 1, &config, &[]), Ok(Answer::Login(Login::no())));
    // The right words with the wrong code, and the other way round.
    for (text, code) in [("Logged in using ChatGPT", 1), ("Not logged in", 0), ("Angemeldet", 0)] {
        let answer = heard(login, &printed("", text, code));
        assert_eq!(answer, Err(Trouble::Unreadable), "{text}");
    }
}

#[test]
fn models_are_those_on_its_own_list_in_its_order() {
    let Ok(Answer::Models(models)) = heard(models, &recorded("codex", "models", 0)) else {
        panic!("unread");
    };
    let ids: Vec<_> = models.iter().map(|model| model.id.as_str()).collect();
    let first = ["gpt-6.1-sol", "gpt-6-astra", "gpt-6-sol"];
    assert_eq!(ids.get(..3), Some(&first[..]));
    assert_eq!(ids.len(), 9);
    assert!(!ids.contains(&"codex-auto-review"), "it is hidden");
    for text in ["", "[]", "{\"models\":{}}", "{\"models\":[]}", "{\"models\":[{\"slug\":3}]}"] {
        assert_eq!(heard(super::models, &printed(text, "", 0)), Err(Trouble::Unreadable));
    }
}

#[test]
fn mcp_servers_without_their_secrets() {
    assert_eq!(heard(mcp, &recorded("codex", "mcp-none", 0)), Ok(Answer::Mcp(Vec::new())));
    let output = recorded("codex", "mcp", 0);
    assert!(String::from_utf8_lossy(&output.stdout).contains("verysecret"));
    let answer = heard(mcp, &output).unwrap();
    assert!(!format!("{answer:?}").contains("verysecret"));
    let Answer::Mcp(servers) = answer else { panic!("not servers") };
    let rows: Vec<_> = servers
        .iter()
        .map(|server| (server.name.as_str(), server.state, server.target.as_deref().unwrap()))
        .collect();
    let expected = [
        ("hay", McpState::Enabled, "/bin/true"),
        ("oats", McpState::Enabled, "http://127.0.0.1:9/mcp"),
        ("token", McpState::Enabled, "/bin/true"),
    ];
    assert_eq!(rows, expected);
    let odd = r#"[{"name":"a","enabled":false},{"name":"b","enabled":true,"auth_status":"not_logged_in"},{"name":"c"}]"#;
    let Ok(Answer::Mcp(servers)) = heard(mcp, &printed(odd, "", 0)) else { panic!("unread") };
    let states: Vec<_> = servers.iter().map(|server| server.state).collect();
    assert_eq!(states, [McpState::Disabled, McpState::NeedsLogin, McpState::Unknown]);
    assert_eq!(heard(mcp, &printed("{}", "", 0)), Err(Trouble::Unreadable));
}

#[test]
fn the_default_model_is_at_the_top_of_its_configuration() {
    let ask = |text: &str| {
        let files = [Some(text.as_bytes().to_vec())];
        match about(&Heard { files: &files, ..nothing() }) {
            Ok(Answer::About(about)) => about.model,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(ask("model = \"gpt-5.5\"\n[mcp_servers.hay]\n").as_deref(), Some("gpt-5.5"));
    assert_eq!(ask("[profiles.x]\nmodel = \"gpt-5.5\"\n"), None);
}

#[test]
fn logging_out() {
    for name in ["logout", "logout-nobody"] {
        assert!(matches!(heard(done, &recorded("codex", name, 0)), Ok(Answer::Done(_))));
    }
    let refused = heard(done, &recorded("codex", "mcp-login-unknown", 1));
    let words = "Error: No MCP server named 'nosuch' found.";
    assert_eq!(refused, Err(Trouble::Refused(words.into())));
}

#[test]
fn chats_of_this_folder_by_their_transcripts() {
    let one = transcript("codex", "transcript", "rollout-x");
    let torn = Transcript { head: one.head.iter().copied().take(100).collect(), ..one.clone() };
    let transcripts = [one, torn];
    let heard = Heard { transcripts: Some(&transcripts), ..nothing() };
    let chat = Chat {
        id: "01a1e56e-2450-71b0-a16a-fe9638de7832".into(),
        title: Some("feed the ponies".into()),
        updated_ms: Some(1_794_850_563_000),
        updated: None,
    };
    assert_eq!(chats(&heard), Ok(Answer::Chats(vec![chat])));
    let elsewhere = Heard { work: std::path::Path::new("/elsewhere"), ..heard };
    assert_eq!(chats(&elsewhere), Ok(Answer::Chats(Vec::new())));
}
