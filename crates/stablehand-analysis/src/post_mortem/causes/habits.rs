//! What commands are known to do: ask somebody, or go on for ever.
//!
//! Owns two short lists. A command counts only where it stands as one, not where its name is an
//! argument; quoting is not looked at, so whoever asks may at most call it likely.

/// A command by its first words, and the words with which it does not do it.
type Habit = (&'static str, &'static [&'static str]);

const ASKS: &[Habit] = &[
    ("sudo", &["-n", "--non-interactive"]),
    ("su", &[]),
    ("passwd", &[]),
    ("vi", &[]),
    ("vim", &["-es", "-Es"]),
    ("nano", &[]),
    ("emacs", &["--batch", "-batch"]),
    ("less", &[]),
    ("more", &[]),
    ("top", &["-b"]),
    ("htop", &[]),
    ("read", &[]),
    ("git rebase -i", &[]),
    ("git rebase --interactive", &[]),
    ("git add -p", &[]),
    ("git add -i", &[]),
    ("npm init", &["-y", "--yes"]),
    ("npm login", &[]),
    ("docker run -it", &[]),
    ("docker exec -it", &[]),
    ("gh auth login", &["--with-token"]),
];

const ENDLESS: &[Habit] = &[
    ("npm start", &[]),
    ("npm run dev", &[]),
    ("npm run start", &[]),
    ("npm run watch", &[]),
    ("yarn dev", &[]),
    ("yarn start", &[]),
    ("pnpm dev", &[]),
    ("pnpm start", &[]),
    ("bun dev", &[]),
    ("vite", &["build", "--version", "--help"]),
    ("npx vite", &["build", "--version", "--help"]),
    ("next dev", &[]),
    ("ng serve", &[]),
    ("webpack serve", &[]),
    ("nodemon", &[]),
    ("watch", &[]),
    ("tail -f", &["--pid"]),
    ("tail -F", &["--pid"]),
    ("journalctl -f", &[]),
    ("flask run", &[]),
    ("uvicorn", &[]),
    ("gunicorn", &["-D", "--daemon"]),
    ("rails s", &["-d"]),
    ("rails server", &["-d"]),
    ("cargo watch", &[]),
    ("docker compose up", &["-d", "--detach"]),
    ("docker-compose up", &["-d", "--detach"]),
    ("jupyter notebook", &[]),
    ("jupyter lab", &[]),
    ("sleep infinity", &[]),
];

/// Arguments that make nearly every command go on for ever.
const ENDLESS_ARGUMENTS: &[&str] = &["--watch", "runserver", "http.server"];

/// What stands before a command and is none.
const BEFORE: &[&str] = &["env", "exec", "time", "nice", "nohup", "command"];

/// Whether the command asks somebody.
pub(super) fn asks(command: &str) -> bool {
    simple(command).any(|words| has_habit(&words, ASKS))
}

/// Whether the command goes on until somebody ends it.
pub(super) fn never_ends(command: &str) -> bool {
    simple(command).any(|words| {
        has_habit(&words, ENDLESS) || words.iter().any(|word| ENDLESS_ARGUMENTS.contains(word))
    })
}

/// The commands of a line, each as its words.
fn simple(command: &str) -> impl Iterator<Item = Vec<&str>> {
    let commands = command.split([';', '|', '&', '(', ')', '\n']);
    commands.map(|command| {
        let words = command.split_whitespace();
        words.skip_while(|word| BEFORE.contains(word) || is_assignment(word)).collect()
    })
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

fn has_habit(words: &[&str], habits: &[Habit]) -> bool {
    habits.iter().any(|(first, unless)| {
        let mut rest = words.iter();
        first.split(' ').all(|word| rest.next() == Some(&word))
            && !rest.any(|word| unless.contains(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_count_where_they_stand_as_commands() {
        for asking in ["sudo make", "cd x && CI=1 git rebase -i HEAD~3", "ls | less", "(vim a)"] {
            assert!(asks(asking), "{asking}");
        }
        for silent in ["sudo -n make", "echo sudo", "grep more a", "npm init -y", "git add a"] {
            assert!(!asks(silent), "{silent}");
        }
        for endless in ["npm run dev", "cd web; npx vite", "python -m http.server", "jest --watch"]
        {
            assert!(never_ends(endless), "{endless}");
        }
        for short in ["vite build", "docker compose up -d", "npm install serve", "grep watch a"] {
            assert!(!never_ends(short), "{short}");
        }
    }
}
