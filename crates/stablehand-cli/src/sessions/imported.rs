//! A session that was imported: what its agent wrote down of it, as events like those of a log.
//!
//! Owns how such a session is named and what cannot be asked of it. Files are read by
//! `stablehand_store`, and what stands in them is core's.

use crate::failure::Failure;
use stablehand::log::Writer;
use stablehand::log::{Glance, LogEnd, LogKind};
use stablehand_core::Event;
use stablehand_core::event::{EventKind, Origin};
use stablehand_core::id::{RunId, Seq, SessionId};
use stablehand_core::record::SettingsChosen;
use stablehand_core::text::excerpt;
use stablehand_store::query::Named;
use std::path::{Path, PathBuf};

/// A session of which there is no log of ours.
#[derive(Debug)]
pub(crate) struct Imported {
    id: String,
    /// What the index has of each of its transcripts, the first one first: the session's own, and
    /// those of agents that worked for it.
    runs: Vec<Named>,
    /// The folder of the logs, for copies of databases that are in use.
    folder: PathBuf,
}

impl Imported {
    pub(super) fn new(id: String, runs: Vec<Named>, folder: &Path) -> Imported {
        Imported { id, runs, folder: folder.to_owned() }
    }

    /// The files that tell of it.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.runs.iter().map(|run| run.path.as_path())
    }

    /// The same that a log tells at a glance.
    pub(super) fn glance(&self) -> Glance {
        let first = self.runs.first();
        let newest = |part: fn(&Named) -> Option<String>| self.runs.iter().rev().find_map(part);
        Glance {
            kind: LogKind::Transcript,
            log: first.map(|run| run.path.clone()).unwrap_or_default(),
            id: None,
            key: None,
            program: None,
            agent: first.map(|run| run.agent.clone()),
            dialect: first.and_then(|run| run.original.as_ref()?.source.dialect()),
            session: newest(|run| run.session.clone()).map(SessionId),
            // What works for a session may have a model and a place of its own.
            model: self.runs.iter().find_map(|run| run.model.clone()),
            cwd: self.runs.iter().find_map(|run| run.workspace.clone()),
            chosen: SettingsChosen::default(),
            deleted: false,
            title: self.runs.iter().find_map(|run| run.title.clone()),
            began: first.map(|run| run.started),
            end: first.and_then(|run| run.outcome.clone()).map(|outcome| LogEnd {
                outcome,
                text: "that is how its last turn ended; nobody watched it".to_owned(),
                elapsed_ms: None,
            }),
            writer: Writer::Gone,
            redacted_raw: false,
        }
    }

    /// Hands out its events, in their order, until `take` says false.
    pub(super) fn each_event(
        &self,
        mut take: impl FnMut(&Event) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let mut seq = Seq(0);
        for run in &self.runs {
            let Some(original) = &run.original else { continue };
            let (id, mut session) = (RunId(run.run.clone()), None);
            let mut taken = Ok(true);
            let read = original.each_event(&self.folder, |at, kind| {
                if let EventKind::SessionStarted { native_id, .. } = &kind {
                    session = Some(native_id.clone());
                }
                seq.0 += 1;
                let (session, run) = (session.clone(), id.clone());
                taken = take(&Event::stamp(seq, at, session, run, Origin::Agent, kind));
                matches!(taken, Ok(true))
            });
            read.map_err(|error| {
                Failure::new(stablehand::error_chain(&error))
                    .hint("the agent may have removed it; `sessions ls` has what is still there")
            })?;
            if !taken? {
                break;
            }
        }
        Ok(())
    }

    /// Why something cannot be had of it.
    pub(super) fn needs_log(&self, what: &str) -> Failure {
        let id = excerpt(self.id.as_bytes(), 64);
        let agent = self.runs.first().map(|run| run.agent.as_str()).unwrap_or_default();
        let file = self.files().next().unwrap_or(Path::new(""));
        Failure::new(format!(
            "`{id}` was imported from {agent}'s own `{}`: {what} needs a log of ours, and there is none",
            file.display()
        ))
        .hint(
            "`sessions show` works, also with --tools or --events; so do `sessions export` to md, \
             html and jsonl, and `sessions resume`",
        )
    }
}
