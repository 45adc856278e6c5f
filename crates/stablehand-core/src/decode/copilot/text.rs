//! Texts that come in pieces and then again whole, under one id.

use crate::json::Value;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// How much of a text is kept to compare the whole with. Beyond it lengths are compared.
const KEEP: usize = 1 << 20;

/// What came in pieces.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Streamed {
    /// The id as it stands on the line.
    #[serde(with = "crate::saved::bytes")]
    id: Vec<u8>,
    /// The text, at most [`KEEP`] of it.
    #[serde(with = "crate::saved::bytes")]
    kept: Vec<u8>,
    /// The length of all of it.
    len: usize,
}

impl Streamed {
    /// A piece came; its text, unescaped.
    pub(super) fn piece(&mut self, id: Option<Value<'_>>, text: Value<'_>) -> Cow<'_, str> {
        let id = id.map(Value::raw).unwrap_or_default();
        if self.id != id {
            self.id.clear();
            self.id.extend_from_slice(id);
            self.kept.clear();
            self.len = 0;
        }
        self.kept.truncate(KEEP);
        let before = self.kept.len();
        text.append_to(&mut self.kept);
        self.len += self.kept.len() - before;
        String::from_utf8_lossy(self.kept.get(before..).unwrap_or_default())
    }

    /// What a whole text has beyond the pieces; `None` for nothing. A whole that is another text
    /// than its pieces is new altogether. The pieces are forgotten.
    pub(super) fn beyond(
        &mut self,
        id: Option<Value<'_>>,
        whole: Option<Value<'_>>,
    ) -> Option<String> {
        let whole = whole?.cut_str()?;
        self.kept.truncate(KEEP);
        let same = self.id == id.map(Value::raw).unwrap_or_default();
        let new = if same && whole.as_bytes().starts_with(&self.kept) {
            // A whole that was itself cut off is shorter than its pieces.
            whole.get(self.len..).unwrap_or_default().to_owned()
        } else if same && self.kept.starts_with(whole.as_bytes()) {
            String::new()
        } else {
            whole
        };
        self.id.clear();
        self.kept.clear();
        self.kept.shrink_to(KEEP / 4);
        self.len = 0;
        Some(new).filter(|new| !new.is_empty())
    }
}

/// The content of a whole text and the id that it goes by; the content may be cut off.
pub(super) fn content<'a>(data: Value<'a>, id: &str) -> (Option<Value<'a>>, Option<Value<'a>>) {
    let mut content = None;
    let mut named = None;
    let mut members = data.members();
    while let Some(key) = members.key() {
        if key == b"content" {
            content = members.value().or_else(|| members.rest());
        } else if key == id.as_bytes() {
            named = members.value();
        } else {
            members.value();
        }
    }
    (content, named)
}
