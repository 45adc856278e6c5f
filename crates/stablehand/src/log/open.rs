//! Opening the log of a session: the file, its first record, and who is told of its decisions.

use super::{Listener, Log, LogError, LogOptions};
use crate::clock::unix_now;
use crate::redact::Redaction;
use stablehand_core::Dialect;
use stablehand_core::id::SessionKey;
use stablehand_core::record::{FORMAT, Level};

impl Log {
    /// Creates a log of the session `key` and writes `log_opened`. `listener` is told of every decision from
    /// that level on.
    pub fn open(
        options: LogOptions,
        key: SessionKey,
        dialect: Dialect,
        redaction: Option<Redaction>,
        listener: Option<(Level, Listener)>,
    ) -> Result<Log, LogError> {
        let program = options.prefix.clone();
        let mut log = Log::create(options, unix_now())?;
        if let Some((level, listener)) = listener {
            log.set_listener(level, listener);
        }
        let mut header = serde_json::json!({
            "v": FORMAT,
            "log": log.id,
            "session": key,
            "program": program,
            "version": env!("CARGO_PKG_VERSION"),
            "dialect": dialect.name(),
        });
        // A replay has to know that the log is not what the agent wrote.
        if redaction.as_ref().is_some_and(|redaction| redaction.raw) {
            header["redacted_raw"] = true.into();
        }
        log.begin(header);
        // From here on. What is above is ours, and an agent that is to start need not wait for what the
        // first look of a redactor costs.
        if let Some(redaction) = redaction {
            log.redact(redaction);
        }
        log.flush();
        Ok(log)
    }
}
