//! System simulation: whole schedulers on a simulated registry under a paused clock, with faults at the four seams.
//!
//! Everything happens in one thread and in virtual time, and all chance comes from one seed: the same seed gives the
//! same history. A [`ScenarioCluster`] is the cluster that scenarios act on; what happened is judged by the `checker`.
//!
//! In reading order: `world` (time and chance) · `recorder` (the history) · `registry` (the simulated registry and the
//! ways to it) · `process` (a scheduler behind its seams) · `resource`, `work` (the job of scenarios) · `cluster`,
//! `faults`, `operator`, `scenario` (what scenarios can do) ·
//! `chaos` (faults at their times) · `kit` (all of it for your own job).

mod chaos;
mod cluster;
mod faults;
mod kit;
mod operator;
mod process;
mod recorder;
mod registry;
mod resource;
mod scenario;
mod work;
mod world;

pub use chaos::{Director, FAULT_KINDS, Fault, Node, Scheduled, Spawn, Strike, Way, draw_fault};
pub use cluster::{ClusterOptions, ScenarioCluster, following};
pub use kit::{FencedStore, Overtaken, Seen, SimCluster};
pub use registry::Weather;

/// Runs a simulation to its end: on this thread, in virtual time that begins to pass here.
///
/// Time passes only while everything waits, so that hours take milliseconds.
///
/// # Panics
/// If the future panics, or there can be no runtime.
///
/// # Examples
/// ```
/// use std::time::Duration;
///
/// use testkit::harness::ScenarioCluster;
/// use testkit::run;
///
/// let n_records = run(async {
///     let cluster = ScenarioCluster::new(7);
///     tokio::time::sleep(Duration::from_secs(3600)).await;
///     cluster.n_records()
/// });
/// assert!(n_records > 0);
/// ```
pub fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without IO needs nothing from the operating system");
    runtime.block_on(future)
}
