//! The agent's own name for the type of a line, such as `tool_call/started`.
//!
//! Every line has one and nobody asks for most of them, so that none costs an allocation.

/// The name of the last line's type.
#[derive(Debug, Default)]
pub(in super::super) struct LineType {
    /// A name that is known; empty where the text has it.
    known: &'static str,
    text: String,
}

impl LineType {
    /// A name that is known; empty for none.
    #[inline]
    pub(in super::super) fn set(&mut self, name: &'static str) {
        self.known = name;
        self.text.clear();
    }

    /// A name as it stands on the line, with what says it more closely, where anything does.
    pub(in super::super) fn join(&mut self, kind: &[u8], more: &[u8]) {
        self.set("");
        push(kind, &mut self.text);
        if !more.is_empty() {
            self.text.push('/');
            push(more, &mut self.text);
        }
    }

    #[inline]
    pub(in super::super) fn as_str(&self) -> &str {
        if self.known.is_empty() { &self.text } else { self.known }
    }
}

fn push(bytes: &[u8], out: &mut String) {
    match std::str::from_utf8(bytes) {
        Ok(text) => out.push_str(text),
        Err(_) => out.push_str(&String::from_utf8_lossy(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_name_counts() {
        let mut name = LineType::default();
        assert_eq!(name.as_str(), "");
        name.join(b"result", b"success");
        assert_eq!(name.as_str(), "result/success");
        name.set("error");
        assert_eq!(name.as_str(), "error");
        name.join(b"r\xffs", b"");
        assert_eq!(name.as_str(), "r\u{fffd}s");
        name.set("");
        assert_eq!(name.as_str(), "");
    }
}
