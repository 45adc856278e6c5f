//! The top-level members of a line, looked up in one pass.
//!
//! Most lines are pieces of text and every one of them is looked at, so nothing is searched for
//! twice. Envelopes are laid under their payload here: nobody else knows of them.

use crate::json::{Object, Value};

/// The members that most lines have.
#[derive(Debug)]
pub(super) struct Fields<'s, 'a> {
    object: &'s Object<'a>,
    /// The event inside an envelope.
    payload: Option<Value<'a>>,
    /// The member at which a line that is too long broke off.
    cut: Option<(&'a [u8], Value<'a>)>,
    pub(super) kind: Option<Value<'a>>,
    pub(super) subtype: Option<Value<'a>>,
    pub(super) session: Option<Value<'a>>,
    pub(super) text: Option<Value<'a>>,
    pub(super) message: Option<Value<'a>>,
    pub(super) call: Option<Value<'a>>,
    /// `model_call_id`.
    pub(super) step: Option<Value<'a>>,
    pub(super) tool_call: Option<Value<'a>>,
    /// Whether there is a `timestamp_ms`.
    pub(super) stamped: bool,
}

impl<'s, 'a> Fields<'s, 'a> {
    #[inline]
    pub(super) fn read(object: &'s Object<'a>, is_cut: bool) -> Self {
        let mut fields = Fields {
            object,
            payload: None,
            cut: None,
            kind: None,
            subtype: None,
            session: None,
            text: None,
            message: None,
            call: None,
            step: None,
            tool_call: None,
            stamped: false,
        };
        for (key, value) in object.members() {
            fields.put(key, value);
        }
        if is_cut && let Some((key, value)) = object.cut_member() {
            fields.put(key, value);
            fields.cut = Some((key, value));
        }
        if let Some(payload) = fields.payload {
            for (key, value) in payload.members() {
                fields.put(key, value);
            }
        }
        if fields.kind.is_none() {
            fields.kind = object.get("event");
        }
        fields
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: Value<'a>) {
        match key {
            b"type" => self.kind = Some(value),
            b"subtype" => self.subtype = Some(value),
            b"session_id" => self.session = Some(value),
            b"text" => self.text = Some(value),
            b"message" => self.message = Some(value),
            b"call_id" => self.call = Some(value),
            b"model_call_id" => self.step = Some(value).filter(|step| !step.is_null()),
            b"timestamp_ms" => self.stamped = !value.is_null(),
            b"tool_call" | b"toolCall" => self.tool_call = Some(value),
            b"payload" if self.payload.is_none() && value.is_object() => {
                self.payload = Some(value);
            }
            _ => {}
        }
    }

    /// Any other member.
    pub(super) fn get(&self, key: &str) -> Option<Value<'a>> {
        self.payload.and_then(|payload| payload.get(key)).or_else(|| self.object.get(key))
    }

    /// Appends the text of a message: its text parts, or the whole where it is a string.
    pub(super) fn message_text(&self, out: &mut Vec<u8>) {
        if let Some((b"message", message)) = self.cut {
            return cut_message_text(message, out);
        }
        let content = match self.message {
            Some(message) if message.is_object() => message.get("content"),
            Some(message) => Some(message),
            None => self.text.or_else(|| self.get("content")).or_else(|| self.get("prompt")),
        };
        let Some(content) = content else {
            return;
        };
        if content.append_to(out) {
            return;
        }
        for part in content.elements() {
            match part.get("text") {
                Some(text) => text.append_to(out),
                None => part.append_to(out),
            };
        }
    }
}

/// What there is of the first part of a message whose end is not there.
fn cut_message_text(message: Value<'_>, out: &mut Vec<u8>) {
    let text = message
        .enter(|key| key == b"content")
        .and_then(|(_, content)| content.enter_first())
        .and_then(|part| part.enter(|key| key == b"text"))
        .and_then(|(_, text)| text.cut_str());
    if let Some(text) = text {
        out.extend_from_slice(text.as_bytes());
    }
}
