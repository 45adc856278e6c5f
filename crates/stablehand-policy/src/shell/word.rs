//! Words of a shell command, as far as they can be known before the shell runs it.
//!
//! Quotes are removed here; what only the shell can know (variables, globs, braces) stays a hole.

/// A piece of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// These characters.
    Text(String),
    /// Anything: nobody but the shell knows.
    Any,
    /// A part of names of files that are there: anything, but nothing that leads elsewhere.
    Glob,
    /// `$HOME`: a hole for those who allow, the home folder for those who deny.
    Home,
    /// `$PWD`: likewise.
    Here,
}

/// One word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) pieces: Vec<Piece>,
    /// Whether it may become several words, or none.
    pub(crate) splits: bool,
}

impl Word {
    /// A word that is known.
    pub(crate) fn literal(text: impl Into<String>) -> Word {
        Word { pieces: vec![Piece::Text(text.into())], splits: false }
    }

    /// Any number of words that nobody knows.
    pub(crate) fn unknown() -> Word {
        Word { pieces: vec![Piece::Any], splits: true }
    }

    /// The text, where all of it is known.
    pub(crate) fn text(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The text that it begins with, as far as it is known.
    pub(crate) fn beginning(&self) -> &str {
        match self.pieces.first() {
            Some(Piece::Text(text)) => text,
            _ => "",
        }
    }

    /// Adds a piece; neighbouring texts become one.
    pub(crate) fn push(&mut self, piece: Piece) {
        match (self.pieces.last_mut(), piece) {
            (Some(Piece::Text(text)), Piece::Text(more)) => text.push_str(&more),
            (Some(Piece::Any), Piece::Any) | (Some(Piece::Glob), Piece::Glob) => {}
            (_, piece) => self.pieces.push(piece),
        }
    }

    /// Adds characters.
    pub(crate) fn push_char(&mut self, c: char) {
        match self.pieces.last_mut() {
            Some(Piece::Text(text)) => text.push(c),
            _ => self.pieces.push(Piece::Text(c.to_string())),
        }
    }

    /// Puts another word behind this one, without a space.
    pub(crate) fn join(&mut self, other: Word) {
        self.splits |= other.splits;
        for piece in other.pieces {
            self.push(piece);
        }
    }

    /// Makes one hole of everything between the first and the last: what stands in brackets or
    /// braces is not all there when the shell is done with them.
    pub(crate) fn merge_holes(&mut self) {
        let hole = |piece: &Piece| matches!(piece, Piece::Any | Piece::Glob);
        let first = self.pieces.iter().position(hole);
        let last = self.pieces.iter().rposition(hole);
        if let (Some(first), Some(last)) = (first, last)
            && first < last
        {
            self.pieces.splice(first..=last, [Piece::Any]);
        }
    }

    /// The word as a row of texts with holes between them, `None` being a hole; for those who deny.
    pub(crate) fn guess(&self, home: Option<&str>, here: &str) -> Vec<Option<String>> {
        let mut row: Vec<Option<String>> = Vec::new();
        for piece in &self.pieces {
            let next = match piece {
                Piece::Text(text) => Some(text.clone()),
                Piece::Home => home.map(str::to_owned),
                Piece::Here => Some(here.to_owned()),
                Piece::Any | Piece::Glob => None,
            };
            match (row.last_mut(), next) {
                (Some(Some(text)), Some(more)) => text.push_str(&more),
                (_, next) => row.push(next),
            }
        }
        row
    }

    /// The word for a message.
    pub(crate) fn show(&self) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Any => "…".to_owned(),
            Piece::Glob => "*".to_owned(),
            Piece::Home => "$HOME".to_owned(),
            Piece::Here => "$PWD".to_owned(),
        };
        let text: String = self.pieces.iter().map(piece).collect();
        let plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,…~$*".contains(c);
        if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{text}'") }
    }
}

/// An unquoted stretch of a word: backslashes go, and what the shell expands becomes a hole.
///
/// `first` says whether it stands at the beginning of its word, where `~` and `=` mean something.
pub(crate) fn unquoted(text: &str, first: bool) -> Word {
    let mut word = Word::default();
    let mut rest = text;
    if first && text.starts_with('~') {
        let name = text.split('/').next().unwrap_or_default();
        if name == "~" {
            word.push_char('~');
        } else {
            // `~somebody`, `~+`, `~-`: another folder each.
            word.push(Piece::Any);
        }
        rest = text.strip_prefix(name).unwrap_or_default();
    } else if first && text.starts_with('=') && text.len() > 1 {
        // zsh: the path of a program of that name.
        word.push(Piece::Any);
        rest = "";
    }
    let braces = text.contains('{') && text != "{}";
    let mut chars = rest.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('\n') => {}
                Some(c) => word.push_char(c),
                None => word.push_char('\\'),
            },
            '[' => {
                // `[a-z]` is one character, none of those that stand there.
                word.push(Piece::Glob);
                word.splits = true;
                let behind = chars.as_str();
                chars = behind.rsplit_once(']').map_or("", |(_, rest)| rest).chars();
            }
            '*' | '?' | ']' => {
                word.push(Piece::Glob);
                word.splits = true;
            }
            '{' if braces => {
                // Of `{a,b}` one of the two is left.
                word.push(Piece::Any);
                word.splits = true;
                let behind = chars.as_str();
                chars = behind.rsplit_once('}').map_or("", |(_, rest)| rest).chars();
            }
            // What it ends may have begun in another part of the word.
            '}' if text != "{}" => {
                word.push(Piece::Any);
                word.splits = true;
            }
            // An expansion that the grammar did not see, or a reference to an earlier line.
            '$' | '`' => word.push(Piece::Any),
            '!' if text.len() > 1 && text != "!=" => word.push(Piece::Any),
            // Extended globs of zsh; nobody names files so.
            '^' | '#' if text.len() > 1 && text.contains(['*', '?', '[', '(', '<']) => {
                word.push(Piece::Any);
            }
            c => word.push_char(c),
        }
    }
    if word.pieces.is_empty() {
        word.push(Piece::Text(String::new()));
    }
    word
}

/// What a stretch between double quotes says.
pub(crate) fn double_quoted(text: &str) -> Word {
    let mut word = Word::default();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('\n') => {}
                Some(c @ ('$' | '`' | '"' | '\\')) => word.push_char(c),
                Some(c) => {
                    word.push_char('\\');
                    word.push_char(c);
                }
                None => word.push_char('\\'),
            },
            '`' => word.push(Piece::Any),
            c => word.push_char(c),
        }
    }
    word
}
