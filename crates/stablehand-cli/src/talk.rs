//! `stablehand talk`: a conversation with any agent, in a terminal or through a pipe.
//!
//! Where the agent listens while it works, Ctrl-C ends the turn and not the agent, and it asks before it
//! acts; elsewhere each turn is a process of its own, resumed.

use crate::again::AgainArgs;
use crate::ask::{self, AskArgs, Attendant};
use crate::choice::ChoiceArgs;
use crate::env::Env;
use crate::failure::Failure;
use crate::input::Prompts;
use crate::shell::{Follow, Format, Interrupt, Setup, Shell};
use stablehand::session::Policy;
use stablehand_core::event::SessionEnd;
use std::time::Duration;

/// Talk with an agent: every line is a prompt; an empty input ends the conversation.
#[derive(Debug, clap::Args)]
#[command(after_help = crate::failure::EXIT_CODES)]
pub struct TalkArgs {
    #[command(flatten)]
    choice: ChoiceArgs,

    /// What becomes of the agent's questions whether it may do something, where it can ask
    /// [default: ask in a terminal, deny without]
    #[arg(long, value_enum)]
    approvals: Option<Approvals>,

    #[command(flatten)]
    again: AgainArgs,

    #[command(flatten)]
    asks: AskArgs,

    /// What standard output carries
    #[arg(long, value_enum, default_value_t = Format::Text)]
    output_format: Format,
}

/// What becomes of the agent's questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Approvals {
    /// They are asked here.
    Ask,
    /// They are allowed.
    Allow,
    /// They are denied.
    Deny,
}

/// Runs it; the exit status.
pub fn main(args: &TalkArgs) -> Result<u8, Failure> {
    let env = Env::read()?;
    let choice = &args.choice;
    let mut prompts = Prompts::open(&env);
    let agent = choice.agent()?;
    let config = choice.config(&env)?;
    let gate = choice.gate(agent, &config)?;
    let can_ask = choice.listens(agent) || choice.hooks;
    args.asks.check_asks(gate.is_some() || can_ask, agent.name())?;
    let attendant = args.asks.attendant(gate, &env)?;
    let policy = args.policy(&attendant);
    let asks = match &policy {
        Policy::Ask => can_ask,
        Policy::Rules(_) => args.approvals != Some(Approvals::Deny),
        _ => false,
    };
    // Where nobody sits, the rules decide alone, and at once.
    let patience = if asks { attendant.session_patience() } else { Some(Duration::ZERO) };
    let first = choice.prompt.join(" ");
    let first = Some(first.trim().to_owned()).filter(|first| !first.is_empty());
    let spec = choice.spec(&env, agent, &config, &args.again)?.conversation();
    let spec = spec.policy(policy).patience(patience).actor(ask::actor(&env));
    let spec = match &first {
        Some(first) => spec.prompt(first),
        None => spec,
    };
    let setup = Setup {
        format: args.output_format,
        told_by_face: &["run_ended", "approval_resolved", "prompt_denied"],
        status: args.output_format == Format::Text,
        stderr_in_text: true,
        attendant: Some(attendant).filter(|_| asks),
        conversation: true,
        ..Setup::of(choice, &env)?
    };
    let mut shell = Shell::start(&env, spec, &setup)?;
    let left =
        shell.converse(&mut prompts, first.is_some(), Interrupt::Cancel, |_, _, _| Follow::Ask)?;
    shell.handle().finish();
    let ended = shell.wait()?;
    if let Some(code) = left.by_signal() {
        return Ok(shell.close(&ended, code));
    }
    if !matches!(ended.outcome.end(), SessionEnd::Success | SessionEnd::ReaderGone) {
        shell.tell(&ended.failure(""));
    }
    let code = ended.exit_code();
    Ok(shell.close(&ended, code))
}

impl TalkArgs {
    fn policy(&self, attendant: &Attendant) -> Policy {
        match (attendant.policy(self.choice.force), self.approvals) {
            (policy @ Policy::Rules(_), _) | (policy, None) => policy,
            (_, Some(Approvals::Allow)) => Policy::Allow,
            (_, Some(Approvals::Ask)) if attendant.is_there() => Policy::Ask,
            (_, Some(Approvals::Ask | Approvals::Deny)) => Policy::Deny,
        }
    }
}
