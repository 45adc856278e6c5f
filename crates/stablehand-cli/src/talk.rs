//! `stablehand talk`: a conversation with any agent, in a terminal or through a pipe.
//!
//! A thin face of the library's [`Session`]: one thread shows its events, this one reads prompts
//! and answers. Where the agent listens while it works, Ctrl-C ends the turn and not the agent, and
//! it asks here before it acts; elsewhere each turn is a process of its own, resumed.

mod show;

use crate::choice::ChoiceArgs;
use crate::env::Env;
use crate::failure::Failure;
use crate::input::{Desk, Prompt, Prompts};
use crate::main_stablehand::PROGRAM;
use crate::screen::Screen;
use crate::settings::Held;
use crate::signals::{self, Attention};
use crate::{console, env};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use show::{EndOfTurn, Note, Shows};
use stablehand::control::{self, Receiver, Request, Requests};
use stablehand::driver;
use stablehand::keeper::KeeperProgram;
use stablehand::session::{Handle, Policy, Session, SessionBuilder};
use stablehand::{Agent, Answer, Surroundings};
use stablehand_core::event::SessionEnd;
use stablehand_core::text::plain;
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
    let held = args.choice.settings(&env)?;
    let asks = args.asks(agent, &held, &env, prompts.is_terminal())?;
    let first = args.choice.prompt.join(" ");
    let first = Some(first.trim().to_owned()).filter(|first| !first.is_empty());
    let asked_here = match &asks {
        Policy::Ask => true,
        Policy::Rules(_) => prompts.is_terminal() && args.approvals != Some(Approvals::Deny),
        _ => false,
    };
    let continues = !held.continuations(agent).is_empty();
    let builder = held.apply(args.builder(&env, asks)?, agent);
    let builder = match redaction {
        Some(redaction) => builder.redact(redaction),
        None => builder,
    };
    // Where nobody sits, the rules decide alone, and at once.
    let builder = if asked_here { builder } else { builder.patience(Some(Duration::ZERO)) };
    let builder = match &first {
        Some(first) => builder.prompt(first),
        None => builder,
    };
    let listener = console::listener(PROGRAM, screen.clone(), &["run_ended", "approval_resolved"]);
    let mut session = builder.start_with_listener(args.choice.log_level, listener)?;
    let events = session.take_events();
    let (sender, notes) = control::channel().map_err(io)?;
    let ends = match (agent.row().two_way.is_some(), continues) {
        (false, _) => EndOfTurn::Exit,
        (true, false) => EndOfTurn::Word,
        (true, true) => EndOfTurn::Rest,
    };
    let handle = session.handle();
    let shown = show::start(args.output_format, screen.clone(), events, sender, handle, ends);
    let shown = shown.map_err(io)?;
    let mut talk = Talk {
        handle: session.handle(),
        screen: &screen,
        requests: &requests,
        attention: &attention,
        notes: &notes,
        asks: asked_here,
        status: env.stderr_is_terminal && args.output_format == Shows::Text,
    };
    let signal = talk.run(&mut prompts, first.is_some())?;
    talk.handle.finish();
    let outcome = session.wait();
    let _broke_down = shown.join();
    screen.flush();
    let outcome = outcome.map_err(|error| Failure::new(error.to_string()))?;
    if let Some(signal) = signal {
        return Ok(128u8.saturating_add(u8::try_from(signal).unwrap_or(2)));
    }
    tell(&screen, &outcome);
    Ok(driver::exit_code(outcome.report.end))
}

/// Says how it ended, where it did not end well.
fn tell(screen: &Screen, outcome: &stablehand::Outcome) {
    if !matches!(outcome.end(), SessionEnd::Success | SessionEnd::ReaderGone) {
        // A verdict has been said already, in the words of the log.
        let text = match outcome.report.verdict {
            Some(_) => "the agent was stopped".to_owned(),
            None => outcome.report.summary(),
        };
        let failure =
            Failure::new(text).hint(format!("the log has everything: {}", outcome.log.display()));
        screen.err(failure.message(PROGRAM).as_bytes());
        screen.flush();
    }
}

impl TalkArgs {
    fn asks(
        &self,
        agent: Agent,
        held: &Held,
        env: &Env,
        terminal: bool,
    ) -> Result<Policy, Failure> {
        if self.choice.hooks {
            // Rules that nobody is asked about hold nobody.
            let failure = Failure::usage("a conversation has no hooks".to_owned());
            return Err(failure.hint("use `stablehand run --hooks`, once or with --resume"));
        }
        if let Some(gate) = self.choice.gate(agent, held, env)? {
            return Ok(Policy::Rules(gate));
        }
        Ok(match self.approvals {
            Some(Approvals::Ask) => Policy::Ask,
            Some(Approvals::Allow) => Policy::Allow,
            None if self.choice.force => Policy::Allow,
            None if terminal => Policy::Ask,
            Some(Approvals::Deny) | None => Policy::Deny,
        })
    }

    fn builder(&self, env: &Env, policy: Policy) -> Result<SessionBuilder, Failure> {
        let choice = &self.choice;
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
            .patience(None)
            .args(choice.extra.iter().cloned())
            .continue_latest(choice.continue_latest)
            .force(choice.force)
            .conversation();
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
}

/// A conversation in progress.
struct Talk<'a> {
    handle: Handle,
    screen: &'a Screen,
    requests: &'a Requests,
    attention: &'a Attention,
    notes: &'a Receiver<Note>,
    status: bool,
    /// Questions of the agent are asked here.
    asks: bool,
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
                match self.turn(prompts)? {
                    After::Prompt => {}
                    After::Over => return Ok(None),
                    After::Signal(signal) => return Ok(Some(signal)),
                }
            }
            match prompts.next(&self.desk())? {
                Prompt::Text(text) => {
                    while self.notes.take(|note| matches!(note, Note::TurnOver)).is_some() {}
                    self.handle.prompt(text);
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
    ///
    /// A process that ends between two turns tells so when nobody waits; that is old news here.
    fn turn(&self, prompts: &mut Prompts) -> Result<After, Failure> {
        self.attention.set(true);
        self.draw();
        let mut interrupts = 0;
        let after = loop {
            match self.notes.next() {
                Some(Note::TurnOver) => break After::Prompt,
                Some(Note::Over) => break After::Over,
                Some(Note::Asked { id, what }) if self.asks => {
                    self.screen.finish();
                    self.ask(prompts, &id, &what)?;
                    self.draw();
                    continue;
                }
                // The policy answers.
                Some(Note::Asked { .. }) => continue,
                None => {}
            }
            match self.requests.next() {
                Some(Request::Stop { signal: 2 }) if interrupts == 0 => {
                    interrupts += 1;
                    self.handle.cancel();
                    continue;
                }
                Some(Request::Stop { signal }) => {
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
        Ok(after)
    }

    fn draw(&self) {
        if self.status {
            // Without a status line everything else still works.
            let _no_thread = self.screen.draw(self.handle.status_cell());
        }
    }

    /// Asks the person.
    fn ask(&self, prompts: &mut Prompts, id: &str, what: &str) -> Result<(), Failure> {
        self.screen.err(format!("? {}\n", plain(what)).as_bytes());
        self.screen.flush();
        let answer = match prompts.ask(&self.desk(), "allow? [y]es, [a]lways, or why not: ")? {
            Some(word) => match word.trim() {
                "y" | "yes" => Answer::Allow,
                "a" | "always" => Answer::AllowAlways,
                "" | "n" | "no" => Answer::Deny { message: "denied by the user".to_owned() },
                why => Answer::Deny { message: why.to_owned() },
            },
            None => Answer::Deny { message: "denied: nobody is there to ask".to_owned() },
        };
        self.handle.answer(id, answer);
        Ok(())
    }
}
