//! `stablehand talk`: a conversation with any agent, in a terminal or through a pipe.
//!
//! A thin face of the library's [`Session`]: one thread shows its events, one asks the person
//! ([`crate::ask`]), this one reads prompts. Where the agent listens while it works, Ctrl-C ends the
//! turn and not the agent, and it asks before it acts; elsewhere each turn is a process of its own,
//! resumed.

mod show;

use crate::again::AgainArgs;
use crate::ask::{self, AskArgs, Asking, Attendant};
use crate::choice::ChoiceArgs;
use crate::env::Env;
use crate::failure::Failure;
use crate::input::{Desk, Prompt, Prompts};
use crate::main_stablehand::PROGRAM;
use crate::screen::Screen;
use crate::signals::{self, Attention};
use crate::{console, env, settings};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use show::{Note, Shows};
use stablehand::Surroundings;
use stablehand::control::{self, Receiver, Request, Requests};
use stablehand::driver;
use stablehand::keeper::KeeperProgram;
use stablehand::session::{Handle, Policy, Session, SessionSpec};
use stablehand_core::event::SessionEnd;
use stablehand_core::record::Level;
use stablehand_store::Filler;
use std::sync::Arc;
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
    #[arg(long, value_enum, default_value_t = Shows::Text)]
    output_format: Shows,
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
    let io = |error: std::io::Error| Failure::new(format!("failed to set up our streams: {error}"));
    let redaction = args.choice.redaction();
    let screen = Screen::start(redaction.as_ref()).map_err(io)?;
    let (control, requests) = control::control().map_err(io)?;
    let attention = signals::watch(control).map_err(io)?;
    let mut prompts = Prompts::open(&env);
    let agent = args.choice.agent()?;
    let config = args.choice.config(&env)?;
    let gate = args.choice.gate(agent, &config)?;
    let two_way = args.choice.listens(agent);
    let can_ask = two_way || args.choice.hooks;
    args.asks.check_asks(gate.is_some() || can_ask, agent.name())?;
    let attendant = args.asks.attendant(gate, &env)?;
    let policy = args.policy(&attendant);
    let first = args.choice.prompt.join(" ");
    let first = Some(first.trim().to_owned()).filter(|first| !first.is_empty());
    let asks = match &policy {
        Policy::Ask => can_ask,
        Policy::Rules(_) => args.approvals != Some(Approvals::Deny),
        _ => false,
    };
    let patience = if asks { attendant.session_patience() } else { Some(Duration::ZERO) };
    // Where nobody sits, the rules decide alone, and at once.
    let builder = args.again.apply(builder(&args.choice, &env, policy)?);
    let builder =
        settings::apply(&config, builder, agent).patience(patience).actor(ask::actor(&env));
    let builder = match redaction {
        Some(redaction) => builder.redact(redaction),
        None => builder,
    };
    let builder = match &first {
        Some(first) => builder.prompt(first),
        None => builder,
    };
    let listener = console::listener(PROGRAM, screen.clone(), &["run_ended", "approval_resolved"]);
    let session = builder.start_with_listener(args.choice.log_level, listener)?;
    let filler = args.choice.indexes(&env).then(|| Filler::start(&session.log()));
    let events = session.subscribe(stablehand::From::Start);
    let (sender, notes) = control::channel().map_err(io)?;
    let handle = session.handle();
    let asking = if asks {
        Asking::start(&attendant, handle.control(), &screen, &attention).map_err(io)?
    } else {
        None
    };
    let feed = asking.as_ref().map(Asking::feed);
    let shown = show::start(args.output_format, screen.clone(), events, sender, handle, feed);
    let shown = shown.map_err(io)?;
    let mut talk = Talk {
        handle: session.handle(),
        screen: &screen,
        requests: &requests,
        attention: &attention,
        notes: &notes,
        asking,
        status: env.stderr_is_terminal && !env.dumb && args.output_format == Shows::Text,
    };
    let signal = talk.run(&mut prompts, first.is_some())?;
    talk.handle.finish();
    let outcome = session.wait();
    let _broke_down = shown.join();
    // The terminal is as it was before the last words.
    drop(talk.asking.take());
    let trouble = filler.and_then(|filler| filler.trouble());
    if let Some(text) = trouble.filter(|_| args.choice.log_level == Level::Debug) {
        screen.err(format!("{PROGRAM}: DEBUG the index is behind: {text}\n").as_bytes());
    }
    screen.flush();
    let outcome = outcome.map_err(|error| Failure::new(error.to_string()))?;
    if let Some(signal) = signal {
        return Ok(128u8.saturating_add(u8::try_from(signal).unwrap_or(2)));
    }
    tell(&screen, &outcome);
    Ok(match driver::exit_code(outcome.report.end) {
        0 if outcome.missed_bytes > 0 => 1,
        code => code,
    })
}

/// Says how it ended, where it did not end well.
fn tell(screen: &Screen, outcome: &stablehand::Outcome) {
    if !matches!(outcome.end(), SessionEnd::Success | SessionEnd::ReaderGone) {
        // A verdict has been said already, in the words of the log.
        let text = match outcome.report.verdict {
            Some(_) => "the agent was stopped".to_owned(),
            None => outcome.report.summary(),
        };
        let failure = Failure::new(text).hint(crate::failure::log_hint(&outcome.log));
        screen.err(failure.message(PROGRAM).as_bytes());
        screen.flush();
    }
}

impl TalkArgs {
    fn policy(&self, attendant: &Attendant) -> Policy {
        if let Some(gate) = &attendant.gate {
            return Policy::Rules(Arc::clone(gate));
        }
        match self.approvals {
            Some(Approvals::Allow) => Policy::Allow,
            None if self.choice.force => Policy::Allow,
            Some(Approvals::Ask) | None if attendant.is_there() => Policy::Ask,
            Some(Approvals::Deny | Approvals::Ask) | None => Policy::Deny,
        }
    }
}

/// A conversation as it was chosen.
pub(crate) fn builder(
    choice: &ChoiceArgs,
    env: &Env,
    policy: Policy,
) -> Result<SessionSpec, Failure> {
    let agent = choice.agent()?;
    let mut around = Surroundings::default();
    around.path.clone_from(&env.path);
    around.state = env.state().ok();
    if !choice.keep_env {
        around.non_interactive = env.non_interactive();
    }
    let mut builder = Session::builder(agent)
        .surroundings(around)
        .program(choice.program(agent, env)?)
        .keeper(KeeperProgram { program: env.program.clone(), args: vec![env::KEEPER.into()] })
        .log_dir(choice.log_dir(env)?)
        .limits(choice.limits(agent))
        .stages(choice.stages())
        .policy(policy)
        .args(choice.extra.iter().cloned())
        .continue_latest(choice.continue_latest)
        .force(choice.force)
        .acp(choice.speaks_acp(agent))
        .login(choice.login(agent))
        .conversation();
    if choice.hooks {
        builder = builder.hooks(env.hook_setup()?);
    }
    if let Some(model) = &choice.model {
        builder = builder.model(model);
    }
    if let Some(mode) = choice.mode {
        builder = builder.mode(mode);
    }
    if let Some(folder) = &choice.workspace {
        builder = builder.workspace(folder);
    }
    if let Some(session) = &choice.resume {
        builder = builder.resume(session);
    }
    Ok(builder)
}

/// A conversation in progress.
struct Talk<'a> {
    handle: Handle,
    screen: &'a Screen,
    requests: &'a Requests,
    attention: &'a Attention,
    notes: &'a Receiver<Note>,
    status: bool,
    /// Asks the person, where there is one.
    asking: Option<Asking>,
}

/// How a turn ended, for us.
enum After {
    /// Another prompt may come.
    Prompt,
    /// The session is over.
    Over,
    /// A signal ended it.
    Signal(i32),
}

impl Talk<'_> {
    /// Talks until the input, the session or a signal ends it.
    fn run(&mut self, prompts: &mut Prompts, mut busy: bool) -> Result<Option<i32>, Failure> {
        loop {
            if busy {
                let after = self.turn();
                if let Some(asking) = &self.asking {
                    // The prompt needs the terminal that a question may still have.
                    asking.rest();
                }
                match after {
                    After::Prompt => {}
                    After::Over => return Ok(None),
                    After::Signal(signal) => return Ok(Some(signal)),
                }
            }
            match prompts.next(&self.desk())? {
                Prompt::Text(text) => {
                    if self.handle.prompt(text).is_err() {
                        return Ok(None); // The session is over; its outcome says why.
                    }
                }
                Prompt::End => return Ok(None),
                Prompt::Signal(signal) => return Ok(Some(signal)),
            }
            busy = true;
        }
    }

    fn desk(&self) -> Desk<'_> {
        Desk { screen: self.screen, requests: self.requests, attention: self.attention }
    }

    /// Follows one turn to its end.
    fn turn(&self) -> After {
        self.attention.set(true);
        self.draw();
        let mut interrupts = 0;
        let after = loop {
            match self.notes.next() {
                Some(Note::TurnOver) => break After::Prompt,
                Some(Note::Over) => break After::Over,
                None => {}
            }
            match self.requests.next() {
                Some(Request::Stop { signal: 2, .. }) if interrupts == 0 => {
                    interrupts += 1;
                    self.handle.cancel();
                    continue;
                }
                Some(Request::Stop { signal, .. }) => {
                    self.handle.stop();
                    break After::Signal(signal);
                }
                Some(_) => continue,
                None => {}
            }
            let mut fds = [
                PollFd::new(self.requests.fd(), PollFlags::POLLIN),
                PollFd::new(self.notes.fd(), PollFlags::POLLIN),
            ];
            let _interrupted = poll(&mut fds, PollTimeout::NONE);
        };
        self.screen.finish();
        self.attention.set(false);
        after
    }

    fn draw(&self) {
        if self.status {
            // Without a status line everything else still works.
            let _no_thread = self.screen.draw(self.handle.status_cell());
        }
    }
}
