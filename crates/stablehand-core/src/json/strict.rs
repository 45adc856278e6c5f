//! Finds members that stand twice in one object: readers disagree on which of them counts.

use serde::Deserializer as _;
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use std::collections::HashSet;
use std::fmt;

/// Returns true if an object anywhere in the text has two members of the same name. Text that is not
/// JSON has none.
pub fn repeats_a_member(text: &[u8]) -> bool {
    let mut found = false;
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    // A text that cannot be read any further is somebody else's to refuse.
    let _ = deserializer.deserialize_any(Walk { found: &mut found });
    found
}

struct Walk<'f> {
    found: &'f mut bool,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Walk { found: &mut *self.found })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut names: HashSet<String> = HashSet::new();
        while let Some(name) = members.next_key::<String>()? {
            if !names.insert(name) {
                *self.found = true;
                return Err(A::Error::custom("a member stands twice"));
            }
            members.next_value_seed(Walk { found: &mut *self.found })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_counted_by_name_at_every_depth() {
        for (text, repeats) in [
            (r#"{"a":1,"b":{"a":2}}"#, false),
            (r#"{"a":1,"a":1}"#, true),
            (r#"{"a":[{"b":1,"\u0062":2}]}"#, true),
            (r#"[{"a":1},{"a":1}]"#, false),
            (r#"{"a":1,"#, false),
            ("", false),
        ] {
            assert_eq!(repeats_a_member(text.as_bytes()), repeats, "{text}");
        }
    }
}
