//! Approvals that wait, put to the person at the editor.
//!
//! Owns which requests are open at the editor, and what each option means. Who may answer, what
//! "always" writes and whose answer counts is the session's.

use super::updates::{Updates, meta};
use super::worker::Word;
use super::{House, actor};
use crate::ask::Question;
use agent_client_protocol::RequestCancellationHandle;
use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use serde_json::json;
use stablehand::AnswerError;
use stablehand::control::Always;
use stablehand_core::event::Choice;
use stablehand_core::id::SessionKey;
use stablehand_core::speak::Answer;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// The ids of our options.
const ALLOW: &str = "allow";
const ALWAYS: &str = "always";
const DENY: &str = "deny";
const CHOOSE: &str = "choose:";

/// What the agent is told when the person at the editor says no.
const DENIED: &str = "the user said no";

/// The approvals that are open at the editor, for one session.
pub(super) struct Questions {
    house: Arc<House>,
    key: SessionKey,
    words: Sender<Word>,
    open: HashMap<String, Open>,
    /// The calls that are asked about, by the ids of the approvals.
    calls: HashMap<String, String>,
}

struct Open {
    options: Vec<String>,
    /// Takes the request back.
    request: RequestCancellationHandle,
}

impl Questions {
    pub(super) fn new(house: Arc<House>, key: SessionKey, words: Sender<Word>) -> Questions {
        Questions { house, key, words, open: HashMap::new(), calls: HashMap::new() }
    }

    /// Asks the editor, which knows the session by `session`. Its answer comes as a word.
    pub(super) fn ask(&mut self, question: &Question, session: &str, updates: &mut Updates) {
        let mut before = Vec::new();
        let about = match &question.tool {
            Some(tool) => {
                self.calls.insert(question.id.clone(), tool.call.0.clone());
                updates.asked(tool, &mut before)
            }
            None => plain_question(question),
        };
        for update in before {
            self.house.tell(session, update);
        }
        let why = meta(json!({ "question": question.what, "why": question.why }));
        let options = self.options(question);
        let request = RequestPermissionRequest::new(session.to_owned(), about, options).meta(why);
        self.house.flow.sent();
        let sent = self.house.editor.send_request(request);
        let open = Open { options: question.options.clone(), request: sent.cancellation_handle() };
        let id = question.id.clone();
        self.open.insert(id.clone(), open);
        let words = self.words.clone();
        let _editor_gone = sent.on_receiving_result(
            async move |result: Result<RequestPermissionResponse, agent_client_protocol::Error>| {
                let outcome = result.ok().map(|response| response.outcome);
                let _worker_gone = words.send(Word::Answered { id, outcome });
                Ok(())
            },
        );
    }

    /// The editor has answered; without an outcome it could not.
    pub(super) fn answered(&mut self, id: &str, outcome: Option<&RequestPermissionOutcome>) {
        let Some(open) = self.open.remove(id) else { return };
        let answer = match outcome {
            Some(RequestPermissionOutcome::Selected(selected)) => {
                meant(&selected.option_id.0, &open.options)
            }
            // An editor that does not answer has not said yes.
            _ => Answer::Deny { message: DENIED.to_owned() },
        };
        let host = &self.house.host;
        // Where another face answered first, the event of that says so.
        let answered = host.answer(self.key, id, answer, actor());
        if let Err(error @ AnswerError::NoRule { .. }) = answered {
            self.house.warn(&error.to_string());
            let _answered_before = host.answer(self.key, id, Answer::Allow, actor());
        }
    }

    /// Takes the end of an approval. A request that was answered elsewhere is taken back. Returns the
    /// call that was permitted.
    pub(super) fn resolved(&mut self, id: &str, choice: &Choice) -> Option<String> {
        if let Some(open) = self.open.remove(id) {
            let _editor_gone = open.request.cancel();
        }
        let call = self.calls.remove(id);
        call.filter(|_| matches!(choice, Choice::Allow | Choice::AllowWith | Choice::AllowAlways))
    }

    /// Takes back all requests.
    pub(super) fn withdraw_all(&mut self) {
        self.calls.clear();
        for (_, open) in self.open.drain() {
            let _editor_gone = open.request.cancel();
        }
    }

    fn options(&self, question: &Question) -> Vec<PermissionOption> {
        let option = |id: &str, name: &str, kind| PermissionOption::new(id.to_owned(), name, kind);
        if question.tool.is_none() && !question.options.is_empty() {
            let choice = |(at, name): (usize, &String)| {
                option(&format!("{CHOOSE}{at}"), name, PermissionOptionKind::AllowOnce)
            };
            return question.options.iter().enumerate().map(choice).collect();
        }
        let mut options = vec![option(ALLOW, "Allow", PermissionOptionKind::AllowOnce)];
        let always = match self.house.host.always(self.key, &question.id) {
            Some(Always::Session) => Some("Always allow".to_owned()),
            Some(Always::Rule { text, .. }) => {
                Some(format!("Always allow: {}", text.lines().next().unwrap_or_default()))
            }
            Some(Always::No(_)) | None => None,
        };
        if let Some(name) = always {
            options.push(option(ALWAYS, &name, PermissionOptionKind::AllowAlways));
        }
        options.push(option(DENY, "Deny", PermissionOptionKind::RejectOnce));
        options
    }
}

fn meant(option: &str, options: &[String]) -> Answer {
    let chosen = option.strip_prefix(CHOOSE).and_then(|at| at.parse::<usize>().ok());
    if let Some(option) = chosen.and_then(|at| options.get(at)) {
        return Answer::Choose(option.clone());
    }
    match option {
        ALLOW => Answer::Allow,
        ALWAYS => Answer::AllowAlways,
        _ => Answer::Deny { message: DENIED.to_owned() },
    }
}

fn plain_question(question: &Question) -> ToolCallUpdate {
    let fields =
        ToolCallUpdateFields::new().title(question.what.clone()).status(ToolCallStatus::Pending);
    ToolCallUpdate::new(format!("question-{}", question.id), fields)
}
