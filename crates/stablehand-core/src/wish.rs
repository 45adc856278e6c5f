//! What an agent has us do for it: files and commands, where we offered them.
//!
//! Owns the vocabulary between a driver, which does these things, and the protocols in which they are
//! asked for (`decode/<agent>`). Whether something may be done is the policy's and the driver's.

use crate::event::ToolKind;
use crate::words;

/// What we offer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Services {
    /// Files are read for it.
    pub reads: bool,
    /// Files are written for it.
    pub writes: bool,
    /// Commands are run for it.
    pub commands: bool,
}

/// Something that the agent wants done and waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The id to answer to.
    pub id: String,
    /// What it is.
    pub want: Want,
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Want {
    /// The text of a file.
    Read {
        /// Absolute.
        path: String,
        /// From this line on, the first being 1.
        line: Option<u64>,
        /// So many lines at the most.
        limit: Option<u64>,
    },
    /// A file with this text.
    Write {
        /// Absolute.
        path: String,
        /// All of it.
        content: String,
    },
    /// A command, in a terminal of its own.
    Run(Command),
    /// What a command has printed so far.
    Output {
        /// Its terminal.
        terminal: String,
    },
    /// The end of a command.
    Wait {
        /// Its terminal.
        terminal: String,
    },
    /// That a command ends; its terminal stays.
    Kill {
        /// Its terminal.
        terminal: String,
    },
    /// That a terminal goes, with whatever runs in it.
    Release {
        /// Which.
        terminal: String,
    },
}

/// A command that is to be run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The program; without arguments it may be a whole line for a shell.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables for it.
    pub env: Vec<(String, String)>,
    /// Where; absolute.
    pub cwd: Option<String>,
    /// So many bytes of its output are kept, the last ones.
    pub keep: Option<u64>,
}

impl Command {
    /// Whether a shell has to take it apart. Agents give a whole line where the protocol has a
    /// program, and mean that.
    pub fn is_line(&self) -> bool {
        self.args.is_empty()
            && self
                .program
                .contains(|c: char| c.is_whitespace() || "|&;<>$`\"'(){}*?~#".contains(c))
    }

    /// As a line that a shell would run so, for whoever judges it or reads it.
    pub fn line(&self) -> String {
        let mut line = String::new();
        for (name, value) in &self.env {
            line.push_str(name);
            line.push('=');
            line.push_str(&words::join([value]));
            line.push(' ');
        }
        if self.is_line() {
            line.push_str(&self.program);
        } else {
            line.push_str(&words::join(std::iter::once(&self.program).chain(&self.args)));
        }
        line
    }
}

impl Want {
    /// What kind of tool does such a thing, where it needs leave.
    pub fn kind(&self) -> Option<ToolKind> {
        match self {
            Want::Read { .. } => Some(ToolKind::Read),
            Want::Write { .. } => Some(ToolKind::Edit),
            Want::Run(_) => Some(ToolKind::Execute),
            Want::Output { .. } | Want::Wait { .. } | Want::Kill { .. } | Want::Release { .. } => {
                None
            }
        }
    }
}

/// What became of a wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Service {
    /// The text that was read.
    Text(String),
    /// It was done, and there is nothing to say about it.
    Done,
    /// The command runs.
    Started {
        /// In this terminal.
        terminal: String,
    },
    /// What it has printed.
    Printed {
        /// As much as is kept.
        text: String,
        /// Something before it is not.
        is_cut: bool,
        /// How it ended, if it has.
        end: Option<CommandEnd>,
    },
    /// It has ended.
    Ended(CommandEnd),
    /// There is no such file, or no such terminal.
    Missing(String),
    /// It was not done, and this is why.
    Refused(String),
}

/// How a command ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandEnd {
    /// Its exit code, where it had one.
    pub code: Option<i32>,
    /// The signal that ended it, by its name.
    pub signal: Option<String>,
}

/// The terminal of the command that was asked for by that id. Derived from it, so that whoever reads
/// the agent's side alone knows which is which.
pub fn terminal_of(id: &str) -> String {
    format!("terminal-{id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_judged_as_what_a_shell_would_run() {
        let command = |program: &str, args: &[&str]| Command {
            program: program.into(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            ..Command::default()
        };
        assert_eq!(command("rm", &["-rf", "a b"]).line(), "rm -rf 'a b'");
        assert_eq!(command("echo hi; rm x", &[]).line(), "echo hi; rm x");
        assert_eq!(command("ls", &[]).line(), "ls");
        // An argument is never more than one word, whatever is in it.
        assert_eq!(command("echo", &["; rm x"]).line(), "echo '; rm x'");
        let with_env = Command { env: vec![("A".into(), "b c".into())], ..command("env", &[]) };
        assert_eq!(with_env.line(), "A='b c' env");
    }
}
