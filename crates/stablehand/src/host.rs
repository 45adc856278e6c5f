//! Many sessions in one process, for any face: start, list, follow, prompt, answer, stop.
//!
//! A face keeps no state of a session of its own: it calls the [`Host`] and shows the frames of a
//! [`Subscription`]. The host needs no async runtime; its calls return at once, except where they
//! say otherwise, and can be made from any thread or executor. Sessions of other processes on this
//! machine are attached to: their log is read as it grows, and requests go through their control
//! socket. What a session is, is [`crate::session`]'s; how frames are made, [`crate::frames`]'.

mod attached;
pub(crate) mod catalog;
mod error;
mod listen;
mod socket;

pub use catalog::{Filter, SessionState, Summary};
pub use error::{AttachError, OpenError, SubscribeError};
pub use socket::ControlSocket;

use crate::agent::{Agent, Mode};
use crate::control::{Always, AnswerError, Refused};
use crate::frames::{Feed, From, Subscription};
use crate::log::{Durability, Listener, Log, LogError, LogOptions};
use crate::redact::Redaction;
use crate::session::{Attach, Handle, Outcome, Policy, Session, SessionSpec, StartError};
use attached::Attached;
use catalog::Catalog;
use stablehand_core::Dialect;
use stablehand_core::actor::Actor;
use stablehand_core::id::{SessionId, SessionKey, TurnId};
use stablehand_core::record::{Level, SessionDeleted};
use stablehand_core::size::MaxOutput;
use stablehand_core::speak::{Answer, Prompt};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How often the host looks whether its sessions are over while it shuts down.
const LOOK: Duration = Duration::from_millis(10);

/// Owns many sessions. Clones share them; when the last one is dropped, every agent is stopped.
///
/// ```no_run
/// use stablehand::{Agent, From, Host, Policy, Session};
///
/// stablehand::init();
/// let host = Host::new("/var/tmp/logs");
/// let spec = Session::builder(Agent::Claude)
///     .prompt("Which tests are slow?")
///     .policy(Policy::Ask)
///     .conversation();
/// let key = host.start(spec)?;
/// for frame in host.subscribe(key, From::Start)? {
///     println!("{} {}", frame.cursor, frame.json());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Host(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    redaction: Option<Redaction>,
    max_output: OnceLock<MaxOutput>,
    listening: OnceLock<Listening>,
    /// Held while a session is opened or attached to, so that two callers do not both do it.
    opening: Mutex<()>,
    catalog: Catalog,
    sessions: Mutex<BTreeMap<SessionKey, Arc<Hosted>>>,
}

/// Who is told of the decisions of sessions.
struct Listening {
    level: Level,
    /// Makes the listener of one session.
    make: Box<dyn Fn() -> Listener + Send + Sync>,
}

impl std::fmt::Debug for Listening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listening").field("level", &self.level).finish_non_exhaustive()
    }
}

/// A session that the host can speak to.
#[derive(Debug)]
struct Hosted {
    feed: Arc<Feed>,
    line: Line,
}

/// How requests reach a session.
#[derive(Debug)]
enum Line {
    /// It is ours.
    Own(Handle, Box<Mutex<Option<Session>>>),
    /// Another process runs it.
    Other(Attached),
}

/// How a session ended that the host shut down.
#[derive(Debug)]
#[non_exhaustive]
pub struct SessionReport {
    /// The session.
    pub key: SessionKey,
    /// How it ended; none where it was not over in time, or broke down.
    pub outcome: Option<Outcome>,
}

impl Host {
    /// A host whose logs are in `folder`: those of its own sessions, and those that [`Host::list`],
    /// [`Host::open`] and [`Host::attach`] find.
    pub fn new(folder: impl Into<PathBuf>) -> Host {
        Host::with(folder.into(), None)
    }

    /// The same; secrets are taken out of the events of sessions that it does not start itself.
    /// For its own, [`SessionSpec::redact`] says so.
    pub fn redacting(folder: impl Into<PathBuf>, redaction: impl Into<Redaction>) -> Host {
        Host::with(folder.into(), Some(redaction.into()))
    }

    fn with(folder: PathBuf, redaction: Option<Redaction>) -> Host {
        Host(Arc::new(Inner {
            folder,
            redaction,
            max_output: OnceLock::new(),
            listening: OnceLock::new(),
            opening: Mutex::default(),
            catalog: Catalog::default(),
            sessions: Mutex::default(),
        }))
    }

    /// How much of one tool's output subscribers get of sessions that this host does not start itself.
    /// For its own, [`SessionSpec::max_output`] says so. The first call counts.
    pub fn max_output(&self, most: MaxOutput) {
        let _chosen_already = self.0.max_output.set(most);
    }

    fn shaping(&self) -> (Option<&Redaction>, MaxOutput) {
        let most = self.0.max_output.get().copied().unwrap_or_default();
        (self.0.redaction.as_ref(), most)
    }

    /// Tells listeners of the decisions, from `level` on, of every session that this host starts or
    /// opens from now on, as they are logged. `make` makes the listener of one session, which must
    /// not wait. The first call counts.
    pub fn listen(&self, level: Level, make: impl Fn() -> Listener + Send + Sync + 'static) {
        let _listening_already = self.0.listening.set(Listening { level, make: Box::new(make) });
    }

    /// The folder of the logs.
    pub fn folder(&self) -> &Path {
        &self.0.folder
    }

    /// Starts a session, with its log in the host's folder. Whether the agent itself could be
    /// started shows in its events. Who gives the first prompt is [`SessionSpec::actor`]; what becomes
    /// of its questions is [`SessionSpec::policy`], which denies them where it is not set.
    pub fn start(&self, spec: SessionSpec) -> Result<SessionKey, StartError> {
        let session = self.begin(spec)?;
        Ok(self.own(session))
    }

    fn begin(&self, spec: SessionSpec) -> Result<Session, StartError> {
        let spec = spec.log_dir(&self.0.folder);
        let listening = self.0.listening.get();
        let listener = listening.map(|listening| (listening.level, (listening.make)()));
        spec.start_with(Attach { listener, ..Attach::default() })
    }

    /// Makes a session ready for prompts. The host attaches to one that another process runs. It
    /// resumes one that is over: the next prompt starts its agent again, in the mode and with the model
    /// that were chosen last, and its approvals wait for an answer. A session that goes on here stays
    /// as it is.
    pub fn open(&self, key: SessionKey) -> Result<(), OpenError> {
        self.open_as(key, |summary, agent| {
            let mut spec = Session::builder(agent).policy(Policy::Ask);
            if let Some(folder) = &summary.workspace {
                spec = spec.workspace(folder);
            }
            if let Some(mode) = summary.chosen.mode.as_deref().and_then(Mode::by_name) {
                spec = spec.mode(mode);
            }
            if let Some(model) = &summary.chosen.model {
                spec = spec.model(model);
            }
            match summary.program.as_ref().filter(|program| program.is_file()) {
                Some(program) => spec.program(program),
                None => spec,
            }
        })
    }

    /// The same with settings of the caller's: `spec` is told what is known of the session. The
    /// key and the agent's own id are filled in; a session that the agent never named begins anew.
    pub fn open_as(
        &self,
        key: SessionKey,
        spec: impl FnOnce(&Summary, Agent) -> SessionSpec,
    ) -> Result<(), OpenError> {
        let _one_at_a_time = lock(&self.0.opening);
        if self.hosted(key).is_some_and(|hosted| !hosted.is_over()) {
            return Ok(());
        }
        let Some(summary) = self.known(key) else {
            return Err(OpenError::Unknown { key, folder: self.0.folder.clone() });
        };
        if summary.state == SessionState::Elsewhere {
            return Ok(self.attach_to(&summary)?);
        }
        let agent = summary.agent.as_deref().and_then(Agent::by_name);
        let agent = agent.ok_or(OpenError::NotResumable { key })?;
        let mut spec = spec(&summary, agent).key(key).conversation();
        if let Some(SessionId(native)) = &summary.native {
            spec = spec.resume(native);
        }
        let past = catalog::past(&summary.logs, spec.shaping());
        let session = self.begin(spec.past(past))?;
        self.own(session);
        Ok(())
    }

    /// Attaches to a session that another process runs: its events, and requests to it. One that the
    /// host has, and that goes on, stays as it is.
    pub fn attach(&self, key: SessionKey) -> Result<(), AttachError> {
        let _one_at_a_time = lock(&self.0.opening);
        if self.hosted(key).is_some_and(|hosted| !hosted.is_over()) {
            return Ok(());
        }
        match self.known(key) {
            None => Err(AttachError::Unknown { key, folder: self.0.folder.clone() }),
            Some(summary) => self.attach_to(&summary),
        }
    }

    fn attach_to(&self, summary: &Summary) -> Result<(), AttachError> {
        let key = summary.key;
        if summary.state != SessionState::Elsewhere {
            return Err(AttachError::NotRunning(key));
        }
        let attached = Attached::to(&self.0.folder, key, &summary.logs, self.shaping());
        let (feed, attached) = attached.map_err(|source| AttachError::Log { key, source })?;
        let hosted = Hosted { feed, line: Line::Other(attached) };
        self.sessions().insert(key, Arc::new(hosted));
        Ok(())
    }

    /// The sessions in the folder, the newest first. Reads both ends of logs that are new or have
    /// changed since the last call.
    pub fn list(&self, filter: &Filter) -> Vec<Summary> {
        let mut found = self.0.catalog.all(&self.0.folder);
        for summary in &mut found {
            if let Some(hosted) = self.hosted(summary.key) {
                hosted.describe(summary);
            }
        }
        found.retain(|summary| filter.matches(summary));
        found.sort_by_key(|summary| std::cmp::Reverse(summary.key));
        found.truncate(filter.limit.unwrap_or(usize::MAX));
        found
    }

    /// Finds a session of an agent by its key or by the agent's own id; of several with that id the
    /// newest. A deleted session is found too: see [`Summary::deleted`].
    pub fn find_by_name(&self, agent: &str, name: &str) -> Option<Summary> {
        let mut all = self.list(&Filter { deleted: true, ..Filter::default() });
        // One that was deleted before it had an agent has none.
        all.retain(|it| it.agent.as_deref().is_none_or(|it| it == agent));
        let key = name.parse::<SessionKey>().ok();
        let at = all.iter().position(|it| Some(it.key) == key).or_else(|| {
            all.iter().position(|it| it.native.as_ref().is_some_and(|it| it.0 == name))
        })?;
        Some(all.swap_remove(at))
    }

    /// One session in the folder.
    pub fn find(&self, key: SessionKey) -> Option<Summary> {
        let mut summary = self.known(key)?;
        if let Some(hosted) = self.hosted(key) {
            hosted.describe(&mut summary);
        }
        Some(summary)
    }

    /// What the logs tell of a session that was not deleted.
    fn known(&self, key: SessionKey) -> Option<Summary> {
        self.0.catalog.of(&self.0.folder, key).filter(|summary| !summary.deleted)
    }

    /// Follows the events of any session: one of this host, one that another process runs (the host
    /// attaches to it), or one that is over. It starts no agent.
    pub fn subscribe(&self, key: SessionKey, from: From) -> Result<Subscription, SubscribeError> {
        let feed = match self.hosted(key) {
            Some(hosted) => Arc::clone(&hosted.feed),
            None => self.feed_of_other(key)?,
        };
        if let From::After(cursor) = from
            && !feed.has_log(cursor.log)
        {
            return Err(SubscribeError::ForeignCursor { key, cursor });
        }
        Ok(Subscription::new(feed, from))
    }

    fn feed_of_other(&self, key: SessionKey) -> Result<Arc<Feed>, SubscribeError> {
        let no_session = || SubscribeError::NoSession(key);
        let summary = self.known(key).ok_or_else(no_session)?;
        if summary.state == SessionState::Elsewhere {
            self.attach(key)?;
            return Ok(Arc::clone(&self.hosted(key).ok_or_else(no_session)?.feed));
        }
        let mut past = catalog::past(&summary.logs, self.shaping());
        let last = past.pop().ok_or_else(no_session)?;
        Ok(Feed::new(last.log, last.how, past))
    }

    /// Gives a prompt to a session; exactly one `turn.ended` follows for the turn that is returned.
    pub fn prompt(
        &self,
        key: SessionKey,
        prompt: impl Into<Prompt>,
        by: Actor,
    ) -> Result<TurnId, Refused> {
        let hosted = self.hosted(key).ok_or(Refused::NoSession)?;
        match &hosted.line {
            Line::Own(handle, _) => handle.acting(by).prompt(prompt),
            Line::Other(attached) => attached.prompt(prompt.into(), by),
        }
    }

    /// Ends the turn that is on in a session. Without one nothing happens.
    pub fn cancel(&self, key: SessionKey, by: Actor) -> Result<(), Refused> {
        self.cancel_turn(key, None, by)
    }

    /// Ends one turn: the one that is on, or one that waits; without `turn` the one that is on.
    pub fn cancel_turn(
        &self,
        key: SessionKey,
        turn: Option<TurnId>,
        by: Actor,
    ) -> Result<(), Refused> {
        let hosted = self.hosted(key).ok_or(Refused::NoSession)?;
        match (&hosted.line, turn) {
            (Line::Own(handle, _), None) => handle.acting(by).cancel(),
            (Line::Own(handle, _), Some(turn)) => handle.acting(by).cancel_turn(turn),
            (Line::Other(attached), turn) => return attached.cancel(turn, by),
        }
        Ok(())
    }

    /// Answers an approval of a session, by the id of its `approval.requested`. The first valid
    /// answer wins; the others are told who gave it.
    pub fn answer(
        &self,
        key: SessionKey,
        approval: &str,
        answer: Answer,
        by: Actor,
    ) -> Result<(), AnswerError> {
        let hosted = self.hosted(key).ok_or(AnswerError::NoSession)?;
        match &hosted.line {
            Line::Own(handle, _) => handle.acting(by).answer(approval, answer),
            Line::Other(attached) => attached.answer(approval, answer, by),
        }
    }

    /// What [`Answer::AllowAlways`] would mean for an approval that waits; see [`Handle::always`].
    pub fn always(&self, key: SessionKey, approval: &str) -> Option<Always> {
        match &self.hosted(key)?.line {
            Line::Own(handle, _) => handle.always(approval),
            Line::Other(attached) => attached.always(approval),
        }
    }

    /// Takes no further prompt: the session ends after those that were given.
    pub fn finish(&self, key: SessionKey) -> Result<(), Refused> {
        match &self.hosted(key).ok_or(Refused::NoSession)?.line {
            Line::Own(handle, _) => handle.finish(),
            Line::Other(attached) => attached.finish()?,
        }
        Ok(())
    }

    /// Stops the agent of a session and everything that it started; a second time, at once.
    pub fn stop(&self, key: SessionKey, by: Actor) -> Result<(), Refused> {
        match &self.hosted(key).ok_or(Refused::NoSession)?.line {
            Line::Own(handle, _) => handle.acting(by).stop(),
            Line::Other(attached) => attached.stop(by)?,
        }
        Ok(())
    }

    /// Where the log of a session is now.
    pub fn log(&self, key: SessionKey) -> Option<PathBuf> {
        match self.handle(key) {
            Some(handle) => Some(handle.log()),
            None => self.known(key)?.logs.pop(),
        }
    }

    /// What can be said to a session of this process, for callers that follow one closely.
    pub fn handle(&self, key: SessionKey) -> Option<Handle> {
        match &self.hosted(key)?.line {
            Line::Own(handle, _) => Some(handle.clone()),
            Line::Other(_) => None,
        }
    }

    /// Forgets a session that is over, and how it ended; subscribers keep what they have. Waits for
    /// one that is not over.
    pub fn close(&self, key: SessionKey) -> Option<SessionReport> {
        let hosted = self.sessions().remove(&key)?;
        let outcome = match &hosted.line {
            Line::Own(_, session) => lock(session).take().and_then(|session| session.wait().ok()),
            Line::Other(_) => None,
        };
        Some(SessionReport { key, outcome })
    }

    /// Ends a session of this process, waits for that and says how it ended. An agent at rest leaves by
    /// itself, another one is stopped; it is killed when `within` has passed. A session that another
    /// process runs goes on there.
    pub fn end(&self, key: SessionKey, within: Duration) -> Option<SessionReport> {
        let until = Instant::now() + within;
        let hosted = self.hosted(key)?;
        if let Line::Own(handle, _) = &hosted.line {
            dismiss(handle);
            while !hosted.is_over() && Instant::now() < until {
                std::thread::sleep(LOOK);
            }
            if !hosted.is_over() {
                // The second word kills at once.
                handle.stop();
                handle.stop();
            }
        }
        self.close(key)
    }

    /// Deletes a session, which should be over: from now on nobody lists, opens or follows it. A log
    /// of its own says who did that; the other logs stay until they are pruned.
    pub fn delete(&self, key: SessionKey, by: &Actor) -> Result<(), LogError> {
        let options = LogOptions {
            folder: self.0.folder.clone(),
            prefix: "stablehand".to_owned(),
            durability: Durability::Group,
            required: false,
        };
        // No agent says anything in it, so any dialect will do.
        let mut log = Log::open(options, key, Dialect::Acp, None, None)?;
        log.decide(SessionDeleted { by: by.by.to_string(), via: by.via.clone() }, None);
        log.end();
        Ok(())
    }

    /// Ends all sessions of this process and says how they ended. Agents at rest leave by
    /// themselves; the others are stopped, and killed when `within` has passed. Returns when every
    /// tree is gone.
    pub fn shutdown(self, within: Duration) -> Vec<SessionReport> {
        let until = Instant::now() + within;
        let sessions = std::mem::take(&mut *self.sessions());
        let own: Vec<_> = sessions
            .into_iter()
            .filter_map(|(key, hosted)| match &hosted.line {
                Line::Own(handle, session) => Some((key, handle.clone(), lock(session).take()?)),
                Line::Other(_) => None,
            })
            .collect();
        for (_, handle, _) in &own {
            dismiss(handle);
        }
        while Instant::now() < until && own.iter().any(|(_, _, session)| !session.is_over()) {
            std::thread::sleep(LOOK);
        }
        for (_, handle, session) in &own {
            if !session.is_over() {
                handle.stop();
                handle.stop();
            }
        }
        let report = |(key, _, session): (SessionKey, Handle, Session)| SessionReport {
            key,
            outcome: session.wait().ok(),
        };
        own.into_iter().map(report).collect()
    }

    fn own(&self, session: Session) -> SessionKey {
        let key = session.key();
        let (feed, handle) = (session.feed(), session.handle());
        let line = Line::Own(handle, Box::new(Mutex::new(Some(session))));
        self.sessions().insert(key, Arc::new(Hosted { feed, line }));
        key
    }

    fn hosted(&self, key: SessionKey) -> Option<Arc<Hosted>> {
        self.sessions().get(&key).cloned()
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<SessionKey, Arc<Hosted>>> {
        lock(&self.0.sessions)
    }
}

impl Hosted {
    /// Returns true if nobody runs the session any more.
    fn is_over(&self) -> bool {
        match &self.line {
            Line::Own(_, session) => lock(session).as_ref().is_none_or(Session::is_over),
            Line::Other(_) => self.feed.is_complete(),
        }
    }

    /// What the host knows of a session beside its log.
    fn describe(&self, summary: &mut Summary) {
        match &self.line {
            _ if self.is_over() => summary.state = SessionState::Over,
            Line::Own(handle, _) => {
                summary.state = SessionState::Here;
                summary.turn = handle.turn();
                summary.approvals = handle.approvals();
            }
            Line::Other(_) => summary.state = SessionState::Attached,
        }
    }
}

/// Has a session end: at once where its agent works, by itself where it rests.
fn dismiss(handle: &Handle) {
    handle.finish();
    if handle.turn().is_some() {
        handle.stop();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
