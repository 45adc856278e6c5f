//! What the pieces make of good, odd and hostile input.

use super::*;
use proptest::prelude::*;

#[test]
fn json_is_found_behind_warnings_and_configurations_may_have_comments() {
    assert_eq!(json(b"(node) warning\n{\"a\":1}"), Some(serde_json::json!({"a": 1})));
    assert_eq!(json(b"no json"), None);
    let text = br#"{ // why
        "a": "x // \" not a comment", /* gone
        */ "b": [1, 2,],
    }"#;
    let expected = serde_json::json!({"a": "x // \" not a comment", "b": [1, 2]});
    assert_eq!(config(text), Some(expected));
}

#[test]
fn addresses_and_names_lose_what_may_be_secret() {
    let table = [
        ("https://u:p@host.example/mcp?token=x#y", "https://host.example/mcp"),
        ("https://host.example", "https://host.example"),
        ("https://h.example/s/0123456789abcdef0123456789/sse", "https://h.example/s/[hidden]/sse"),
        ("/usr/bin/server --api-key x", "/usr/bin/server"),
    ];
    for (given, shown) in table {
        assert_eq!(target(given).as_deref(), Some(shown), "{given}");
    }
    let table = [
        ("API key configured - sk-fake-***bcdef", "API key configured - [hidden]"),
        ("token eyJhbGciOiJSUzI1NiJ9.eyJlbWFpbCI6.x", "token [hidden].[hidden].x"),
        ("plain words, 2026.10.01-e373342", "plain words, 2026.10.01-e373342"),
    ];
    for (given, shown) in table {
        assert_eq!(hide_secrets(given), shown);
    }
}

#[test]
fn an_address_of_a_person_is_found() {
    assert_eq!(email(" ✓ Logged in as <rider@example.com>.").as_deref(), Some("rider@example.com"));
    for text in ["", "@", "a@b", "a@b.", "a@@b.c", "@b.c", "no address"] {
        assert_eq!(email(text), None, "{text}");
    }
}

#[test]
fn a_setting_at_the_top_of_a_toml_file_is_found() {
    let text = b"# model = \"no\"\nmodel = \"gpt-x\" # why\n[profiles.a]\nmodel = \"other\"\n";
    assert_eq!(toml_string(text, "model").as_deref(), Some("gpt-x"));
    assert_eq!(toml_string(b"[t]\nmodel = \"x\"", "model"), None);
    assert_eq!(toml_string(b"model = 3", "model"), None);
}

#[test]
fn a_file_of_variables_counts_only_when_it_sets_one() {
    assert!(sets_variable(b"export KEY='x'\n", &["KEY"]));
    for text in [&b"# KEY=x"[..], b"KEY=", b"KEY=\"\"", b"OTHER=x"] {
        assert!(!sets_variable(text, &["KEY"]));
    }
}

proptest! {
    #[test]
    fn any_bytes_are_taken(bytes: Vec<u8>) {
        let text = plain(&bytes);
        let _ = (json(&bytes), config(&bytes), email(&text), target(&text), mcp_state(&text));
        let _ = (claims(&text), toml_string(&bytes, "model"), sets_variable(&bytes, &["A"]));
        let shown = hide_secrets(&[text.as_str(), " sk-abc123 "].concat());
        prop_assert!(!shown.contains("sk-abc123"));
    }

    #[test]
    fn any_text_is_taken(text in "[\\PC\n\"/*{}\\[\\],:.@=#-]{0,80}") {
        let _ = (json(text.as_bytes()), config(text.as_bytes()), email(&text), target(&text));
        let _ = (claims(&text), toml_string(text.as_bytes(), "model"), mcp_state(&text));
    }
}
