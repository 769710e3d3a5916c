//! Capture of the log, for assertions.

use std::io::Write;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tracing::Dispatch;
use tracing_subscriber::fmt::MakeWriter;

/// A second subscriber, which is never used and never dropped.
///
/// While a process has only one subscriber, `tracing` asks the current thread's whether a call site
/// is enabled, and caches the answer for all threads. A test on another thread without a subscriber
/// would then disable the call site for this test.
static SECOND: OnceLock<Dispatch> = OnceLock::new();

/// The log of this thread since its creation.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Captures all log lines until the guard is dropped.
    pub(crate) fn listen() -> (Self, tracing::subscriber::DefaultGuard) {
        Self::listen_at(tracing::Level::TRACE)
    }

    /// Captures log lines of at least this level until the guard is dropped.
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
