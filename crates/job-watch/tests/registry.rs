//! Watchers and the registry: what they store, its limits, and its faults.

use std::collections::BTreeSet;

use coordination::{Dialect, JobName};

use super::support::Job;
use super::support::world::World;

#[tokio::test(start_paused = true)]
async fn mass_outage_is_reported_within_the_limit_of_a_transaction() {
    let world = World::new();
    for n in 0..100 {
        let name = JobName::new(&format!("job-{n:03}")).unwrap();
        let job = Job::rust(Dialect::V3).config(|config| {
            (config.job_name, config.sharding_total_count) = (name, 120);
        });
        let failed = |job: Job, item| job.ended(item, 1, "failed", 0, 1);
        world.put(&(0..120).fold(job, failed)).await;
    }
    let _watcher = world.watch("[[expect]]\njob = \"job-*\"\nfailures = 3");
    let mut jobs = BTreeSet::new();
    for n in 1.. {
        let arrived = world.until_arrived(n).await;
        let body = &arrived[n - 1].message.body;
        for violated in body["violated"].as_array().unwrap() {
            let job = violated["job"].as_str().unwrap().to_owned();
            assert!(jobs.insert(job), "reported twice: {violated}");
        }
        if body["left_out"] == 0 {
            break;
        }
    }
    assert_eq!(jobs.len(), 100);
}
