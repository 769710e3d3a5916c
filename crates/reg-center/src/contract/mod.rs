//! The test suite that every registry passes, in memory or on a real server.
//!
//! A backend implements [`Harness`] and [`Faults`] in its own tests.
//! [`contract_tests!`](crate::contract_tests) makes one `#[test]` of every case, in modules named
//! after the guarantees of the [front page](crate):
//!
//! ```
//! use reg_center::contract::{Case, Client, Faults, Harness};
//!
//! fn run(case: &Case) {
//!     // let harness = a new, empty registry;
//!     // block_on(case.run(&harness));
//! #   assert!(!case.name.is_empty());
//! }
//! reg_center::contract_tests!(run);
//! ```
//!
//! A failed case panics with a [`Failure`]: the guarantee, the expected and the found value, and
//! the mistake that backend authors usually make there. The message before it has the place in the
//! suite. The suite needs no particular runtime: it runs on the thread that polls it.
//!
//! In reading order: `harness` (interface of a backend) · `cases` (the table) · `failure`, `stage`,
//! `mirror`, `prng` (tools of the cases) · `absence` (1) · `transactions`, `sequence`, `stored`,
//! `unknown` (2, 3) · `versions` (4) · `parents` (5) · `ephemerals` (6) · `sessions` (7) · `lease`
//! (8) · `feeds`, `gaps` (9) · `reading` (10) · `limits` (11).

mod absence;
mod cases;
mod ephemerals;
mod failure;
mod feeds;
mod gaps;
mod harness;
mod lease;
mod limits;
mod mirror;
mod parents;
mod prng;
mod reading;
mod sequence;
mod sessions;
mod stage;
mod stored;
mod transactions;
mod unknown;
mod versions;

use futures_util::future::BoxFuture;

pub use cases::cases;
pub use failure::Failure;
pub use harness::{Client, Faults, Harness};
pub use sequence::{Answer, CLIENTS, Effect, NodeState, Reference, Sequence, SequenceError, Step};
use stage::Stage;

/// One test of the suite.
#[derive(Clone, Copy)]
pub struct Case {
    /// The rule that the case checks, as a sentence.
    pub name: &'static str,
    /// The number of the guarantee that the case checks.
    pub guarantee: u8,
    /// The mistake that backend authors usually make here, without a final dot.
    pub mistake: &'static str,
    play: for<'a> fn(&'a Stage<'a>) -> BoxFuture<'a, ()>,
}

impl Case {
    /// Runs the case on an empty registry.
    ///
    /// # Panics
    /// With the text of the [`Failure`], if the registry does not keep the guarantee.
    pub async fn run(&self, harness: &dyn Harness) {
        if let Err(failure) = self.check(harness).await {
            panic!("{failure}");
        }
    }

    /// Runs the case on an empty registry, and returns the failure as a value.
    ///
    /// The panic hook still sees the panic of the failed check.
    ///
    /// # Errors
    /// [`Failure`] if the registry does not keep the guarantee, or if the backend or its harness
    /// panics.
    pub async fn check(&self, harness: &dyn Harness) -> Result<(), Failure> {
        let stage = Stage::new(harness);
        failure::run((self.play)(&stage)).await.map_err(|finding| {
            Failure::new(Some(self.guarantee), self.name.to_owned(), finding, self.mistake)
        })
    }

    /// Returns the case of that name, or `None` if the suite has no such case.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        cases().into_iter().find(|case| case.name == name)
    }
}

/// Replays a sequence on an empty registry and compares every answer, the trees and the feeds with
/// the [`Reference`].
///
/// The suite has stored sequences as cases. A backend may generate and replay more of them.
///
/// # Panics
/// If the registry differs from the reference. The message has the step and the whole sequence,
/// which can be stored and replayed.
pub async fn replay(harness: &dyn Harness, sequence: &Sequence) {
    let stage = Stage::new(harness);
    if let Err(finding) = failure::run(sequence::replay(&stage, sequence)).await {
        let case = format!("a sequence of {} steps:\n{sequence}", sequence.steps().len());
        panic!("{}", Failure::new(None, case, finding, failure::SEQUENCE_MISTAKE));
    }
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Case")
            .field("name", &self.name)
            .field("guarantee", &self.guarantee)
            .finish_non_exhaustive()
    }
}
