//! Which session an editor means by an id, and which ones there are.
//!
//! A session's id is the text of its [`SessionKey`]. Editors may also name one by the agent's own id:
//! old logs and imported transcripts have no other. Everything is read from the host and the index;
//! nothing is written here.

use super::Place;
use crate::sessions::known;
use agent_client_protocol::v1::schema::SessionInfo;
use stablehand::host::{Filter, Summary};
use stablehand_core::id::{SessionId, SessionKey};
use stablehand_core::record::SettingsChosen;
use stablehand_core::time::UnixMillis;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The session that stands behind an editor's id.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) key: SessionKey,
    /// The agent's own id, once it is known.
    pub(super) native: Option<String>,
    /// The beginning of the first prompt.
    pub(super) title: Option<String>,
    pub(super) chosen: SettingsChosen,
    /// Sessions of other faces in which the agent's session went on before, oldest first.
    pub(super) earlier: Vec<SessionKey>,
    /// Logs of it that have no key, oldest first.
    pub(super) old_logs: Vec<PathBuf>,
    /// Returns true of a session without a log: it had no prompt yet, or its logs were removed.
    pub(super) is_unlogged: bool,
}

impl Target {
    /// A session that begins.
    pub(super) fn new() -> Target {
        Target::of(stablehand::new_session_key())
    }

    fn of(key: SessionKey) -> Target {
        Target {
            key,
            native: None,
            title: None,
            chosen: SettingsChosen::default(),
            earlier: Vec::new(),
            old_logs: Vec::new(),
            is_unlogged: false,
        }
    }
}

impl Place {
    /// The session that an editor means by an id; none where there is none, or it was deleted.
    pub(super) fn target(&self, id: &str) -> Option<Target> {
        match self.host.find_by_name(self.agent.name(), id) {
            Some(summary) if summary.deleted => None,
            Some(summary) => Some(self.logged(summary)),
            None => self.unkeyed(id).or_else(|| {
                let key = id.parse::<SessionKey>().ok()?;
                // A session without a prompt has no log. Only we make keys that say when.
                let is_unlogged = key.made_at().is_some() && self.host.find(key).is_none();
                is_unlogged.then(|| Target { is_unlogged, ..Target::of(key) })
            }),
        }
    }

    /// A session that has a key, with what came before it.
    fn logged(&self, summary: Summary) -> Target {
        let mut target = Target {
            title: summary.title,
            chosen: summary.chosen,
            earlier: summary.earlier,
            ..Target::of(summary.key)
        };
        if let Some(SessionId(native)) = summary.native {
            if let Some(old) = self.unkeyed(&native) {
                let keyed =
                    |log: &PathBuf| stablehand::log::glance(log).is_ok_and(|it| it.key.is_some());
                target.old_logs = old.old_logs.into_iter().filter(|log| !keyed(log)).collect();
            }
            target.native = Some(native);
        }
        target
    }

    /// A session that the index knows by the agent's own id.
    fn unkeyed(&self, native: &str) -> Option<Target> {
        let found = known::of_agent(self.agent.name(), None, self.host.folder(), &self.env);
        let session = found.into_iter().find(|it| it.session.as_deref() == Some(native))?;
        Some(Target {
            native: session.session,
            title: session.title,
            old_logs: session.logs,
            ..Target::new()
        })
    }

    /// The agent's sessions, the one that was used last first; `open` are those that editors have
    /// open. Of one folder, where that is asked for.
    pub(super) fn infos(
        &self,
        open: Vec<(SessionKey, PathBuf)>,
        cwd: Option<&Path>,
    ) -> Vec<SessionInfo> {
        let agent = self.agent.name();
        let filter = Filter { agent: Some(agent.to_owned()), deleted: true, ..Filter::default() };
        let redactor = crate::redact::redactor(&[]);
        let mut natives = HashSet::new();
        let mut keys = HashSet::new();
        let mut found: Vec<(UnixMillis, SessionInfo)> = Vec::new();
        for summary in self.host.list(&filter) {
            keys.insert(summary.key);
            natives.extend(summary.native.map(|native| native.0));
            // The newest stands for all in which the agent's session went on.
            if !summary.deleted && summary.later.is_none() {
                let cwd = summary.workspace.unwrap_or_default();
                let title = summary.title.map(|title| redactor.redact(&title).into_owned());
                let info = SessionInfo::new(summary.key.to_string(), cwd).title(title);
                found.push((summary.used.unwrap_or(UnixMillis(0)), info));
            }
        }
        for session in known::of_agent(agent, cwd, self.host.folder(), &self.env) {
            let native = session.session.unwrap_or_default();
            if !natives.contains(&native) {
                let cwd = session.workspace.map(PathBuf::from).unwrap_or_default();
                let info = SessionInfo::new(native, cwd).title(session.title);
                found.push((session.last, info));
            }
        }
        for (key, cwd) in open.into_iter().filter(|(key, _)| !keys.contains(key)) {
            let made = key.made_at().unwrap_or(UnixMillis(0));
            found.push((made, SessionInfo::new(key.to_string(), cwd)));
        }
        found.sort_by_key(|(used, _)| std::cmp::Reverse(*used));
        found.retain(|(_, info)| cwd.is_none_or(|cwd| cwd == info.cwd));
        found.into_iter().map(|(used, info)| info.updated_at(used.rfc3339())).collect()
    }
}
