//! System simulation: complete schedulers on a simulated registry under a paused clock, with faults
//! at the four seams.
//!
//! Everything happens in one thread and in virtual time. One seed determines all random decisions,
//! so the same seed gives the same history. Scenarios act on a [`ScenarioCluster`], and the
//! `checker` judges the history.
//!
//! In reading order: `world` (time and randomness) · `recorder` (the history) · `registry` (the
//! simulated registry and its network) · `process` (a scheduler behind its seams) · `resource`,
//! `work` (the job of scenarios) · `cluster`, `faults`, `operator`, `scenario` (actions of
//! scenarios) · `chaos` (scheduled faults) · `kit` (the public kit for users' jobs).

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

/// Runs a simulation to its end, on this thread and in virtual time.
///
/// Time passes only while every task waits, so hours take milliseconds.
///
/// # Panics
/// If the future panics, or no runtime can be created.
///
/// # Examples
/// ```
/// use std::time::Duration;
///
/// use testkit::{SimCluster, run};
///
/// let slept = run(async {
///     let mut cluster = SimCluster::new(7);
///     let started = tokio::time::Instant::now();
///     cluster.pass(Duration::from_secs(3600)).await;
///     started.elapsed()
/// });
/// assert!(slept >= Duration::from_secs(3600));
/// ```
pub fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without IO needs nothing from the operating system");
    runtime.block_on(future)
}
