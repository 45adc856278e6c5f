//! What an agent has us do for it: read and write files, run commands.
//!
//! A part of the [two-way channel](super::two_way). Owns which wishes wait, and what may be done without
//! a word; the commands that run are the driver's, which ends them with the agent. Without rules that is
//! whatever lies in the workspace, or, where everything is allowed, everything; with rules each wish
//! is judged like a call of the agent's own, and may become a question ([`super::approvals`]). What is
//! asked for and answered is in the words of the protocol, and so core's.

mod files;
mod terminals;

use super::approvals::{Approvals, Asked};
use super::two_way::{Said, TalkSpec, TwoWay};
use super::{Driver, Phase};
use crate::keeper::{Launch, Transport};
use files::FileError;
use serde_json::Value;
use stablehand_core::Moment;
use stablehand_core::actor::ActorKind;
use stablehand_core::event::{ProcessRow, Tool, ToolInput, ToolKind};
use stablehand_core::id::CallId;
use stablehand_core::interaction::Asker;
use stablehand_core::monitor::Input;
use stablehand_core::speak::{Answer, Unanswerable};
use stablehand_core::text::excerpt;
use stablehand_core::wish::{Command, Service, Want, Wish, terminal_of};
use std::path::{Path, PathBuf};
use std::time::Duration;
pub(super) use terminals::Terminal;

/// What a command prints is a sign of life no more often than this, for the sake of the log.
const SIGN_OF_LIFE: Duration = Duration::from_millis(250);

/// What the agent has us do.
#[derive(Debug)]
pub(super) struct Serving {
    /// The workspace, without links.
    root: Option<PathBuf>,
    /// What is asked about.
    pending: Vec<Pending>,
    /// How many wishes were asked about.
    asked: u64,
    heard: Option<Moment>,
}

/// A wish that somebody has to allow.
#[derive(Debug)]
struct Pending {
    number: u64,
    wish: Wish,
    /// Where it would be done, as it was judged.
    place: PathBuf,
}

impl Serving {
    pub(super) fn new(spec: &TalkSpec) -> Serving {
        let root = spec.opening.cwd.clone().map(PathBuf::from);
        Serving { root, pending: Vec::new(), asked: 0, heard: None }
    }

    fn is_inside(&self, place: &Path) -> bool {
        self.root.as_ref().is_some_and(|root| place.starts_with(root))
    }
}

impl Driver<'_> {
    /// Every process of the run: the agent's, and those of commands that were run for it.
    pub(super) fn whole_tree(&self) -> Vec<ProcessRow> {
        let mut rows = crate::tree::descendants(self.keeper.pid());
        for terminal in &self.commands {
            rows.extend(crate::tree::descendants(terminal.keeper_pid()));
        }
        rows
    }

    /// Ends every command; its terminal stays until it is released.
    pub(super) fn kill_commands(&mut self) {
        for terminal in &mut self.commands {
            terminal.kill();
        }
    }

    fn command(&mut self, id: &str) -> Result<&mut Terminal, Service> {
        let found = self.commands.iter_mut().find(|terminal| terminal.id == id);
        let id = excerpt(id.as_bytes(), 64);
        found.ok_or_else(|| Service::Missing(format!("there is no terminal `{id}`")))
    }
}

impl TwoWay {
    /// After each chunk: what the agent wants done.
    pub(super) fn advance_services(&mut self, driver: &mut Driver<'_>) {
        for wish in self.speaker.take_wishes() {
            driver.stamp_now();
            self.wished(driver, wish);
        }
        if driver.phase != Phase::Running {
            driver.commands.clear();
        }
    }

    /// Tells the agent what became of a wish.
    fn say_service(&mut self, driver: &mut Driver<'_>, id: &str, service: &Service) {
        let mut said = Vec::new();
        self.speaker.serve(id, service, &mut said);
        self.say(driver, Said::Service, &said);
    }

    fn wished(&mut self, driver: &mut Driver<'_>, wish: Wish) {
        let service = match &wish.want {
            Want::Read { path, .. } | Want::Write { path, .. } => {
                let place = PathBuf::from(path);
                return self.consider(driver, wish, &place);
            }
            Want::Run(command) => {
                let here = self.serving.root.clone().unwrap_or_default();
                let place = command.cwd.as_ref().map_or(here, PathBuf::from);
                return self.consider(driver, wish, &place);
            }
            Want::Output { terminal } => driver.command(terminal).map(|terminal| {
                terminal.look();
                let (text, is_cut) = terminal.printed();
                Service::Printed { text, is_cut, end: terminal.end().cloned() }
            }),
            Want::Wait { terminal } => match driver.command(terminal) {
                Ok(terminal) => {
                    terminal.waiting.push(wish.id);
                    return self.tell_who_waits(driver);
                }
                Err(missing) => Err(missing),
            },
            Want::Kill { terminal } => driver.command(terminal).map(|terminal| {
                terminal.kill();
                Service::Done
            }),
            Want::Release { terminal } => self.release(driver, terminal),
        };
        let service = service.unwrap_or_else(|missing| missing);
        self.say_service(driver, &wish.id, &service);
    }

    /// Does it, asks about it, or refuses it.
    fn consider(&mut self, driver: &mut Driver<'_>, wish: Wish, place: &Path) {
        let place = match files::resolve(place) {
            Ok(place) => place,
            Err(error) => return self.say_service(driver, &wish.id, &failed(&error)),
        };
        match &driver.spec.approvals {
            Approvals::Policy { .. } => self.ask_about(driver, wish, place),
            Approvals::Allow => self.carry_out(driver, &wish, &place),
            Approvals::Deny | Approvals::Ask { .. } if self.serving.is_inside(&place) => {
                self.carry_out(driver, &wish, &place);
            }
            Approvals::Deny | Approvals::Ask { .. } => {
                let place = excerpt(place.to_string_lossy().as_bytes(), 300);
                let text = format!("`{place}` is outside of the workspace");
                self.say_service(driver, &wish.id, &Service::Refused(text));
            }
        }
    }

    fn ask_about(&mut self, driver: &mut Driver<'_>, wish: Wish, place: PathBuf) {
        self.serving.asked += 1;
        let number = self.serving.asked;
        let tool = tool_of(&wish, &place);
        let (id, cwd) = (wish.id.clone(), place.to_string_lossy().into_owned());
        let is_command = matches!(wish.want, Want::Run(_));
        // The call that it is part of is then no unasked one.
        driver.interaction.ask(&id, &tool.name, None, Some(&tool));
        self.serving.pending.push(Pending { number, wish, place });
        let options = ["allow".to_owned(), "deny".to_owned()];
        let what = excerpt(format!("{}: {}", tool.name, tool.headline()).as_bytes(), 300);
        let asked = Asked {
            id: &id,
            asker: Asker::Service(number),
            call: None,
            what: &what,
            options: &options,
            tool: Some(&tool),
            arguments: &Value::Null,
            cwd: is_command.then_some(cwd.as_str()),
        };
        driver.was_asked(self, asked, driver.clock.now());
    }

    /// Whether it can be answered so; there is nothing to word.
    pub(super) fn word_for_service(
        &mut self,
        id: &str,
        number: u64,
        answer: &Answer,
    ) -> Result<Vec<u8>, Unanswerable> {
        let id = id.to_owned();
        if !self.serving.pending.iter().any(|pending| pending.number == number) {
            return Err(Unanswerable::NotOpen { id });
        }
        match answer {
            Answer::Allow | Answer::AllowAlways | Answer::Deny { .. } => Ok(Vec::new()),
            Answer::Choose(option) if option == "allow" || option == "deny" => Ok(Vec::new()),
            Answer::AllowWith { .. } | Answer::Choose(_) => {
                Err(Unanswerable::NoSuchAnswer { id, answer: answer.word().to_owned() })
            }
        }
    }

    /// What was asked about is answered: it is done, or not.
    pub(super) fn serve_or_refuse(
        &mut self,
        driver: &mut Driver<'_>,
        number: u64,
        answer: &Answer,
    ) {
        let pending = &mut self.serving.pending;
        let Some(at) = pending.iter().position(|pending| pending.number == number) else { return };
        let Pending { wish, place, .. } = pending.remove(at);
        match answer {
            Answer::Deny { message } => {
                self.say_service(driver, &wish.id, &Service::Refused(message.clone()));
            }
            Answer::Choose(option) if option == "deny" => {
                self.say_service(driver, &wish.id, &Service::Refused("denied".to_owned()));
            }
            _ => self.carry_out(driver, &wish, &place),
        }
    }

    fn carry_out(&mut self, driver: &mut Driver<'_>, wish: &Wish, place: &Path) {
        let service = match &wish.want {
            Want::Read { line, limit, .. } => match files::read(place, *line, *limit) {
                Ok(text) => Service::Text(text),
                Err(error) => failed(&error),
            },
            Want::Write { content, .. } => match files::write(place, content) {
                Ok(()) => Service::Done,
                Err(error) => failed(&error),
            },
            Want::Run(command) => start(driver, &wish.id, command, place),
            _ => return,
        };
        self.say_service(driver, &wish.id, &service);
    }

    /// Reads what commands print; whoever waits for the end of one is told of it.
    pub(super) fn look_at_commands(&mut self, driver: &mut Driver<'_>) {
        let mut has_news = false;
        for terminal in &mut driver.commands {
            has_news |= terminal.look();
        }
        let now = driver.clock.now();
        if has_news && self.serving.heard.is_none_or(|last| now.since(last) >= SIGN_OF_LIFE) {
            self.serving.heard = Some(now);
            driver.tell(Input::SideChannel, now);
        }
        driver.stamp_now();
        self.tell_who_waits(driver);
    }

    fn tell_who_waits(&mut self, driver: &mut Driver<'_>) {
        let mut told = Vec::new();
        for terminal in &mut driver.commands {
            if let Some(end) = terminal.end().cloned() {
                let waiting = std::mem::take(&mut terminal.waiting).into_iter();
                told.extend(waiting.map(|id| (id, Service::Ended(end.clone()))));
            }
        }
        for (id, service) in told {
            self.say_service(driver, &id, &service);
        }
    }

    /// The terminal goes, and whatever runs in it; who waits for that is told.
    fn release(&mut self, driver: &mut Driver<'_>, id: &str) -> Result<Service, Service> {
        driver.command(id)?;
        let gone: Vec<Terminal> =
            driver.commands.extract_if(.., |terminal| terminal.id == id).collect();
        for terminal in gone {
            let ended = Service::Ended(terminal.end().cloned().unwrap_or_default());
            for waiting in &terminal.waiting {
                self.say_service(driver, waiting, &ended);
            }
        }
        Ok(Service::Done)
    }

    /// Nothing that was asked about is done any more.
    pub(super) fn withdraw_services(&mut self, driver: &mut Driver<'_>) {
        driver.interaction.withdraw(|asker| matches!(asker, Asker::Service(_)));
        for pending in std::mem::take(&mut self.serving.pending) {
            let withdrawn = "withdrawn".to_owned().into();
            driver.resolved(&pending.wish.id, withdrawn, &ActorKind::Stop.into(), None);
            let text = "the turn is over".to_owned();
            self.say_service(driver, &pending.wish.id, &Service::Refused(text));
        }
    }
}

/// Starts a command in a terminal of its own.
fn start(driver: &mut Driver<'_>, id: &str, command: &Command, place: &Path) -> Service {
    if driver.commands.len() == terminals::MOST {
        let text = format!("{} terminals are open; release one", terminals::MOST);
        return Service::Refused(text);
    }
    let (program, args) = if command.is_line() {
        (Path::new("/bin/sh"), vec!["-c".into(), command.program.clone().into()])
    } else {
        (Path::new(&command.program), command.args.iter().map(Into::into).collect())
    };
    // As the agent's own tools would have it, and what it says itself.
    let mut env = driver.spec.launch.env.clone();
    let own = command.env.iter().map(|(name, value)| (name.into(), Some(value.into())));
    env.extend(own);
    let launch = Launch {
        program: program.to_owned(),
        args,
        env,
        cwd: Some(place.to_owned()),
        transport: Transport::Together,
        release: None,
    };
    let mut terminal = terminal_of(id);
    while driver.commands.iter().any(|open| open.id == terminal) {
        terminal.push('+');
    }
    let started = Terminal::start(terminal.clone(), &driver.spec.keeper, &launch, command.keep);
    match started {
        Ok(open) => {
            driver.commands.push(open);
            Service::Started { terminal }
        }
        Err(error) => Service::Refused(crate::error_chain(&error)),
    }
}

/// The wish as a call that can be judged: about the place itself, whatever it was called.
fn tool_of(wish: &Wish, place: &Path) -> Tool {
    let here = place.to_string_lossy().into_owned();
    let (name, input) = match &wish.want {
        Want::Run(command) => {
            ("terminal", ToolInput::Command { command: command.line(), cwd: Some(here) })
        }
        Want::Write { .. } => ("write_text_file", ToolInput::Path { path: here }),
        _ => ("read_text_file", ToolInput::Path { path: here }),
    };
    let kind = wish.want.kind().unwrap_or(ToolKind::Other);
    Tool::new(CallId(terminal_of(&wish.id)), name, kind, input)
}

fn failed(error: &FileError) -> Service {
    match error {
        FileError::Missing(_) => Service::Missing(error.to_string()),
        _ => Service::Refused(error.to_string()),
    }
}
