//! A conversation: one line, one turn, one log for all of them.

use super::Wrap;
use crate::failure::Failure;
use crate::input::{Prompt, Prompts};
use crate::supervise::{self, Format, House};
use stablehand::driver::{self, RunReport};
use stablehand_core::event::SessionEnd;
use stablehand_core::id::SessionId;
use stablehand_core::record::PromptAfterHang;

/// Talks until the input ends.
pub(super) fn talk(wrap: &Wrap, house: &mut House, first: &str) -> Result<u8, Failure> {
    let mut prompts = Prompts::open(&wrap.env);
    let mut waiting = (!first.trim().is_empty()).then(|| first.to_owned());
    let mut session: Option<SessionId> = None;
    let mut hangs = 0;
    loop {
        let prompt = match waiting.take() {
            Some(prompt) => prompt,
            None => match prompts.next(&house.desk())? {
                Prompt::Text(prompt) => prompt,
                Prompt::End => return Ok(0),
                Prompt::Signal(signal) => return Ok(by_signal(signal)),
            },
        };
        let ended = wrap.turn(house, &prompt, session.as_ref());
        if ended.signal.is_some() {
            return Ok(supervise::exit_code(&ended));
        }
        let report = ended.report;
        // The newest id counts: an agent may continue under another one.
        session = report.session.clone().filter(SessionId::is_safe_argument).or(session);
        match report.end.end {
            SessionEnd::Success => hangs = 0,
            SessionEnd::Hung => {
                announce(wrap, house, &report);
                hangs += 1;
                if let Some(text) =
                    wrap.prompt_after_hang.as_ref().filter(|_| hangs <= wrap.max_hang_retries)
                {
                    let again = PromptAfterHang {
                        prompt: text.clone(),
                        in_a_row: hangs,
                        text: "using prompt-after-hang".to_owned(),
                    };
                    house.log.decide(again, None);
                    waiting = Some(text.clone());
                }
            }
            // A person who interrupts a turn wants to say something else.
            SessionEnd::Interrupted if prompts.is_terminal() && report.end.signal == Some(2) => {
                hangs = 0;
            }
            _ => return Ok(driver::exit_code(report.end)),
        }
    }
}

fn by_signal(signal: i32) -> u8 {
    128u8.saturating_add(u8::try_from(signal).unwrap_or(2))
}

/// Tells whoever reads standard output that the turn was ended by us.
fn announce(wrap: &Wrap, house: &mut House, report: &RunReport) {
    let why = report.verdict.as_ref().map_or("", |verdict| verdict.text.as_str());
    let line = match wrap.format {
        Format::Text => {
            let why = why.strip_prefix("hang detected: ").unwrap_or(why);
            format!(
                "⚠ Hang detected — killed cursor-agent ({})\n",
                stablehand_core::text::plain(why)
            )
        }
        Format::StreamJson | Format::Events | Format::Quiet => {
            let event = serde_json::json!({
                "type": "wrapper", "subtype": "hang_detected", "message": why,
            });
            format!("{event}\n")
        }
    };
    house.insert(&line);
}
