//! From the grammar's tree to simple commands, held against the bytes that it was made from.
//!
//! Words are `words`'s.

mod words;

use super::super::wrap::hides_command;
use super::word::Word;
use super::{Redirect, Script, Simple};
use std::ops::ControlFlow;
use tree_sitter::{Node, ParseOptions, Parser};

/// Deeper trees are not walked: the walk is recursive, and nobody writes such commands.
const MAX_TREE_DEPTH: usize = 120;
/// How often the parser may report progress before it is stopped; it does so every few hundred
/// steps. A count and not a time, so that the same text always gives the same answer.
const MAX_PROGRESS: usize = 4_000;

/// Takes one text apart; commands inside commands are left to the caller.
pub(super) fn read(text: &str, script: &mut Script) {
    let mut parser = Parser::new();
    if parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_err() {
        return script.doubt("the shell grammar does not fit this build");
    }
    let mut steps = 0;
    let mut progress = |_: &tree_sitter::ParseState| {
        steps += 1;
        if steps > MAX_PROGRESS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let bytes = text.as_bytes();
    let mut chunk = |at: usize, _| bytes.get(at..).unwrap_or_default();
    let Some(tree) = parser.parse_with_options(&mut chunk, None, Some(options)) else {
        return script.doubt("it takes too long to parse");
    };
    let root = tree.root_node();
    if root.has_error() || root.kind() != "program" {
        return script.doubt("it is not a shell command that can be parsed");
    }
    let mut walk = Walk { text, script };
    if !text.get(..root.start_byte()).is_some_and(blank_lines)
        || !text.get(root.end_byte()..).is_some_and(blank_lines)
    {
        return walk.script.doubt("the grammar passed over a part of it");
    }
    walk.node(root, 0);
}

struct Walk<'t, 's> {
    text: &'t str,
    script: &'s mut Script,
}

/// Blanks within a command: a line that goes on counts only beside a real blank, because alone it
/// joins two words.
fn blanks(gap: &str) -> bool {
    gap.is_empty() || gap.replace("\\\n", "").chars().all(|c| matches!(c, ' ' | '\t'))
}

fn separating(gap: &str) -> bool {
    let gap = gap.replace("\\\n", "");
    !gap.is_empty() && gap.chars().all(|c| matches!(c, ' ' | '\t'))
}

fn blank_lines(gap: &str) -> bool {
    gap.replace("\\\n", "").chars().all(|c| matches!(c, ' ' | '\t' | '\n'))
}

impl<'t> Walk<'t, '_> {
    fn slice(&self, from: usize, to: usize) -> &'t str {
        self.text.get(from..to).unwrap_or("\u{0}")
    }

    fn of(&self, node: Node<'_>) -> &'t str {
        self.slice(node.start_byte(), node.end_byte())
    }

    fn children<'n>(&mut self, node: Node<'n>) -> Vec<Node<'n>> {
        let all: Vec<_> = node.children(&mut node.walk()).collect();
        for child in &all {
            self.token(*child);
        }
        all.into_iter().filter(|child| child.kind() != "comment").collect()
    }

    /// What the grammar calls a sign must be that sign: its scanner now and then takes what stands
    /// before a sign for a part of it.
    fn token(&mut self, node: Node<'_>) {
        let text = self.of(node);
        let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let sound = match node.kind() {
            "comment" => {
                self.comment(node);
                text.starts_with('#')
            }
            "variable_name" => plain(text),
            "file_descriptor" => plain(text.trim_matches(['{', '}'])),
            // The grammar looks for the name on the next line, too.
            "simple_expansion" => text.starts_with('$') && !text.contains(char::is_whitespace),
            "brace_expression" | "extglob_pattern" | "number" | "special_variable_name" => {
                !text.contains(char::is_whitespace)
            }
            "expansion" => text.starts_with("${") && text.ends_with('}'),
            "command_substitution" => text.starts_with("$(") || text.starts_with('`'),
            "process_substitution" => text.starts_with("<(") || text.starts_with(">("),
            "arithmetic_expansion" => text.starts_with("$((") || text.starts_with("$["),
            kind if node.is_named() => !kind.is_empty(),
            kind if kind == "!" || kind.chars().all(|c| c.is_ascii_alphabetic()) => {
                text == kind && self.stands_alone(node)
            }
            kind => text == kind,
        };
        if !sound {
            self.script.doubt("the grammar takes a sign for another");
        }
    }

    /// A reserved word is one only between blanks and signs: `!''git` is a command of that name.
    fn stands_alone(&self, node: Node<'_>) -> bool {
        let ends = |c: Option<char>| c.is_none_or(|c| " \t\n;&|()`".contains(c));
        let before = self.slice(0, node.start_byte());
        let after = self.slice(node.end_byte(), self.text.len());
        ends(before.chars().next_back())
            && ends(after.chars().next())
            && !before.ends_with("\\\n")
            && !after.starts_with("\\\n")
    }

    /// The shell lets a comment begin only where a word could; inside a word `#` is a character,
    /// and what follows it would run.
    fn comment(&mut self, node: Node<'_>) {
        // A line that goes on puts the sign into the word before it.
        let mut before = self.slice(0, node.start_byte());
        while let Some(joined) = before.strip_suffix("\\\n") {
            before = joined;
        }
        let before = before.chars().next_back();
        if !matches!(before, None | Some(' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')')) {
            self.script.doubt("what looks like a comment is not one");
        }
    }

    /// Whatever the tree leaves out between the children of a node must be blank.
    fn gaps(&mut self, node: Node<'_>, fine: fn(&str) -> bool) {
        let mut at = node.start_byte();
        let all: Vec<_> = node.children(&mut node.walk()).collect();
        for child in &all {
            if child.start_byte() < at || !fine(self.slice(at, child.start_byte())) {
                self.script.doubt("the grammar passed over a part of it");
            }
            at = child.end_byte();
        }
        if !all.is_empty() && !fine(self.slice(at, node.end_byte())) {
            self.script.doubt("the grammar passed over a part of it");
        }
    }

    fn node(&mut self, node: Node<'_>, depth: usize) {
        if depth > MAX_TREE_DEPTH {
            return self.script.doubt("it is nested too deep");
        }
        self.script.repeats |= REPEATED.contains(&node.kind());
        match node.kind() {
            "command" => self.command(node, depth),
            "declaration_command" | "unset_command" => self.declaration(node, depth),
            "test_command" => self.test(node, depth),
            "file_redirect" => self.redirect(node, depth),
            "heredoc_redirect" => self.heredoc(node, depth),
            "herestring_redirect" => {
                self.gaps(node, blanks);
                self.inside(node, depth);
            }
            "variable_assignment" => {
                let env = vec![self.assigned(node, depth)];
                self.push(Simple { words: Vec::new(), env });
            }
            "for_statement" | "c_style_for_statement" => {
                if let Some(variable) = node.child_by_field_name("variable") {
                    let env = vec![self.of(variable).to_owned()];
                    self.push(Simple { words: Vec::new(), env });
                } else {
                    self.script.doubt("it has arithmetic in it");
                }
                self.gaps(node, blank_lines);
                self.inside(node, depth);
            }
            "program"
            | "list"
            | "pipeline"
            | "subshell"
            | "compound_statement"
            | "do_group"
            | "if_statement"
            | "elif_clause"
            | "else_clause"
            | "while_statement"
            | "case_statement"
            | "case_item"
            | "negated_command"
            | "redirected_statement"
            | "variable_assignments"
            | "command_substitution"
            | "process_substitution"
            | "function_definition" => {
                self.gaps(node, blank_lines);
                let text = self.of(node);
                if node.kind() == "compound_statement" {
                    if text.starts_with("((") {
                        // It can set any variable.
                        self.script.doubt("it has arithmetic in it");
                    } else if !["{ ", "{\n", "{\t"].iter().any(|open| text.starts_with(open)) {
                        // `{}` and `{git` are words to the shell.
                        self.script.doubt("braces are not plain");
                    }
                }
                self.inside(node, depth);
            }
            "word"
            | "string"
            | "raw_string"
            | "concatenation"
            | "number"
            | "extglob_pattern"
            | "simple_expansion"
            | "expansion"
            | "arithmetic_expansion"
            | "ansi_c_string"
            | "translated_string"
            | "brace_expression"
            | "array"
            | "subscript" => {
                self.word(node, true, depth);
            }
            "variable_name"
            | "special_variable_name"
            | "file_descriptor"
            | "heredoc_start"
            | "heredoc_end"
            | "comment"
            | "command_name" => {}
            kind if !node.is_named() && SYNTAX.contains(&kind) => {}
            kind => self.script.doubt(format!("it has a part that is not understood ({kind})")),
        }
    }

    fn inside(&mut self, node: Node<'_>, depth: usize) {
        for child in self.children(node) {
            self.node(child, depth + 1);
        }
    }

    fn push(&mut self, simple: Simple) {
        if self.script.commands.len() < super::MAX_COMMANDS {
            self.script.commands.push(simple);
        } else {
            self.script.doubt(format!("it has more than {} commands", super::MAX_COMMANDS));
        }
    }

    fn command(&mut self, node: Node<'_>, depth: usize) {
        self.gaps(node, blanks);
        let mut simple = Simple::default();
        let mut previous: Option<Node<'_>> = None;
        for child in self.children(node) {
            if let Some(previous) = previous
                && !separating(self.slice(previous.end_byte(), child.start_byte()))
                && !(child.kind().ends_with("redirect") || previous.kind().ends_with("redirect"))
            {
                self.script.doubt("two words stand together without a blank");
            }
            previous = Some(child);
            match child.kind() {
                "variable_assignment" if simple.words.is_empty() => {
                    let name = self.assigned(child, depth);
                    simple.env.push(name);
                }
                kind if kind.ends_with("redirect") => self.node(child, depth + 1),
                "command_name" => {
                    let names = self.children(child);
                    match names.as_slice() {
                        [name] => {
                            let word = self.word(*name, true, depth);
                            simple.words.push(word);
                        }
                        _ => self.script.doubt("a command has no plain name"),
                    }
                }
                "subshell" => {
                    self.script.doubt("a command is followed by parentheses");
                    self.node(child, depth + 1);
                }
                _ if child.is_named() => {
                    let word = self.word(child, true, depth);
                    simple.words.push(word);
                }
                _ => {
                    self.script.doubt("a command has a sign in it that is not understood");
                    simple.words.push(Word::unknown());
                }
            }
        }
        if simple.words.is_empty() && simple.env.is_empty() {
            return self.script.doubt("a command has no name");
        }
        self.push(simple);
    }

    /// `export X=1`, `local`, `declare`, `unset`: a command whose arguments are names.
    fn declaration(&mut self, node: Node<'_>, depth: usize) {
        self.gaps(node, blanks);
        let mut simple = Simple::default();
        for child in self.children(node) {
            if child.kind() == "variable_assignment" {
                let name = self.assigned(child, depth);
                simple.words.push(Word::literal(self.of(child)));
                simple.env.push(name);
            } else if child.is_named() && child.kind() != "variable_name" {
                let word = self.word(child, true, depth);
                simple.words.push(word);
            } else {
                simple.words.push(Word::literal(self.of(child)));
                if child.is_named() {
                    simple.env.push(self.of(child).to_owned());
                }
            }
        }
        self.push(simple);
    }

    /// `[ … ]` and `[[ … ]]`: a command by that name, of whose arguments we claim to know nothing.
    fn test(&mut self, node: Node<'_>, depth: usize) {
        self.gaps(node, blank_lines);
        let name = if self.of(node).starts_with("[[") { "[[" } else { "[" };
        if self.of(node).starts_with("((") {
            self.script.doubt("it has arithmetic in it");
        }
        self.push(Simple { words: vec![Word::literal(name), Word::unknown()], env: Vec::new() });
        self.substitutions(node, depth);
    }

    fn assigned(&mut self, node: Node<'_>, depth: usize) -> String {
        self.gaps(node, str::is_empty);
        self.substitutions(node, depth);
        let name = node.child_by_field_name("name").map_or("", |name| self.of(name));
        // `a[i]=1` sets `a`.
        name.split('[').next().unwrap_or_default().to_owned()
    }

    fn redirect(&mut self, node: Node<'_>, depth: usize) {
        self.gaps(node, blanks);
        let mut operator = "";
        let mut target = None;
        let mut quoted = false;
        for child in self.children(node) {
            match child.kind() {
                "file_descriptor" => {}
                _ if !child.is_named() => operator = self.of(child),
                _ if target.is_none() => {
                    quoted =
                        !matches!(child.kind(), "word" | "number") || self.of(child).contains('\\');
                    target = Some(self.word(child, true, depth));
                }
                // The grammar lets several words follow; the shell takes the others as arguments.
                _ => self.script.doubt("a redirect has more than one target"),
            }
        }
        let Some(target) = target else {
            // `2>&-` closes, and names nothing.
            if !operator.ends_with('-') {
                self.script.doubt("a redirect has no target");
            }
            return;
        };
        let descriptor = |text: &str| {
            let digits = text.strip_suffix('-').unwrap_or(text);
            text == "-" || (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
        };
        // `>&'1'` is a file of that name.
        if operator.ends_with('&') && !quoted && target.text().is_some_and(descriptor) {
            return;
        }
        let writes = operator.contains('>');
        if self.script.redirects.len() < super::MAX_COMMANDS {
            self.script.redirects.push(Redirect { target, writes });
        } else {
            self.script.doubt("it has too many redirects");
        }
    }

    /// A here-document is text only if the shell ends it where the grammar does.
    fn heredoc(&mut self, node: Node<'_>, depth: usize) {
        let children = self.children(node);
        let part = |kind: &str| children.iter().find(|child| child.kind() == kind).copied();
        let (Some(start), Some(end)) = (part("heredoc_start"), part("heredoc_end")) else {
            return self.script.doubt("a here-document does not end");
        };
        let written = self.of(start);
        let quoted = |quote| written.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        let bare = quoted('\'').or_else(|| quoted('"'));
        let delimiter = bare.unwrap_or(written);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let body = part("heredoc_body").map_or("", |body| self.of(body));
        let ends_line = matches!(self.text.get(end.end_byte()..), Some(rest) if rest.is_empty() || rest.starts_with('\n'));
        let early = body.lines().any(|line| line.trim_matches(['\t', ' ']) == delimiter);
        let sound = !delimiter.is_empty()
            && delimiter.chars().all(plain)
            && self.of(end).trim_start_matches('\t') == delimiter
            && ends_line
            && !early
            && children.iter().filter(|child| child.kind() == "heredoc_start").count() == 1
            && self.slice(0, node.start_byte()).matches("<<").count() == 0;
        if !sound {
            self.script.doubt("a here-document is not plain");
        }
        for child in children {
            match child.kind() {
                "heredoc_body" => {
                    if bare.is_none() {
                        self.substitutions(child, depth);
                    }
                }
                _ if child.is_named() => {
                    // What follows on the line of `<<EOF`: arguments, redirects, a pipeline.
                    if WORDS.contains(&child.kind()) {
                        self.script.doubt("arguments follow a here-document");
                    }
                    self.node(child, depth + 1);
                }
                kind if SYNTAX.contains(&kind) => {}
                _ => self.script.doubt("a here-document is not plain"),
            }
        }
    }

    /// The value of a variable and an operand of `[[` may be read once more, as the element of an
    /// array; quotes do not keep a command in its subscript from being run then.
    fn subscript(&mut self, node: Node<'_>) {
        let text = self.of(node);
        let written_otherwise = node.kind() == "ansi_c_string" && text.contains('\\');
        if hides_command(text) || (written_otherwise && text.contains('[')) {
            self.script.doubt("there may be a command in an array subscript");
        }
    }

    /// Finds the commands in a stretch of text that is not a command itself, and doubts it when
    /// there are signs of one that the grammar did not see.
    fn substitutions(&mut self, node: Node<'_>, depth: usize) {
        if depth > MAX_TREE_DEPTH {
            return self.script.doubt("it is nested too deep");
        }
        match node.kind() {
            "command_substitution" | "process_substitution" => return self.node(node, depth + 1),
            "raw_string" | "ansi_c_string" => return self.subscript(node),
            _ => {}
        }
        let children = self.children(node);
        let suspicious = |text: &str| {
            text.contains('`') || ["$(", "<(", ">(", "=("].iter().any(|sign| text.contains(sign))
        };
        if children.is_empty() {
            if suspicious(self.of(node)) {
                self.script.doubt("there may be a command in a text");
            }
            return;
        }
        let mut at = node.start_byte();
        for child in children {
            if suspicious(self.slice(at, child.start_byte())) {
                self.script.doubt("there may be a command in a text");
            }
            at = child.end_byte();
            self.substitutions(child, depth + 1);
        }
        if suspicious(self.slice(at, node.end_byte())) {
            self.script.doubt("there may be a command in a text");
        }
    }
}

/// Nodes whose commands may run more than once.
const REPEATED: &[&str] =
    &["for_statement", "c_style_for_statement", "while_statement", "function_definition"];

/// Nodes that are words.
const WORDS: &[&str] = &[
    "word",
    "string",
    "raw_string",
    "concatenation",
    "number",
    "simple_expansion",
    "expansion",
    "arithmetic_expansion",
    "ansi_c_string",
    "translated_string",
    "brace_expression",
    "command_substitution",
    "process_substitution",
];

/// Signs and reserved words whose meaning lies in the node around them.
const SYNTAX: &[&str] = &[
    ";", "&", "&&", "||", "|", "|&", "\n", "(", ")", "((", "))", "{", "}", "$(", "`", "<(", ">(",
    "if", "then", "else", "elif", "fi", "while", "until", "for", "select", "in", "do", "done",
    "case", "esac", ";;", ";&", ";;&", "!", "function", "<<", "<<-", "<<<", "<", ">", ">>", "&>",
    "&>>", "<&", ">&", ">|", "<&-", ">&-", "=", "+=",
];
