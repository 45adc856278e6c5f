//! Standard input and output as the lines that the protocol's library takes and gives.
//!
//! Owns the order at the beginning of a connection. The library refuses each request that it reads
//! before it has answered `initialize`, but an editor may write `initialize` and its first requests in
//! one go. So the lines behind an `initialize` stay unread until its answer is written: they wait in
//! the pipe, in their order, and take no memory here. Also counts what the editor takes ([`Flow`]).

use super::flow::{self, Flow};
use agent_client_protocol::Lines;
use blocking::Unblock;
use futures_lite::io::BufReader;
use futures_lite::{AsyncBufReadExt as _, AsyncWriteExt as _, Stream, StreamExt as _, stream};
use futures_util::Sink;
use serde_json::Value;
use stablehand_core::json;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Connects standard input and output.
pub(super) fn stdio(
    flow: Arc<Flow>,
) -> Lines<
    impl Sink<String, Error = io::Error> + Send + 'static,
    impl Stream<Item = io::Result<String>> + Send + 'static,
> {
    let gate = Arc::new(Gate::default());
    let lines = BufReader::new(Unblock::new(io::stdin())).split(b'\n');
    let incoming = gated(lines.map(|line| line.map(readable)), Arc::clone(&gate));
    let outgoing = futures_util::sink::unfold(
        Unblock::new(io::stdout()),
        move |mut stdout: Unblock<io::Stdout>, line: String| {
            let (flow, gate) = (Arc::clone(&flow), Arc::clone(&gate));
            async move {
                if flow::is_counted(&line) {
                    flow.taken();
                }
                let answered = gate.is_answered_by(&line);
                let mut bytes = line.into_bytes();
                bytes.push(b'\n');
                stdout.write_all(&bytes).await?;
                stdout.flush().await?;
                if answered {
                    gate.open();
                }
                Ok(stdout)
            }
        },
    );
    Lines::new(outgoing, incoming)
}

/// What stands for a line that cannot be read with certainty: the library answers it with an error of
/// the protocol and goes on with the next line.
const UNREADABLE: &str = "a line that is not UTF-8 or has a member twice";

/// Returns the text of a line. One that is not UTF-8 concerns nobody but itself; one that has a member
/// twice means one thing to us and may mean another to whoever else reads it.
fn readable(mut line: Vec<u8>) -> String {
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    match String::from_utf8(line) {
        Ok(line) if !json::repeats_a_member(line.as_bytes()) => line,
        _ => UNREADABLE.to_owned(),
    }
}

/// The lines of an editor, of which none is read while an `initialize` waits for its answer.
fn gated(
    mut lines: impl Stream<Item = io::Result<String>> + Send + Unpin + 'static,
    gate: Arc<Gate>,
) -> impl Stream<Item = io::Result<String>> + Send + 'static {
    stream::poll_fn(move |cx| {
        if gate.is_closed(cx) {
            return Poll::Pending;
        }
        let next = lines.poll_next(cx);
        if let Poll::Ready(Some(Ok(line))) = &next {
            gate.close_behind(line);
        }
        next
    })
}

/// Whether an `initialize` waits for its answer.
#[derive(Debug, Default)]
struct Gate {
    state: Mutex<GateState>,
}

#[derive(Debug, Default)]
struct GateState {
    /// The id of the `initialize` that has no answer yet.
    waits_for: Option<Value>,
    reader: Option<Waker>,
}

impl Gate {
    /// Returns true while no line may be read; the reader is woken when that changes.
    fn is_closed(&self, cx: &Context<'_>) -> bool {
        let mut state = self.state();
        let is_closed = state.waits_for.is_some();
        if is_closed {
            state.reader = Some(cx.waker().clone());
        }
        is_closed
    }

    /// Closes behind a line that is an `initialize` request.
    fn close_behind(&self, line: &str) {
        // Few lines have the word; only those are read as JSON twice.
        if !line.contains("\"initialize\"") {
            return;
        }
        let Ok(message) = serde_json::from_str::<Value>(line) else { return };
        if message["method"] == "initialize" {
            self.state().waits_for = message.get("id").cloned();
        }
    }

    /// Returns true for the answer that the gate waits for. An `initialize` with an id that is none
    /// is answered with the id `null`.
    fn is_answered_by(&self, line: &str) -> bool {
        let state = self.state();
        let Some(id) = &state.waits_for else { return false };
        let Ok(message) = serde_json::from_str::<Value>(line) else { return false };
        message.get("method").is_none() && (message["id"] == *id || message["id"].is_null())
    }

    fn open(&self) {
        let mut state = self.state();
        state.waits_for = None;
        if let Some(reader) = state.reader.take() {
            reader.wake();
        }
    }

    fn state(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_lite::future::{block_on, poll_once};

    const HELLO: &str = r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}"#;
    const NEW: &str = r#"{"jsonrpc":"2.0","id":8,"method":"session/new","params":{}}"#;

    fn next(lines: &mut (impl Stream<Item = io::Result<String>> + Unpin)) -> Option<String> {
        block_on(poll_once(lines.next())).map(|line| line.unwrap().unwrap())
    }

    #[test]
    fn lines_behind_initialize_wait_for_its_answer_in_their_order() {
        let gate = Arc::new(Gate::default());
        let said = [NEW, HELLO, NEW, HELLO].map(|line| Ok(line.to_owned()));
        let mut lines = Box::pin(gated(stream::iter(said), Arc::clone(&gate)));
        assert_eq!(next(&mut lines).as_deref(), Some(NEW), "before `initialize` nothing waits");
        assert_eq!(next(&mut lines).as_deref(), Some(HELLO));
        assert_eq!(next(&mut lines), None);
        for (line, is_answer) in [
            (r#"{"jsonrpc":"2.0","id":8,"error":{}}"#, false),
            (r#"{"jsonrpc":"2.0","id":7,"method":"session/request_permission"}"#, false),
            (r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, true),
            (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, true),
        ] {
            assert_eq!(gate.is_answered_by(line), is_answer, "{line}");
        }
        gate.open();
        assert_eq!(next(&mut lines).as_deref(), Some(NEW));
        assert_eq!(next(&mut lines).as_deref(), Some(HELLO));
        assert_eq!(next(&mut lines), None);
    }

    #[test]
    fn only_a_request_has_an_answer_to_wait_for() {
        let gate = Gate::default();
        for line in [
            r#"{"jsonrpc":"2.0","method":"initialize"}"#,
            r#"{"id":1,"method":"session/prompt","params":{"text":"\"initialize\""}}"#,
            r#"{"id":1,"method":"initialize""#,
        ] {
            gate.close_behind(line);
            assert!(gate.state().waits_for.is_none(), "{line}");
        }
    }
}
