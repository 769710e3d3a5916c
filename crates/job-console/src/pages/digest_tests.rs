//! Summaries: when they are computed again, and when a job is late.

use std::sync::Arc;

use coordination::{JobConfig, JobName, Layout, NodeKind, encode_config};
use jiff::Timestamp;
use operations::JobSnapshot;
use reg_center::{Node, Revision, SessionId, Stat, Version};
use sharding::ShardingItem;

use super::digest::{Attention, Digests, Since};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn snapshot(nodes: &[(NodeKind, &str)]) -> Arc<JobSnapshot> {
    let name = JobName::new("report").unwrap();
    let mut config = JobConfig::new(name.clone(), 1);
    config.cron = Some("0 * * * * ?".to_owned());
    let config = (NodeKind::Config, encode_config(&config));
    let nodes = nodes.iter().map(|(kind, data)| (kind.clone(), (*data).to_owned()));
    let nodes = std::iter::once(config).chain(nodes).map(|(kind, data)| Node {
        path: Layout::new(&name).path(&kind),
        data: data.into_bytes().into(),
        stat: Stat {
            version: Version(0),
            created: Revision(1),
            modified: Revision(1),
            owner: matches!(kind, NodeKind::Instance(_)).then_some(SessionId(7)),
            modified_at: None,
        },
    });
    Arc::new(JobSnapshot::of_nodes(&name, nodes.collect()))
}

/// Returns a job with an instance and an idle item whose next fire is at a time.
fn ready(next: &str) -> Arc<JobSnapshot> {
    let id = sharding::InstanceId::new("10.0.0.1@-@7");
    let ip = coordination::ServerIp::new("10.0.0.1").unwrap();
    let next = at(next).as_millisecond();
    let record = format!(r#"{{"state":"idle","token":1,"next":{next}}}"#);
    snapshot(&[
        (NodeKind::Instance(id.clone()), ""),
        (NodeKind::Server(ip), ""),
        (NodeKind::Owner(ShardingItem::new(0)), id.as_str()),
        (NodeKind::Ledger(ShardingItem::new(0)), &record),
    ])
}

#[test]
fn summary_is_kept_until_a_job_or_the_time_changes_it() {
    let (digests, job) = (Digests::default(), snapshot(&[]));
    let first = digests.summary_of(&[&job], at("2024-02-29T12:00:10Z"));
    let again = digests.summary_of(&[&job], at("2024-02-29T12:00:50Z"));
    assert!(Arc::ptr_eq(&first, &again));
    let later = digests.summary_of(&[&job], at("2024-02-29T12:01:00Z"));
    assert_eq!(later.jobs[0].next_fire, Some(at("2024-02-29T12:02:00Z")));
    let other = snapshot(&[]);
    let changed = digests.summary_of(&[&other], at("2024-02-29T12:01:00Z"));
    assert!(!Arc::ptr_eq(&later.jobs[0], &changed.jobs[0]));
    assert!(digests.summary_of(&[], at("2024-02-29T12:01:00Z")).jobs.is_empty());
}

#[test]
fn fire_that_does_not_begin_is_late_after_the_grace() {
    let (digests, job) = (Digests::default(), ready("2024-02-29T12:01:00Z"));
    let attention = |time| digests.summary_of(&[&job], at(time)).jobs[0].attention(at(time));
    assert_eq!(attention("2024-02-29T12:00:30Z"), None);
    assert_eq!(attention("2024-02-29T12:01:09Z"), None);
    assert_eq!(attention("2024-02-29T12:01:10Z"), Some(Attention::Late));
    let summary = digests.summary_of(&[&job], at("2024-02-29T12:01:10Z"));
    assert_eq!(summary.attention, 1);
}

#[test]
fn fire_before_the_job_was_seen_ready_is_not_late() {
    let (digests, job) = (Digests::default(), ready("2024-02-29T11:00:00Z"));
    let attention = |time| digests.summary_of(&[&job], at(time)).jobs[0].attention(at(time));
    assert_eq!(attention("2024-02-29T12:00:30Z"), None);
    assert_eq!(attention("2024-02-29T12:01:10Z"), Some(Attention::Late));
}

#[test]
fn state_keeps_the_time_at_which_it_was_first_seen() {
    let digests = Digests::default();
    let since = |time| digests.summary_of(&[&snapshot(&[])], at(time)).jobs[0].since;
    let first = at("2024-02-29T12:00:10Z");
    assert_eq!(since("2024-02-29T12:00:10Z"), Since::Seen(first));
    assert_eq!(since("2024-02-29T12:05:00Z"), Since::Seen(first));
}
