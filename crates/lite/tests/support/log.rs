//! What was logged, for tests that judge it.

use std::io::Write;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tracing::Dispatch;
use tracing_subscriber::fmt::MakeWriter;

/// A subscriber that is never used, and never goes. As long as there is only one in a process, `tracing` asks that of the current thread
/// whether a place in the code is of interest, and keeps the answer for all threads: a test on another thread, which listens to
/// nothing, would silence this one.
static SECOND: OnceLock<Dispatch> = OnceLock::new();

/// What was logged since this was made, on this thread.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Begins to listen to everything; the log is heard until the guard is dropped.
    pub(crate) fn listen() -> (Self, tracing::subscriber::DefaultGuard) {
        Self::listen_at(tracing::Level::TRACE)
    }

    /// Begins to listen to what is at least this important.
    pub(crate) fn listen_at(level: tracing::Level) -> (Self, tracing::subscriber::DefaultGuard) {
        SECOND.get_or_init(|| {
            let all = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE);
            Dispatch::new(all.with_writer(std::io::sink).finish())
        });
        let log = Self::default();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_max_level(level)
            .with_writer(log.clone())
            .finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock()).into_owned()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
