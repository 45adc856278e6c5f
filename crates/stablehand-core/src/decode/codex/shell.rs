//! The command inside `/bin/bash -lc '…'`.
//!
//! Codex reports every command as it starts it: a shell, its flag and one quoted word. What people
//! and policies want is the word. Whatever is not exactly of that form stays as it is.

/// The command that a shell was given, or the whole where it is no such call.
pub(super) fn unwrapped(command: &str) -> String {
    inner(command).unwrap_or_else(|| command.to_owned())
}

fn inner(command: &str) -> Option<String> {
    let (shell, rest) = command.split_once(' ')?;
    let shell = shell.rsplit('/').next()?;
    let (flag, word) = rest.trim_start().split_once(' ')?;
    let is_shell = matches!(shell, "bash" | "sh" | "zsh" | "dash" | "ksh");
    (is_shell && matches!(flag, "-lc" | "-c" | "-ic")).then(|| unquoted(word)).flatten()
}

/// The value of one shell word; `None` where it is not one, or would be expanded.
fn unquoted(word: &str) -> Option<String> {
    let quoted = word.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    if let Some(plain) = quoted.filter(|inner| !inner.is_empty() && !inner.contains('\'')) {
        return Some(plain.to_owned());
    }
    let mut out = String::with_capacity(word.len());
    let mut chars = word.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => loop {
                match chars.next()? {
                    '\'' => break,
                    c => out.push(c),
                }
            },
            '"' => loop {
                match chars.next()? {
                    '"' => break,
                    '\\' => match chars.next()? {
                        '\n' => {}
                        c @ ('$' | '`' | '"' | '\\') => out.push(c),
                        c => out.extend(['\\', c]),
                    },
                    '$' | '`' => return None,
                    c => out.push(c),
                }
            },
            '\\' => out.push(chars.next()?),
            c if c.is_whitespace() => return None,
            '$' | '`' | ';' | '&' | '|' | '<' | '>' | '(' | ')' | '*' | '?' | '#' => return None,
            c => out.push(c),
        }
    }
    (!out.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_usual_wrapping_is_taken_off() {
        let cases = [
            ("/bin/bash -lc 'echo hi'", "echo hi"),
            ("bash -lc ls", "ls"),
            ("/usr/bin/zsh -lc 'a | b'", "a | b"),
            (r#"/bin/bash -lc "python3 -c 'x'; echo after""#, "python3 -c 'x'; echo after"),
            (r#"/bin/bash -lc "echo \"\$HOME\" \\ \n""#, r#"echo "$HOME" \ \n"#),
            (r"/bin/sh -c 'it'\''s'", "it's"),
            ("/bin/bash -lc 'a\nb'", "a\nb"),
            // Not of that form.
            ("/bin/bash -lc 'a' b", "/bin/bash -lc 'a' b"),
            ("/bin/bash -lc 'open", "/bin/bash -lc 'open"),
            (r#"bash -lc "$X""#, r#"bash -lc "$X""#),
            ("bash -x 'a'", "bash -x 'a'"),
            ("python3 -c 'a'", "python3 -c 'a'"),
            ("git status", "git status"),
            ("bash -lc ''", "bash -lc ''"),
            ("bash", "bash"),
            ("", ""),
        ];
        for (command, expected) in cases {
            assert_eq!(unwrapped(command), expected, "{command}");
        }
    }
}
