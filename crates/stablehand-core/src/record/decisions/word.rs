//! A word that a newer version may have written, kept although it is not known here.

use serde::de::IntoDeserializer as _;
use serde::de::value::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// A value that the log has as one word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum LogWord<T> {
    /// A word that this version knows.
    Known(T),
    /// A word of a newer version.
    New(String),
}

impl<T> LogWord<T> {
    /// The value, where the word is known.
    pub fn known(&self) -> Option<&T> {
        match self {
            LogWord::Known(value) => Some(value),
            LogWord::New(_) => None,
        }
    }

    /// Returns true if it is the word for `value`.
    pub fn is(&self, value: &T) -> bool
    where
        T: PartialEq,
    {
        self.known() == Some(value)
    }
}

impl<T: Serialize> LogWord<T> {
    /// The word itself.
    pub fn text(&self) -> String {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(word)) => word,
            _ => String::new(),
        }
    }
}

impl<T> Default for LogWord<T> {
    fn default() -> Self {
        LogWord::New(String::new())
    }
}

impl<T> From<T> for LogWord<T> {
    fn from(value: T) -> Self {
        LogWord::Known(value)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for LogWord<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        let known: Result<T, Error> = T::deserialize(word.as_str().into_deserializer());
        Ok(known.map_or(LogWord::New(word), LogWord::Known))
    }
}

#[cfg(feature = "schema")]
impl<T: schemars::JsonSchema> schemars::JsonSchema for LogWord<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        T::json_schema(generator)
    }
}
