//! What is known about agents, as a person reads it.

use super::{asking, why};
use crate::env::Env;
use crate::output::{Look, Paint, Table};
use stablehand::agent::Mode;
use stablehand::manage::status::{abilities, commands};
use stablehand::manage::{AgentProgram, AgentStatus, Desk, Login, LoginState, Recipe};
use stablehand_core::text;

/// Asks all of them, and says on a terminal that it takes a moment.
pub(crate) fn statuses(desk: &Desk, agents: &[AgentProgram], env: &Env) -> Vec<AgentStatus> {
    let asked = agents.iter().filter(|found| found.program.is_some());
    let names: Vec<_> = asked.map(|found| found.agent.name()).collect();
    let _progress = asking(env, &names);
    desk.statuses(agents, &why)
}

fn where_it_is(status: &AgentStatus) -> (String, Look) {
    match &status.program {
        Some(_) if status.agent.row().is_built_in() => ("built in".into(), Look::Dim),
        Some(program) => (program.display().to_string(), Look::Plain),
        None => ("not installed".into(), Look::Dim),
    }
}

fn version_cell(status: &AgentStatus) -> (String, Look) {
    match (&status.version, &status.program) {
        (Some(version), _) => (version.clone(), Look::Plain),
        (None, Some(_)) => ("unknown".into(), Look::Warn),
        (None, None) => ("-".into(), Look::Dim),
    }
}

fn model_cell(status: &AgentStatus) -> (String, Look) {
    match (&status.model, &status.program) {
        (Some(model), _) => (model.clone(), Look::Plain),
        (None, Some(_)) if status.is_broken => ("unknown".into(), Look::Warn),
        (None, Some(_)) => ("its own choice".into(), Look::Dim),
        (None, None) => ("-".into(), Look::Dim),
    }
}

/// A login in a few words.
fn login_cell(login: Option<&Login>, installed: bool) -> (String, Look) {
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
    let look = match login.state {
        LoginState::In => Look::Good,
        LoginState::Out => Look::Bad,
        LoginState::Unknown => Look::Warn,
    };
    (login.describe(), look)
}

/// Two tables: who there is, and what each can do.
pub(super) fn overview(statuses: &[AgentStatus], paint: Paint) -> String {
    let mut table = Table::headed(&["AGENT", "VERSION", "LOGGED IN", "MODEL", "PROGRAM"]);
    for status in statuses {
        table.row(vec![
            (status.agent.name().into(), Look::Plain),
            version_cell(status),
            login_cell(status.login.as_ref(), status.program.is_some()),
            model_cell(status),
            where_it_is(status),
        ]);
    }
    let names: Vec<_> = statuses.iter().map(|status| status.agent.name()).collect();
    let mut can = Table::headed(&[&["CAN"], names.as_slice()].concat());
    let columns: Vec<_> = statuses.iter().map(|status| abilities(status.agent)).collect();
    for (row, (name, _)) in columns.first().into_iter().flatten().enumerate() {
        let cells = columns.iter().map(|column| match column.get(row) {
            Some((_, true)) => ("yes".to_owned(), Look::Good),
            _ => ("-".to_owned(), Look::Dim),
        });
        can.row([((*name).to_owned(), Look::Plain)].into_iter().chain(cells).collect());
    }
    let mut out = format!("{}\n{}", table.render(paint, 0), can.render(paint, 0));
    let problems: Vec<_> = statuses
        .iter()
        .flat_map(|status| status.problems.iter().map(move |text| (status.agent, text)))
        .collect();
    if !problems.is_empty() {
        out.push('\n');
    }
    for (agent, problem) in problems {
        out.push_str(&paint.wrapped(&format!("{}: {}", agent.name(), text::plain(problem)), 2));
    }
    out
}

/// Version, login, model and facts of one agent.
pub(super) fn about(status: &AgentStatus, paint: Paint) -> String {
    let mut table = Table::default();
    let mut row = |name: &str, (value, look): (String, Look)| {
        table.row(vec![(name.to_owned(), Look::Dim), (value, look)]);
    };
    row("program", where_it_is(status));
    if status.program.is_none() {
        row("install", (status.agent.row().manage.install.into(), Look::Plain));
    } else {
        row("version", version_cell(status));
        let login = status.login.as_ref().map(login_words);
        row("login", login.unwrap_or_else(|| ("unknown".into(), Look::Warn)));
        row("default model", model_cell(status));
    }
    for (name, value) in &status.facts {
        row(name, (value.clone(), Look::Plain));
    }
    let mut out = format!("{}\n{}", paint.bold(status.agent.name()), table.render(paint, 2));
    for problem in &status.problems {
        out.push_str(&paint.wrapped(&format!("  {}", text::plain(problem)), 2));
    }
    out
}

/// The same, and what it can and cannot do.
pub(super) fn in_detail(status: &AgentStatus, paint: Paint) -> String {
    let mut out = about(status, paint);
    let list = |wanted: bool| {
        let abilities = abilities(status.agent).into_iter();
        abilities.filter(|(_, can)| *can == wanted).map(|(name, _)| name).collect::<Vec<_>>()
    };
    let mut lines = vec![("can", list(true).join(", ")), ("cannot", list(false).join(", "))];
    let modes: Vec<_> = status.agent.modes().map(Mode::name).collect();
    lines.push(("--mode", modes.join(", ")));
    lines.push(("its own modes", status.agent.row().can.native_modes.join(", ")));
    for (name, text) in lines.into_iter().filter(|(_, text)| !text.is_empty()) {
        let padding = " ".repeat(13usize.saturating_sub(name.len()));
        out.push_str(&paint.wrapped(&format!("  {name}{padding}  {text}"), 17));
    }
    for (name, recipe) in commands(status.agent) {
        if let Recipe::Unsupported(instead) = recipe {
            out.push_str(&paint.wrapped(&format!("  {name}: not supported; {instead}"), 4));
        }
    }
    out
}
