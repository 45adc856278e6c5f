//! `stablehand hooks status`: for each agent and scope whether our hooks are there and will be run.

use super::{StatusArgs, able, numbers, plan, shown, target, warning};
use crate::choice::agent_named;
use crate::env::Env;
use crate::failure::Failure;
use crate::manage::{Look, Paint, Table, print, print_json};
use serde_json::{Value, json};
use stablehand::hooks::{
    Finding, HookError, HookPlan, InstalledBy, Repaired, Scope, Target, can_be_started, repair,
    running,
};
use stablehand::{Agent, error_chain};
use stablehand_core::text;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// How far our hooks are in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Installed,
    /// All are there, but the agent will run none of them.
    Void,
    Partly,
    Not,
    Unreadable,
}

impl State {
    fn word(self) -> (&'static str, Look) {
        match self {
            State::Installed => ("installed", Look::Good),
            State::Void => ("not run", Look::Bad),
            State::Partly => ("partly", Look::Warn),
            State::Not => ("not installed", Look::Dim),
            State::Unreadable => ("unreadable", Look::Bad),
        }
    }
}

/// What was found out about one file.
struct Place {
    agent: Agent,
    scope: Scope,
    path: PathBuf,
    state: State,
    /// Events that nothing of ours is run for.
    missing: Vec<&'static str>,
    /// Programs in our entries that are not this one, and whether they can be started.
    other_programs: Vec<(PathBuf, bool)>,
    theirs: usize,
    by: InstalledBy,
    findings: Vec<Finding>,
    trouble: Option<String>,
}

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
    let mut places = Vec::new();
    for agent in agents {
        let plan = plan(agent, env)?;
        for scope in &scopes {
            let target = target(agent, &plan, *scope, args.workspace.as_deref(), env)?;
            places.push(look(agent, *scope, &target, &plan, &state, env));
        }
    }
    let installed = places.iter().any(|place| place.state == State::Installed);
    let printed = if args.json {
        print_json(&json!({
            "installed": installed,
            "files": places.iter().map(Place::json).collect::<Vec<_>>(),
            "repaired": repaired.iter().map(repair_json).collect::<Vec<_>>(),
        }))
    } else {
        print(&text_of(&places, &repaired, Paint::new(env)))
    };
    printed.map(|_| u8::from(!installed))
}

fn look(
    agent: Agent,
    scope: Scope,
    target: &Target,
    plan: &HookPlan,
    state: &Path,
    env: &Env,
) -> Place {
    let mut place = Place {
        agent,
        scope,
        path: target.path(),
        state: State::Not,
        missing: plan.commands.iter().map(|command| command.event).collect(),
        other_programs: Vec::new(),
        theirs: 0,
        by: InstalledBy::default(),
        findings: Vec::new(),
        trouble: None,
    };
    let survey = target.read().and_then(|text| {
        let unreadable = |source| HookError::File { path: target.path(), source };
        place.by = running(target, state)?;
        plan.survey(text.as_deref()).map_err(unreadable)
    });
    let survey = match survey {
        Ok(survey) => survey,
        Err(error) => {
            place.state = State::Unreadable;
            place.trouble = Some(error_chain(&error));
            return place;
        }
    };
    place.missing = plan.missing_from(&survey);
    let programs: BTreeSet<&Path> = survey.ours.iter().map(|ours| ours.program.as_path()).collect();
    let others = programs.into_iter().filter(|program| *program != env.hook_program());
    place.other_programs =
        others.map(|program| (program.to_owned(), can_be_started(program))).collect();
    let void = survey.findings.iter().any(|finding| finding.voids);
    place.state = match (survey.ours.is_empty(), place.missing.is_empty()) {
        (true, _) => State::Not,
        (false, false) => State::Partly,
        (false, true) if void => State::Void,
        (false, true) => State::Installed,
    };
    place.theirs = survey.theirs;
    place.findings = survey.findings;
    place
}

impl Place {
    fn scope_word(&self) -> &'static str {
        match self.scope {
            Scope::Project => "project",
            Scope::User => "user",
        }
    }

    fn json(&self) -> Value {
        let finding = |f: &Finding| json!({ "line": f.line, "text": f.text, "voids": f.voids });
        let other = |(program, can): &(PathBuf, bool)| json!({ "program": program.to_string_lossy(), "can_be_started": can });
        json!({
            "agent": self.agent.name(),
            "scope": self.scope_word(),
            "path": self.path.to_string_lossy(),
            "state": self.state.word().0.replace(' ', "_"),
            "missing": self.missing,
            "other_programs": self.other_programs.iter().map(other).collect::<Vec<_>>(),
            "theirs": self.theirs,
            "runs": self.by.runs,
            "findings": self.findings.iter().map(finding).collect::<Vec<_>>(),
            "error": self.trouble,
        })
    }

    /// Everything that the table has no room for.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        notes.extend(self.trouble.as_ref().map(|trouble| text::plain(trouble)));
        if self.state == State::Partly {
            notes.push(format!("nothing of ours is run for: {}", self.missing.join(", ")));
        }
        for (program, can_be_started) in &self.other_programs {
            let verdict = if *can_be_started { "" } else { ", which cannot be started" };
            notes.push(format!(
                "installed for another program: {}{verdict}; `stablehand hooks install` brings it up to date",
                shown(program)
            ));
        }
        if !self.by.runs.is_empty() {
            let runs = numbers(&self.by.runs);
            notes.push(format!("a run has put its hooks in for now (process {runs})"));
        }
        notes.extend(self.findings.iter().map(|found| warning(found, self.agent.name())));
        notes
    }
}

fn text_of(places: &[Place], repaired: &[Repaired], paint: Paint) -> String {
    let mut table = Table::headed(&["AGENT", "SCOPE", "HOOKS", "OF OTHERS", "FILE"]);
    for place in places {
        let (word, look) = place.state.word();
        let others = if place.theirs == 0 { String::new() } else { place.theirs.to_string() };
        table.row(vec![
            (place.agent.name().into(), Look::Bold),
            (place.scope_word().into(), Look::Plain),
            (word.into(), look),
            (others, Look::Plain),
            (place.path.display().to_string(), Look::Dim),
        ]);
    }
    let mut out = table.without_empty_columns().render(paint, 0);
    for place in places {
        for note in place.notes() {
            let line = format!("{} {}: {note}", place.agent.name(), place.scope_word());
            out.push_str(&paint.wrapped(&line, 2));
        }
    }
    for one in repaired {
        let _infallible = writeln!(out, "{}", repair_words(one));
    }
    out
}

/// What became of something that a killed run had left.
pub(crate) fn repair_words(repaired: &Repaired) -> String {
    use stablehand::hooks::Change;
    let path = shown(&repaired.path);
    match &repaired.result {
        Ok(Change::Restored) => format!("{path}: a run was killed; the file is what it was again"),
        Ok(Change::Edited) => {
            format!(
                "{path}: a run was killed, and the file was changed since; our hooks are out of it"
            )
        }
        Ok(Change::Deleted | Change::Gone) => {
            format!("{path}: a run was killed; the file has been deleted since")
        }
        Err(error) => format!(
            "{path}: a run was killed, and its hooks could not be taken out: {}",
            text::plain(&error_chain(error))
        ),
    }
}

fn repair_json(repaired: &Repaired) -> Value {
    json!({
        "path": repaired.path.to_string_lossy(),
        "ok": repaired.result.is_ok(),
        "text": repair_words(repaired),
    })
}
