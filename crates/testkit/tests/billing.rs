//! The test of the page `docs/testing-your-job.md`.

use std::error::Error;
use std::time::Duration;

use lite::{JobBuilder, job_fn};
use testkit::{SimCluster, Verdict, run};

#[test]
fn billing_survives_a_pause() -> Result<(), Box<dyn Error>> {
    let report = run(async {
        let mut cluster = SimCluster::new(42);
        let store = cluster.store();
        let config = JobBuilder::new("billing", 4).cron("0/10 * * * * ?").failover(true).build()?;
        cluster.schedule(config, move |_node| {
            let store = store.clone();
            job_fn(move |run| {
                let store = store.clone();
                async move {
                    store.announce(&run)?;
                    tokio::time::sleep(Duration::from_secs(3)).await;
                    Ok(store.write(&run)?)
                }
            })
        });
        cluster.start("a")?;
        cluster.start("b")?;

        cluster.until("a is at work", |seen| seen.runs_on("a") > 0).await?;
        cluster.pause("a")?;
        cluster.pass(Duration::from_secs(20)).await;
        cluster.resume("a")?;

        Ok::<_, Box<dyn Error>>(cluster.judge().await)
    })?;
    assert_eq!(report.verdict, Verdict::Valid, "{report}");
    Ok(())
}
