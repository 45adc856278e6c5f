//! A settings file as text with places: its values know where they stand, so that something can be
//! put in or taken out without touching a byte of the rest.
//!
//! Owns reading (comments and trailing commas are taken, as agents take them) and editing of lists
//! and objects alike. What is put in, and where, is `merge.rs`.

use super::FileError;
use jsonc_parser::ast::{Array, Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::Token;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};

/// A file that was read.
#[derive(Debug)]
pub(super) struct Doc<'t> {
    pub(super) text: &'t str,
    pub(super) root: Object<'t>,
    commas: Vec<usize>,
}

/// A replacement of a part of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    start: usize,
    end: usize,
    text: String,
}

impl Edit {
    pub(super) fn insert(at: usize, text: impl Into<String>) -> Edit {
        Edit { start: at, end: at, text: text.into() }
    }

    fn delete(start: usize, end: usize) -> Edit {
        Edit { start, end, text: String::new() }
    }
}

/// A list or an object: what it holds, each with the comma behind it.
#[derive(Debug)]
pub(super) struct Container {
    /// Where its bracket is.
    open: usize,
    /// Where its closing bracket is.
    close: usize,
    items: Vec<Item>,
}

#[derive(Clone, Copy, Debug)]
struct Item {
    start: usize,
    end: usize,
    comma: Option<usize>,
}

impl<'t> Doc<'t> {
    /// Reads a file whose whole is an object.
    pub(super) fn parse(text: &'t str) -> Result<Doc<'t>, FileError> {
        let collect = CollectOptions { comments: CommentCollectionStrategy::Off, tokens: true };
        let options = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let parsed = parse_to_ast(text, &collect, &options).map_err(|error| {
            let what = error.kind().to_string();
            FileError::NotJson { line: error.line_display(), what }
        })?;
        let tokens = parsed.tokens.unwrap_or_default();
        let is_comma = |token: &Token| matches!(token, Token::Comma);
        let commas = tokens.iter().filter(|t| is_comma(&t.token)).map(|t| t.range.start).collect();
        match parsed.value {
            Some(Value::Object(root)) => Ok(Doc { text, root, commas }),
            other => {
                let line = other.map_or(1, |value| line_of(text, value.start()));
                Err(FileError::Shape { line, what: "the file is no object".into() })
            }
        }
    }

    /// The line of a place, counted from one.
    pub(super) fn line(&self, at: usize) -> usize {
        line_of(self.text, at)
    }

    /// An object as a container.
    pub(super) fn object(&self, object: &Object) -> Container {
        let members = object.properties.iter().map(|member| (member.start(), member.end()));
        self.container(object.start(), object.end(), members)
    }

    /// A list as a container.
    pub(super) fn array(&self, array: &Array) -> Container {
        let items = array.elements.iter().map(|item| (item.start(), item.end()));
        self.container(array.start(), array.end(), items)
    }

    fn container(
        &self,
        open: usize,
        end: usize,
        items: impl Iterator<Item = (usize, usize)>,
    ) -> Container {
        let close = end.saturating_sub(1);
        let mut items: Vec<Item> =
            items.map(|(start, end)| Item { start, end, comma: None }).collect();
        let mut until = close;
        for item in items.iter_mut().rev() {
            let next = self.commas.partition_point(|comma| *comma < item.end);
            item.comma = self.commas.get(next).copied().filter(|comma| *comma < until);
            until = item.start;
        }
        Container { open, close, items }
    }

    /// The text with all edits made. They must not overlap; those at one place keep their order.
    pub(super) fn edited(&self, mut edits: Vec<Edit>) -> String {
        edits.sort_by_key(|edit| edit.start);
        let mut out = String::with_capacity(self.text.len() + 256);
        let mut done = 0;
        for edit in &edits {
            out.push_str(self.between(done, edit.start));
            out.push_str(&edit.text);
            done = edit.end.max(done);
        }
        out.push_str(self.between(done, self.text.len()));
        out
    }

    fn between(&self, start: usize, end: usize) -> &str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// Where the white space before a place begins.
    fn white_before(&self, at: usize) -> usize {
        self.between(0, at).trim_end_matches(WHITE).len()
    }

    /// How the lines of this file end.
    pub(super) fn newline(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    /// What a line is moved in by for each level.
    pub(super) fn indent_unit(&self) -> String {
        let unit = self.indent_of(&self.object(&self.root)).unwrap_or_default();
        if unit.is_empty() { "  ".into() } else { unit }
    }

    /// Whether new text may have lines of its own: not in a file that is one line.
    pub(super) fn has_lines(&self) -> bool {
        self.text.trim_end_matches(WHITE).contains('\n') || self.root.properties.is_empty()
    }

    /// What the items of a container are moved in by, where they have lines of their own.
    pub(super) fn indent_of(&self, container: &Container) -> Option<String> {
        let first = container.items.first()?;
        let gap = self.between(container.open + 1, first.start);
        let (before, indent) = gap.rsplit_once('\n')?;
        // A comment in front of the item on its line is no indent.
        let indent = indent.len() - indent.trim_start_matches(WHITE).len();
        let from = container.open + 1 + before.len() + 1;
        Some(self.between(from, from + indent).to_owned())
    }

    /// What the line of a place is moved in by.
    pub(super) fn indent_at(&self, at: usize) -> String {
        let line = self.between(0, at).rsplit('\n').next().unwrap_or_default();
        line.chars().take_while(|c| WHITE.contains(c)).collect()
    }

    /// Puts items at the end of a container that has some. Undone exactly by [`Doc::remove`].
    pub(super) fn append(&self, container: &Container, new: &[String]) -> Vec<Edit> {
        let newline = self.newline();
        let Some(last) = container.items.last() else {
            // Right behind the bracket, where nobody else would write: so that it is known again
            // that the container was there before us.
            let indent = self.indent_at(container.open) + &self.indent_unit();
            let between =
                if self.has_lines() { format!(",{newline}{indent}") } else { ", ".into() };
            return vec![Edit::insert(container.open + 1, new.join(&between))];
        };
        let Some(indent) = self.indent_of(container) else {
            let new = new.join(", ");
            return vec![match last.comma {
                Some(comma) => Edit::insert(comma + 1, format!(" {new},")),
                None => Edit::insert(last.end, format!(", {new}")),
            }];
        };
        let between = format!(",{newline}{indent}");
        let mut text = format!("{newline}{indent}{}", new.join(&between));
        let mut edits = Vec::new();
        match last.comma {
            // Whoever ends a list with a comma keeps doing so.
            Some(_) => text.push(','),
            None => edits.push(Edit::insert(last.end, ",")),
        }
        edits.push(Edit::insert(self.white_before(container.close), text));
        edits
    }

    /// Takes items out of a container, with what stood before them and the commas that they needed.
    pub(super) fn remove(&self, container: &Container, gone: &[bool]) -> Vec<Edit> {
        let is_gone = |index: usize| gone.get(index).copied().unwrap_or(false);
        let mut edits = Vec::new();
        let mut before = container.open + 1;
        for (index, item) in container.items.iter().enumerate() {
            let end = item.comma.map_or(item.end, |comma| comma + 1);
            if is_gone(index) {
                let white = self.white_before(item.start).max(before);
                let start =
                    if self.may_close_up(before, item.start, end) { white } else { item.start };
                edits.push(Edit::delete(start, item.end));
                edits.extend(item.comma.map(|comma| Edit::delete(comma, comma + 1)));
            }
            before = end;
        }
        let last = container.items.len().saturating_sub(1);
        let last_without_comma = container.items.last().is_some_and(|item| item.comma.is_none());
        if is_gone(last) && last_without_comma {
            let kept = container.items.iter().enumerate().rev().find(|(index, _)| !is_gone(*index));
            let comma = kept.and_then(|(_, item)| item.comma);
            edits.extend(comma.map(|comma| Edit::delete(comma, comma + 1)));
        }
        edits
    }

    /// Whether what follows `after` may move up behind what stands before `start`: not behind a
    /// comment that goes to the end of its line.
    fn may_close_up(&self, before: usize, start: usize, after: usize) -> bool {
        let follows = self.between(after, self.text.len()).trim_start_matches([' ', '\t', '\r']);
        follows.starts_with('\n') || !ends_in_line_comment(self.between(before, start))
    }
}

/// Whether the last comment of white space and comments is one that goes to the end of its line.
fn ends_in_line_comment(gap: &str) -> bool {
    let mut rest = gap.trim_start();
    let mut line = false;
    while !rest.is_empty() {
        line = rest.starts_with("//");
        let end = if line { "\n" } else { "*/" };
        rest = rest.split_once(end).map_or("", |(_, rest)| rest).trim_start();
    }
    line
}

impl Container {
    /// Whether something stands right behind the bracket.
    pub(super) fn is_tight(&self) -> bool {
        self.items.first().is_some_and(|first| first.start == self.open + 1)
    }
}

/// The white space of JSON.
pub(super) const WHITE: [char; 4] = [' ', '\t', '\n', '\r'];

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

/// The members of that name; the last one is the one that counts.
pub(super) fn members<'a, 't>(
    object: &'a Object<'t>,
    name: &'a str,
) -> impl DoubleEndedIterator<Item = &'a ObjectProp<'t>> {
    object.properties.iter().filter(move |member| member.name.as_str() == name)
}

/// The value that counts under that name.
pub(super) fn get<'a, 't>(object: &'a Object<'t>, name: &'a str) -> Option<&'a Value<'t>> {
    members(object, name).next_back().map(|member| &member.value)
}
