//! Which session an editor means by an id, and which ones there are.
//!
//! A session's id is the text of its [`SessionKey`]. Editors may also name one by the agent's own id:
//! old logs and imported transcripts have no other. Everything is read from the host and the index;
//! nothing is written here.

use super::Place;
use crate::sessions::known;
use agent_client_protocol::v1::schema::SessionInfo;
use stablehand::host::{Filter, Summary};
use stablehand_core::id::SessionKey;
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
        let agent = self.agent.name();
        let all = self.host.list(&Filter { deleted: true, ..Filter::default() });
        let key = id.parse::<SessionKey>().ok();
        let found = all.iter().find(|it| Some(it.key) == key).or_else(|| {
            // Of several the newest, which is the first.
            all.iter().find(|it| is_native(it, id) && it.agent.as_deref() == Some(agent))
        });
        match found {
            Some(summary) if summary.deleted || summary.agent.as_deref() != Some(agent) => None,
            Some(summary) => Some(self.logged(summary, &all)),
            None => self.unkeyed(id).or_else(|| {
                // A session without a prompt has no log. Only we make keys of version 7.
                let is_ours = |key: &SessionKey| key.0.get_version_num() == 7;
                key.filter(is_ours).map(|key| Target { is_unlogged: true, ..Target::of(key) })
            }),
        }
    }

    /// A session that has a key, with what came before it.
    fn logged(&self, summary: &Summary, all: &[Summary]) -> Target {
        let mut target = Target {
            title: summary.title.clone(),
            chosen: summary.chosen.clone(),
            ..Target::of(summary.key)
        };
        if let Some(native) = &summary.native {
            let is_same =
                |it: &&Summary| it.native.as_ref() == Some(native) && it.agent == summary.agent;
            let family: Vec<&Summary> = all.iter().rev().filter(is_same).collect();
            let is_earlier = |it: &&&Summary| it.key < summary.key && !it.deleted;
            target.earlier = family.iter().filter(is_earlier).map(|it| it.key).collect();
            if let Some(old) = self.unkeyed(&native.0) {
                let logs: HashSet<&PathBuf> = family.iter().flat_map(|it| &it.logs).collect();
                target.old_logs = old.old_logs;
                target.old_logs.retain(|log| !logs.contains(log));
            }
            target.native = Some(native.0.clone());
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
            // The newest stands for all in which the agent's session went on.
            let is_known = summary.native.is_some_and(|native| !natives.insert(native.0));
            if !summary.deleted && !is_known {
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
            found.push((began(key), SessionInfo::new(key.to_string(), cwd)));
        }
        found.sort_by_key(|(used, _)| std::cmp::Reverse(*used));
        found.retain(|(_, info)| cwd.is_none_or(|cwd| cwd == info.cwd));
        found.into_iter().map(|(used, info)| info.updated_at(used.rfc3339())).collect()
    }
}

fn is_native(summary: &Summary, id: &str) -> bool {
    summary.native.as_ref().is_some_and(|native| native.0 == id)
}

/// When a key was made: it says so itself.
fn began(key: SessionKey) -> UnixMillis {
    let since = key.0.get_timestamp().map(|at| at.to_unix());
    let (secs, nanos) = since.unwrap_or_default();
    UnixMillis(i64::try_from(secs * 1000 + u64::from(nanos / 1_000_000)).unwrap_or_default())
}
