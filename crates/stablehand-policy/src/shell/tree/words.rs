//! Words of the grammar's tree: what is known of each, and what is left to the shell.

use super::super::word::{Piece, Word, double_quoted, unquoted};
use super::{MAX_TREE_DEPTH, Walk};
use tree_sitter::Node;

/// Whether a word without quotes has only what the shell leaves in one: anything else must stand
/// behind a backslash.
fn plain_word(text: &str) -> bool {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '\n' | '"' | '\'' | ';' | '|' | '&' | '<' | '>' | '(' | ')' | ' ' | '\t' => {
                return false;
            }
            _ => {}
        }
    }
    true
}

impl Walk<'_, '_> {
    pub(super) fn word(&mut self, node: Node<'_>, first: bool, depth: usize) -> Word {
        if depth > MAX_TREE_DEPTH {
            self.script.doubt("it is nested too deep");
            return Word::unknown();
        }
        let text = self.of(node);
        match node.kind() {
            "word" | "number" | "test_operator" | "variable_name" if node.child_count() == 0 => {
                if !plain_word(text) {
                    self.script.doubt("a word has a sign in it that is not understood");
                }
                if text.contains('`') || text.contains("$(") {
                    self.script.doubt("there may be a command in a word");
                }
                unquoted(text, first)
            }
            "raw_string" => {
                let inner = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
                inner.filter(|inner| !inner.contains('\'')).map_or_else(
                    || {
                        self.script.doubt("quotes do not match");
                        Word::unknown()
                    },
                    Word::literal,
                )
            }
            "string" => self.string(node, depth),
            "concatenation" => {
                self.gaps(node, str::is_empty);
                let mut word = Word::default();
                for child in self.children(node) {
                    let part = if child.is_named() {
                        self.word(child, word.pieces.is_empty(), depth + 1)
                    } else {
                        unquoted(self.of(child), word.pieces.is_empty())
                    };
                    word.join(part);
                }
                // `{a,b}` may be spread over several nodes.
                if text.contains('{') && word.text().is_some() && text != "{}" {
                    return Word { pieces: vec![Piece::Any], splits: true };
                }
                if text.contains(['{', '[']) {
                    word.merge_holes();
                }
                word
            }
            "simple_expansion" => {
                let piece = match text {
                    "$HOME" => Piece::Home,
                    "$PWD" => Piece::Here,
                    _ => Piece::Any,
                };
                Word { pieces: vec![piece], splits: true }
            }
            "expansion" => {
                self.substitutions(node, depth);
                let piece = match text {
                    "${HOME}" => Piece::Home,
                    "${PWD}" => Piece::Here,
                    _ => Piece::Any,
                };
                Word { pieces: vec![piece], splits: true }
            }
            "ansi_c_string"
            | "translated_string"
            | "brace_expression"
            | "extglob_pattern"
            | "regex"
            | "array"
            | "subscript"
            | "arithmetic_expansion"
            | "number" => {
                self.substitutions(node, depth);
                Word::unknown()
            }
            "command_substitution" | "process_substitution" => {
                self.node(node, depth + 1);
                Word::unknown()
            }
            kind => {
                self.script.doubt(format!("it has a part that is not understood ({kind})"));
                self.substitutions(node, depth);
                Word::unknown()
            }
        }
    }

    /// Between double quotes the gaps of the tree are text too.
    fn string(&mut self, node: Node<'_>, depth: usize) -> Word {
        let mut word = Word::default();
        let all: Vec<_> = node.children(&mut node.walk()).collect();
        let (Some(open), Some(close)) = (all.first(), all.last()) else { return Word::unknown() };
        if open.kind() != "\"" || close.kind() != "\"" || all.len() < 2 {
            self.script.doubt("quotes do not match");
            return Word::unknown();
        }
        let mut at = open.end_byte();
        for child in all.get(1..).unwrap_or_default() {
            self.token(*child);
            let gap = self.slice(at, child.start_byte());
            if !gap
                .chars()
                .all(|c| matches!(c, ' ' | '\t' | '\n' | '\\' | '#') || c.is_alphanumeric())
            {
                self.script.doubt("the grammar passed over a part of it");
            }
            word.join(double_quoted(gap));
            at = child.end_byte();
            match child.kind() {
                "string_content" => {
                    if self.of(*child).contains("$(") {
                        self.script.doubt("there may be a command in a text");
                    }
                    word.join(double_quoted(self.of(*child)));
                }
                "\"" => {}
                "$" => word.push_char('$'),
                _ if child.is_named() && child.kind() != "comment" => {
                    let mut part = self.word(*child, false, depth + 1);
                    // In quotes it is one word whatever it holds, but for `"$@"` and arrays.
                    let many =
                        ["$@", "${", "$*"].iter().any(|sign| self.of(*child).starts_with(sign));
                    part.splits &= many;
                    word.join(part);
                }
                _ => self.script.doubt("a text has a sign in it that is not understood"),
            }
        }
        if word.pieces.is_empty() {
            word.push(Piece::Text(String::new()));
        }
        word
    }
}
