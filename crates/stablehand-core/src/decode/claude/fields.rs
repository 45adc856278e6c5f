//! The top-level members of a line, looked up in one pass.
//!
//! Key order is not fixed: `type` may come late. What only some lines have is searched for by name.

use crate::json::{Object, Value};

/// The members that most lines have.
#[derive(Debug)]
pub(super) struct Fields<'s, 'a> {
    object: &'s Object<'a>,
    /// The member at which a line that is too long broke off.
    cut: Option<(&'a [u8], Value<'a>)>,
    pub(super) kind: &'a [u8],
    pub(super) subtype: &'a [u8],
    pub(super) session: Option<Value<'a>>,
    pub(super) message: Option<Value<'a>>,
    pub(super) event: Option<Value<'a>>,
    /// The call of a sub-agent whose line this is.
    pub(super) parent: Option<Value<'a>>,
}

impl<'s, 'a> Fields<'s, 'a> {
    pub(super) fn read(object: &'s Object<'a>, is_cut: bool) -> Self {
        let mut fields = Fields {
            object,
            cut: object.cut_member().filter(|_| is_cut),
            kind: b"",
            subtype: b"",
            session: None,
            message: None,
            event: None,
            parent: None,
        };
        for (key, value) in object.members() {
            fields.put(key, value);
        }
        if let Some((key, value)) = fields.cut {
            fields.put(key, value);
        }
        let is_result = |key| fields.get(key).is_some();
        if fields.kind.is_empty() && is_cut && is_result("is_error") && is_result("num_turns") {
            // A result says what it is behind its text, which may be cut off.
            fields.kind = b"result";
        }
        fields
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: Value<'a>) {
        match key {
            b"type" => self.kind = value.raw_str().unwrap_or_default(),
            b"subtype" => self.subtype = value.raw_str().unwrap_or_default(),
            b"session_id" => self.session = Some(value),
            b"message" => self.message = Some(value),
            b"event" => self.event = Some(value),
            b"parent_tool_use_id" => self.parent = Some(value).filter(|id| id.raw_str().is_some()),
            _ => {}
        }
    }

    /// Any member by name.
    pub(super) fn get(&self, key: &str) -> Option<Value<'a>> {
        let cut = self.cut.filter(|(cut, _)| *cut == key.as_bytes());
        self.object.get(key).or(cut.map(|(_, value)| value))
    }

    /// Whatever the line says in words.
    pub(super) fn words(&self) -> Option<String> {
        const KEYS: &[&str] = &["message", "text", "content", "summary", "error"];
        KEYS.iter().find_map(|key| {
            let value = self.get(key)?;
            let text = value.string().or_else(|| value.get("message").and_then(Value::string));
            text.filter(|text| !text.is_empty())
        })
    }
}
