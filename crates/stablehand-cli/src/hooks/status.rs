//! `stablehand hooks status`: for each agent and scope whether our hooks are there and will be run.

use super::{StatusArgs, able, numbers, plan, shown, target, warning};
use crate::choice::agent_named;
use crate::env::Env;
use crate::failure::Failure;
use crate::output::{Look, Paint, Table, print, print_json};
use serde_json::{Value, json};
use stablehand::hooks::{HookState, HookStatus, Repaired, Scope, repair};
use stablehand_core::text;
use std::fmt::Write as _;

pub(super) fn main(args: &StatusArgs, env: &Env) -> Result<u8, Failure> {
    let agents = match &args.agent {
        Some(name) => vec![agent_named(name)?],
        None => able().collect(),
    };
    let scopes = match args.scope {
        Some(scope) => vec![scope.into()],
        None => vec![Scope::Project, Scope::User],
    };
    let state = env.state()?;
    let repaired = repair(&state);
    let mut files = Vec::new();
    for agent in agents {
        let plan = plan(agent, env)?;
        for scope in &scopes {
            let target = target(agent, &plan, *scope, args.workspace.as_deref(), env)?;
            let program = env.hook_program();
            files.push(HookStatus::read(agent, *scope, &target, &plan, &program, &state));
        }
    }
    let installed = files.iter().any(|file| file.state == HookState::Installed);
    let printed = if args.json {
        print_json(&json!({
            "installed": installed,
            "files": files,
            "repaired": repaired.iter().map(repair_json).collect::<Vec<_>>(),
        }))
    } else {
        print(&text_of(&files, &repaired, Paint::new(env)))
    };
    printed.map(|_| u8::from(!installed))
}

fn words(state: HookState) -> (&'static str, Look) {
    match state {
        HookState::Installed => ("installed", Look::Good),
        HookState::NotRun => ("not run", Look::Bad),
        HookState::Partly => ("partly", Look::Warn),
        HookState::NotInstalled => ("not installed", Look::Dim),
        HookState::Unreadable => ("unreadable", Look::Bad),
    }
}

/// Everything that the table has no room for.
fn notes(file: &HookStatus) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(file.error.as_ref().map(|error| text::plain(error)));
    if file.state == HookState::Partly {
        notes.push(format!("no hook of ours for: {}", file.missing.join(", ")));
    }
    for other in &file.other_programs {
        let verdict = if other.can_be_started { "" } else { ", which cannot be started" };
        notes.push(format!(
            "installed for another program: {}{verdict}; `stablehand hooks install` brings it up to date",
            shown(&other.program)
        ));
    }
    if !file.runs.is_empty() {
        let runs = numbers(&file.runs);
        notes.push(format!("a run has put its hooks in for now (process {runs})"));
    }
    notes.extend(file.findings.iter().map(|found| warning(found, file.agent)));
    notes
}

fn text_of(files: &[HookStatus], repaired: &[Repaired], paint: Paint) -> String {
    let mut table = Table::headed(&["AGENT", "SCOPE", "HOOKS", "OF OTHERS", "FILE"]);
    for file in files {
        let (word, look) = words(file.state);
        let others = if file.theirs == 0 { String::new() } else { file.theirs.to_string() };
        table.row(vec![
            (file.agent.into(), Look::Bold),
            (file.scope.word().into(), Look::Plain),
            (word.into(), look),
            (others, Look::Plain),
            (file.path.display().to_string(), Look::Dim),
        ]);
    }
    let mut out = table.render(paint, 0);
    for file in files {
        for note in notes(file) {
            let line = format!("{} {}: {note}", file.agent, file.scope.word());
            out.push_str(&paint.wrapped(&line, 2));
        }
    }
    for one in repaired {
        let _infallible = writeln!(out, "{one}");
    }
    out
}

fn repair_json(repaired: &Repaired) -> Value {
    json!({
        "path": repaired.path.to_string_lossy(),
        "ok": repaired.result.is_ok(),
        "text": repaired.to_string(),
    })
}
