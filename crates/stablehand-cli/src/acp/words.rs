//! A command line, cut into words as a shell would, without ever running one.
//!
//! Quotes and backslashes only: whatever a shell would look up or carry out stays as it is written.

/// The words; at least one.
pub(super) fn split(command: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut signs = command.chars();
    while let Some(sign) = signs.next() {
        match sign {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' => loop {
                let word = word.get_or_insert_default();
                match signs.next().ok_or("a quote has no end")? {
                    '\'' => break,
                    sign => word.push(sign),
                }
            },
            '"' => loop {
                let word = word.get_or_insert_default();
                match signs.next().ok_or("a quote has no end")? {
                    '"' => break,
                    '\\' => match signs.next().ok_or("it ends with a backslash")? {
                        sign @ ('"' | '\\' | '$' | '`') => word.push(sign),
                        sign => word.extend(['\\', sign]),
                    },
                    sign => word.push(sign),
                }
            },
            '\\' => {
                let sign = signs.next().ok_or("it ends with a backslash")?;
                word.get_or_insert_default().push(sign);
            }
            sign => word.get_or_insert_default().push(sign),
        }
    }
    words.extend(word);
    if words.first().is_none_or(String::is_empty) { Err("it names no program") } else { Ok(words) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_as_a_shell_does() {
        let table: &[(&str, &[&str])] = &[
            ("gemini --acp", &["gemini", "--acp"]),
            ("  a\t'b c'\"d e\"\\ f  ", &["a", "b cd e f"]),
            ("a '' \"\\\"\\x\"", &["a", "", "\"\\x"]),
            ("a $HOME", &["a", "$HOME"]),
        ];
        for (command, words) in table {
            assert_eq!(split(command).unwrap(), *words, "{command}");
        }
        for wrong in ["", "  ", "a 'b", "a \"b", "a\\", "''"] {
            assert!(split(wrong).is_err(), "{wrong}");
        }
    }
}
