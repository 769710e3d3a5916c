//! What a worker writes into its history and says to the harness.

use std::io::{Write, stdout};
use std::process::exit;

use checker::history::Fact;

use crate::journal::{self, Journal};
use crate::protocol::Word;

/// The exit status of a worker that cannot be heard or read any more: what it does from then on nobody would know.
const UNHEARD: i32 = 70;

/// The worker's pen and voice.
#[derive(Debug)]
pub(super) struct Recorder {
    journal: Journal,
}

impl Recorder {
    pub(super) fn new(journal: Journal) -> Self {
        Self { journal }
    }

    /// Writes a record and says that there is one. A worker that cannot do that ends at once.
    pub(super) fn note(&self, fact: Fact) {
        if let Err(error) = self.journal.write(fact) {
            tracing::error!(%error, "history cannot be written");
            exit(UNHEARD);
        }
        self.say(&Word::Wrote);
    }

    /// Says a word to the harness.
    #[expect(clippy::unused_self, reason = "who says something has been introduced")]
    pub(super) fn say(&self, word: &Word) {
        let said = journal::line(word).and_then(|line| {
            let mut output = stdout().lock();
            output.write_all(&line)?;
            output.flush()
        });
        if said.is_err() {
            // The harness is gone, and a test is over for everybody then.
            exit(UNHEARD);
        }
    }
}
