//! Records and messages of a worker.

use std::io::{Write, stdout};
use std::process::exit;

use checker::history::Fact;

use crate::journal::{self, Journal};
use crate::protocol::Message;

/// Exit status of a worker that cannot write its history or its messages: its actions would be
/// unknown.
const CANNOT_RECORD: i32 = 70;

/// Writer of the worker's history and of its messages to the harness.
#[derive(Debug)]
pub(super) struct Recorder {
    journal: Journal,
}

impl Recorder {
    pub(super) fn new(journal: Journal) -> Self {
        Self { journal }
    }

    /// Writes a record and reports it to the harness. If that fails, the worker exits.
    pub(super) fn note(&self, fact: Fact) {
        if let Err(error) = self.journal.write(fact) {
            tracing::error!(%error, "the history cannot be written");
            exit(CANNOT_RECORD);
        }
        self.send(&Message::Wrote);
    }

    /// Sends a message to the harness.
    #[expect(clippy::unused_self, reason = "messages follow the creation of the history")]
    pub(super) fn send(&self, message: &Message) {
        let sent = journal::line(message).and_then(|line| {
            let mut output = stdout().lock();
            output.write_all(&line)?;
            output.flush()
        });
        if sent.is_err() {
            // The harness is gone, and with it the test.
            exit(CANNOT_RECORD);
        }
    }
}
