//! The members of a line, looked up in one pass.

use crate::json::{Object, Value};

/// The members that the dialect has.
#[derive(Debug, Default)]
pub(super) struct Fields<'a> {
    pub(super) kind: Option<Value<'a>>,
    pub(super) session: Option<Value<'a>>,
    pub(super) model: Option<Value<'a>>,
    pub(super) cwd: Option<Value<'a>>,
    pub(super) version: Option<Value<'a>>,
    pub(super) role: Option<Value<'a>>,
    pub(super) content: Option<Value<'a>>,
    pub(super) delta: Option<Value<'a>>,
    pub(super) tool_name: Option<Value<'a>>,
    pub(super) tool_id: Option<Value<'a>>,
    pub(super) parameters: Option<Value<'a>>,
    pub(super) status: Option<Value<'a>>,
    pub(super) output: Option<Value<'a>>,
    pub(super) error: Option<Value<'a>>,
    pub(super) stats: Option<Value<'a>>,
    pub(super) severity: Option<Value<'a>>,
    pub(super) message: Option<Value<'a>>,
}

impl<'a> Fields<'a> {
    /// Into what is there: it is large enough for a copy to show.
    #[inline]
    pub(super) fn read(&mut self, object: &Object<'a>, is_cut: bool) {
        for (key, value) in object.members() {
            self.put(key, value);
        }
        if is_cut && let Some((key, value)) = object.cut_member() {
            self.put(key, value);
        }
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: Value<'a>) {
        let slot = match key {
            b"type" => &mut self.kind,
            b"role" => &mut self.role,
            b"content" => &mut self.content,
            b"delta" => &mut self.delta,
            b"session_id" => &mut self.session,
            b"model" => &mut self.model,
            b"cwd" => &mut self.cwd,
            b"version" => &mut self.version,
            b"tool_name" => &mut self.tool_name,
            b"tool_id" => &mut self.tool_id,
            b"parameters" => &mut self.parameters,
            b"status" => &mut self.status,
            b"output" => &mut self.output,
            b"error" => &mut self.error,
            b"stats" => &mut self.stats,
            b"severity" => &mut self.severity,
            b"message" => &mut self.message,
            _ => return,
        };
        *slot = Some(value);
    }

    /// What the line says in words about an error.
    pub(super) fn words(&self) -> Option<String> {
        let said = self.error.and_then(|error| {
            error.string().or_else(|| error.get("message").and_then(Value::string))
        });
        said.or_else(|| self.message?.string()).filter(|text| !text.is_empty())
    }
}
