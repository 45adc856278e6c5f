//! Reads the fields of a decision into their type, and leaves out those that do not fit.

use crate::json::{Object, Value};
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::Error;

/// What every decision has beside its fields. Events may be long, and are read where they are needed.
const FRAME: [&[u8]; 5] = [b"time", b"level", b"msg", b"ts", b"event"];

/// Reads what it can; a member that does not fit its field is left out, as if it were not there.
pub(super) fn read<T: DeserializeOwned + Default>(fields: &Object<'_>) -> T {
    let mut members: Vec<(&str, Value<'_>)> = Vec::with_capacity(fields.len());
    for (key, value) in fields.members().filter(|(key, _)| !FRAME.contains(key)) {
        let Ok(key) = str::from_utf8(key) else { continue };
        // Of equal keys the last wins.
        members.retain(|(known, _)| *known != key);
        members.push((key, value));
    }
    loop {
        let mut reading = Members { members: &members, handed_out: 0 };
        match T::deserialize(&mut reading) {
            Ok(read) => return read,
            Err(_) => match reading.handed_out.checked_sub(1) {
                Some(failed) => members.remove(failed),
                None => return T::default(),
            },
        };
    }
}

/// Members that are handed out one after the other.
struct Members<'m, 'de> {
    members: &'m [(&'de str, Value<'de>)],
    handed_out: usize,
}

impl<'de> Deserializer<'de> for &mut Members<'_, 'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_map(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> MapAccess<'de> for &mut Members<'_, 'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some((key, _)) = self.members.get(self.handed_out) else { return Ok(None) };
        self.handed_out += 1;
        seed.deserialize(BorrowedStrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let member = self.handed_out.checked_sub(1).and_then(|place| self.members.get(place));
        let json = member.map_or(&b"null"[..], |(_, value)| value.raw());
        let mut value = serde_json::Deserializer::from_slice(json);
        seed.deserialize(&mut value)
    }
}
