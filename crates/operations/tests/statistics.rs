//! The statistics of the Java lifecycle API, where the original is wrong or has no answer.

use crate::support;

use coordination::{Dialect, JavaSettings, JobConfig, JobName, encode_config};
use operations::{
    ItemState, JobState, item_briefs, job_brief, job_briefs, job_state, jobs_of_server,
    server_briefs,
};
use serde_json::json;

use support::{World, ip, job};

/// Item records as instances write them.
const RUNS: &str =
    r#"{"state":"running","holder":"10.0.0.1@-@7","fire":2,"source":"NORMAL","token":1}"#;
const FAILED: &str = r#"{"state":"idle","token":1,"outcome":"failed","failure":"disk full"}"#;
const FAILS_AND_RUNS: &str = r#"{"state":"running","holder":"10.0.0.1@-@7","fire":4,"source":"NORMAL","token":2,"outcome":"failed","failure":"disk full"}"#;

const YAML: &str = "jobInstanceId: 10.0.0.1@-@7\nserverIp: 10.0.0.1\n";

fn config(dialect: Dialect, total: u32) -> String {
    let mut config = JobConfig::new(job(), total);
    config.java = JavaSettings::of(dialect);
    config.cron = Some("0/1 * * * * ?".into());
    encode_config(&config)
}

/// Returns the state of a job of two items with further nodes.
async fn state(persistent: &[(&str, &str)], ephemeral: &[(&str, &str)]) -> JobState {
    let world = World::new();
    let config = config(Dialect::V2, 2);
    let all: Vec<_> = [("/job/config", &*config)].iter().chain(persistent).copied().collect();
    let _session = world.write(&all, ephemeral).await;
    job_state(&world.now())
}

#[tokio::test]
async fn job_state_follows_the_nodes_and_ignores_leftovers() {
    let one = ("/job/instances/10.0.0.1@-@7", "");
    let owned = [
        ("/job/sharding/0/instance", "10.0.0.1@-@7"),
        ("/job/sharding/1/instance", "10.0.0.1@-@7"),
    ];
    let enabled = ("/job/servers/10.0.0.1", "");
    type Nodes<'a> = Vec<(&'a str, &'a str)>;
    let with = |more: &[(&'static str, &'static str)]| -> Nodes<'static> {
        owned.iter().chain(more).copied().collect()
    };
    let rows: [(&str, Nodes<'_>, Nodes<'_>, JobState); 13] = [
        ("healthy", with(&[enabled]), vec![one], JobState::Ok),
        ("no live instance", with(&[enabled]), vec![], JobState::NoInstance),
        (
            "an instance was lost in a run",
            with(&[enabled, ("/job/ledger/0", RUNS)]),
            vec![],
            JobState::Crashed,
        ),
        ("paused", with(&[("/job/servers/10.0.0.1", "PAUSED")]), vec![one], JobState::Paused),
        ("failing", with(&[enabled, ("/job/ledger/1", FAILED)]), vec![one], JobState::Failing),
        (
            "failing while it runs again",
            with(&[enabled, ("/job/ledger/1", FAILS_AND_RUNS)]),
            vec![one],
            JobState::Failing,
        ),
        ("disabled", with(&[("/job/servers/10.0.0.1", "DISABLED")]), vec![one], JobState::Disabled),
        ("no server record", with(&[]), vec![one], JobState::Disabled),
        (
            "a dead server that is enabled does not run anything",
            with(&[("/job/servers/10.0.0.1", "DISABLED"), ("/job/servers/10.0.0.2", "")]),
            vec![one],
            JobState::Disabled,
        ),
        (
            "an item of a smaller job is left over",
            with(&[enabled, ("/job/sharding/7/instance", "10.0.0.9@-@9")]),
            vec![one],
            JobState::Ok,
        ),
        ("an item without an owner", vec![owned[0], enabled], vec![one], JobState::Resharding),
        (
            "an owner that is gone",
            vec![owned[0], ("/job/sharding/1/instance", "10.0.0.10@-@7"), enabled],
            vec![one],
            JobState::Resharding,
        ),
        ("no item is assigned", vec![enabled], vec![one], JobState::Resharding),
    ];
    for (case, persistent, ephemeral, expected) in rows {
        assert_eq!(state(&persistent, &ephemeral).await, expected, "{case}");
    }
}

#[tokio::test]
async fn items_of_lost_instances_are_shown() {
    for (dialect, data) in [(Dialect::V2, ""), (Dialect::V3, YAML)] {
        let world = World::new();
        let nodes = [
            ("/job/config", &*config(dialect, 5)),
            ("/job/sharding/0/instance", "10.0.0.1@-@7"),
            ("/job/sharding/1/instance", "10.0.0.1@-@7"),
            ("/job/sharding/2/instance", "10.0.0.2@-@gone"),
            ("/job/sharding/3/instance", "10.0.0.1@-@7"),
            ("/job/sharding/3/disabled", ""),
            ("/job/sharding/9/instance", "10.0.0.1@-@7"),
        ];
        let marks = [
            ("/job/instances/10.0.0.1@-@7", data),
            ("/job/sharding/1/running", ""),
            ("/job/sharding/1/failover", "10.0.0.1@-@7"),
        ];
        let _session = world.write(&nodes, &marks).await;
        let briefs = item_briefs(&world.now());
        let shown: Vec<_> =
            briefs.iter().map(|item| (item.item, item.status, item.failover)).collect();
        let expected = [
            (0, ItemState::Pending, false),
            (1, ItemState::Running, true),
            (2, ItemState::Unowned, false),
            (3, ItemState::Disabled, false),
            (4, ItemState::Unowned, false),
        ];
        assert_eq!(shown, expected, "{dialect}");
        let gone = serde_json::to_value(&briefs[2]).unwrap();
        assert_eq!(
            (&gone["serverIp"], &gone["instanceId"], &gone["status"]),
            (&json!("10.0.0.2"), &json!("10.0.0.2@-@gone"), &json!("UNOWNED"))
        );
        assert_eq!(briefs[4].server_ip, None);
    }
}

/// A taken-over run is distinguished from the last run that has ended.
#[tokio::test]
async fn item_brief_shows_the_holder_of_a_takeover() {
    let world = World::new();
    let record = r#"{"state":"running","holder":"10.0.0.2@-@8","fire":4,"source":"FAILOVER","token":3,"outcome":"failed","failure":"disk full","began":9}"#;
    let nodes = [
        ("/job/config", &*config(Dialect::V2, 1)),
        ("/job/sharding/0/instance", "10.0.0.1@-@7"),
        ("/job/ledger/0", record),
    ];
    let marks = [("/job/instances/10.0.0.2@-@8", "RUST"), ("/job/sharding/0/running", "")];
    let _session = world.write(&nodes, &marks).await;
    let item = item_briefs(&world.now()).remove(0);
    assert_eq!(
        (item.runs_on.as_deref(), item.source, item.failover, item.began_ms, item.fire_ms),
        (Some("10.0.0.2@-@8"), Some("FAILOVER"), true, Some(9), Some(4))
    );
    assert_eq!((item.outcome, item.ended_ms), (Some("failed"), None));
    assert_eq!(item.failure.as_deref(), Some("disk full"));
}

#[tokio::test]
async fn jobs_and_servers_are_counted_once() {
    let world = World::new();
    let other = encode_config(&JobConfig::new(JobName::new("other").unwrap(), 1));
    let nodes = [
        ("/job/config", &*config(Dialect::V3, 1)),
        ("/job/servers/10.0.0.1", "DISABLED"),
        ("/job/servers/10.0.0.2", "ENABLED"),
        ("/other/config", &*other),
        ("/other/servers/10.0.0.1", ""),
        ("/broken/config", "jobName"),
        ("/leftover/servers/10.0.0.1", ""),
    ];
    let marks = [
        ("/job/instances/10.0.0.1@-@7", YAML),
        ("/other/instances/10.0.0.1@-@8", ""),
        ("/other/instances/10.0.0.10@-@8", ""),
    ];
    let _session = world.write(&nodes, &marks).await;
    let namespace = world.operations().namespace().await.unwrap();
    assert!(namespace.unread.is_empty());
    assert_eq!(namespace.jobs.len(), 4);

    let jobs = job_briefs(&namespace.jobs);
    let names: Vec<_> =
        jobs.iter().map(|job| (&*job.job_name, job.dialect, job.instance_count)).collect();
    assert_eq!(names, [("broken", "3.x", 0), ("job", "3.x", 1), ("other", "2.1.5", 2)]);
    assert!(jobs[0].config_fault.is_some() && jobs[0].cron.is_none());
    let shown = serde_json::to_value(job_brief(&namespace.jobs[1])).unwrap();
    let expected = json!({
        "jobName": "job", "status": "DISABLED", "failingItems": 0, "pausedServers": 0,
        "liveServers": 1, "description": "", "cron": "0/1 * * * * ?",
        "instanceCount": 1, "shardingTotalCount": 1, "dialect": "3.x", "configFault": null,
        "template": null, "label": null, "runningItems": 0, "unownedItems": 1, "disabledItems": 0,
        "lateAfterMs": null, "lastEndMs": null, "timeZone": null, "runs": null,
        "processed": null,
    });
    assert_eq!(shown, expected);

    let servers = server_briefs(&namespace.jobs);
    let shown: Vec<_> = servers
        .iter()
        .map(|s| (&*s.server_ip, s.instances_num, s.jobs_num, s.disabled_jobs_num))
        .collect();
    assert_eq!(shown, [("10.0.0.1", 2, 2, 1), ("10.0.0.10", 1, 0, 0), ("10.0.0.2", 0, 1, 0)]);
    let of_server = jobs_of_server(&namespace.jobs, &ip(1));
    let shown: Vec<_> =
        of_server.iter().map(|j| (&*j.job_name, j.status, j.instance_count)).collect();
    assert_eq!(shown, [("job", JobState::Disabled, 1), ("other", JobState::Ok, 1)]);
}

#[tokio::test]
async fn reads_beyond_the_limits_are_reported() {
    let world = World::new();
    world.write(&[("/job/config", &config(Dialect::V2, 1)), ("/a@-@b/config", "")], &[]).await;
    let bounds = |max_nodes, max_jobs| {
        operations::ReadBounds::default().with(|it| {
            it.max_nodes = max_nodes;
            it.max_jobs = max_jobs;
        })
    };
    let error = world.operations().bounds(bounds(1, 9)).job(&job()).await.unwrap_err();
    assert!(error.to_string().starts_with("job job has more than 1 nodes"), "{error}");
    let namespace = world.operations().bounds(bounds(1, 9)).namespace().await.unwrap();
    let unread: Vec<_> = namespace.unread.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(unread, ["a@-@b", "job"], "unreadable jobs are listed");
    assert!(world.operations().bounds(bounds(9, 1)).namespace().await.is_err());
}

/// The record of a progress with counts of processed records.
fn processed(succeeded: u64, failed: u64) -> String {
    format!(r#"{{"v":1,"token":1,"at":1,"done":0,"succeeded":{succeeded},"failed":{failed}}}"#)
}

/// The record of an idle item with counts of runs.
fn counting(succeeded: u64, failed: u64) -> String {
    format!(r#"{{"v":1,"state":"idle","token":1,"succeeded":{succeeded},"failed":{failed}}}"#)
}

#[tokio::test]
async fn counts_are_summed_over_items_and_slots() {
    let world = World::new();
    let nodes = [
        ("/job/config", config(Dialect::V2, 2)),
        ("/job/ledger/0", counting(5, 2)),
        ("/job/ledger/0.1", counting(1, 0)),
        ("/job/ledger/7", counting(0, 9)),
        ("/job/coordination/progress/0", processed(3, 1)),
        ("/job/coordination/progress/0.1", processed(4, 0)),
        // The job has no item 7 any more, but its runs were runs of the job.
        ("/job/coordination/progress/7", processed(100, 0)),
    ];
    let nodes = nodes.each_ref().map(|(path, data)| (*path, data.as_str()));
    world.write(&nodes, &[]).await;
    let counts = |counts: Option<operations::CountsBrief>| {
        counts.map(|counts| (counts.succeeded, counts.failed))
    };
    assert_eq!(counts(job_brief(&world.now()).processed), Some((107, 1)));
    let items: Vec<_> =
        item_briefs(&world.now()).iter().map(|item| counts(item.processed)).collect();
    assert_eq!(items, [Some((7, 1)), None]);
    assert_eq!(counts(job_brief(&world.now()).runs), Some((6, 11)));
    let items: Vec<_> = item_briefs(&world.now()).iter().map(|item| counts(item.runs)).collect();
    assert_eq!(items, [Some((6, 2)), None]);
    world.replace("/job/ledger/0.1", &counting(3, 1)).await;
    assert_eq!(counts(job_brief(&world.now()).runs), Some((8, 12)));
    // Numbers that no program writes.
    for (stored, expected) in [(u64::MAX, u64::MAX), (2, 106)] {
        world.replace("/job/coordination/progress/0", &processed(stored, 0)).await;
        assert_eq!(counts(job_brief(&world.now()).processed), Some((expected, 0)));
    }
    world.replace("/job/coordination/progress/0", "{").await;
    assert_eq!(counts(job_brief(&world.now()).processed), Some((104, 0)));
}
