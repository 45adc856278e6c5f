//! A shell command taken apart: every simple command, redirect and assignment in it, wherever it stands.
//!
//! The grammar is tree-sitter's. A grammar that is kinder than the shell would be a hole, so the
//! tree is held against the bytes (`tree`): what is between two words must be a blank, a comment
//! must begin where the shell lets one begin, a here-document must end where the shell ends it.
//! Whatever is in doubt is [`Opaque`], and nothing that is opaque is allowed by a rule about commands.
//! Commands inside commands (`sudo`, `bash -c`, `xargs`) are `wrap`'s.

mod tree;
pub(crate) mod word;

pub(crate) use word::{Piece, Word, unquoted};

/// Longer commands are not taken apart: nobody reads them before saying yes.
pub(crate) const MAX_COMMAND_BYTES: usize = 64 * 1024;
/// Simple commands of one call, inner ones included.
pub(crate) const MAX_COMMANDS: usize = 256;
/// Commands within commands within commands.
pub(crate) const MAX_DEPTH: usize = 8;

/// One simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Simple {
    /// Name and arguments; empty for an assignment that stands alone.
    pub(crate) words: Vec<Word>,
    /// Variables that are set for it, or by it.
    pub(crate) env: Vec<String>,
}

impl Simple {
    /// The command for a message.
    pub(crate) fn show(&self) -> String {
        let env = self.env.iter().map(|name| format!("{name}=…"));
        let words = self.words.iter().map(Word::show);
        env.chain(words).collect::<Vec<_>>().join(" ")
    }

    /// The program's name without folders, in lower case: what it may be, not what it is.
    pub(crate) fn base(&self) -> Option<String> {
        let name = self.words.first()?.text()?;
        Some(name.rsplit('/').next().unwrap_or(name).to_lowercase())
    }
}

/// A redirect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redirect {
    pub(crate) target: Word,
    pub(crate) writes: bool,
}

/// Something that runs and that nobody can judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Opaque {
    pub(crate) why: String,
}

/// A command, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Script {
    pub(crate) commands: Vec<Simple>,
    pub(crate) redirects: Vec<Redirect>,
    pub(crate) opaque: Vec<Opaque>,
    /// Whether a part of it may run more than once: in a loop or a function.
    pub(crate) repeats: bool,
}

impl Script {
    /// Notes that something cannot be judged.
    pub(crate) fn doubt(&mut self, why: impl Into<String>) {
        let opaque = Opaque { why: why.into() };
        if !self.opaque.contains(&opaque) {
            self.opaque.push(opaque);
        }
    }

    fn has_room(&mut self) -> bool {
        let room = self.commands.len() + self.redirects.len() < MAX_COMMANDS;
        if !room {
            self.doubt(format!("it has more than {MAX_COMMANDS} commands"));
        }
        room
    }
}

/// Takes a command apart, with the commands inside commands.
pub(crate) fn read(text: &str) -> Script {
    let mut script = Script::default();
    read_into(text, 0, &mut script);
    script
}

fn read_into(text: &str, depth: usize, script: &mut Script) {
    if depth > MAX_DEPTH {
        return script.doubt(format!("commands are nested more than {MAX_DEPTH} deep"));
    }
    if text.len() > MAX_COMMAND_BYTES {
        return script.doubt(format!("it is longer than {MAX_COMMAND_BYTES} bytes"));
    }
    if let Some(c) = text.chars().find(|c| misleading(*c)) {
        return script.doubt(format!("it has the character U+{:04X} in it", u32::from(c)));
    }
    let mut found = Script::default();
    tree::read(text, &mut found);
    for opaque in found.opaque {
        script.doubt(opaque.why);
    }
    script.repeats |= found.repeats;
    for redirect in found.redirects {
        if script.has_room() {
            script.redirects.push(redirect);
        }
    }
    for command in found.commands {
        add(command, depth, script);
    }
}

/// Adds a simple command and what it runs in turn.
fn add(command: Simple, depth: usize, script: &mut Script) {
    if !script.has_room() {
        return;
    }
    let inner = super::wrap::inner(&command);
    script.commands.push(command);
    for inner in inner {
        match inner {
            super::wrap::Inner::Command(simple) if depth < MAX_DEPTH => {
                add(simple, depth + 1, script);
            }
            super::wrap::Inner::Command(_) => {
                script.doubt(format!("commands are nested more than {MAX_DEPTH} deep"));
            }
            super::wrap::Inner::Text(text) => read_into(&text, depth + 1, script),
            super::wrap::Inner::Opaque(why) => script.doubt(why),
        }
    }
}

/// Characters that a person takes for something else than the shell does, or that end a text early.
fn misleading(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || (c.is_whitespace() && !matches!(c, ' ' | '\n' | '\t'))
        || matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}')
}
