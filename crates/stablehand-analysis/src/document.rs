//! A session as a document that can be handed on: Markdown, or one page of HTML.
//!
//! Functions of values to text. The caller folds the events into a [`History`] and redacts them
//! before; each format makes sure that nothing an agent wrote becomes a part of the document.

mod html;
mod markdown;
mod wording;

use crate::history::History;
use stablehand_core::time::UnixMillis;

/// What the head of a document says about the session. Texts are redacted and fit to be shown.
#[derive(Clone, Debug, Default)]
pub struct DocumentHead {
    /// The agent.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The folder that the agent worked in.
    pub workspace: Option<String>,
    /// The agent's id of the session.
    pub session: Option<String>,
    /// What the session is about.
    pub title: Option<String>,
    /// When it began.
    pub began: Option<UnixMillis>,
    /// How it ended, in words.
    pub ended: String,
}

impl DocumentHead {
    /// Returns the title of the document.
    pub fn document_title(&self) -> String {
        wording::title(self)
    }
}

/// Renders a session as Markdown, with tool calls folded.
pub fn markdown(head: &DocumentHead, history: &History) -> String {
    markdown::document(head, history)
}

/// Renders a session as one page of HTML that needs no other file.
pub fn html(head: &DocumentHead, history: &History) -> String {
    html::document(head, history)
}
