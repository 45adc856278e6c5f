//! Starting a session: from what is wanted to its log, its thread and its control socket.

use super::build::{Policy, SessionSpec, StartError, Subject};
use super::outcome::LastWords;
use super::plan::{AgentStart, RunPlan, Start};
use super::runs::Runs;
use super::{Handle, Session, turns};
use crate::agent::{Agent, Form, PlanRequest};
use crate::clock::unix_now;
use crate::control::{self, Control, Request, Requests};
use crate::driver::{Approvals, Faces, RunReport, RunSpec, StatusCell};
use crate::frames::{Checkpoints, Feed, How};
use crate::gate::Attendance;
use crate::host::ControlSocket;
use crate::host::catalog::key_of;
use crate::keeper::KeeperProgram;
use crate::log::{Listener, Log, LogOptions};
use crate::prompt_gate::{self, PromptVerdict};
use crate::recovery::Tries;
use crate::surroundings::{Surroundings, is_initialised};
use stablehand_core::event::SessionEnd;
use stablehand_core::id::SessionKey;
use stablehand_core::mcp::McpServer;
use stablehand_core::monitor::Limits;
use stablehand_core::record::{DecisionRecord, Level, OutputLost, SettingsChosen};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long the end of a session waits for its events to be made.
const FEED_WAIT: Duration = Duration::from_secs(1);

/// What a face attaches to a session when it starts it, beside what it can do later.
#[derive(Default)]
pub struct Attach {
    /// Told of every decision from this level on, as it is logged; it must not wait.
    pub listener: Option<(Level, Listener)>,
    /// Where the agent's own bytes go.
    pub faces: Faces,
    /// The ends of the session's control, where the face made them before: a signal that comes while
    /// the session starts is not lost then.
    pub control: Option<(Control, Requests)>,
    /// Called when the last run is over, for records of the face's own.
    pub last_records: Option<Box<dyn FnOnce() -> Vec<DecisionRecord> + Send>>,
}

impl std::fmt::Debug for Attach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attach").field("faces", &self.faces).finish_non_exhaustive()
    }
}

/// What a session needs of its surroundings.
struct Ground {
    around: Surroundings,
    keeper: KeeperProgram,
    folder: PathBuf,
}

impl SessionSpec {
    /// Starts the session on a thread of its own. Whether the agent itself could be started shows
    /// in the events and the outcome.
    pub fn start(self) -> Result<Session, StartError> {
        self.start_with(Attach::default())
    }

    /// Returns how the agent would be started for the first prompt, and starts nothing.
    pub fn dry_run(mut self) -> Result<RunSpec, StartError> {
        let ground = self.ground()?;
        let prompt = self.prompt.clone().unwrap_or_default();
        if let Some(why) = self.judge_prompt().and_then(|verdict| verdict.denied) {
            return Err(StartError::PromptDenied { why });
        }
        self.runs(&ground)?.spec(&prompt)
    }

    /// Starts the session with what a face attaches to it.
    pub fn start_with(mut self, attach: Attach) -> Result<Session, StartError> {
        if self.prompt.is_none() && !self.conversation {
            return Err(StartError::NoPrompt);
        }
        let ground = self.ground()?;
        let mut warnings = std::mem::take(&mut self.warnings);
        warnings.extend(self.drop_servers());
        let key = self.key.or_else(|| self.known_key(&ground.folder));
        let key = key.unwrap_or_else(crate::new_session_key);
        let (by, past) = (self.by.clone(), self.past.take());
        let chosen = SettingsChosen {
            mode: self.request.mode.map(|mode| mode.name().to_owned()),
            model: self.request.model.clone(),
            workspace: self
                .request
                .workspace
                .as_ref()
                .and_then(|folder| folder.to_str())
                .map(str::to_owned),
        };
        let (redaction, max_output) = (self.redaction.take(), self.max_output);
        let options = LogOptions {
            folder: ground.folder.clone(),
            prefix: std::mem::take(&mut self.log_prefix),
            durability: self.durability,
            required: self.log_required,
        };
        let verdict = self.judge_prompt();
        let prompt_rules = self.prompt_rules.clone();
        // An agent whose first prompt may be denied is not started before there is one.
        let waits_for_prompt = past.is_some() || !prompt_rules.is_empty();
        let runs = Runs { waits_for_prompt, ..self.runs(&ground)? };
        // Before the log is made, so that a session that is taken leaves nothing behind.
        runs.check_lease()?;
        let dialect = runs.plan.dialect();
        let mut log = Log::open(options, key, dialect, redaction.clone(), attach.listener)?;
        if chosen != SettingsChosen::default() {
            log.decide(chosen, None);
        }
        for text in warnings {
            log.decide(DecisionRecord::SettingIgnored(text.into()), None);
        }
        if let Some(verdict) = verdict {
            log.decide(verdict.record, None);
            if let Some(why) = verdict.denied {
                turns::end_session(RunReport::without_run(SessionEnd::SpawnFailed).end, &mut log);
                log.end();
                return Err(StartError::PromptDenied { why });
            }
        }
        log.flush();
        let (control, requests) = match attach.control {
            Some(ends) => ends,
            None => control::control().map_err(StartError::System)?,
        };
        requests.board().hold_prompts(prompt_rules);
        // A session that cannot be spoken to from outside is one all the same.
        let socket = ControlSocket::open(&ground.folder, key, control.clone()).ok();
        let checkpoints = Some(Checkpoints::beside(&ground.folder));
        let redactor = redaction.as_ref().map(|redaction| Arc::clone(&redaction.redactor));
        let words = LastWords::new(dialect, redactor);
        let how = How { log: log.id(), dialect, redaction, max_output, checkpoints };
        let feed = Feed::new(log.source(), how, past.unwrap_or_default());
        feed.record_cuts(control.clone());
        let status = StatusCell::default();
        let mut faces = Faces { status: Some(status.clone()), ..attach.faces };
        let (path, source) = (log.path_cell(), log.source());
        let (last_records, reader) = (attach.last_records, Arc::clone(&feed));
        let thread = std::thread::Builder::new()
            .name("stablehand-session".into())
            .spawn(move || {
                let ended = runs.all(&mut log, &mut faces, &requests);
                let is_cut_short = matches!(
                    ended.report.end.end,
                    SessionEnd::Interrupted | SessionEnd::ReaderGone
                );
                if log.was_truncated() || !is_cut_short {
                    // What its readers lost, and what was cut for them, is known when they have read
                    // everything.
                    log.flush();
                    reader.wait_until_read(log.position(), FEED_WAIT);
                }
                let is_note = |request: &Request| matches!(request, Request::Note(_));
                while let Some(Request::Note(record)) = requests.take(is_note) {
                    log.set_time(unix_now());
                    log.decide(*record, None);
                }
                if let Some(sink) = &mut faces.stdout {
                    sink.report_failure(&mut log);
                }
                log.look();
                let lost_bytes = log.missed();
                if lost_bytes > 0 {
                    log.decide(output_lost(lost_bytes), None);
                }
                for record in last_records.into_iter().flat_map(|records| records()) {
                    log.decide(record, None);
                }
                drop(socket);
                turns::end_session(ended.report.end, &mut log);
                log.end();
                (ended, lost_bytes)
            })
            .map_err(StartError::System)?;
        Ok(Session {
            handle: Handle { control, status, log: path, by },
            events: None,
            thread: Some(thread),
            feed,
            source,
            words,
            key,
        })
    }

    /// Holds the first prompt against the rules.
    fn judge_prompt(&self) -> Option<PromptVerdict> {
        let prompt = String::from_utf8_lossy(&self.prompt.as_ref()?.bytes);
        prompt_gate::judge(&self.prompt_rules, &prompt, &self.by, None)
    }

    fn ground(&mut self) -> Result<Ground, StartError> {
        let around = self.surroundings.take().unwrap_or_else(Surroundings::read);
        let keeper = match self.keeper.take() {
            Some(keeper) => keeper,
            None if is_initialised() => around.keeper().ok_or(StartError::NotInitialised)?,
            None => return Err(StartError::NotInitialised),
        };
        let folder = self.log_dir.take();
        let folder = folder.or_else(|| around.state.as_ref().map(|state| state.join("logs")));
        let folder = folder.ok_or(StartError::NoPlaceForLog)?;
        Ok(Ground { around, keeper, folder })
    }

    /// The key of the session that is to be resumed, where its log is in the folder.
    fn known_key(&self, folder: &Path) -> Option<SessionKey> {
        match (&self.subject, &self.request.resume) {
            (Subject::Agent(agent), Some(native)) => key_of(folder, agent.name(), native),
            _ => None,
        }
    }

    /// How we speak with the agent.
    fn form_with(&self, agent: Agent) -> Form {
        let row = agent.row();
        match (self.form, &row.two_way) {
            (Some(form), _) => form,
            (None, _) if row.speaks_only_acp() => Form::Acp,
            // Hooks ask already, so the agent need not ask in another way too.
            (None, Some(_)) if self.hooks.is_none() => Form::TwoWay,
            (None, _) => Form::OneTurn,
        }
    }

    /// Takes away the servers that the agent does not support. One that speaks the Agent Client
    /// Protocol says later what it supports.
    fn drop_servers(&mut self) -> Vec<String> {
        let Subject::Agent(agent) = self.subject else { return Vec::new() };
        let form = self.form_with(agent);
        if form == Form::Acp {
            return Vec::new();
        }
        let (agent, takes) = (agent.name(), agent.takes_mcp(form));
        let dropped = self.request.mcp.extract_if(.., |server| !takes.takes(&server.transport));
        let refused = |server: McpServer| {
            let (name, word) = (server.name, server.transport.word());
            format!("skipping MCP server `{name}`: {agent} does not support MCP over {word}")
        };
        dropped.map(refused).collect()
    }

    fn runs(self, ground: &Ground) -> Result<Runs, StartError> {
        let mut request = self.request.clone();
        let resume = request.resume.take();
        let start = match &self.subject {
            Subject::Agent(agent) => {
                Start::Agent(Box::new(self.agent_start(*agent, request, &ground.around)?))
            }
            Subject::Relayed { name, launch, exit_codes } => {
                let (name, launch) = (name.clone(), launch.clone());
                Start::Relayed { name, launch, exit_codes }
            }
        };
        let limits = self.limits.clone().unwrap_or_else(|| self.default_limits());
        let mut env = ground.around.non_interactive.clone();
        env.extend(self.env);
        let leases = ground.around.state.as_ref().unwrap_or(&ground.folder).join("leases");
        let plan = RunPlan {
            env,
            approvals: match self.policy {
                Policy::Deny => Approvals::Deny,
                Policy::Allow => Approvals::Allow,
                Policy::Ask => Approvals::Ask { patience: self.patience },
                Policy::Rules(gate) => Approvals::Policy {
                    gate,
                    attendance: match self.patience {
                        Some(Duration::ZERO) => Attendance::Nobody,
                        patience => Attendance::Person { patience },
                    },
                },
            },
            stages: self.stages,
            leases: Some(leases),
            context: self.context,
            continuations: self.continuations,
            prompt_rules: self.prompt_rules,
            hooks: self.hooks,
            stays: self.conversation,
            observe_only: self.observe_only,
            stream_warnings: self.stream_warnings,
            verify: self.verify,
            ..RunPlan::new(start, ground.keeper.clone(), limits)
        };
        let runs = Runs {
            resume,
            conversation: self.conversation,
            tries: Tries { tried: 0, allowed: self.retries },
            continue_prompt: self.continue_prompt,
            by: self.by,
            ..Runs::new(plan, self.prompt)
        };
        // Refused now rather than on a thread that nobody looks at.
        runs.spec(&runs.prompt.clone().unwrap_or_default())?;
        Ok(runs)
    }

    fn agent_start(
        &self,
        agent: Agent,
        mut request: PlanRequest,
        around: &Surroundings,
    ) -> Result<AgentStart, StartError> {
        let row = agent.row();
        let form = self.form_with(agent);
        let program = match &self.program {
            Some(program) => program.clone(),
            None if row.is_built_in() => {
                return Err(StartError::NoProgram { agent: row.name });
            }
            None => agent.find(around.path.as_deref(), form)?,
        };
        request.form = form;
        request.force |= matches!(self.policy, Policy::Allow) && !form.listens();
        let is_ruled = matches!(self.policy, Policy::Rules(_));
        request.asks_always = is_ruled && self.hooks.is_none();
        let can_be_held = form.listens() && agent.can_be_held(form, request.mode);
        if request.asks_always && !can_be_held {
            return Err(StartError::Unruly { agent: row.name });
        }
        let has_images = self.prompt.as_ref().is_some_and(|prompt| !prompt.images.is_empty());
        if has_images && !agent.takes_images(form) {
            return Err(StartError::NoImages { agent: row.name });
        }
        Ok(AgentStart { agent, program, request, terminal: self.terminal })
    }

    fn default_limits(&self) -> Limits {
        let mut limits = Limits::modern();
        if let Subject::Agent(agent) = self.subject {
            agent.adjust(&mut limits);
        }
        match &self.request.model {
            Some(model) => limits.for_model(model),
            None => limits,
        }
    }
}

/// Says that a reader of ours did not get everything.
pub fn output_lost(bytes: u64) -> OutputLost {
    let text = format!("output is incomplete: {bytes} bytes of the log were not shown");
    OutputLost { bytes, text }
}
