//! Everything that is known about an agent, asked at once, and how it is shown.

use super::{Found, asking, why};
use crate::env::Env;
use crate::output::{Look, Paint, Table};
use serde_json::{Value, json};
use stablehand::agent::{Agent, Mode};
use stablehand::manage::{Answer, AskError, Desk, Login, LoginState, Question, Recipe};
use stablehand_core::text;
use std::fmt::Write as _;
use std::path::PathBuf;

/// What is known about an agent.
#[derive(Clone, Debug)]
pub(crate) struct Portrait {
    pub(crate) agent: Agent,
    pub(crate) program: Option<PathBuf>,
    pub(crate) version: Option<String>,
    pub(crate) login: Option<Login>,
    pub(crate) model: Option<String>,
    pub(crate) facts: Vec<(String, String)>,
    /// Its program does not start at all, or does not answer.
    pub(crate) broken: bool,
    /// What could not be learnt, and why.
    pub(crate) troubles: Vec<String>,
}

/// Asks all of them at the same time, so that a slow one does not delay the others.
pub(crate) fn portraits(desk: &Desk, found: &[Found], env: &Env) -> Vec<Portrait> {
    let asked = found.iter().filter(|found| found.program.is_some());
    let names: Vec<_> = asked.map(|found| found.agent.name()).collect();
    let _waiting = asking(env, &names);
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            found.iter().map(|found| (found, scope.spawn(|| portrait(desk, found)))).collect();
        let done = threads.into_iter().map(|(found, thread)| {
            // A thread that panicked has said so; the others are still worth showing.
            thread.join().unwrap_or_else(|_| blank(found))
        });
        done.collect()
    })
}

fn blank(found: &Found) -> Portrait {
    Portrait {
        agent: found.agent,
        program: found.program.clone(),
        version: None,
        login: None,
        model: None,
        facts: Vec::new(),
        broken: false,
        troubles: Vec::new(),
    }
}

fn portrait(desk: &Desk, found: &Found) -> Portrait {
    let mut portrait = blank(found);
    let Some(program) = &found.program else { return portrait };
    let ask = |question| desk.ask(found.agent, program, question).map(|(answer, _)| answer);
    portrait.broken = !portrait.learn(ask(Question::Version));
    // One that does not start or hangs would do so for each question.
    if !portrait.broken {
        let (login, about) = std::thread::scope(|scope| {
            let about = scope.spawn(|| ask(Question::About));
            (ask(Question::Login), about.join())
        });
        portrait.learn(login);
        if let Ok(about) = about {
            portrait.learn(about);
        }
    }
    portrait
}

impl Portrait {
    /// Takes an answer in; false when the program does not start or does not answer.
    fn learn(&mut self, answer: Result<Answer, AskError>) -> bool {
        match answer {
            Ok(Answer::Version(version)) => self.version = Some(version),
            Ok(Answer::Login(login)) => self.login = Some(login),
            Ok(Answer::About(about)) => {
                self.model = about.model;
                self.facts = about.facts;
            }
            Ok(_) | Err(AskError::Unsupported { .. }) => {}
            Err(error) => {
                let alive = !matches!(error, AskError::TimedOut { .. } | AskError::Start { .. });
                self.troubles.push(why(error));
                return alive;
            }
        }
        true
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        let (can, recipes) = (&self.agent.row().can, &self.agent.row().manage);
        let mut abilities = serde_json::to_value(can).unwrap_or_default();
        for (name, recipe) in commands(self.agent) {
            if let Some(abilities) = abilities.as_object_mut() {
                abilities.insert(name.replace(' ', "_"), recipe.is_supported().into());
            }
        }
        json!({
            "agent": self.agent.name(),
            "installed": self.program.is_some(),
            "program": self.program.as_ref().map(|program| program.to_string_lossy()),
            "version": self.version,
            "login": self.login,
            "model": self.model,
            "facts": self.facts.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
            "can": abilities,
            "modes": self.agent.modes().map(Mode::name).collect::<Vec<_>>(),
            "install": recipes.install,
            "troubles": self.troubles,
        })
    }

    fn where_it_is(&self) -> (String, Look) {
        match &self.program {
            Some(_) if self.agent.row().is_built_in() => ("built in".into(), Look::Dim),
            Some(program) => (program.display().to_string(), Look::Plain),
            None => ("not installed".into(), Look::Dim),
        }
    }

    fn version_cell(&self) -> (String, Look) {
        match (&self.version, &self.program) {
            (Some(version), _) => (version.clone(), Look::Plain),
            (None, Some(_)) => ("unknown".into(), Look::Warn),
            (None, None) => ("-".into(), Look::Dim),
        }
    }

    fn model_cell(&self) -> (String, Look) {
        match (&self.model, &self.program) {
            (Some(model), _) => (model.clone(), Look::Plain),
            (None, Some(_)) if self.broken => ("unknown".into(), Look::Warn),
            (None, Some(_)) => ("its own choice".into(), Look::Dim),
            (None, None) => ("-".into(), Look::Dim),
        }
    }
}

/// A login in a few words.
pub(super) fn login_cell(login: Option<&Login>, installed: bool) -> (String, Look) {
    let Some(login) = login else {
        return if installed { ("unknown".into(), Look::Warn) } else { ("-".into(), Look::Dim) };
    };
    match (login.state, &login.account, &login.method) {
        (LoginState::In, Some(account), _) => (account.clone(), Look::Good),
        (LoginState::In, None, Some(method)) => (method.clone(), Look::Good),
        (LoginState::In, None, None) => ("yes".into(), Look::Good),
        (LoginState::Out, ..) => ("no".into(), Look::Bad),
        (LoginState::Unknown, ..) => ("unknown".into(), Look::Warn),
    }
}

/// A login in a sentence.
pub(crate) fn login_words(login: &Login) -> (String, Look) {
    let method = login.method.as_deref().unwrap_or_default();
    match (login.state, &login.account) {
        (LoginState::In, Some(account)) if method.is_empty() => {
            (format!("logged in as {account}"), Look::Good)
        }
        (LoginState::In, Some(account)) => {
            (format!("logged in as {account} ({method})"), Look::Good)
        }
        (LoginState::In, None) if method.starts_with("needs no") => (method.into(), Look::Good),
        (LoginState::In, None) => (format!("logged in: {method}"), Look::Good),
        (LoginState::Out, _) => ("not logged in".into(), Look::Bad),
        (LoginState::Unknown, _) => (format!("cannot be told: {method}"), Look::Warn),
    }
}

/// What an agent can be asked beside runs.
fn commands(agent: Agent) -> [(&'static str, &'static Recipe); 8] {
    let recipes = &agent.row().manage;
    [
        ("list models", &recipes.models),
        ("list mcp", &recipes.mcp),
        ("switch mcp", &recipes.enable_mcp),
        ("list chats", &recipes.chats),
        ("new chat", &recipes.new_chat),
        ("status", &recipes.login),
        ("login", &recipes.log_in),
        ("logout", &recipes.log_out),
    ]
}

/// What an agent can do, in the order of the rows.
fn abilities(agent: Agent) -> Vec<(&'static str, bool)> {
    let can = &agent.row().can;
    let runs = [
        ("streaming", can.streaming),
        ("thinking", can.thinking),
        ("resume", can.resume),
        ("choose model", can.model),
        ("modes", agent.modes().next().is_some()),
        ("force", can.force),
        ("sandbox", can.sandbox),
        ("mcp", can.mcp),
        ("hooks", can.hooks),
        ("cloud", can.cloud),
    ];
    let asked = commands(agent).map(|(name, recipe)| (name, recipe.is_supported()));
    runs.into_iter().chain(asked).collect()
}

/// Two tables: who there is, and what each can do.
pub(super) fn overview(portraits: &[Portrait], paint: Paint) -> String {
    let mut table = Table::headed(&["AGENT", "VERSION", "LOGGED IN", "MODEL", "PROGRAM"]);
    for portrait in portraits {
        table.row(vec![
            (portrait.agent.name().into(), Look::Plain),
            portrait.version_cell(),
            login_cell(portrait.login.as_ref(), portrait.program.is_some()),
            portrait.model_cell(),
            portrait.where_it_is(),
        ]);
    }
    let names: Vec<_> = portraits.iter().map(|portrait| portrait.agent.name()).collect();
    let mut can = Table::headed(&[&["CAN"], names.as_slice()].concat());
    let columns: Vec<_> = portraits.iter().map(|portrait| abilities(portrait.agent)).collect();
    for (row, (name, _)) in columns.first().into_iter().flatten().enumerate() {
        let cells = columns.iter().map(|column| match column.get(row) {
            Some((_, true)) => ("yes".to_owned(), Look::Good),
            _ => ("-".to_owned(), Look::Dim),
        });
        can.row([((*name).to_owned(), Look::Plain)].into_iter().chain(cells).collect());
    }
    let mut out = format!("{}\n{}", table.render(paint, 0), can.render(paint, 0));
    let troubles: Vec<_> = portraits
        .iter()
        .flat_map(|portrait| portrait.troubles.iter().map(move |text| (portrait.agent, text)))
        .collect();
    if !troubles.is_empty() {
        out.push('\n');
    }
    for (agent, trouble) in troubles {
        out.push_str(&paint.wrapped(&format!("{}: {}", agent.name(), text::plain(trouble)), 2));
    }
    out
}

/// Version, login, model and facts of one agent.
pub(super) fn about(portrait: &Portrait, paint: Paint) -> String {
    let mut table = Table::default();
    let mut row = |name: &str, (value, look): (String, Look)| {
        table.row(vec![(name.to_owned(), Look::Dim), (value, look)]);
    };
    row("program", portrait.where_it_is());
    if portrait.program.is_none() {
        row("install", (portrait.agent.row().manage.install.into(), Look::Plain));
    } else {
        row("version", portrait.version_cell());
        let login = portrait.login.as_ref().map(login_words);
        row("login", login.unwrap_or_else(|| ("unknown".into(), Look::Warn)));
        row("default model", portrait.model_cell());
    }
    for (name, value) in &portrait.facts {
        row(name, (value.clone(), Look::Plain));
    }
    let mut out = format!("{}\n{}", paint.bold(portrait.agent.name()), table.render(paint, 2));
    for trouble in &portrait.troubles {
        out.push_str(&paint.wrapped(&format!("  {}", text::plain(trouble)), 2));
    }
    out
}

/// The same, and what it can and cannot do.
pub(super) fn in_detail(portrait: &Portrait, paint: Paint) -> String {
    let mut out = about(portrait, paint);
    let list = |wanted: bool| {
        let abilities = abilities(portrait.agent).into_iter();
        abilities.filter(|(_, can)| *can == wanted).map(|(name, _)| name).collect::<Vec<_>>()
    };
    let mut lines = vec![("can", list(true).join(", ")), ("cannot", list(false).join(", "))];
    let modes: Vec<_> = portrait.agent.modes().map(Mode::name).collect();
    lines.push(("--mode", modes.join(", ")));
    lines.push(("its own modes", portrait.agent.row().can.native_modes.join(", ")));
    for (name, text) in lines.into_iter().filter(|(_, text)| !text.is_empty()) {
        let padding = " ".repeat(13usize.saturating_sub(name.len()));
        out.push_str(&paint.wrapped(&format!("  {name}{padding}  {text}"), 17));
    }
    for (name, recipe) in commands(portrait.agent) {
        if let Recipe::Unsupported(instead) = recipe {
            let mut line = String::new();
            let _infallible = write!(line, "  {name}: not supported; {instead}");
            out.push_str(&paint.wrapped(&line, 4));
        }
    }
    out
}
