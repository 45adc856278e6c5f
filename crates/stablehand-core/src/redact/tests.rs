//! Known values, texts in pieces, and what holds for any text.

use super::rules::RULES;
use super::*;
use base64::Engine as _;
use proptest::prelude::*;
use serde_json::json;

/// Assembled here, so that nothing in this file looks like a secret.
fn token() -> String {
    format!("gh{}_{}", 'p', "a1B2c3D4e5F6".repeat(3))
}

fn knows(value: &str) -> Redactor {
    Redactor::builder().value(value).build()
}

#[test]
fn every_pattern_compiles_and_fits_the_mask() {
    assert!(RULES.len() <= 128);
    for rule in RULES {
        assert!(Regex::new(rule.pattern).is_ok(), "{}", rule.kind);
        assert!(!rule.words.is_empty(), "{}", rule.kind);
        assert!(rule.words.iter().all(|word| word.to_ascii_lowercase() == *word), "{}", rule.kind);
    }
}

#[test]
fn equal_secrets_have_equal_markers_under_one_salt() {
    let (one, other) = (Redactor::builder().salt(1).build(), Redactor::builder().salt(2).build());
    let token = token();
    assert_eq!(one.redact(&token), one.redact(&token));
    assert_ne!(one.redact(&token), other.redact(&token));
    let plain = one.redact(&token).into_owned();
    assert_eq!(one.redact(&format!("again {token}!")), format!("again {plain}!"));
}

#[test]
fn known_values_are_found_in_every_encoding() {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    let value = "öl & \"feuer\" ?>~ 77/a+b=c";
    let redactor = knows(value);
    let marker = redactor.redact(value).into_owned();
    assert!(marker.starts_with("[redacted:known-value:"), "{marker}");
    let percent = "%C3%B6l%20%26%20%22feuer%22%20%3F%3E~%2077%2Fa%2Bb%3Dc";
    let lower = percent.to_ascii_lowercase();
    let escaped = serde_json::to_string(value).unwrap();
    for text in [percent.to_owned(), lower, escaped.trim_matches('"').to_owned()] {
        assert_eq!(redactor.redact(&format!("<{text}>")), format!("<{marker}>"));
    }
    for ahead in ["", "a", "ab", "abc"] {
        for behind in ["", "z", "yz"] {
            let text = format!("{ahead}{value}{behind}");
            for code in [STANDARD.encode(&text), URL_SAFE.encode(&text)] {
                let safe = redactor.redact(&code).into_owned();
                assert!(safe.contains(&marker), "{code}");
                let left = safe.replace(&marker, "");
                assert!(left.len() <= 12, "{left} is left of {code}");
            }
        }
    }
}

#[test]
fn what_was_cut_short_is_found_too() {
    let redactor = knows("kN0wn-Value_42");
    for text in [format!("run {}…", token().get(..12).unwrap()), "say kN0wn-Va…".to_owned()] {
        let safe = redactor.redact(&text);
        assert!(safe.contains(" [redacted:") && safe.ends_with("]…"), "{safe}");
    }
    assert_eq!(
        redactor.redact("a long story about hf_… and key…"),
        "a long story about hf_… and key…"
    );
}

#[test]
fn short_values_and_harmless_variables_are_not_taken() {
    assert_eq!(knows("short").redact("a short one"), "a short one");
    let table = [
        ("OPENAI_API_KEY", "abcdefgh1", true),
        ("github_token", "abcdefgh1", true),
        ("DB_PASS", "abcdefgh1", true),
        ("NPM_AUTH", "abcdefgh1", true),
        ("SSH_AUTH_SOCK", "/run/user/1000/keyring/ssh", false),
        ("GIT_AUTHOR_NAME", "Jane Doe the Elder", false),
        ("MAX_OUTPUT_TOKENS", "1000000000", false),
        ("TOKENIZERS_PARALLELISM", "disabled", false),
        ("OLDPWD", "/home/me/work", false),
        ("API_KEY", "short", false),
        ("HOME", "abcdefgh1", false),
    ];
    for (name, value, secret) in table {
        assert_eq!(is_secret_variable(name, value), secret, "{name}");
    }
    let redactor = Redactor::builder().variables(table.map(|row| (row.0, row.1))).build();
    assert_eq!(redactor.redact("Jane Doe the Elder"), "Jane Doe the Elder");
    assert_ne!(redactor.redact("abcdefgh1"), "abcdefgh1");
}

#[test]
fn a_value_that_reads_like_a_marker_does_no_harm() {
    let redactor = knows("redacted");
    let once = redactor.redact("it was redacted").into_owned();
    assert!(once.starts_with("it was [redacted:known-value:"), "{once}");
    assert_eq!(redactor.redact(&once), once);
}

#[test]
fn json_keeps_its_shape_and_its_names() {
    let redactor = Redactor::new();
    let token = token();
    let mut value = json!({
        "text": format!("see {token}"), "n": 1, "deep": [[{"a": token}]],
        "api_key": "zQ81xV7pLm20sK4w", "max_tokens": "1234567890ab", "id": "zQ81xV7pLm20sK4w",
    });
    value[token.clone()] = json!("names are left alone");
    let text = value.to_string();
    redactor.redact_json(&mut value);
    let marker = redactor.redact(&token).into_owned();
    assert_eq!(value["text"], json!(format!("see {marker}")));
    assert_eq!(value["deep"], json!([[{ "a": marker }]]));
    assert!(value["api_key"].as_str().unwrap().starts_with("[redacted:assigned:"));
    assert_eq!(value["id"], "zQ81xV7pLm20sK4w");
    assert_eq!(value[&token], "names are left alone");
    let again: serde_json::Value = serde_json::from_str(&redactor.redact_json_text(&text)).unwrap();
    assert_eq!(again, value);
    // Nothing else is touched: order, numbers, spaces.
    let odd = format!(r#"{{ "z" : 1.50, "a" : "{token}" , "m":1e3 }}"#);
    assert_eq!(
        redactor.redact_json_text(&odd),
        format!(r#"{{ "z" : 1.50, "a" : "{marker}" , "m":1e3 }}"#)
    );
    let torn = format!(r#"{{"a":"b","c":"{token}"#);
    assert_eq!(redactor.redact_json_text(&torn), format!(r#"{{"a":"b","c":"{marker}"#));
}

#[test]
fn arguments_in_a_string_in_a_string_are_seen() {
    let redactor = Redactor::new();
    let inner = json!({ "client_secret": "zQ81xV7pLm20sK4w" }).to_string();
    let middle = json!({ "arguments": inner }).to_string();
    let outer = json!({ "line": middle }).to_string();
    let safe = redactor.redact_json_text(&outer);
    assert!(!safe.contains("zQ81xV7pLm20sK4w"), "{safe}");
}

#[test]
fn the_word_behind_an_option_is_taken_out_of_a_command_line_in_an_array() {
    let redactor = Redactor::new();
    let mut value = json!({ "argv": ["mysql", "--password", "pony", "--db-token", "\"q\"", "app"],
        "usage": ["--password", "$PASSWORD", "--token", "--force"], "b": ["x", "--token"], "c": "d" });
    let line = value.to_string();
    redactor.redact_json(&mut value);
    let words = value["argv"].to_string();
    assert_eq!(words.matches("[redacted:password:").count(), 2, "{words}");
    assert!(!words.contains("pony") && words.contains("app"), "{words}");
    assert_eq!(value["usage"], json!(["--password", "$PASSWORD", "--token", "--force"]));
    assert_eq!(value["c"], "d");
    let text: serde_json::Value = serde_json::from_str(&redactor.redact_json_text(&line)).unwrap();
    assert_eq!(text, value);
}

fn in_pieces(redactor: &Redactor, pieces: &[&str]) -> String {
    let mut flow = Flow::default();
    let mut out: String = pieces.iter().map(|piece| flow.push(redactor, piece)).collect();
    out.push_str(&flow.finish(redactor));
    out
}

#[test]
fn a_flow_shows_plain_words_at_once() {
    let redactor = Redactor::new();
    let mut flow = Flow::default();
    for piece in ["Hello", " won", "derful", " World.", " It", " works:", "\n- yes", ", really!"] {
        assert_eq!(flow.push(&redactor, piece), piece);
        assert!(!flow.holds_some());
    }
    assert_eq!(flow.finish(&redactor), "");
}

/// Each secret in pieces of every size: no four characters of it are shown, whatever stands around.
#[test]
fn no_part_of_a_secret_in_pieces_is_shown() {
    let values = ["correcthorsebattery", "blue pony 4711 & oats", "two\nlines of 7"];
    let mut builder = Redactor::builder();
    for value in values {
        builder = builder.value(value);
    }
    let redactor = builder.build();
    let coded = base64::engine::general_purpose::STANDARD.encode("me:correcthorsebattery");
    let cases = [
        (token(), "a1B2"),
        (values[0].to_owned(), "horse"),
        (values[1].to_owned(), "pony"),
        (values[2].to_owned(), "lines"),
        (coded, "b3JzZ"),
        ("--password s3cr3tpw".to_owned(), "cr3t"),
        ("--password 'open sesame'".to_owned(), "sesa"),
        ("--password=hunter".to_owned(), "unte"),
        ("curl -u me:hunterx".to_owned(), "unte"),
        ("https://me:hunterx@host/".to_owned(), "unte"),
        ("machine h login me password hunter".to_owned(), "unte"),
        ("AWS_SECRET_ACCESS_KEY=wJa1rXU7nF3MI/K7".to_owned(), "rXU7"),
    ];
    for (secret, part) in cases {
        for size in 1..20 {
            let text = format!("see this: {secret} and then\nthe rest");
            let letters: Vec<char> = text.chars().collect();
            let pieces: Vec<String> = letters.chunks(size).map(|c| c.iter().collect()).collect();
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let safe = in_pieces(&redactor, &pieces);
            assert!(!safe.contains(part) && safe.contains("[redacted:"), "{size}: {safe}");
            assert!(
                safe.starts_with("see this: ") && safe.ends_with(" and then\nthe rest"),
                "{safe}"
            );
            // Something comes between two pieces, and what was held back has to be shown.
            let mut flow = Flow::default();
            let mut out = String::new();
            for piece in &pieces {
                out.push_str(&flow.push(&redactor, piece));
                if size > 9 {
                    out.push_str(&flow.release(&redactor));
                }
            }
            out.push_str(&flow.finish(&redactor));
            assert!(!out.contains(&secret), "{size}: {out}");
        }
    }
}

#[test]
fn a_private_key_among_other_lines_is_left_out() {
    let redactor = Redactor::new();
    let body = "MIIEpAIBAAKCAQEA0123456789abcdefghijklmnopqrstuvwxyz";
    let begin = format!("-----BEGIN {} KEY-----", "PRIVATE");
    let text = format!("12:00 {begin}\n12:00 {body}\nsomebody else\n 7\u{2192}{body}\n> {body}\n");
    let mut lines = Lines::default();
    let safe: String = text.split_inclusive('\n').map(|l| lines.line(&redactor, l)).collect();
    assert!(!safe.contains("MIIE") && safe.contains("somebody else"), "{safe}");
    let letters: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = letters.chunks(3).map(|c| c.iter().collect()).collect();
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let safe = in_pieces(&redactor, &pieces);
    assert!(!safe.contains("IIEpA") && safe.contains("somebody else"), "{safe}");
}

#[test]
fn a_flow_remembers_what_a_value_is_called() {
    let redactor = Redactor::new();
    let safe = in_pieces(&redactor, &["the pass", "word: ", "hunt", "er2-x9", "Q7 ", "is set"]);
    assert!(safe.starts_with("the password: ") && safe.ends_with(" is set"), "{safe}");
    assert!(safe.contains("[redacted:assigned:") && !safe.contains("er2-x9Q7"), "{safe}");
}

#[test]
fn a_private_key_in_lines_is_left_out() {
    let redactor = Redactor::new();
    let body = "MIIEpAIBAAKCAQEA0123456789abcdefghijklmnopqrstuvwxyz+/ABCDEFGH12";
    let begin = format!("-----BEGIN RSA {} KEY-----", "PRIVATE");
    let end = format!("-----END RSA {} KEY-----", "PRIVATE");
    let text = format!("cat key\n{begin}\n{body}\n{body}\nAbC=\n{end}\nthe end\n");
    let mut lines = Lines::default();
    let safe: String = text.split_inclusive('\n').map(|l| lines.line(&redactor, l)).collect();
    assert_eq!(safe.matches("[redacted:private-key:").count(), 3, "{safe}");
    assert!(!safe.contains("MIIE") && !safe.contains("AbC=") && safe.contains("the end\n"));
    for size in [1, 7, 50] {
        let letters: Vec<char> = text.chars().collect();
        let pieces: Vec<String> = letters.chunks(size).map(|c| c.iter().collect()).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let safe = in_pieces(&redactor, &pieces);
        assert!(!safe.contains("MIIE") && !safe.contains("AbC="), "{safe}");
        assert!(safe.contains(&begin) && safe.contains(&end) && safe.ends_with("the end\n"));
    }
}

/// Words that begin forms, separators, markers and pieces of tokens, in any order.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("sk-".to_owned()),
        Just("ghp_".to_owned()),
        Just("eyJ".to_owned()),
        Just("token=".to_owned()),
        Just("password: \"".to_owned()),
        Just("Authorization: Bearer ".to_owned()),
        Just("Cookie: a=".to_owned()),
        Just("https://u:".to_owned()),
        Just("@".to_owned()),
        Just("[redacted:jwt:00ff]".to_owned()),
        Just("[redacted:".to_owned()),
        Just("-----BEGIN PRIVATE KEY-----".to_owned()),
        Just("-----END PRIVATE KEY-----".to_owned()),
        Just("hunter2hunter2".to_owned()),
        "[A-Za-z0-9+/_.-]{1,50}",
        "[ \\n\\t\"'\\\\:=;,]{1,3}",
        ".{0,4}",
        "[äöü€🐎]{1,3}",
    ];
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn twice_is_once_and_nothing_panics(text in hostile()) {
        for redactor in [Redactor::new(), knows("hunter2hunter2"), knows("redacted:")] {
            let once = redactor.redact(&text).into_owned();
            prop_assert_eq!(redactor.redact(&once), once.as_str());
            let line = redactor.redact_json_text(&text).into_owned();
            prop_assert_eq!(redactor.redact_json_text(&line), line.as_str());
        }
    }

    #[test]
    fn json_stays_json(text in hostile(), name in hostile()) {
        let redactor = knows("hunter2hunter2");
        let mut value = json!({ "a": [text, { "b": text }], "c": { &name: text } });
        let line = value.to_string();
        let read: serde_json::Value =
            serde_json::from_str(&redactor.redact_json_text(&line)).unwrap();
        redactor.redact_json(&mut value);
        prop_assert_eq!(read, value);
    }

    #[test]
    fn a_planted_secret_never_survives(before in hostile(), after in hostile(), gap in "[ \\n\"',]") {
        let known = "kN0wn-Value_42";
        let redactor = knows(known);
        let token = token();
        let text = format!("{before}{gap}{token}{gap}{after}{known}{gap}{before}");
        let safe = redactor.redact(&text);
        prop_assert!(!safe.contains(&token) && !safe.contains(known), "{}", safe);
        let line = json!({ "text": text, "list": [text] }).to_string();
        let safe = redactor.redact_json_text(&line);
        prop_assert!(!safe.contains(&token) && !safe.contains(known), "{}", safe);
    }

    #[test]
    fn a_secret_in_pieces_never_survives(
        before in "[a-z .\\n]{0,40}", after in "[ \\n][a-z .]{0,40}", cuts in prop::collection::vec(1usize..12, 1..60),
    ) {
        let known = "kN0wn-Value_42";
        let redactor = knows(known);
        let token = token();
        let text = format!("{before} {token} {known}{after}");
        let mut pieces = Vec::new();
        let mut rest = text.as_str();
        for cut in cuts {
            let at = rest.floor_char_boundary(cut.min(rest.len()));
            let (piece, left) = rest.split_at(at);
            pieces.push(piece);
            rest = left;
        }
        pieces.push(rest);
        let safe = in_pieces(&redactor, &pieces);
        prop_assert!(!safe.contains(&token) && !safe.contains(known), "{}", safe);
        prop_assert!(!safe.contains("1B2c") && !safe.contains("wn-V") && !safe.contains("e_42"), "{}", safe);
        prop_assert!(safe.starts_with(&before) && safe.ends_with(&after), "{}", safe);
    }

    #[test]
    fn a_flow_loses_nothing(text in "[a-z0-9 .,\\n]{0,200}", size in 1usize..20) {
        let redactor = Redactor::new();
        let letters: Vec<char> = text.chars().collect();
        let pieces: Vec<String> = letters.chunks(size).map(|c| c.iter().collect()).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let whole = redactor.redact(&text);
        if let Cow::Borrowed(_) = whole {
            prop_assert_eq!(in_pieces(&redactor, &pieces), text);
        }
    }
}
