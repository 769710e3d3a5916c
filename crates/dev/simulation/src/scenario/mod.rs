//! Fault scenarios, written against the trait [`Cluster`].
//!
//! Each of [`ALL`] has a script of faults, expectations of the finished history, and conditions
//! that the run must have reached to prove anything. [`run`] plays a scenario and judges it,
//! together with the promises that the `checker` judges in every run. `docs/scenarios.md` has the
//! table.
//!
//! In reading order: `stage`, `waits` (functions for scripts) · `history_queries`, `findings`
//! (functions for expectations) · `f01` … `f41` · `judge`.

mod findings;
mod history_queries;
mod judge;
mod stage;
mod waits;

mod f01;
mod f02;
mod f03;
mod f04;
mod f05;
mod f06;
mod f07;
mod f08;
mod f09;
mod f10;
mod f11;
mod f12;
mod f13;
mod f14;
mod f15;
mod f16;
mod f17;
mod f18;
mod f19;
mod f20;
mod f21;
mod f22;
mod f23;
mod f24;
mod f25;
mod f26;
mod f27;
mod f28;
mod f29;
mod f30;
mod f31;
mod f32;
mod f33;
mod f34;
mod f35;
mod f36;
mod f37;
mod f38;
mod f39;
mod f40;
mod f41;

use futures_util::future::BoxFuture;
use testkit::harness::{
    Action, AdminOp, Cluster, ClusterError, InstOpts, LinkMode, Point, RegEvent, When, Work,
};

pub use history_queries::Seen;
pub use judge::{Judgement, run};
pub use stage::{ScenarioError, Stage};

/// A fault scenario.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Number of the scenario: `F01` to `F41`.
    pub id: &'static str,
    /// The fault, in a few words.
    pub title: &'static str,
    /// The behaviour that a valid run shows.
    pub shows: &'static str,
    /// Changes of the product that would make the run invalid.
    pub catches: &'static str,
    /// The script.
    pub run: for<'a> fn(&'a mut Stage) -> BoxFuture<'a, Result<(), ScenarioError>>,
    /// Returns a sentence for each unmet expectation of the finished history, beyond the promises
    /// of the checker.
    pub expect: fn(&Seen<'_>) -> Vec<String>,
    /// Returns a sentence for each condition that the run needs and did not reach.
    pub covers: fn(&Seen<'_>) -> Vec<String>,
    /// Coverage that the run must reach, by row of the checker. It counts only what the script
    /// itself causes: the number of reshardings at the start depends on the order of joins.
    pub require: &'static [(&'static str, u64)],
}

/// All scenarios, in order.
pub const ALL: [Scenario; 41] = [
    f01::SCENARIO,
    f02::SCENARIO,
    f03::SCENARIO,
    f04::SCENARIO,
    f05::SCENARIO,
    f06::SCENARIO,
    f07::SCENARIO,
    f08::SCENARIO,
    f09::SCENARIO,
    f10::SCENARIO,
    f11::SCENARIO,
    f12::SCENARIO,
    f13::SCENARIO,
    f14::SCENARIO,
    f15::SCENARIO,
    f16::SCENARIO,
    f17::SCENARIO,
    f18::SCENARIO,
    f19::SCENARIO,
    f20::SCENARIO,
    f21::SCENARIO,
    f22::SCENARIO,
    f23::SCENARIO,
    f24::SCENARIO,
    f25::SCENARIO,
    f26::SCENARIO,
    f27::SCENARIO,
    f28::SCENARIO,
    f29::SCENARIO,
    f30::SCENARIO,
    f31::SCENARIO,
    f32::SCENARIO,
    f33::SCENARIO,
    f34::SCENARIO,
    f35::SCENARIO,
    f36::SCENARIO,
    f37::SCENARIO,
    f38::SCENARIO,
    f39::SCENARIO,
    f40::SCENARIO,
    f41::SCENARIO,
];

/// Returns the scenario of this number, e.g. `F05`.
///
/// # Examples
/// ```
/// assert_eq!(simulation::scenario::find("F06").map(|scenario| scenario.id), Some("F06"));
/// assert!(simulation::scenario::find("F42").is_none());
/// ```
#[must_use]
pub fn find(id: &str) -> Option<&'static Scenario> {
    const TABLE: &[Scenario] = &ALL;
    TABLE.iter().find(|scenario| scenario.id == id)
}
