//! The help of the flags that only some agents have: which agents those are comes from their rows.

use stablehand::Agent;
use stablehand::agent::Form;

/// The help of `--policy`.
pub(super) fn policy() -> String {
    let asking = all_of(&names(asks));
    let hooked = all_of(&names(|agent| has_hooks(agent) && !asks(agent)));
    let mut by_acp = names(|agent| agent.can_be_held(Form::Acp, None));
    by_acp.push(BY_COMMAND);
    format!(
        "Rules that answer the agent's questions whether it may do something: a file, or a \
         ready-made policy (read-only, workspace-write, no-network, yolo). Several are put on top \
         of each other. For agents that ask ({asking}), with --hooks for {hooked}, and with --acp \
         for {}. Without it, the rules in the user's `config.toml` and the workspace's \
         `stablehand.toml` hold",
        all_of(&by_acp)
    )
}

/// The help of `--hooks`.
pub(super) fn hooks() -> String {
    format!(
        "Have the agent call us before every tool and tell us what it does, by its own hooks: for \
         {}. With a policy this holds agents that do not ask by themselves",
        all_of(&names(has_hooks))
    )
}

/// The help of `--acp`.
pub(super) fn acp() -> String {
    let both = Agent::ALL.iter().filter_map(|agent| {
        let row = agent.row();
        let acp = row.acp.as_ref().filter(|_| !row.speaks_only_acp())?;
        // Some need another program for it.
        let other = acp.programs.first().filter(|program| !row.programs.contains(program));
        Some(match other {
            Some(program) => format!("{} (`{program}`)", row.name),
            None => row.name.to_owned(),
        })
    });
    let both: Vec<String> = both.collect();
    let both: Vec<&str> = both.iter().map(String::as_str).collect();
    let mut only = names(|agent| agent.row().speaks_only_acp());
    only.push(BY_COMMAND);
    format!(
        "Speak the Agent Client Protocol with the agent, and not its own: for {}; {} speak nothing \
         else",
        all_of(&both),
        all_of(&only)
    )
}

/// The help of `--transport`.
pub(crate) fn transport() -> String {
    format!(
        "How we talk with the agent: pipe (the prompt, then its output), two-way (it may also ask us \
         while it works; {} can), or pty (a terminal, for what only works at one)",
        all_of(&names(|agent| agent.row().two_way.is_some()))
    )
}

/// The help of an `--agent` that must have hooks.
pub(crate) fn agent_with_hooks() -> String {
    format!("Which agent: {}", listed(&names(has_hooks), "or"))
}

/// Returns the names of the agents for which `holds` is true, in the order of the table.
pub(super) fn names(holds: fn(&Agent) -> bool) -> Vec<&'static str> {
    Agent::ALL.iter().filter(|agent| holds(agent)).map(|agent| agent.name()).collect()
}

/// Any agent by its command line, as it is written in the help.
const BY_COMMAND: &str = "acp:'COMMAND'";

fn asks(agent: &Agent) -> bool {
    agent.can_be_held(Form::TwoWay, None)
}

fn has_hooks(agent: &Agent) -> bool {
    agent.row().hooks.is_some()
}

fn all_of(names: &[&str]) -> String {
    listed(names, "and")
}

/// Joins names as a sentence does: `a, b and c`.
fn listed(names: &[&str], last: &str) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., end] => format!("{} {last} {end}", first.join(", ")),
    }
}
