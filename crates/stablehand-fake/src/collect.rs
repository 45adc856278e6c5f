//! What comes through a pipe, read by a thread of its own.
//!
//! Owns the thread and the bytes. Whoever started the process decides how long to wait for the rest.

use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long the output of a command that has ended may still be on its way. A process that it left
/// in the background may hold the pipe for ever.
pub(crate) const DRAIN: Duration = Duration::from_millis(200);

/// What comes through a pipe.
#[derive(Debug)]
pub(crate) struct Collector {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Collector {
    /// Begins to read.
    pub(crate) fn of(pipe: Option<impl Read + Send + 'static>) -> Collector {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&bytes);
        let reader = pipe.map(|mut pipe| {
            std::thread::spawn(move || {
                let mut block = vec![0; 64 << 10];
                while let Ok(count @ 1..) = pipe.read(&mut block) {
                    let read = block.get(..count).unwrap_or_default();
                    into.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(read);
                }
            })
        });
        Collector { bytes, reader }
    }

    /// Everything, or what there is at that time.
    pub(crate) fn text(&mut self, until: Instant) -> String {
        while self.reader.as_ref().is_some_and(|reader| !reader.is_finished())
            && Instant::now() < until
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
