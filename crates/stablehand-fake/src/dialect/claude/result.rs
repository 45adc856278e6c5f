//! The last line of a turn of Claude Code: how it ended and what it used.
//!
//! `usage` is the turn's, `total_cost_usd` the process's.

use super::super::Said;
use super::{Claude, model, usage};
use crate::json::{Json, NULL, list, object};
use crate::voice::Voice;

/// Dollars for a token in, and for one out.
const PRICE: (f64, f64) = (4e-6, 2e-5);

/// How a turn ends.
#[derive(Debug)]
pub(super) enum End {
    /// With a text.
    Said {
        /// The last message.
        text: String,
        /// Whether the agent calls it failed.
        failed: bool,
    },
    /// A request failed for good.
    Failed {
        /// In these words.
        words: &'static str,
        /// The status of the answer.
        status: u32,
        /// The service's type of error.
        kind: &'static str,
    },
    /// Somebody asked for it.
    Interrupted {
        /// While a tool ran.
        in_tool: bool,
    },
}

impl Claude {
    /// The terminal line; the turn is over with it.
    pub(super) fn result(&mut self, end: &End, voice: &mut Voice, said: &mut Said) {
        let is_error = !matches!(end, End::Said { failed: false, .. });
        let used = match end {
            End::Said { .. } => (voice.used.input, voice.used.output),
            End::Failed { .. } | End::Interrupted { .. } => (0, 0),
        };
        let cost = used.0 as f64 * PRICE.0 + used.1 as f64 * PRICE.1;
        self.cost_usd += cost;
        let models = models(used, cost, voice);
        let (reason, stop) = match end {
            End::Said { failed: false, .. } => ("completed", Some("end_turn")),
            End::Said { failed: true, .. } | End::Failed { .. } => {
                ("api_error", Some("stop_sequence"))
            }
            End::Interrupted { in_tool: true } => ("aborted_tools", Some("tool_use")),
            End::Interrupted { in_tool: false } => ("aborted_streaming", None),
        };
        let took = voice.turn_took_ms();
        let mut line = object! {
            "duration_api_ms": took, "stop_reason": stop, "session_id": &voice.id.session,
            "total_cost_usd": self.cost_usd,
            "usage": usage(used.0, used.1)
                .with("server_tool_use", object! { "web_search_requests": 0, "web_fetch_requests": 0 })
                .with("service_tier", "standard"),
            "modelUsage": models.clone(),
            "permission_denials": std::mem::take(&mut self.denials), "terminal_reason": reason,
            "fast_mode_state": "off", "safety_stops": 0, "is_error": is_error,
            "num_turns": self.rounds.max(1),
        };
        line = match end {
            End::Said { text, .. } => {
                line.with("subtype", "success").with("api_error_status", NULL).with("result", text)
            }
            End::Failed { words, status, kind } => line
                .with("subtype", "success")
                .with("api_error_status", *status)
                .with("api_error_type", *kind)
                .with("result", *words),
            End::Interrupted { .. } => {
                let stop = stop.unwrap_or("null");
                let why = format!(
                    "[ede_diagnostic] result_type=user last_content_type=n/a stop_reason={stop}"
                );
                line.with("subtype", "error_during_execution").with("errors", list![why])
            }
        };
        said.line(
            line.with("type", "result")
                .with("duration_ms", took)
                .with("uuid", voice.uuid())
                .with("queued_turn_count", 0)
                .with("result_index", self.results)
                .with("model_usage_since_last_result", models),
        );
        self.results += 1;
        self.rounds = 0;
        self.answer = None;
        self.open.clear();
        self.said.clear();
        self.exit_code = u8::from(is_error);
    }
}

fn models((input, output): (u64, u64), cost: f64, voice: &Voice) -> Json {
    if input + output == 0 {
        return object! {};
    }
    let used = object! {
        "inputTokens": input, "outputTokens": output, "cacheReadInputTokens": 0,
        "cacheCreationInputTokens": 0, "webSearchRequests": 0, "costUSD": cost,
        "contextWindow": 1_000_000, "maxOutputTokens": 128_000,
    };
    Json::object(&[(model(voice), used)])
}
