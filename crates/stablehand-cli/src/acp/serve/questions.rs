//! The agent's questions, put to the editor's person.
//!
//! Owns which are open, and what each answer means. Whether something is a question at all is the
//! policy's and the driver's; here it has become one.

use super::House;
use super::live::Live;
use super::updates::{Updates, meta};
use super::worker::Word;
use crate::ask::{Always, Note, Question, always, remember};
use agent_client_protocol::RequestCancellationHandle;
use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SessionUpdate, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use serde_json::json;
use stablehand::session::Handle;
use stablehand_core::event::Tool;
use stablehand_core::speak::Answer;
use std::collections::HashMap;
use std::sync::mpsc::Sender;

/// The ids of our options.
const ALLOW: &str = "allow";
const ALWAYS: &str = "always";
const DENY: &str = "deny";
const CHOOSE: &str = "choose:";

/// What an agent is told whom the editor's person said no.
const DENIED: &str = "the user said no";

/// Why a rule was written.
const WHY: &str = "allowed in the editor";

/// The questions that are open.
pub(super) struct Questions {
    words: Sender<Word>,
    open: HashMap<String, Open>,
}

struct Open {
    options: Vec<String>,
    tool: Option<Box<Tool>>,
    /// Takes the question back.
    taken_back: Option<RequestCancellationHandle>,
}

/// A question for the editor.
pub(super) struct Asked {
    id: String,
    question: Box<Question>,
    about: ToolCallUpdate,
    session: String,
}

impl Questions {
    pub(super) fn new(words: Sender<Word>) -> Questions {
        Questions { words, open: HashMap::new() }
    }

    /// Takes what there is to know of questions; one that is to be asked, and what is told before it.
    pub(super) fn heard(
        &mut self,
        note: Note,
        session: &str,
        updates: &mut Updates,
        before: &mut Vec<SessionUpdate>,
    ) -> Option<Asked> {
        match note {
            Note::Asked(question) => {
                let id = question.id.clone();
                let about = match &question.tool {
                    Some(tool) => updates.asked(tool, before),
                    None => plain_question(&question),
                };
                Some(Asked { id, question, about, session: session.to_owned() })
            }
            Note::Resolved(resolved) => {
                if let Some(Open { taken_back: Some(handle), .. }) = self.open.remove(&resolved.id)
                {
                    let _editor_gone = handle.cancel();
                }
                None
            }
            Note::Over => {
                self.forget();
                None
            }
            Note::Began | Note::Rest(_) | Note::End => None,
        }
    }

    /// Asks the editor. Its answer comes as a word.
    pub(super) fn ask(&mut self, asked: Asked, house: &House, live: &Live) {
        let Asked { id, question, about, session } = asked;
        let options = options(&question, live);
        let why = meta(json!({ "question": question.what, "why": question.why }));
        let request = RequestPermissionRequest::new(session, about, options).meta(why);
        house.flow.sent();
        let sent = house.editor.send_request(request);
        let open = Open {
            options: question.options.clone(),
            tool: question.tool.clone(),
            taken_back: Some(sent.cancellation_handle()),
        };
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
    pub(super) fn answered(
        &mut self,
        id: &str,
        outcome: Option<&RequestPermissionOutcome>,
        live: &Live,
    ) {
        let Some(open) = self.open.remove(id) else { return };
        let answer = match outcome {
            Some(RequestPermissionOutcome::Selected(selected)) => {
                meant(&selected.option_id.0, id, &open, live)
            }
            // Who does not answer has not said yes.
            _ => Answer::Deny { message: DENIED.to_owned() },
        };
        // Another face may have answered first; the event says so, and takes the question back.
        let _answered_before = live.handle().answer(id, answer);
    }

    /// No question is open any more.
    pub(super) fn forget(&mut self) {
        for (_, open) in self.open.drain() {
            if let Some(handle) = open.taken_back {
                let _editor_gone = handle.cancel();
            }
        }
    }
}

fn meant(option: &str, id: &str, open: &Open, live: &Live) -> Answer {
    let chosen = option.strip_prefix(CHOOSE).and_then(|at| at.parse::<usize>().ok());
    if let Some(option) = chosen.and_then(|at| open.options.get(at)) {
        return Answer::Choose(option.clone());
    }
    match option {
        ALLOW => Answer::Allow,
        ALWAYS => always_allowed(id, open, live.handle(), live),
        _ => Answer::Deny { message: DENIED.to_owned() },
    }
}

/// Yes, now and from now on: a rule where rules hold, the agent's own memory elsewhere.
fn always_allowed(id: &str, open: &Open, handle: &Handle, live: &Live) -> Answer {
    let (Some(gate), Some(tool)) = (live.gate.as_deref(), open.tool.as_deref()) else {
        return Answer::AllowAlways;
    };
    // Where the rule cannot be written the yes still holds for once.
    let _place = remember(gate, tool, WHY, id, &handle.control());
    Answer::Allow
}

fn options(question: &Question, live: &Live) -> Vec<PermissionOption> {
    let option = |id: &str, name: &str, kind| PermissionOption::new(id.to_owned(), name, kind);
    if question.tool.is_none() && !question.options.is_empty() {
        let choice = |(at, name): (usize, &String)| {
            option(&format!("{CHOOSE}{at}"), name, PermissionOptionKind::AllowOnce)
        };
        return question.options.iter().enumerate().map(choice).collect();
    }
    let mut options = vec![option(ALLOW, "Allow", PermissionOptionKind::AllowOnce)];
    match always(live.gate.as_deref(), question.tool.as_deref()) {
        Always::Session => {
            options.push(option(ALWAYS, "Always allow", PermissionOptionKind::AllowAlways));
        }
        Always::Rule { text, .. } => {
            let name = format!("Always allow: {}", text.lines().next().unwrap_or_default());
            options.push(option(ALWAYS, &name, PermissionOptionKind::AllowAlways));
        }
        Always::No(_) => {}
    }
    options.push(option(DENY, "Deny", PermissionOptionKind::RejectOnce));
    options
}

fn plain_question(question: &Question) -> ToolCallUpdate {
    let fields =
        ToolCallUpdateFields::new().title(question.what.clone()).status(ToolCallStatus::Pending);
    ToolCallUpdate::new(format!("question-{}", question.id), fields)
}
