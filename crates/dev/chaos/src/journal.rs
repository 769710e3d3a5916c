//! Log of the harness: faults and incidents, printed at once and kept for the judge.

use std::fs::File;
use std::io::Write as _;
use std::time::Instant;

use jiff::Timestamp;
use parking_lot::Mutex;

use crate::evidence::{Fault, FaultKind};

/// Faults, incidents and a log of both. Shared by the threads of the harness.
#[derive(Debug)]
pub(crate) struct Journal {
    start: Instant,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    log: File,
    faults: Vec<Fault>,
    incidents: Vec<String>,
}

impl Journal {
    pub(crate) fn new(log: File) -> Self {
        let inner = Inner { log, faults: Vec::new(), incidents: Vec::new() };
        Self { start: Instant::now(), inner: Mutex::new(inner) }
    }

    /// Prints and logs a line.
    #[expect(clippy::print_stdout, reason = "the program prints its progress")]
    pub(crate) fn log(&self, text: &str) {
        let seconds = self.start.elapsed().as_secs_f64();
        let time = crate::judge::clock(now_ms());
        let line = format!("{time} {seconds:7.1} s  {text}");
        println!("{line}");
        // The log is a convenience, and a full disk fails other writes.
        let _ = writeln!(self.inner.lock().log, "{line}");
    }

    /// Keeps a fault that has ended now.
    pub(crate) fn fault(&self, kind: FaultKind, target: impl Into<String>, from_ms: i64) {
        let fault = Fault { kind, target: target.into(), from_ms, until_ms: now_ms() };
        self.inner.lock().faults.push(fault);
    }

    /// Logs and keeps a broken promise.
    pub(crate) fn incident(&self, text: String) {
        self.log(&format!("INCIDENT: {text}"));
        self.inner.lock().incidents.push(text);
    }

    /// Takes all faults and incidents.
    pub(crate) fn take(&self) -> (Vec<Fault>, Vec<String>) {
        let mut inner = self.inner.lock();
        (std::mem::take(&mut inner.faults), std::mem::take(&mut inner.incidents))
    }
}

/// Returns the wall clock time in milliseconds since 1970 UTC.
pub(crate) fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}
