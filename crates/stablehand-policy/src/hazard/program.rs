//! The programs of `sed` and `awk`, as far as they can be told to be harmless.
//!
//! Owns the languages; which words are programs is said by `hazard`. A program that is not understood
//! to its end is not harmless.

/// Programs of `awk` that neither run nor write: no pipe, no redirect, no call that does either.
pub(super) fn harmless_awk(text: &str) -> bool {
    const PLAIN: &str = " \t{}$+-*/%,.;:'\"_=!()[]#&^~?\n\\";
    let plain = |c: char| c.is_ascii_alphanumeric() || PLAIN.contains(c);
    let words = ["system", "getline", "close", "fflush", "include", "load", "\\\n"];
    text.chars().all(plain) && !words.iter().any(|word| text.contains(word))
}

/// Programs of `sed` that print, delete or replace, and nothing else.
///
/// GNU ends a regular expression at the first delimiter, BSD not within brackets. Both readings
/// must be harmless.
pub(super) fn harmless_sed(text: &str) -> bool {
    [Brackets::Plain, Brackets::Quote].into_iter().all(|brackets| {
        let mut sed = Sed { rest: text, brackets };
        sed.script().is_some() && sed.rest.is_empty()
    })
}

/// Whether `[…]` hides a delimiter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Brackets {
    Plain,
    Quote,
}

struct Sed<'a> {
    rest: &'a str,
    brackets: Brackets,
}

impl Sed<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next();
        self.rest = chars.as_str();
        c
    }

    fn skip(&mut self, set: &str) {
        self.rest = self.rest.trim_start_matches(|c| set.contains(c));
    }

    /// Commands, up to the end. Braces need not be balanced: `sed` refuses them otherwise.
    fn script(&mut self) -> Option<()> {
        loop {
            self.skip(" \t\n;");
            let Some(c) = self.peek() else { return Some(()) };
            if c == '}' {
                self.next();
                continue;
            }
            self.address()?;
            self.skip(" \t!");
            match self.next()? {
                '{' => continue,
                'p' | 'd' | '=' | 'n' | 'N' | 'D' | 'P' | 'g' | 'G' | 'h' | 'H' | 'x' => {}
                'q' | 'Q' | 'l' => self.skip(" 0123456789"),
                's' => self.substitute()?,
                'y' => {
                    let mark = self.mark()?;
                    self.part(mark, Brackets::Plain)?;
                    self.part(mark, Brackets::Plain)?;
                }
                _ => return None,
            }
            self.skip(" \t");
            if !matches!(self.peek(), None | Some(';' | '\n' | '}')) {
                return None;
            }
        }
    }

    /// None, one or two addresses.
    fn address(&mut self) -> Option<()> {
        self.place()?;
        self.skip(" \t");
        if self.peek() == Some(',') {
            self.next();
            self.skip(" \t+~");
            self.place()?;
        }
        Some(())
    }

    fn place(&mut self) -> Option<()> {
        match self.peek() {
            Some('/') => {
                self.next();
                self.part('/', self.brackets)?;
                self.skip("IM");
            }
            Some('$') => {
                self.next();
            }
            _ => self.skip("0123456789~"),
        }
        Some(())
    }

    fn substitute(&mut self) -> Option<()> {
        let mark = self.mark()?;
        self.part(mark, self.brackets)?;
        self.part(mark, Brackets::Plain)?;
        self.skip("gpiI0123456789");
        Some(())
    }

    fn mark(&mut self) -> Option<char> {
        self.next().filter(|c| c.is_ascii_punctuation() && !matches!(c, '\\' | ';' | '[' | ']'))
    }

    /// A regular expression or a replacement, with the delimiter behind it.
    fn part(&mut self, mark: char, brackets: Brackets) -> Option<()> {
        let mut inside = false;
        loop {
            match self.next()? {
                '\n' => return None,
                '\\' if !inside => {
                    self.next().filter(|c| *c != '\n')?;
                }
                c if c == mark && !inside => return Some(()),
                '[' if brackets == Brackets::Quote && !inside => {
                    inside = true;
                    self.skip("^");
                    // A first `]` is one of the characters.
                    self.rest = self.rest.strip_prefix(']').unwrap_or(self.rest);
                }
                // Classes like `[:space:]` end with a bracket of their own.
                '[' if inside && matches!(self.peek(), Some(':' | '.' | '=')) => {
                    let end = self.rest.find(']')?;
                    self.rest = self.rest.get(end + 1..)?;
                }
                ']' => inside = false,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_sed() {
        for program in [
            "5p",
            "1,80p",
            "$p",
            "10,$p",
            "1,3p;7,9p",
            "/foo/p",
            "/foo/,/bar/p",
            "/a/,+3p",
            "1~2p",
            "/^#/d",
            "/^$/d",
            "$!d",
            "/x/!d",
            "s/a/b/",
            "s/a/b/g",
            "s|/a|/b|gp",
            "s/[a-z]*//",
            "s/[[:space:]]*$//",
            "s/\\(a\\)/\\1/",
            "/a/{p;q}",
            "/a/{ s/x/y/; p; }",
            "1q",
            "10q",
            "=",
            "y/abc/xyz/",
            "s,a,b,2",
            "n;d",
            "/foo/I,$p",
            "N;P;D",
            "s/a\\/b/c/",
        ] {
            assert!(harmless_sed(program), "{program}");
        }
        for program in [
            "e",
            "1e rm x",
            "1,2e",
            "w x",
            "/a/w x",
            "r x",
            "R x",
            "W x",
            "s/a/b/e",
            "s/a/b/ge",
            "s/a/b/w x",
            "s/a/b/gw x",
            "s/a/b/;e rm",
            "p;e rm",
            "p\ne rm",
            "{e rm\n}",
            "p}e rm",
            "/a/{e rm",
            "s/[/]/e rm;/",
            "s/[/]/x/;s/]/y/e",
            "/[/]/p;/e rm/p",
            "s/a/b\\\n/e",
            "a x",
            "i\\\ne",
            "c x",
            "#n\ne",
            "b",
            "v",
            "F;e",
            "\\xaxp",
            "s\na\nb\ne",
            "sxaxbxe",
            "p w x",
            "y/a/b/e",
            "z;e",
            "s/a/b",
            "s/a",
            "/a",
            "1!!e",
        ] {
            assert!(!harmless_sed(program), "{program}");
        }
    }

    #[test]
    fn programs_of_awk() {
        for program in ["{print $1}", "NR==1 || x", "{print > \"x\"}", "/a/ {n++} END {print n}"] {
            let plain = !program.contains(['|', '>']);
            assert_eq!(harmless_awk(program), plain, "{program}");
        }
        for program in [
            "BEGIN{system(\"x\")}",
            "{print | \"sh\"}",
            "\"x\" | getline",
            "{getline < \"x\"}",
            "@load \"x\"",
            "@include \"x\"",
            "{ f = \"sys\\\ntem\" }",
            "BEGIN{f=\"x\";@f()}",
        ] {
            assert!(!harmless_awk(program), "{program}");
        }
    }
}
