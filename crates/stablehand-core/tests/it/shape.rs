//! Whether a value has the shape that a JSON Schema asks for.
//!
//! Knows the words that our own schema uses and fails on any other, so that a new word is noticed.
//! A whole validator is a large dependency for one file.

use serde_json::Value;

/// Fails with the way to what is wrong.
pub(crate) fn assert_shape(schema: &Value, value: &Value) {
    if let Err(wrong) = check(schema, schema, value) {
        panic!("{wrong}\nin {value}");
    }
}

fn check(root: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let Value::Object(words) = schema else {
        // `true` allows everything.
        return if schema == &Value::Bool(true) { Ok(()) } else { Err("not allowed".to_owned()) };
    };
    for (word, argument) in words {
        let holds = match word.as_str() {
            "$schema" | "$defs" | "title" | "description" | "format" | "default" => true,
            "$ref" => check(root, reference(root, argument), value).map(|()| true)?,
            "type" => is_of_type(argument, value),
            "const" => argument == value,
            "enum" => list(argument).contains(value),
            "minimum" => value.as_f64().is_none_or(|n| Some(n) >= argument.as_f64()),
            "minLength" => length(value) >= argument.as_u64(),
            "maxLength" => length(value) <= argument.as_u64(),
            "required" => list(argument).iter().all(|key| value.get(text(key)).is_some()),
            "oneOf" => fitting(root, argument, value) == 1,
            "anyOf" => fitting(root, argument, value) >= 1,
            "items" => {
                for element in list(value) {
                    check(root, argument, element)?;
                }
                true
            }
            "properties" => {
                for (key, schema) in argument.as_object().unwrap() {
                    if let Some(value) = value.get(key) {
                        check(root, schema, value).map_err(|wrong| format!("{key}: {wrong}"))?;
                    }
                }
                true
            }
            "additionalProperties" => argument != &Value::Bool(false) || only(words, value),
            other => panic!("the schema uses `{other}`, which this check does not know"),
        };
        if !holds {
            return Err(format!("`{word}` does not hold for {value}"));
        }
    }
    Ok(())
}

fn reference<'a>(root: &'a Value, argument: &Value) -> &'a Value {
    let pointer = text(argument).strip_prefix('#').unwrap();
    root.pointer(pointer).unwrap()
}

fn fitting(root: &Value, schemas: &Value, value: &Value) -> usize {
    list(schemas).iter().filter(|schema| check(root, schema, value).is_ok()).count()
}

/// Whether an object has no members but those that are named.
fn only(words: &serde_json::Map<String, Value>, value: &Value) -> bool {
    let named = words.get("properties").and_then(Value::as_object);
    value.as_object().is_none_or(|members| {
        members.keys().all(|key| named.is_some_and(|named| named.contains_key(key)))
    })
}

fn is_of_type(argument: &Value, value: &Value) -> bool {
    match argument {
        Value::Array(any) => any.iter().any(|one| is_of_type(one, value)),
        one => match text(one) {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "null" => value.is_null(),
            other => panic!("unknown type `{other}`"),
        },
    }
}

fn length(value: &Value) -> Option<u64> {
    value.as_str().map(|text| text.chars().count() as u64)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[test]
fn a_wrong_shape_is_noticed() {
    let schema = serde_json::json!({
        "$defs": {"N": {"type": "integer", "minimum": 0}},
        "type": "object",
        "properties": {"n": {"$ref": "#/$defs/N"}},
        "required": ["n"],
    });
    let fits = |value: Value| check(&schema, &schema, &value).is_ok();
    assert!(fits(serde_json::json!({"n": 1, "more": true})));
    assert!(!fits(serde_json::json!({"n": -1})));
    assert!(!fits(serde_json::json!({"n": "1"})));
    assert!(!fits(serde_json::json!({})));
}
