//! One question to several agents, and the lists that come of it.

use super::overview::login_words;
use super::{AskArgs, agent_named, asking, desk, everybody, find, not_installed, why};
use crate::env::Env;
use crate::failure::Failure;
use crate::output::{Look, Paint, Table, print, print_json};
use serde_json::{Value, json};
use stablehand::agent::Agent;
use stablehand::manage::status::how_to_log_in;
use stablehand::manage::{AgentProgram, Answer, AskError, LoginState, McpState, Question};
use stablehand_core::text;
use stablehand_core::time::human;
use std::time::Duration;

/// What each agent said.
pub(super) type Answers = Vec<(Agent, Result<Answer, AskError>)>;

/// The agent that was named, or all that are installed, the built-in one aside.
pub(super) fn choose(env: &Env, args: &AskArgs) -> Result<Vec<AgentProgram>, Failure> {
    if let Some(name) = &args.agent {
        let found = find(env, agent_named(name)?, args.agent_bin.as_ref());
        return if found.program.is_some() {
            Ok(vec![found])
        } else {
            Err(not_installed(found.agent))
        };
    }
    let installed: Vec<_> = everybody(env).into_iter().filter(AgentProgram::is_installed).collect();
    if installed.is_empty() {
        return Err(Failure::new("no agent is installed")
            .hint("see `stablehand doctor`, or name one with --agent and --agent-bin"));
    }
    Ok(installed)
}

/// Asks all at the same time.
pub(super) fn ask_all(env: &Env, args: &AskArgs, question: Question) -> Result<Answers, Failure> {
    let chosen = match choose(env, args) {
        Ok(chosen) => chosen,
        // What an agent cannot do it cannot do when it is installed, either.
        Err(failure) => {
            let named = args.agent.as_deref().and_then(Agent::by_name);
            match named.filter(|agent| !agent.row().manage.question(question).is_supported()) {
                Some(agent) => vec![AgentProgram { agent, program: Some("".into()) }],
                None => return Err(failure),
            }
        }
    };
    let desk = desk(env, &args.how);
    let names: Vec<_> = chosen.iter().map(|found| found.agent.name()).collect();
    let _waiting = asking(env, &names);
    let answers = std::thread::scope(|scope| {
        let threads: Vec<_> = chosen
            .iter()
            .map(|found| {
                let program = found.program.clone().unwrap_or_default();
                let desk = &desk;
                (found.agent, scope.spawn(move || desk.ask(found.agent, &program, question)))
            })
            .collect();
        let answers = threads.into_iter().map(|(agent, thread)| {
            let answer = thread.join().unwrap_or_else(|_| {
                let command = question.name().to_owned();
                Err(AskError::Lost { agent: agent.name(), command })
            });
            (agent, answer.map(|(answer, _)| answer))
        });
        answers.collect()
    });
    Ok(answers)
}

/// Asks and prints. One agent that has no answer is a failure; one of several is a note.
pub(super) fn show(args: &AskArgs, question: Question) -> Result<u8, Failure> {
    let env = Env::read()?;
    let mut answers = ask_all(&env, args, question)?;
    let answered = answers.iter().any(|(_, answer)| answer.is_ok());
    if args.json {
        return print_json(&json(&answers)).map(|_| u8::from(!answered));
    }
    if args.agent.is_some()
        && let Some((_, Err(error))) = answers.pop_if(|(_, answer)| answer.is_err())
    {
        return Err(error.into());
    }
    let paint = Paint::new(&env);
    let alone = args.agent.is_some();
    let mut texts = Vec::new();
    for (agent, answer) in answers {
        let indent = if alone { 0 } else { 2 };
        let body = match answer {
            Ok(answer) => list(&answer, paint, indent),
            Err(error) => paint.wrapped(&format!("  {}", text::plain(&why(error))), 2),
        };
        texts.push(if alone { body } else { format!("{}\n{body}", paint.bold(agent.name())) });
    }
    print(&texts.join("\n")).map(|_| u8::from(!answered))
}

/// The answers for programs.
pub(super) fn json(answers: &Answers) -> Vec<Value> {
    let row = |(agent, answer): &(Agent, Result<Answer, AskError>)| {
        let mut row = json!({ "agent": agent.name() });
        let said = match answer {
            Ok(answer) => serde_json::to_value(answer).unwrap_or_default(),
            Err(error) => json!({
                "error": stablehand::error_chain(error),
                "supported": !matches!(error, AskError::Unsupported { .. }),
            }),
        };
        if let (Some(row), Value::Object(said)) = (row.as_object_mut(), said) {
            row.extend(said);
        }
        row
    };
    answers.iter().map(row).collect()
}

/// One line per agent, and what to do about it.
pub(super) fn logins(answers: &Answers, paint: Paint) -> String {
    let mut table = Table::default();
    let mut notes = String::new();
    for (agent, answer) in answers {
        let name = (agent.name().to_owned(), Look::Bold);
        match answer {
            Ok(Answer::Login(login)) => {
                table.row(vec![name, login_words(login)]);
                if login.state == LoginState::Out {
                    let note = format!("{}: {}", agent.name(), how_to_log_in(*agent));
                    notes.push_str(&paint.wrapped(&note, 2));
                }
            }
            Ok(_) => {}
            Err(error) => {
                table.row(vec![name, ("unknown".into(), Look::Warn)]);
                let note = format!("{}: {}", agent.name(), stablehand::error_chain(error));
                notes.push_str(&paint.wrapped(&text::plain(&note), 2));
            }
        }
    }
    let gap = if notes.is_empty() { "" } else { "\n" };
    format!("{}{gap}{notes}", table.render(paint, 0))
}

fn list(answer: &Answer, paint: Paint, indent: usize) -> String {
    let mut table = Table::default();
    let empty = match answer {
        Answer::Models(models) => {
            for model in models {
                let name = model.name.clone().unwrap_or_default();
                let mark = match (model.current, model.default) {
                    (true, true) => "(current, default)",
                    (true, false) => "(current)",
                    (false, true) => "(default)",
                    (false, false) => "",
                };
                let id = (model.id.clone(), Look::Plain);
                table.row(match (name.is_empty(), mark) {
                    (true, "") => vec![id],
                    (_, "") => vec![id, (name, Look::Dim)],
                    _ => vec![id, (name, Look::Dim), (mark.into(), Look::Good)],
                });
            }
            models.is_empty().then_some("no models")
        }
        Answer::Mcp(servers) => {
            table = Table::headed(&["NAME", "STATE", "TARGET", "SAYS"]);
            for server in servers {
                let state = mcp_words(server.state);
                table.row(vec![
                    (server.name.clone(), Look::Plain),
                    (state.0.to_owned(), state.1),
                    (server.target.clone().unwrap_or_default(), Look::Plain),
                    (server.detail.clone().unwrap_or_default(), Look::Dim),
                ]);
            }
            servers.is_empty().then_some("no MCP servers")
        }
        Answer::Chats(chats) => {
            table = Table::headed(&["ID", "USED", "TITLE"]);
            for chat in chats {
                let when = chat.updated_ms.map(ago).or_else(|| chat.updated.clone());
                table.row(vec![
                    (chat.id.clone(), Look::Plain),
                    (when.unwrap_or_default(), Look::Dim),
                    (chat.title.clone().unwrap_or_default(), Look::Plain),
                ]);
            }
            chats.is_empty().then_some("no chats here")
        }
        _ => None,
    };
    match empty {
        Some(words) => format!("{}{}\n", " ".repeat(indent), paint.dim(words)),
        None => table.render(paint, indent),
    }
}

fn mcp_words(state: McpState) -> (&'static str, Look) {
    match state {
        McpState::Connected => ("connected", Look::Good),
        McpState::Enabled => ("enabled", Look::Good),
        McpState::Disabled => ("disabled", Look::Dim),
        McpState::Failed => ("failed", Look::Bad),
        McpState::NeedsApproval => ("needs approval", Look::Warn),
        McpState::NeedsLogin => ("needs login", Look::Warn),
        McpState::Unknown => ("unknown", Look::Warn),
    }
}

/// How long ago, in one unit.
fn ago(unix_ms: i64) -> String {
    let ms = stablehand::clock::unix_now().0.saturating_sub(unix_ms);
    let seconds = u64::try_from(ms / 1000).unwrap_or(0);
    let days = seconds / 86_400;
    if days > 0 {
        return format!("{days} d ago");
    }
    // Seconds do not matter after an hour.
    let rounded = if seconds >= 3600 { seconds / 60 * 60 } else { seconds };
    format!("{} ago", human(Duration::from_secs(rounded)))
}
