//! Settings files as nobody would write them: any formatting, comments, commas, hooks of others.

use proptest::prelude::*;

/// White space and comments.
fn gap() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(String::new()),
        2 => "[ \t]{0,3}",
        2 => "\n[ ]{0,4}",
        1 => Just("\r\n\t".to_owned()),
        1 => Just(" // it's \"one\", [\n".to_owned()),
        1 => Just("/* two { */".to_owned()),
        1 => Just("\n  // three\n  ".to_owned()),
    ]
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        (-99_i32..99).prop_map(|n| n.to_string()),
        "[ -~é]{0,6}".prop_map(|text| serde_json::Value::from(text).to_string()),
        Just(r#""'/x/stablehand' hook""#.to_owned()),
    ]
}

/// Brackets around items with gaps, and now and then a comma at the end.
fn container(
    open: char,
    items: impl Strategy<Value = Vec<String>>,
    close: char,
) -> impl Strategy<Value = String> {
    let gaps = proptest::collection::vec(gap(), 12);
    (items, gaps, any::<bool>()).prop_map(move |(items, gaps, trailing)| {
        let mut out = String::from(open);
        let mut gaps = gaps.iter();
        let mut gap = || gaps.next().cloned().unwrap_or_default();
        let count = items.len();
        for (index, item) in items.into_iter().enumerate() {
            out.push_str(&gap());
            out.push_str(&item);
            out.push_str(&gap());
            if index + 1 < count || trailing {
                out.push(',');
            }
        }
        out.push_str(&gap());
        out.push(close);
        out
    })
}

fn member(name: String, value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let name = serde_json::Value::from(name).to_string();
    (gap(), gap(), value).prop_map(move |(a, b, value)| format!("{name}{a}:{b}{value}"))
}

fn value() -> impl Strategy<Value = String> {
    scalar().prop_recursive(2, 8, 3, |inner| {
        let list = proptest::collection::vec(inner.clone(), 0..3);
        let names = proptest::collection::vec(inner, 0..3).prop_map(|values| {
            let named = values.into_iter().enumerate();
            named.map(|(index, value)| format!("\"m{index}\": {value}")).collect()
        });
        prop_oneof![container('[', list, ']'), container('{', names, '}')]
    })
}

/// An entry of somebody else's, flat or in a group.
fn entry() -> impl Strategy<Value = String> {
    let command = "[ -~]{0,8}".prop_map(|text| serde_json::Value::from(text).to_string());
    (command, any::<bool>()).prop_flat_map(|(command, grouped)| {
        let flat = container('{', Just(vec![format!("\"command\": {command}")]), '}').boxed();
        if !grouped {
            return flat;
        }
        container('[', proptest::collection::vec(flat, 0..3), ']')
            .prop_flat_map(|hooks| {
                container(
                    '{',
                    Just(vec!["\"matcher\": \"x\"".into(), format!("\"hooks\":{hooks}")]),
                    '}',
                )
            })
            .boxed()
    })
}

fn event(name: &'static str) -> impl Strategy<Value = String> {
    let list = container('[', proptest::collection::vec(entry(), 0..3), ']');
    member(name.to_owned(), list)
}

fn hooks() -> impl Strategy<Value = String> {
    let names = proptest::sample::subsequence(vec!["start", "before", "after", "other"], 0..=4);
    let events = names.prop_flat_map(|names| names.into_iter().map(event).collect::<Vec<_>>());
    member("hooks".into(), container('{', events, '}'))
}

/// A whole file.
pub(super) fn file() -> impl Strategy<Value = String> {
    let others =
        proptest::collection::vec(("[a-gi-u]{1,4}", value()), 0..3).prop_flat_map(|named| {
            named.into_iter().map(|(name, value)| member(name, Just(value))).collect::<Vec<_>>()
        });
    let version = prop_oneof![Just(None), Just(Some("\"version\": 1".to_owned()))];
    let hooks = prop_oneof![1 => Just(None), 2 => hooks().prop_map(Some)];
    let members =
        (version, others, hooks, any::<bool>()).prop_map(|(version, others, hooks, first)| {
            let mut all: Vec<String> = version.into_iter().chain(others).collect();
            let at = if first { 0 } else { all.len() };
            if let Some(hooks) = hooks {
                all.insert(at, hooks);
            }
            all
        });
    (gap(), container('{', members, '}'), gap())
        .prop_map(|(before, root, after)| format!("{before}{root}{after}"))
}
