//! Cuts the output of tools in frames: faces show its beginning, and the log has all of it.
//!
//! Owns how much of a call's output was shown. It comes behind redaction, so that no secret is cut in
//! two and shown by half.

use stablehand_core::Event;
use stablehand_core::event::{EventKind, ItemBody, TextRole};
use stablehand_core::id::{CallId, ItemId, RunId};
use stablehand_core::record::OutputCut;
use stablehand_core::size::{MaxOutput, human};
use stablehand_core::text::excerpt;
use std::collections::HashMap;

/// The output of so many calls is counted while it comes in pieces.
const MOST_RUNNING: usize = 1024;

/// Cuts what events tell of the output of tools.
#[derive(Debug)]
pub(super) struct OutputCutter {
    most: MaxOutput,
    /// How much of the output of each call came in pieces.
    running: HashMap<ItemId, u64>,
    /// The run in which it was last told that something is cut.
    told: Option<RunId>,
    /// What is to be told.
    news: Option<OutputCut>,
}

impl OutputCutter {
    pub(super) fn new(most: MaxOutput) -> OutputCutter {
        OutputCutter { most, running: HashMap::new(), told: None, news: None }
    }

    /// Cuts the output in an event.
    pub(super) fn cut(&mut self, event: &mut Event) {
        let most = self.most.0.unwrap_or(u64::MAX);
        let mut cut = None;
        match &mut event.event {
            EventKind::ItemDelta { id, role: TextRole::ToolOutput, text } => {
                if self.running.len() >= MOST_RUNNING && !self.running.contains_key(id) {
                    self.running.clear();
                }
                let before = self.running.entry(*id).or_default();
                let room = most.saturating_sub(*before);
                *before += text.len() as u64;
                if shorten(text, room) {
                    cut = Some((CallId::default(), *before));
                }
            }
            EventKind::ItemStarted { item } | EventKind::ItemCompleted { item } => {
                if let ItemBody::Tool(tool) = &mut item.body {
                    let bytes = tool.output.as_ref().map_or(0, |output| output.len() as u64);
                    if tool.output.as_mut().is_some_and(|output| shorten(output, most)) {
                        tool.output_bytes = Some(bytes);
                        cut = Some((tool.call.clone(), bytes));
                    }
                }
            }
            EventKind::ProcessSpawned { .. } | EventKind::RunEnded { .. } => self.running.clear(),
            _ => {}
        }
        if let EventKind::ItemCompleted { item } = &event.event {
            self.running.remove(&item.id);
        }
        if let Some((call, bytes)) = cut {
            self.tell(&event.run, call, bytes);
        }
    }

    /// Returns true if what follows is cut as if nothing had come before it.
    pub(super) fn is_fresh(&self) -> bool {
        self.running.is_empty()
    }

    /// Takes what is to be put on record: once for each run.
    pub(super) fn take_news(&mut self) -> Option<OutputCut> {
        self.news.take()
    }

    fn tell(&mut self, run: &RunId, call_id: CallId, bytes: u64) {
        if self.told.as_ref() == Some(run) {
            return;
        }
        self.told = Some(run.clone());
        let shown_bytes = self.most.0.unwrap_or_default();
        // An id is the agent's word, and may be anything.
        let call = match excerpt(call_id.0.as_bytes(), 60) {
            id if id.is_empty() => "a call".to_owned(),
            id => format!("call `{id}`"),
        };
        let text = format!(
            "the output of {call} is cut at {}: {} in all; `stablehand sessions show --events {}` \
             shows it whole, and --max-output cuts later",
            human(shown_bytes),
            human(bytes),
            run.0
        );
        self.news = Some(OutputCut { call_id, bytes, shown_bytes, text });
    }
}

/// Cuts a text between two characters; true where something is gone.
fn shorten(text: &mut String, most: u64) -> bool {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    if text.len() <= most {
        return false;
    }
    text.truncate(text.floor_char_boundary(most));
    text.shrink_to_fit();
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use stablehand_core::event::{Item, Origin, Tool, ToolInput, ToolKind};
    use stablehand_core::id::Seq;
    use stablehand_core::time::UnixMillis;

    fn event(kind: EventKind) -> Event {
        let run = RunId("r1".into());
        Event::stamp(Seq(1), UnixMillis(0), None, run, Origin::Agent, kind)
    }

    fn completed(output: &str) -> Event {
        let input = ToolInput::Other { summary: String::new() };
        let tool = Tool::new(CallId("c1".into()), "shell", ToolKind::Execute, input);
        let tool = Tool { output: Some(output.into()), ..tool };
        let item = Item { id: ItemId(1), body: ItemBody::Tool(Box::new(tool)) };
        event(EventKind::ItemCompleted { item })
    }

    fn output(event: &Event) -> (Option<&str>, Option<u64>) {
        match &event.event {
            EventKind::ItemCompleted { item } => match &item.body {
                ItemBody::Tool(tool) => (tool.output.as_deref(), tool.output_bytes),
                _ => (None, None),
            },
            EventKind::ItemDelta { text, .. } => (Some(text), None),
            _ => (None, None),
        }
    }

    #[test]
    fn output_is_cut_between_characters_with_its_size_and_told_once_a_run() {
        let mut cutter = OutputCutter::new(MaxOutput(Some(5)));
        for (text, shown, bytes) in
            [("hay", "hay", None), ("hayéé", "hayé", Some(7)), ("oats!", "oats!", None)]
        {
            let mut event = completed(text);
            cutter.cut(&mut event);
            assert_eq!(output(&event), (Some(shown), bytes), "{text}");
        }
        let told = cutter.take_news().unwrap();
        assert_eq!((told.call_id.0.as_str(), told.bytes, told.shown_bytes), ("c1", 7, 5));
        assert!(told.text.contains("7 B in all") && told.text.contains("--events r1"), "{told:?}");
        cutter.cut(&mut completed("much more hay"));
        assert_eq!(cutter.take_news(), None);
        let mut all = OutputCutter::new(MaxOutput(None));
        let mut event = completed("much more hay");
        all.cut(&mut event);
        assert_eq!(output(&event), (Some("much more hay"), None));
    }

    #[test]
    fn pieces_are_cut_where_all_of_them_are_too_long() {
        let mut cutter = OutputCutter::new(MaxOutput(Some(5)));
        let mut shown = String::new();
        for text in ["hay", "hay", "hay"] {
            let (id, role) = (ItemId(1), TextRole::ToolOutput);
            let mut event = event(EventKind::ItemDelta { id, role, text: text.into() });
            cutter.cut(&mut event);
            shown.push_str(output(&event).0.unwrap());
        }
        assert_eq!(shown, "hayha");
        assert!(!cutter.is_fresh() && cutter.take_news().is_some());
        cutter.cut(&mut completed("hayhayhay"));
        assert!(cutter.is_fresh());
    }
}
