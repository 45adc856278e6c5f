//! Our scan and `serde_json` agree on what is JSON, and on what the members of an object say.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;
use serde_json::Value as Tree;
use stablehand_core::json::{MAX_DEPTH, Object, Scan, scan, scan_prefix};

fuzz_target!(|line: &[u8]| {
    // Looking into the beginning of a line must be safe wherever it was cut.
    if let Some(object) = scan_prefix(line) {
        let _ = object.cut_member().map(|(_, value)| value.cut_str());
    }
    let utf8 = std::str::from_utf8(line).is_ok();
    let valid = serde_json::from_slice::<IgnoredAny>(line).is_ok();
    match scan(line) {
        Scan::Binary => assert!(!utf8, "text was taken for binary"),
        Scan::Text => assert!(utf8 && (!valid || depth(line) >= MAX_DEPTH), "JSON was refused"),
        Scan::Scalar => assert!(utf8 && valid, "a scalar that is not JSON"),
        Scan::Object(object) => {
            assert!(utf8 && valid, "an object that is not JSON");
            compare(&object, line);
        }
    }
});

/// How deep the containers of valid JSON are nested.
fn depth(line: &[u8]) -> u32 {
    let (mut depth, mut deepest) = (0u32, 0u32);
    let mut bytes = line.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => {
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'\\' => drop(bytes.next()),
                        b'"' => break,
                        _ => {}
                    }
                }
            }
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth -= 1,
            _ => {}
        }
    }
    deepest
}

/// A scan remembers so many members; from there on it only validates.
const REMEMBERED: usize = 24;

/// The members, as a reader of trees has them.
fn compare(object: &Object<'_>, line: &[u8]) {
    // A lone surrogate, or a number beyond every float, is JSON by the grammar but no tree.
    let Ok(Tree::Object(tree)) = serde_json::from_slice(line) else { return };
    let members: Vec<_> = object.members().collect();
    // Only so many members are remembered, and keys are compared as they are written.
    if members.len() >= REMEMBERED || members.iter().any(|(key, _)| key.contains(&b'\\')) {
        return;
    }
    for (key, expected) in &tree {
        let value = object.get(key).expect("a member is missing");
        match expected {
            Tree::String(text) => assert_eq!(value.string().as_ref(), Some(text)),
            Tree::Bool(flag) => assert_eq!(value.bool(), Some(*flag)),
            Tree::Null => assert!(value.is_null()),
            Tree::Number(number) => {
                if let Some(whole) = number.as_u64() {
                    assert_eq!(value.u64(), Some(whole));
                }
                if let Some(whole) = number.as_i64() {
                    assert_eq!(value.i64(), Some(whole));
                }
            }
            Tree::Array(elements) => assert_eq!(value.elements().count(), elements.len()),
            Tree::Object(inner) => {
                assert!(value.is_object());
                assert!(value.members().count() >= inner.len());
            }
        }
    }
}
