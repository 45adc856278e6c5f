//! An agent that speaks the protocol itself, supervised, with nothing lost in between.
//!
//! Owns what is started and which arguments make sense then. Passing on, judging and ending is the
//! driver's (`driver/relay.rs` in the library): this is a run like any other, except that its words
//! to the agent are the editor's.

use crate::ask;
use crate::choice::ChoiceArgs;
use crate::env::Env;
use crate::failure::{self, Failure};
use crate::shell::{Ended, Format, Setup, Shell};
use stablehand::agent::{Agent, Form};
use stablehand::config::ConfigError;
use stablehand::keeper::Launch;
use stablehand::session::{Policy, SessionSpec};
use stablehand_core::event::SessionEnd;
use stablehand_core::words;
use std::path::Path;

/// Passes it through.
pub(super) fn main(command: &str, choice: &ChoiceArgs) -> Result<u8, Failure> {
    let env = Env::read()?;
    check(choice)?;
    let settings = choice.config(&env)?;
    let mut argv = words::split(command).map_err(|why| {
        Failure::usage(format!("--through '{command}' is no command: {why}"))
            .hint("give it as a shell would read it, such as --through 'gemini --acp'")
    })?;
    let program = argv.remove(0);
    let name = name_of(&program);
    let agent = Agent::ALL.iter().copied().find(|agent| speaks_as(*agent, &name));
    let name = agent.map_or(name, |agent| agent.name().to_owned());
    // The editor chooses the mode, so none is promised.
    let unheld = agent.filter(|agent| !agent.can_be_held(Form::Acp, None));
    if let Some(agent) = unheld.filter(|_| settings.has_policy()) {
        return Err(unruly(agent, settings.found_policy().as_deref()));
    }
    let prompt_rules = settings.prompt_rules(&name);
    let policy = settings.gate_named(&name)?.map_or(Policy::Allow, Policy::Rules);
    let launch = Launch {
        program: program.into(),
        args: argv.into_iter().map(Into::into).chain(choice.extra.iter().cloned()).collect(),
        cwd: choice.workspace.clone(),
        ..Launch::default()
    };
    let exit_codes = agent.map_or(&[][..], |agent| agent.row().exit_codes);
    let spec = SessionSpec::relayed(name, launch, exit_codes)
        .surroundings(choice.surroundings(&env))
        .keeper(env.keeper())
        .limits(choice.limits_of(agent))
        .stages(choice.stages())
        .policy(policy)
        .prompt_rules(prompt_rules)
        // The person at the editor answers, and may take any time.
        .patience(None)
        .ignored_settings(settings.ignored().to_vec())
        .variables(settings.variables())
        .actor(ask::actor(&env));
    let setup = Setup { format: Format::StreamJson, client: true, ..Setup::of(choice, &env)? };
    let mut shell = Shell::start(&env, spec, &setup)?;
    let ended = shell.wait()?;
    complain(&shell, &ended, agent);
    Ok(shell.close(&ended, ended.exit_code()))
}

/// What the editor chooses cannot be chosen here.
fn check(choice: &ChoiceArgs) -> Result<(), Failure> {
    let chosen = [
        ("--model", choice.model.is_some()),
        ("--mode", choice.mode.is_some()),
        ("--force", choice.force),
        ("--hooks", choice.hooks),
        ("--agent-bin", choice.agent_bin.is_some()),
    ];
    match chosen.iter().find(|(_, given)| *given) {
        Some((flag, _)) => Err(Failure::usage(format!("{flag} has no meaning with --through"))
            .hint(
                "the editor chooses models and modes; other arguments go into the command itself",
            )),
        None => Ok(()),
    }
}

/// Says why a policy cannot hold an agent that is passed through, and how it can be served instead.
fn unruly(agent: Agent, found: Option<&str>) -> Failure {
    let found_in = found.map(str::to_owned);
    let failure = Failure::from(ConfigError::Unruly { agent, form: Form::Acp, found: found_in });
    let name = agent.name();
    let served = if agent.row().hooks.is_some() {
        format!("serve it by its hooks: acp --agent {name} --hooks")
    } else if agent.can_be_held(Form::TwoWay, None) {
        format!("serve it by its own protocol: acp --agent {name}")
    } else {
        return failure;
    };
    failure.hint(match found {
        Some(_) => format!("{served}; or run it without the policy: --no-policy"),
        None => served,
    })
}

/// Returns the name of an agent that we do not know, for the log and for rules.
fn name_of(program: &str) -> String {
    let name = Path::new(program).file_name().map(|name| name.to_string_lossy().into_owned());
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| "acp".to_owned())
}

/// Whether the agent speaks the protocol by a program of that name.
fn speaks_as(agent: Agent, program: &str) -> bool {
    agent.row().acp.as_ref().is_some_and(|acp| acp.programs.contains(&program))
}

/// Says why it ended, where it did not end well: editors show what is on standard error.
fn complain(shell: &Shell, ended: &Ended, agent: Option<Agent>) {
    if matches!(ended.outcome.end(), SessionEnd::Success | SessionEnd::Interrupted) {
        return;
    }
    let report = &ended.outcome.report;
    let hint = match &report.failure {
        Some(_) => {
            let install = agent.map_or("install it", |agent| agent.install(Form::Acp));
            format!("{install}, or give its whole path: --through '/path/to/agent --acp'")
        }
        None => failure::run_hint(report, agent, &ended.outcome.log),
    };
    shell.tell(&Failure::new(report.summary()).hint(hint));
}
