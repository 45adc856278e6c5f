//! Which variables are the agents' own: their settings, their keys, the addresses of their models.

use super::Agent;

/// Whether a variable is read by an agent that we know, by what its name begins with. What a
/// project may say about itself is none of these: an agent's own variables can turn its cautions
/// off, or have it speak to another model.
pub fn is_agents_own(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let first = name.split('_').next().unwrap_or_default();
    Agent::ALL.iter().any(|agent| {
        let row = agent.row();
        let known = row.manage.credentials.iter().chain(row.manage.folders);
        first.starts_with(&row.name.to_ascii_uppercase())
            || known.into_iter().any(|known| known.split('_').next() == Some(first))
            || row.env.iter().any(|(known, _)| *known == name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_what_they_begin_with() {
        for name in [
            "ANTHROPIC_BASE_URL",
            "CLAUDE_CODE_SKIP_PROMPT",
            "CLAUDECODE",
            "CODEX_HOME",
            "cursor_anything",
            "GEMINI_MODEL",
            "OPENCODE_PERMISSION",
            "DISABLE_TELEMETRY",
        ] {
            assert!(is_agents_own(name), "{name}");
        }
        for name in ["RUST_LOG", "FOO", "DISABLE_CACHE", "", "_"] {
            assert!(!is_agents_own(name), "{name}");
        }
    }
}
