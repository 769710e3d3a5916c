//! Tests a job under faults. Three processes run it: one is killed right after its claim, one is
//! cut off from the registry. Then ten minutes of random faults follow. The test takes well under a
//! second.
//!
//! ```text
//! valid: 6 runs were taken over
//! ```
#![expect(clippy::print_stdout, reason = "a program talks to the person who runs it")]

use std::error::Error;
use std::time::Duration;

use async_trait::async_trait;
use lite::{Job, JobBuilder, JobError, ShardingContext};
use testkit::{Action, FencedStore, LinkMode, SimCluster, Verdict, When, run};

/// The job under test: it bills the customers of one region.
struct Billing {
    store: FencedStore,
}

#[async_trait]
impl Job for Billing {
    async fn execute(&self, run: ShardingContext) -> Result<(), JobError> {
        // Announce first: from now on the store rejects the writes of earlier runs of this item.
        self.store.announce(&run)?;
        tokio::time::sleep(Duration::from_secs(3)).await;
        Ok(self.store.write(&run)?)
    }
}

async fn everything_goes_wrong(seed: u64) -> Result<(), Box<dyn Error>> {
    let mut cluster = SimCluster::new(seed);
    let store = cluster.store();
    let config = JobBuilder::new("billing", 4).cron("0/10 * * * * ?").failover(true).build()?;
    cluster.schedule(config, move |_node| Billing { store: store.clone() });
    for node in ["a", "b", "c"] {
        cluster.start(node)?;
    }
    cluster.until("c runs an item", |seen| seen.runs_on("c") > 0).await?;

    // Process a dies after the registry has executed its claim, before a sees the reply.
    cluster.at_next("a", "claim", When::After, Action::Kill)?;
    cluster.pass(Duration::from_secs(30)).await;
    cluster.start("a")?;

    // Process b runs an item and is cut off for longer than its session lives.
    cluster.link("b", LinkMode::Black)?;
    cluster.pass(Duration::from_secs(20)).await;
    cluster.link("b", LinkMode::Pass)?;

    cluster.chaos(Duration::from_secs(600)).await;

    let report = cluster.judge().await;
    assert_eq!(report.verdict, Verdict::Valid, "seed {seed}: {report}");
    let taken_over = report.coverage.get("failover").map_or(0, |row| row.reached);
    println!("{}: {taken_over} runs were taken over", report.verdict);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    run(everything_goes_wrong(2))
}
