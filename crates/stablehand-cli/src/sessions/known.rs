//! The sessions of one agent that can be gone on with, for faces that list them.
//!
//! Asked of the index; where that cannot be used there are none, and nobody is kept from beginning
//! another.

use super::fresh::{self, Pace};
use crate::env::Env;
use stablehand_store::query::{Filter, Session};
use std::path::Path;

/// All of them that the agent has named, the latest first; of one workspace, where that is wished.
pub(crate) fn of_agent(
    agent: &str,
    workspace: Option<&Path>,
    folder: &Path,
    env: &Env,
) -> Vec<Session> {
    if !folder.is_dir() {
        return Vec::new();
    }
    let filter = Filter {
        agent: Some(agent.to_owned()),
        workspace: workspace.into_iter().map(|path| path.display().to_string()).collect(),
        ..Filter::default()
    };
    let asked = fresh::quietly(env, folder, Pace::Soon, |store| store.all_sessions(&filter));
    let found = asked.map(|answered| answered.answer).unwrap_or_default();
    let redactor = crate::redact::redactor(&[]);
    let shown = |(mut session, _): (Session, String)| {
        session.title = session.title.map(|title| redactor.redact(&title).into_owned());
        session
    };
    found.into_iter().map(shown).filter(|session| session.session.is_some()).collect()
}
