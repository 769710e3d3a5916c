//! The dialect of a job's nodes, and the nodes that show it.

use crate::support;

use std::time::Duration;

use lite::{Dialect, JobConfig};
use reg_center::{Lifetime, RegistryCenter, Txn};

use support::{Cluster, Runs, every_ten_seconds, path, within};

/// Stored nodes below the root of a job: path and data.
type Stored<'a> = &'a [(&'a [&'a str], &'a str)];

async fn store(cluster: &Cluster, nodes: Stored<'_>) {
    let operator = cluster.registry.connect();
    for (below, data) in nodes {
        let node = path("job", below);
        let txn = match cluster.stored("job", below) {
            Some(_) => Txn::new().put(node, (*data).to_owned()),
            None => Txn::new().create(node, (*data).to_owned(), Lifetime::Persistent),
        };
        assert!(operator.commit(txn).await.unwrap().is_committed(), "{below:?}");
    }
}

fn overwriting() -> JobConfig {
    every_ten_seconds().overwrite(true).build().unwrap()
}

const YAML: &str = "cron: 0/10 * * * * ?\n";
const CLASS: (&[&str], &str) = (&[], "com.example.Report");
const ENABLED: (&[&str], &str) = (&["servers", "10.0.0.9"], "ENABLED");
const OF_2: (&[&str], &str) = (&["servers", "10.0.0.9"], "");

/// With the wrong dialect, Java instances would fail at every read.
#[tokio::test(start_paused = true)]
async fn a_job_without_a_readable_configuration_is_written_in_the_dialect_of_its_nodes() {
    const CONFIG: &[&str] = &["config"];
    let rows: [(&str, Stored<'_>, &str); 9] = [
        ("nothing but a class", &[CLASS], YAML),
        ("nothing but a server of 3.x", &[ENABLED], YAML),
        ("nothing but a server of 2.1.5", &[OF_2], "{"),
        ("damaged YAML, class", &[CLASS, (CONFIG, "cron: [\njobName")], YAML),
        ("damaged YAML alone", &[(CONFIG, "cron: [\njobName")], YAML),
        ("damaged JSON alone", &[(CONFIG, "{\"jobName\":")], "{"),
        ("braces, and servers of 3.x", &[ENABLED, (CONFIG, "{\"jobName\":")], YAML),
        ("emptied, class", &[CLASS, (CONFIG, "")], YAML),
        ("emptied, servers of 2.1.5", &[OF_2, (CONFIG, " \n")], "{"),
    ];
    for (case, nodes, beginning) in rows {
        let cluster = Cluster::new();
        store(&cluster, nodes).await;
        let member = cluster.member(1);
        let handle = member.scheduler.schedule(overwriting(), Runs::default().job()).await.unwrap();
        let stored = cluster.stored("job", &["config"]).unwrap();
        assert!(stored.starts_with(beginning), "{case}: {stored}");
        within("joining", handle.joined()).await.unwrap();
        let server = cluster.stored("job", &["servers", "10.0.0.1"]);
        let expected = if beginning == YAML { "ENABLED" } else { "" };
        assert_eq!(server.as_deref(), Some(expected), "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_registered_instance_of_3_x_shows_the_dialect_of_a_job_without_configuration() {
    let cluster = Cluster::new();
    let one = cluster.member_with(1, |builder| builder.dialect(Dialect::V3));
    let config = every_ten_seconds().build().unwrap();
    let handle = one.scheduler.schedule(config.clone(), Runs::default().job()).await.unwrap();
    within("joining", handle.joined()).await.unwrap();
    let operator = cluster.registry.connect();
    let deleted = Txn::new().delete(path("job", &["config"]));
    assert!(operator.commit(deleted).await.unwrap().is_committed());

    let two = cluster.member(2);
    let _two = two.scheduler.schedule(config, Runs::default().job()).await.unwrap();
    assert!(cluster.stored("job", &["config"]).unwrap().starts_with(YAML));
}

/// The process must not use 2.1.5 until its restart and refuse the repaired document.
#[tokio::test(start_paused = true)]
async fn a_damaged_document_of_3_x_is_used_after_its_repair() {
    let rows: [(&str, Stored<'_>); 2] = [
        ("by the form of the document", &[(&["config"], "cron: [\n")]),
        ("by the class", &[CLASS, (&["config"], "")]),
    ];
    for (case, nodes) in rows {
        let cluster = Cluster::new();
        store(&cluster, nodes).await;
        let (member, runs) = (cluster.member(1), Runs::default());
        let mut config = every_ten_seconds().build().unwrap();
        let handle = member.scheduler.schedule(config.clone(), runs.job()).await.unwrap();
        cluster.pass(Duration::from_secs(60)).await;
        assert!(handle.status().await.unwrap().config_fault.is_some(), "{case}");
        assert_eq!(runs.all(), [], "{case}");

        config.java = coordination::JavaSettings::of(Dialect::V3);
        cluster.configure(&config).await;
        runs.until("a fire of the repaired job", |seen| seen.len() == 3).await;
        assert_eq!(handle.status().await.unwrap().config_fault, None, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn nodes_of_another_dialect_than_the_requested_one_are_reported_and_not_changed() {
    let rows: [(&str, Stored<'_>, Dialect, &str); 3] = [
        (
            "a class",
            &[CLASS],
            Dialect::V2,
            "job job: its node /job is of ElasticJob 3.x, and 2.1.5 was asked for",
        ),
        (
            "a server, and a damaged document",
            &[ENABLED, (&["config"], "{")],
            Dialect::V2,
            "job job: its node /job/servers/10.0.0.9 is of ElasticJob 3.x, and 2.1.5 was asked for",
        ),
        (
            "a server of 2.1.5",
            &[OF_2],
            Dialect::V3,
            "job job: its node /job/servers/10.0.0.9 is of ElasticJob 2.1.5, and 3.x was asked for",
        ),
    ];
    for (case, nodes, wanted, message) in rows {
        let cluster = Cluster::new();
        store(&cluster, nodes).await;
        let before = cluster.everything();
        let member = cluster.member_with(1, |builder| builder.dialect(wanted));
        let refused = member.scheduler.schedule(overwriting(), Runs::default().job()).await;
        assert_eq!(refused.unwrap_err().to_string(), message, "{case}");
        assert_eq!(cluster.everything(), before, "{case}");
    }
}

/// The form of a damaged document is only a guess.
#[tokio::test(start_paused = true)]
async fn the_requested_dialect_precedes_the_form_of_a_damaged_document() {
    let rows = [("{oops", Dialect::V3, YAML), ("oops", Dialect::V2, "{")];
    for (document, wanted, beginning) in rows {
        let cluster = Cluster::new();
        store(&cluster, &[(&["config"], document)]).await;
        let member = cluster.member_with(1, |builder| builder.dialect(wanted));
        let _handle =
            member.scheduler.schedule(overwriting(), Runs::default().job()).await.unwrap();
        let stored = cluster.stored("job", &["config"]).unwrap();
        assert!(stored.starts_with(beginning), "{document}: {stored}");
    }
}
