//! Plays a chaos plan on a simulated cluster with the job of scenarios.

use std::time::Duration;

use checker::history::Record;
use testkit::harness::{
    AdminOp, Cluster, ClusterError, ClusterOptions, Director, InstOpts, Node, ScenarioCluster,
};

use super::plan::ChaosPlan;

/// Plays a plan to its end and returns the history.
///
/// # Errors
/// [`ClusterError`] if the plan cannot be played, for example because the job has no items.
pub(super) async fn play(plan: &ChaosPlan) -> Result<Vec<Record>, ClusterError> {
    let config = plan.job.config().map_err(|error| ClusterError::Harness {
        act: "reading the plan".to_owned(),
        source: error.into(),
    })?;
    let mut options = ClusterOptions::new(plan.seed);
    options.weather = plan.weather;
    options.calls_back = plan.job.once;
    options.max_concurrency = plan.max_concurrency;
    let mut cluster = ScenarioCluster::with_options(options);
    cluster.create_job(config.clone()).await?;
    if let Some((group, plan)) = config.group.clone().zip(plan.job.group.as_ref()) {
        cluster.admin(AdminOp::Group { group, limits: plan.limits() }).await?;
    }
    let nodes = (0..plan.nodes).map(|n| Node { name: ChaosPlan::name(n), server: server(n) });
    let nodes: Vec<Node> = nodes.collect();
    let spawn = |cluster: &mut ScenarioCluster, node: &Node| {
        cluster.start_worker(&node.name, InstOpts::new(&node.server, plan.job.work()))
    };
    for node in &nodes {
        spawn(&mut cluster, node)?;
    }
    let mut director = Director::new(&mut cluster, config, &nodes, &spawn, &plan.faults);
    director.chaos(plan.chaos_ms).await;
    director.restore_order().await;
    cluster.elapse_in_calm(Duration::from_millis(plan.calm_ms)).await;
    Box::new(cluster).finish().await
}

/// Returns the server of node `n` of a plan.
fn server(n: u32) -> String {
    format!("10.0.0.{}", n + 1)
}
