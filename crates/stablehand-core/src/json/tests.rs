//! The scanner against `serde_json` as the judge, by table and by property.

use super::*;
use proptest::prelude::*;

fn is_valid(line: &[u8]) -> bool {
    matches!(scan(line), Scan::Object(_) | Scan::Scalar)
}

fn serde_says(line: &[u8]) -> bool {
    std::str::from_utf8(line).is_ok()
        && serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok()
}

#[test]
fn it_agrees_with_serde_json_on_a_table() {
    let long = "x".repeat(100);
    let cases: Vec<String> = [
        r#"{}"#,
        r#"{"a":1}"#,
        r#"{"a":1,}"#,
        r#"{"a" : [1, 2.5, -0, 1e9, 1E-2], "b":{"c":null}}"#,
        r#"{"a":01}"#,
        r#"{"a":-}"#,
        r#"{"a":1.}"#,
        r#"{"a":.5}"#,
        r#"{"a":1e}"#,
        r#"{"a":+1}"#,
        r#"{"a":"\q"}"#,
        r#"{"a":"\u12"}"#,
        r#"{"a":"\u12g4"}"#,
        r#"{"a":"\ud800"}"#,
        r#"{"a":"\\"}"#,
        r#"{"a":"\""}"#,
        r#"{"a":"\\\""}"#,
        r#"{"a":"x"#,
        r#"{"a""#,
        r#"{"a":"#,
        r#"{"#,
        r#"[]"#,
        r#"[1,2"#,
        r#"[1 2]"#,
        r#"[1,]"#,
        r#"tru"#,
        r#"true"#,
        r#"nullx"#,
        r#""s""#,
        r#"12"#,
        r#""#,
        r#"  {"a":1}  "#,
        r#"{"a":1} x"#,
        r#"{"a":1}{"b":2}"#,
        r#"{'a':1}"#,
        r#"{"a":{"b":[{"c":"d"},{"e":[[],{}]}]}}"#,
        r#"{"a":[}"#,
        r#"{"a":{]}"#,
        r#"{1:2}"#,
        r#"{"a":tRue}"#,
        r#"{"k":"ünïcödé ✓"}"#,
        "{\"a\":\"\t\"}",
        "{\t\"a\":\r1}\r",
        "{\"a\":\"\u{7f}\"}",
        "hello",
        "T: [internal] Failed",
        "\u{feff}{}",
        "{}\u{c}",
        "{} \r\n\t",
    ]
    .iter()
    .map(|s| (*s).to_owned())
    .chain([
        format!(r#"{{"{long}":"{long}\n{long}"}}"#),
        format!("{{\"a\":\"{long}\u{1}\"}}"),
        format!("{}1{}", "[".repeat(90), "]".repeat(90)),
    ])
    .collect();
    for case in &cases {
        assert_eq!(is_valid(case.as_bytes()), serde_says(case.as_bytes()), "{case:?}");
    }
}

#[test]
fn deep_nesting_is_text_not_a_crash() {
    for depth in [150, 100_000] {
        assert!(matches!(scan("[".repeat(depth).as_bytes()), Scan::Text));
        let whole = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(matches!(scan(whole.as_bytes()), Scan::Text));
        let objects = format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
        assert!(matches!(scan(objects.as_bytes()), Scan::Text));
    }
}

#[test]
fn what_is_not_utf8_is_binary() {
    assert!(matches!(scan(b"{\"a\":\"\xff\"}"), Scan::Binary));
    assert!(matches!(scan(b"\xc3"), Scan::Binary));
    assert!(matches!(scan(b"a\0b"), Scan::Text));
}

#[test]
fn members_are_found_and_the_last_of_equal_keys_wins() {
    let line = br#"{"type":"x", "n":"42", "deep":{"a":[1,{"b":"c\nd"}],"z":true}, "type":"y"}"#;
    let Scan::Object(object) = scan(line) else { panic!() };
    assert!(object.get("type").is_some_and(|v| v.is_str("y")));
    assert_eq!(object.get("n").and_then(Value::u64), Some(42));
    let deep = object.get("deep").unwrap();
    let inner = deep.get("a").unwrap().elements().nth(1).unwrap();
    assert_eq!(inner.get("b").and_then(Value::string).as_deref(), Some("c\nd"));
    assert_eq!(deep.get("z").and_then(Value::bool), Some(true));
    assert_eq!(object.get("none"), None);
}

#[test]
fn escapes_come_out_as_serde_json_has_them() {
    for text in ["plain", "a\"b\\c/d", "\u{8}\u{c}\n\r\t", "é😀\u{0}", "\u{fffd}"] {
        let json = serde_json::to_string(text).unwrap();
        assert_eq!(Value::new(json.as_bytes()).str().unwrap(), text);
    }
    assert_eq!(Value::new(br#""\ud83d\ude00!""#).str().unwrap(), "😀!");
    assert_eq!(Value::new(br#""\ud83dx""#).str().unwrap(), "\u{fffd}x");
    assert_eq!(Value::new(br#""\udc00\/""#).str().unwrap(), "\u{fffd}/");
}

#[test]
fn the_beginning_of_a_cut_line_can_be_read() {
    let head = br#"{"type":"tool_call","subtype":"completed","n":{"a":1},"text":"never ends"#;
    let object = scan_prefix(head).unwrap();
    assert!(object.get("subtype").is_some_and(|v| v.is_str("completed")));
    assert!(object.get("n").is_some());
    assert!(object.get("text").is_none());
    assert!(scan_prefix(b"plain text").is_none());
}

fn json_value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        ".*".prop_map(Into::into),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Into::into),
            prop::collection::btree_map(".*", inner, 0..8)
                .prop_map(|m| serde_json::Value::Object(m.into_iter().collect())),
        ]
    })
}

/// Rebuilds a tree through [`Value`], to see that walking finds what is there.
fn rebuild(value: Value<'_>) -> serde_json::Value {
    match value.raw().first() {
        Some(b'{') => serde_json::Value::Object(
            value
                .members()
                .map(|(k, v)| {
                    let quoted = [b"\"", k, b"\""].concat();
                    (Value::new(&quoted).string().unwrap(), rebuild(v))
                })
                .collect(),
        ),
        Some(b'[') => value.elements().map(rebuild).collect(),
        Some(b'"') => value.string().unwrap().into(),
        _ => serde_json::from_slice(value.raw()).unwrap(),
    }
}

proptest! {
    #[test]
    fn whatever_serde_writes_is_valid_and_walks_to_the_same(value in json_value()) {
        let text = serde_json::to_string(&value).unwrap();
        prop_assert!(is_valid(text.as_bytes()));
        prop_assert_eq!(rebuild(Value::new(text.as_bytes())), serde_json::from_str::<serde_json::Value>(&text).unwrap());
    }

    #[test]
    fn a_changed_byte_is_judged_as_serde_judges_it(
        value in json_value(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut text = serde_json::to_vec(&value).unwrap();
        let at = at.index(text.len());
        text[at] = byte;
        prop_assert_eq!(is_valid(&text), serde_says(&text));
        let _no_panic = scan_prefix(&text);
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(is_valid(&bytes), serde_says(&bytes));
        let _no_panic = scan_prefix(&bytes);
    }
}

#[test]
fn what_no_value_begins_with_ends_the_walk() {
    // Lines that are cut are looked at without having been validated.
    for text in ["[\u{1}]", "[1,\u{b}2]", "[\u{0}", "{\"a\":\u{1}}", "[[1,\u{7}"] {
        let value = Value::new(text.as_bytes());
        assert!(value.elements().take(9).count() < 9, "{text:?}");
        assert!(value.members().take(9).count() < 9, "{text:?}");
        assert!(value.get("b").is_none());
    }
}
