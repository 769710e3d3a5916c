//! Output of a worker: one event per line.

use std::io::{Write, stdout};
use std::process::exit;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::protocol::{Fact, WorkerEvent};

/// Exit status of a worker that cannot write its output.
const OUTPUT_FAILED: i32 = 70;

/// Writes an event with the present time.
///
/// If the write fails, the process exits, because the suite would miss all later events.
pub(super) fn emit(event: WorkerEvent) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let at = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    let written = serde_json::to_vec(&Fact { at, event }).map_err(std::io::Error::from);
    let written = written.and_then(|mut line| {
        line.push(b'\n');
        let mut output = stdout().lock();
        output.write_all(&line)?;
        output.flush()
    });
    if written.is_err() {
        exit(OUTPUT_FAILED);
    }
}
