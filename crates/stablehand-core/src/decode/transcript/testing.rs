//! What the tests of the readers of transcripts have in common.

use super::super::Dialect;
use super::super::kit::testing as kit;
use super::{Beside, Timed};
use crate::event::{EventKind, Tool, TurnEnd};
use crate::line::{Line, Part};
use crate::time::UnixMillis;

/// What was read, for short questions.
#[derive(Debug)]
pub(in super::super) struct Read {
    pub(in super::super) times: Vec<UnixMillis>,
    pub(in super::super) events: Vec<EventKind>,
    pub(in super::super) title: Option<String>,
}

pub(in super::super) fn beside() -> Beside {
    Beside {
        name: "a-name".to_owned(),
        folder: "a-folder".to_owned(),
        cwd: None,
        modified: UnixMillis(1_790_000_000_000),
    }
}

/// Reads a transcript of these lines.
pub(in super::super) fn read(dialect: Dialect, lines: &[&str]) -> Read {
    let mut decoder = dialect.transcript(&beside()).unwrap();
    let mut out: Vec<Timed> = Vec::new();
    for text in lines {
        let line = Line { bytes: text.as_bytes(), offset: 0, part: Part::Whole, newline: true };
        decoder.line(&line, &mut out);
    }
    decoder.finish(&mut out);
    let title = decoder.title().map(str::to_owned);
    let (times, events) = out.into_iter().unzip();
    Read { times, events, title }
}

impl Read {
    pub(in super::super) fn names(&self) -> Vec<&'static str> {
        kit::names(&self.events)
    }

    pub(in super::super) fn said(&self) -> String {
        kit::said(&self.events)
    }

    pub(in super::super) fn tools(&self) -> Vec<Tool> {
        kit::tools(&self.events)
    }

    pub(in super::super) fn ends(&self) -> Vec<TurnEnd> {
        kit::ends(&self.events)
    }

    pub(in super::super) fn prompts(&self) -> Vec<&str> {
        self.events
            .iter()
            .filter_map(|event| match event {
                EventKind::TurnStarted { prompt, .. } => Some(prompt.as_deref().unwrap_or("-")),
                _ => None,
            })
            .collect()
    }

    /// The session: its id, model, folder and version.
    pub(in super::super) fn session(&self) -> [Option<&str>; 4] {
        let found = self.events.iter().find_map(|event| match event {
            EventKind::SessionStarted { native_id, model, cwd, agent_version, .. } => Some([
                Some(native_id.0.as_str()),
                model.as_deref(),
                cwd.as_deref(),
                agent_version.as_deref(),
            ]),
            _ => None,
        });
        found.unwrap()
    }

    pub(in super::super) fn notices(&self) -> Vec<&str> {
        use crate::event::ItemBody;
        kit::bodies(&self.events)
            .into_iter()
            .filter_map(|body| match body {
                ItemBody::Notice { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }
}
