//! Hostile text made harmless for XML, HTML and data within a page, and the hash by which a page's
//! Content-Security-Policy names its script and style.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Returns the source expression that allows this script or style, and no other.
pub(crate) fn csp_hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

/// Escapes text for an element or an attribute. What XML cannot hold at all is dropped.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            '\u{fffe}' | '\u{ffff}' => {}
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// Escapes JSON for a data block: no text in it can end the block or begin a comment, and it stays the same
/// JSON.
pub(crate) fn escape_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 16);
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _infallible = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_breaks_out() {
        assert_eq!(
            escape("</title><script>\"'&\u{0}\u{1b}\u{ffff}\n"),
            "&lt;/title&gt;&lt;script&gt;&quot;&#39;&amp;\n"
        );
        let hostile = serde_json::json!({ "a": "</script><!--&\u{2028}" });
        let safe = escape_json(&hostile.to_string());
        assert!(!safe.contains(['<', '>', '&', '\u{2028}']), "{safe}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), hostile);
    }
}
