//! Serde forms for the state of decoders, where a type's own form would lose or waste something.
//!
//! Owns no state. What is saved, and when, is [`crate::replay`]'s.

use crate::event::Tool;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes that are nearly always text: a string then, and a list of numbers otherwise.
pub(crate) mod bytes {
    use super::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Text(String),
        Bytes(Vec<u8>),
    }

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(bytes) {
            Ok(text) => to.serialize_str(text),
            Err(_) => bytes.serialize(to),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        Ok(match Form::deserialize(from)? {
            Form::Text(text) => text.into_bytes(),
            Form::Bytes(bytes) => bytes,
        })
    }
}

/// A tool call with its digest, which is not on the wire.
pub(crate) mod tool {
    use super::{Deserialize, Deserializer, Serialize, Serializer, Tool};

    pub(crate) fn serialize<S: Serializer>(tool: &Tool, to: S) -> Result<S::Ok, S::Error> {
        (tool.digest, tool).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Box<Tool>, D::Error> {
        let (digest, tool): (u64, Box<Tool>) = Deserialize::deserialize(from)?;
        Ok(Box::new(Tool { digest, ..*tool }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_whether_they_are_text_or_not() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct Kept(#[serde(with = "bytes")] Vec<u8>);
        for (given, json) in
            [(&b"na\xc3\xafve \"q\""[..], r#""naïve \"q\"""#), (b"\xffa", "[255,97]")]
        {
            let kept = Kept(given.to_vec());
            assert_eq!(serde_json::to_string(&kept).unwrap(), json);
            assert_eq!(serde_json::from_str::<Kept>(json).unwrap(), kept);
        }
    }
}
