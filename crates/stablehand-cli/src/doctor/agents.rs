//! The agents: there, answering, logged in?

use crate::env::Env;
use crate::manage::{How, desk, everybody, statuses};
use stablehand::checkup::{CheckFinding, CheckLevel};
use stablehand::manage::status::how_to_log_in;
use stablehand::manage::{AgentStatus, Login, LoginState};

/// One finding per agent.
pub(super) fn look(env: &Env, how: &How) -> Vec<CheckFinding> {
    let statuses = statuses(&desk(env, how), &everybody(env), env);
    let real = statuses.iter().filter(|status| !status.agent.row().is_built_in());
    let installed = real.clone().any(|status| status.program.is_some());
    let mut findings: Vec<_> = real.map(finding).collect();
    if !installed {
        let text = "none is installed; only the built-in demo agent can be run";
        findings.push(
            CheckFinding::new("agents", CheckLevel::Warning, text)
                .fix("install one of those above"),
        );
    }
    findings
}

fn finding(status: &AgentStatus) -> CheckFinding {
    let name = status.agent.name();
    let Some(program) = &status.program else {
        return CheckFinding::new(name, CheckLevel::Note, "not installed")
            .fix(status.agent.row().manage.install);
    };
    let problem = status.problems.join("; ");
    if status.is_broken {
        let fix = format!("run `{} --version` yourself; install it anew", program.display());
        return CheckFinding::new(name, CheckLevel::Broken, problem).fix(fix);
    }
    let version = status.version.as_deref().unwrap_or("of an unknown version");
    let login = status.login.as_ref();
    let words = login.map_or_else(|| "login unknown".to_owned(), Login::describe);
    let text = format!("{version} at {}, {words}", program.display());
    if !problem.is_empty() {
        return CheckFinding::new(name, CheckLevel::Warning, format!("{text}; {problem}"))
            .fix("it may be newer or older than what we know; runs may work all the same");
    }
    match login.map(|login| login.state) {
        Some(LoginState::In) => CheckFinding::ok(name, text),
        Some(LoginState::Out) => {
            let fix = how_to_log_in(status.agent);
            CheckFinding::new(name, CheckLevel::Warning, text).fix(fix)
        }
        Some(LoginState::Unknown) | None => CheckFinding::new(name, CheckLevel::Note, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stablehand::agent::Agent;

    #[test]
    fn each_state_of_an_agent_has_its_level_and_its_fix() {
        let codex = Agent::by_name("codex").unwrap();
        let blank = AgentStatus {
            agent: codex,
            program: Some("/bin/codex".into()),
            version: Some("1.2.3".into()),
            login: Some(Login::yes(None, "API key")),
            model: None,
            facts: Vec::new(),
            is_broken: false,
            problems: Vec::new(),
        };
        let out = AgentStatus { login: Some(Login::no()), ..blank.clone() };
        let unknown = AgentStatus { login: Some(Login::unknown("x")), ..blank.clone() };
        let odd = AgentStatus { problems: vec!["odd".into()], ..blank.clone() };
        let broken =
            AgentStatus { is_broken: true, problems: vec!["hung".into()], ..blank.clone() };
        let missing = AgentStatus { program: None, ..blank.clone() };
        let levels = [&blank, &out, &unknown, &odd, &broken, &missing].map(|p| finding(p).level);
        let [ok, note, warning, broken] =
            [CheckLevel::Ok, CheckLevel::Note, CheckLevel::Warning, CheckLevel::Broken];
        assert_eq!(levels, [ok, warning, note, warning, broken, note]);
        assert_eq!(finding(&out).fix.as_deref(), Some("stablehand login --agent codex"));
        assert_eq!(finding(&blank).text, "1.2.3 at /bin/codex, logged in: API key");
    }
}
