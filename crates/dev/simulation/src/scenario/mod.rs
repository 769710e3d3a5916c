//! Fault scenarios: written once, against any [`Cluster`].
//!
//! Each of [`ALL`] is a script that does something to a cluster, expectations about the finished history, and what the
//! run must have reached to show anything. [`run`] plays one and judges it, together with the promises that the
//! `checker` judges in every run. `docs/scenarios.md` has the table.
//!
//! In reading order: `stage`, `waits` (the words of the scripts) · `history_queries` and
//! `findings` (the words of the expectations) · `f01` … `f30` · `judge`.

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
    /// Its number: `F01` to `F30`.
    pub id: &'static str,
    /// What happens, in a few words.
    pub title: &'static str,
    /// What it shows, and which fault of ElasticJob it would expose.
    pub shows: &'static str,
    /// What would make it invalid: a change of the product that it catches.
    pub catches: &'static str,
    /// The script.
    pub run: for<'a> fn(&'a mut Stage) -> BoxFuture<'a, Result<(), ScenarioError>>,
    /// What is expected of the finished history beyond the promises that the checker judges. Each sentence is about one
    /// thing that is otherwise.
    pub expect: fn(&Seen<'_>) -> Vec<String>,
    /// What must have happened for the run to show anything. Each sentence is about one thing that did not.
    pub covers: fn(&Seen<'_>) -> Vec<String>,
    /// What must have been reached, by the checker's coverage rows. Only what the script itself brings about: with more or
    /// fewer reshardings the cluster comes together at the beginning, depending on who is quick.
    pub require: &'static [(&'static str, u64)],
}

/// All scenarios, in order.
pub const ALL: [Scenario; 30] = [
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
];

/// Returns the scenario of this number, e.g. `F05`.
///
/// # Examples
/// ```
/// assert_eq!(simulation::scenario::find("F06").map(|scenario| scenario.id), Some("F06"));
/// assert!(simulation::scenario::find("F31").is_none());
/// ```
#[must_use]
pub fn find(id: &str) -> Option<&'static Scenario> {
    const TABLE: &[Scenario] = &ALL;
    TABLE.iter().find(|scenario| scenario.id == id)
}
