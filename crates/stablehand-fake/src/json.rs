//! JSON whose members stay in the order in which they were written.
//!
//! A reader that looks at bytes, or at the first member of a line, must find them where the real
//! program puts them; `serde_json` alone would sort them by name.

use serde_json::Value;
use std::fmt;

/// A piece of JSON, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Json(String);

/// `null`.
pub(crate) const NULL: Option<Json> = None;

impl Json {
    /// An object of these members, in this order.
    pub(crate) fn object(members: &[(&str, Json)]) -> Json {
        let members: Vec<String> = members
            .iter()
            .map(|(name, value)| format!("{}:{}", Json::from(*name), value))
            .collect();
        Json(format!("{{{}}}", members.join(",")))
    }

    /// An object with one more member at its end.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Json>) -> Json {
        let comma = if self.0 == "{}" { "" } else { "," };
        if self.0.pop() == Some('}') {
            let (name, value) = (Json::from(name), value.into());
            self.0.extend([comma, &name.0, ":", &value.0, "}"]);
        }
        self
    }

    /// An object with the members of another at its end.
    pub(crate) fn joined(mut self, other: &Json) -> Json {
        let inside = other.0.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let (Some(inside), Some('}')) = (inside, self.0.pop()) else {
            return self;
        };
        let comma = if self.0 == "{" || inside.is_empty() { "" } else { "," };
        self.0.extend([comma, inside, "}"]);
        self
    }

    /// The text.
    pub(crate) fn into_line(self) -> String {
        self.0
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An object, its members in the order in which they stand.
macro_rules! object {
    ($($name:literal : $value:expr),* $(,)?) => {
        $crate::json::Json::object(&[$(($name, $crate::json::Json::from($value))),*])
    };
}

/// A list.
macro_rules! list {
    ($($value:expr),* $(,)?) => {
        $crate::json::Json::from(vec![$($crate::json::Json::from($value)),*])
    };
}

pub(crate) use {list, object};

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json(Value::from(text).to_string())
    }
}

impl From<&String> for Json {
    fn from(text: &String) -> Json {
        Json::from(text.as_str())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Json {
        Json::from(text.as_str())
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Json {
        Json(value.to_string())
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Json {
        Json(value.to_string())
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Json {
        Json(value.to_string())
    }
}

impl From<f64> for Json {
    fn from(value: f64) -> Json {
        Json(Value::from(value).to_string())
    }
}

macro_rules! integers {
    ($($kind:ty),*) => {$(
        impl From<$kind> for Json {
            fn from(value: $kind) -> Json {
                Json(value.to_string())
            }
        }
    )*};
}

integers!(i32, i64, u32, u64, usize);

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Json {
        value.map_or_else(|| Json("null".to_owned()), Into::into)
    }
}

impl From<Vec<Json>> for Json {
    fn from(values: Vec<Json>) -> Json {
        let values: Vec<String> = values.into_iter().map(|value| value.0).collect();
        Json(format!("[{}]", values.join(",")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_texts_are_escaped() {
        let inner = object! { "z": 1, "a": NULL };
        let json = object! { "type": "x\"\n\u{0}", "b": list![true, inner], "c": 0.5 };
        assert_eq!(
            json.with("d", -1).into_line(),
            r#"{"type":"x\"\n\u0000","b":[true,{"z":1,"a":null}],"c":0.5,"d":-1}"#
        );
        assert_eq!(object! {}.with("a", 1).into_line(), r#"{"a":1}"#);
        let one = object! { "a": 1 };
        assert_eq!(one.clone().joined(&object! { "b": 2 }).into_line(), r#"{"a":1,"b":2}"#);
        assert_eq!(one.clone().joined(&object! {}), one);
        assert_eq!(object! {}.joined(&one), one);
    }
}
