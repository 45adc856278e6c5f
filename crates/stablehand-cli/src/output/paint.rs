//! Colours where a person sees them, and lines as wide as the terminal.

use crate::env::Env;
use anstyle::{AnsiColor, Style};
use stablehand_analysis::timeline::Tone;

/// No terminal is taken to be narrower than this.
const NARROWEST_TERMINAL: usize = 40;

/// How a text looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Plain,
    Good,
    Bad,
    Warn,
    Dim,
    Bold,
    /// The model speaks.
    Blue,
    /// The model thinks.
    Violet,
}

impl Look {
    fn style(self) -> Style {
        match self {
            Look::Plain => Style::new(),
            Look::Good => AnsiColor::Green.on_default(),
            Look::Bad => AnsiColor::Red.on_default(),
            Look::Warn => AnsiColor::Yellow.on_default(),
            Look::Dim => Style::new().dimmed(),
            Look::Bold => Style::new().bold(),
            Look::Blue => AnsiColor::Blue.on_default(),
            Look::Violet => AnsiColor::Magenta.on_default(),
        }
    }
}

impl From<Tone> for Look {
    fn from(tone: Tone) -> Look {
        match tone {
            Tone::Plain => Look::Plain,
            Tone::Good => Look::Good,
            Tone::Warn => Look::Warn,
            Tone::Bad => Look::Bad,
        }
    }
}

/// Whether to use colours, and how wide lines may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Paint {
    colour: bool,
    width: Option<usize>,
}

impl Paint {
    /// By what standard output is.
    pub(crate) fn new(env: &Env) -> Paint {
        let size = env.terminal_size.filter(|_| env.stdout_is_terminal);
        Paint {
            colour: env.stdout_is_terminal && !env.no_color,
            width: size.map(|size| usize::from(size.cols()).max(NARROWEST_TERMINAL)),
        }
    }

    /// Without colours, and as wide as this where there is a limit.
    #[cfg(test)]
    pub(crate) fn colourless(width: Option<usize>) -> Paint {
        Paint { colour: false, width }
    }

    /// Without colours and without a limit.
    #[cfg(test)]
    pub(crate) fn none() -> Paint {
        Paint::colourless(None)
    }

    /// In colours, without a limit.
    #[cfg(test)]
    pub(crate) fn coloured() -> Paint {
        Paint { colour: true, width: None }
    }

    /// The same with lines of at most so many columns.
    pub(crate) fn within(self, width: usize) -> Paint {
        Paint { width: Some(width), ..self }
    }

    /// Returns how wide the terminal is; none where standard output is no terminal.
    pub(crate) fn width(self) -> Option<usize> {
        self.width
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.look(text, Look::Good)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.look(text, Look::Bad)
    }

    pub(crate) fn warn(self, text: &str) -> String {
        self.look(text, Look::Warn)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.look(text, Look::Dim)
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.look(text, Look::Bold)
    }

    pub(crate) fn look(self, text: &str, look: Look) -> String {
        if self.colour && !text.is_empty() {
            let style = look.style();
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    /// A text in lines that fit, the later ones indented.
    pub(crate) fn wrapped(self, text: &str, indent: usize) -> String {
        let Some(width) = self.width else { return format!("{text}\n") };
        let words = text.trim_start_matches(' ');
        let mut line = " ".repeat(text.len() - words.len());
        let mut out = String::new();
        let mut fresh = true;
        for word in words.split(' ') {
            if !fresh && line.chars().count() + 1 + word.chars().count() > width {
                out.push_str(line.trim_end());
                out.push('\n');
                line = " ".repeat(indent);
                fresh = true;
            }
            if !fresh {
                line.push(' ');
            }
            line.push_str(word);
            fresh = false;
        }
        out + &line + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_wrapped_at_words() {
        let text = Paint::colourless(Some(16)).wrapped("codex: one two three four", 7);
        assert_eq!(text, "codex: one two\n       three\n       four\n");
        assert_eq!(Paint::none().wrapped("a b", 2), "a b\n");
        assert_eq!(Paint::colourless(Some(8)).wrapped("  a b  c d", 4), "  a b  c\n    d\n");
    }
}
