//! The agents: there, answering, logged in?

use crate::env::Env;
use crate::manage::{How, Portrait, desk, everybody, login_words, portraits};
use stablehand::checkup::{CheckFinding, CheckLevel};
use stablehand::manage::{LoginState, Recipe};

/// One finding per agent.
pub(super) fn look(env: &Env, how: &How) -> Vec<CheckFinding> {
    let portraits = portraits(&desk(env, how), &everybody(env), env);
    let real = portraits.iter().filter(|portrait| !portrait.agent.row().is_built_in());
    let installed = real.clone().any(|portrait| portrait.program.is_some());
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

fn finding(portrait: &Portrait) -> CheckFinding {
    let name = portrait.agent.name();
    let Some(program) = &portrait.program else {
        return CheckFinding::new(name, CheckLevel::Note, "not installed")
            .fix(portrait.agent.row().manage.install);
    };
    let trouble = portrait.troubles.join("; ");
    if portrait.broken {
        let fix = format!("run `{} --version` yourself; install it anew", program.display());
        return CheckFinding::new(name, CheckLevel::Broken, trouble).fix(fix);
    }
    let version = portrait.version.as_deref().unwrap_or("of an unknown version");
    let login = portrait.login.as_ref();
    let words = login.map_or_else(|| "login unknown".to_owned(), |login| login_words(login).0);
    let text = format!("{version} at {}, {words}", program.display());
    if !trouble.is_empty() {
        return CheckFinding::new(name, CheckLevel::Warning, format!("{text}; {trouble}"))
            .fix("it may be newer or older than what we know; runs may work all the same");
    }
    match login.map(|login| login.state) {
        Some(LoginState::In) => CheckFinding::ok(name, text),
        Some(LoginState::Out) => CheckFinding::new(name, CheckLevel::Warning, text).fix(
            match portrait.agent.row().manage.log_in {
                Recipe::Unsupported(instead) => instead.to_owned(),
                _ => format!("stablehand login --agent {name}"),
            },
        ),
        Some(LoginState::Unknown) | None => CheckFinding::new(name, CheckLevel::Note, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stablehand::agent::Agent;
    use stablehand::manage::Login;

    #[test]
    fn each_state_of_an_agent_has_its_level_and_its_fix() {
        let codex = Agent::by_name("codex").unwrap();
        let blank = Portrait {
            agent: codex,
            program: Some("/bin/codex".into()),
            version: Some("1.2.3".into()),
            login: Some(Login::yes(None, "API key")),
            model: None,
            facts: Vec::new(),
            broken: false,
            troubles: Vec::new(),
        };
        let out = Portrait { login: Some(Login::no()), ..blank.clone() };
        let unknown = Portrait { login: Some(Login::unknown("x")), ..blank.clone() };
        let odd = Portrait { troubles: vec!["odd".into()], ..blank.clone() };
        let broken = Portrait { broken: true, troubles: vec!["hung".into()], ..blank.clone() };
        let missing = Portrait { program: None, ..blank.clone() };
        let levels = [&blank, &out, &unknown, &odd, &broken, &missing].map(|p| finding(p).level);
        let [ok, note, warning, broken] =
            [CheckLevel::Ok, CheckLevel::Note, CheckLevel::Warning, CheckLevel::Broken];
        assert_eq!(levels, [ok, warning, note, warning, broken, note]);
        assert_eq!(finding(&out).fix.as_deref(), Some("stablehand login --agent codex"));
        assert_eq!(finding(&blank).text, "1.2.3 at /bin/codex, logged in: API key");
    }
}
