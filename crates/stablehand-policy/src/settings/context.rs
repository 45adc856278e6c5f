//! What an agent is told before its first prompt, as one text.
//!
//! Joins and marks; reading the files is the library's.

/// All of it together at the most: it is paid for with every request, and crowds out the work.
pub const MOST_BYTES: usize = 64 << 10;

const OPEN: &str = "<context>";
const CLOSE: &str = "</context>";

/// Where a piece of context comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file, as it was named.
    File(String),
    /// A text that stands in the settings themselves.
    Text(String),
}

/// One piece, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The file that it is from, as it was named.
    pub file: Option<String>,
    /// The text.
    pub text: String,
}

/// The pieces as one text; nothing where there is nothing to say.
pub fn joined(pieces: &[Piece]) -> Option<String> {
    let piece = |piece: &Piece| {
        let text = piece.text.trim();
        match &piece.file {
            _ if text.is_empty() => None,
            Some(file) => Some(format!("{file}:\n\n{text}")),
            None => Some(text.to_owned()),
        }
    };
    let told: Vec<String> = pieces.iter().filter_map(piece).collect();
    (!told.is_empty()).then(|| told.join("\n\n"))
}

/// The same for a prompt that need not be text.
pub fn before_bytes(context: &str, prompt: &[u8]) -> Vec<u8> {
    let mut whole = before(context, "").into_bytes();
    whole.extend_from_slice(prompt);
    whole
}

/// A prompt behind the context, which is marked so that the agent takes it for nobody's wish.
pub fn before(context: &str, prompt: &str) -> String {
    // A piece must not end the mark before its time.
    let context = context.replace(CLOSE, "<\\/context>");
    format!("{OPEN}\n{context}\n{CLOSE}\n\n{prompt}")
}
