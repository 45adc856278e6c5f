//! A command line, taken apart into words and put together again.
//!
//! Quotes and backslashes mean what they mean to a shell; nothing is expanded and no character is an
//! operator, since nothing is run by a shell. What a command *does* is the policy's question, which
//! reads real shell grammar (`stablehand-policy`, `shell`).
//!
//! The crate `shlex` does not replace it: it takes `#` for the beginning of a comment, and does not
//! say what is wrong with a line.

use thiserror::Error;

/// Why a command line cannot be taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WordsError {
    /// There is no word in it.
    #[error("the command is empty")]
    Empty,
    /// A quote is not closed.
    #[error("the quote {0} is not closed")]
    Unclosed(char),
    /// It ends with a backslash that is to quote something.
    #[error("a backslash at the end quotes nothing")]
    Dangling,
}

/// The words of a command line; at least one.
pub fn split(line: &str) -> Result<Vec<String>, WordsError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        match char {
            ' ' | '\t' | '\n' | '\r' => words.extend(word.take()),
            '\'' => quoted(&mut chars, word.get_or_insert_default())?,
            '"' => double_quoted(&mut chars, word.get_or_insert_default())?,
            '\\' => {
                let next = chars.next().ok_or(WordsError::Dangling)?;
                // A line that goes on in the next one.
                if next != '\n' {
                    word.get_or_insert_default().push(next);
                }
            }
            char => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    // A program without a name is none.
    match words.first() {
        Some(program) if !program.is_empty() => Ok(words),
        _ => Err(WordsError::Empty),
    }
}

fn quoted(chars: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), WordsError> {
    for char in chars.by_ref() {
        if char == '\'' {
            return Ok(());
        }
        word.push(char);
    }
    Err(WordsError::Unclosed('\''))
}

fn double_quoted(chars: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), WordsError> {
    while let Some(char) = chars.next() {
        match char {
            '"' => return Ok(()),
            '\\' => match chars.next() {
                Some('\n') => {}
                Some(char @ ('"' | '\\' | '$' | '`')) => word.push(char),
                Some(char) => word.extend(['\\', char]),
                None => break,
            },
            char => word.push(char),
        }
    }
    Err(WordsError::Unclosed('"'))
}

/// One line that [`split`] takes apart into these words again, and a shell as well.
pub fn join<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| plain_or_quoted(word.as_ref())).collect();
    words.join(" ")
}

fn plain_or_quoted(word: &str) -> String {
    let is_plain = |char: char| char.is_alphanumeric() || "-_./:=@%+,[]".contains(char);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quotes_mean_what_they_mean_to_a_shell() {
        let table: [(&str, &[&str]); 8] = [
            ("gemini --acp", &["gemini", "--acp"]),
            ("  a\t b\n", &["a", "b"]),
            (r#"'my agent' "--x=a b" c\ d"#, &["my agent", "--x=a b", "c d"]),
            (r#"a"b"'c'd"#, &["abcd"]),
            (r#"a '' """#, &["a", "", ""]),
            (r#"a "\"\\\$\n" '\'"#, &["a", r#""\$\n"#, r"\"]),
            ("a $HOME `x` | y > z && *", &["a", "$HOME", "`x`", "|", "y", ">", "z", "&&", "*"]),
            ("a \\\n b", &["a", "b"]),
        ];
        for (line, expected) in table {
            assert_eq!(split(line).unwrap(), expected, "{line}");
        }
    }

    #[test]
    fn what_is_no_command_line_says_why() {
        let table = [
            ("", WordsError::Empty),
            (" \t", WordsError::Empty),
            ("''", WordsError::Empty),
            ("a 'b", WordsError::Unclosed('\'')),
            ("a \"b\\", WordsError::Unclosed('"')),
            ("a \\", WordsError::Dangling),
        ];
        for (line, expected) in table {
            assert_eq!(split(line), Err(expected), "{line}");
        }
    }

    proptest! {
        #[test]
        fn what_is_put_together_comes_apart_again(
            program in "\\PC{1,8}",
            more in proptest::collection::vec("(\\PC|[ '\"\\\\\n$]){0,12}", 0..5),
        ) {
            let words: Vec<String> = std::iter::once(program).chain(more).collect();
            prop_assert_eq!(split(&join(&words)), Ok(words));
        }
    }
}
