//! Opening the log of a session: the file, its first record, and who is told of its decisions.

use super::{Listener, Log, LogError, LogOptions};
use crate::clock::unix_now;
use crate::redact::Redaction;
use stablehand_core::Dialect;
use stablehand_core::id::SessionKey;
use stablehand_core::record::{Level, LogOpened};

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
        log.begin(LogOpened {
            log: Some(log.id.to_string()),
            session: Some(key),
            program: Some(program),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            // A replay has to know that the log is not what the agent wrote.
            redacted_raw: redaction.as_ref().is_some_and(|redaction| redaction.raw),
            ..LogOpened::new(dialect)
        });
        // From here on. What is above is ours, and an agent that is to start need not wait for what the
        // first look of a redactor costs.
        if let Some(redaction) = redaction {
            log.redact(redaction);
        }
        log.flush();
        Ok(log)
    }
}
