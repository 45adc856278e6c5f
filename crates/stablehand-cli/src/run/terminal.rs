//! The flags of a run at a terminal, and what follows from them and from our own terminal.
//!
//! Nothing here starts anything; `plan.rs` puts it into the plan.

use crate::choice::help;
use crate::duration;
use crate::env::Env;
use crate::failure::Failure;
use clap::{Args, ValueEnum};
use stablehand::agent::Form;
use stablehand::session::TerminalWish;
use stablehand_core::terminal::TerminalSize;
use std::time::Duration;

/// What the agent's standard streams are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum TransportName {
    /// Three pipes: the agent's own stream of events
    Pipe,
    /// A terminal of its own: the agent's interactive form, read as text
    Pty,
    /// Pipes on which both speak while the agent works: it may ask
    TwoWay,
}

/// How the agent is connected.
#[derive(Clone, Debug, Args)]
pub(super) struct TerminalArgs {
    /// How we talk with the agent
    #[arg(long, value_enum, value_name = "pipe|two-way|pty", default_value_t = TransportName::Pipe,
          hide_possible_values = true, help_heading = "Terminal", help = help::transport())]
    transport: TransportName,

    /// The size of the agent's terminal [default: that of ours, or 120x40]
    #[arg(long, value_name = "COLSxROWS", value_parser = size, help_heading = "Terminal")]
    size: Option<TerminalSize>,

    /// Ask the agent to leave once it has written nothing for so long; a run that ends so is
    /// a success
    #[arg(long, value_name = "DURATION", value_parser = duration::parse_positive, help_heading = "Terminal")]
    exit_when_quiet: Option<Duration>,
}

impl TerminalArgs {
    /// Whether the agent may ask; where a policy is to answer it must.
    pub(super) fn form(&self, acp: bool, ruled: bool) -> Result<Form, Failure> {
        match self.transport {
            TransportName::Pipe if acp => Ok(Form::Acp),
            TransportName::TwoWay | TransportName::Pty if acp => Err(Failure::usage(
                "--acp is a way to talk with the agent, and --transport another",
            )
            .hint("leave out one of the two")),
            TransportName::Pty if ruled => {
                Err(Failure::usage("an agent at a terminal asks there, where no policy answers")
                    .hint("leave out --transport pty or --policy, or add --no-policy"))
            }
            TransportName::Pipe if ruled => Ok(Form::TwoWay),
            TransportName::Pipe | TransportName::Pty => Ok(Form::OneTurn),
            TransportName::TwoWay => Ok(Form::TwoWay),
        }
    }

    /// What is wanted; nothing where the agent gets pipes.
    pub(super) fn wanted(&self, env: &Env) -> Result<Option<TerminalWish>, Failure> {
        if self.transport != TransportName::Pty {
            let useless = match (self.size, self.exit_when_quiet) {
                (Some(_), _) => "--size",
                (None, Some(_)) => "--exit-when-quiet",
                (None, None) => return Ok(None),
            };
            return Err(Failure::usage(format!("{useless} is about a terminal"))
                .hint("add --transport pty, or leave it out"));
        }
        Ok(Some(TerminalWish {
            size: self.size.or(env.terminal_size).unwrap_or(TerminalSize::DEFAULT),
            follow_size: self.size.is_none() && env.terminal_size.is_some(),
            exit_when_quiet: self.exit_when_quiet,
        }))
    }
}

/// Keeps quiet about the emulator's own mishaps, which core survives: they would only frighten, and
/// would be written across whatever is shown.
pub(super) fn hush_emulator() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|place| place.file().contains("/vt100-")) {
            usual(panic);
        }
    }));
}

fn size(text: &str) -> Result<TerminalSize, String> {
    let wrong = || format!("`{text}` is no size; write it as 120x40, columns first");
    let (cols, rows) = text.split_once(['x', 'X']).ok_or_else(wrong)?;
    let number = |text: &str| text.parse::<u16>().map_err(|_| wrong());
    let (cols, rows) = (number(cols)?, number(rows)?);
    let size = TerminalSize::new(cols, rows);
    if (size.cols(), size.rows()) == (cols, rows) {
        Ok(size)
    } else {
        Err(format!("`{text}` is out of bounds; the nearest that can be had is {size}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(size("80x24"), Ok(TerminalSize::new(80, 24)));
        for wrong in ["", "80", "80x", "x24", "80x24x2", "-80x24", "80 x 24", "1x1", "9999x40"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        assert!(size("9999x40").unwrap_err().contains("500x40"));
    }
}
