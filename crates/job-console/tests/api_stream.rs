//! The stream of changes: events, coalescing, resumption and heartbeats.

use std::time::Duration;

use crate::support::{BASE, Site, Stream};

async fn until_job(stream: &mut Stream, job: &str) -> (String, usize) {
    let mut events = 0;
    loop {
        let sent = stream.next().await;
        assert_ne!(sent.name, "reset");
        events += 1;
        let has_job = sent.data["jobs"].as_array().is_some_and(|jobs| jobs.contains(&job.into()));
        if has_job {
            return (sent.id, events);
        }
    }
}

#[tokio::test]
async fn stream_begins_with_freshness_and_names_changed_jobs() {
    let site = Site::empty().await;
    let mut stream = site.stream(&[]).await;
    let first = stream.next().await;
    assert_eq!((&*first.name, &first.data["state"]), ("freshness", &"current".into()));
    site.add_idle(&["a"]).await;
    until_job(&mut stream, "a").await;
    site.counting.center.suspend(crate::support::DEADLINE);
    loop {
        let sent = stream.next().await;
        if sent.name == "freshness" {
            assert_eq!(sent.data["state"], "stale");
            break;
        }
    }
}

#[tokio::test]
async fn stream_resumes_after_the_last_id() {
    let site = Site::empty().await;
    let mut stream = site.stream(&[]).await;
    let id = stream.next().await.id;
    drop(stream);
    site.add_idle(&["a", "b"]).await;
    let mut resumed = site.stream(&[("last-event-id", &id)]).await;
    let missed = resumed.next().await;
    assert_eq!((&*missed.name, &missed.data["jobs"]), ("jobs", &serde_json::json!(["a", "b"])));
    assert_eq!(resumed.next().await.name, "freshness");
    let mut current = site.stream(&[("last-event-id", &missed.id)]).await;
    assert_eq!(current.next().await.name, "freshness", "nothing was missed");
    for id in ["x", "0000000000000001-0", ""] {
        let mut reset = site.stream(&[("last-event-id", id)]).await;
        let sent = reset.next().await;
        assert_eq!(sent.name, "reset", "{id}");
        let mut after = site.stream(&[("last-event-id", &sent.id)]).await;
        assert_eq!(after.next().await.name, "freshness", "the id of a reset resumes");
    }
}

#[tokio::test]
async fn changed_groups_are_named_and_none_is_missed_after_a_lost_connection() {
    let site = Site::empty().await;
    let mut stream = site.stream(&[]).await;
    let begin = stream.next().await.id;
    let limits = r#"{"v":1,"cluster_concurrency":2}"#;
    site.write(&[("/job@-@groups/db/limits".to_owned(), limits.to_owned())]).await;
    let changed = stream.next().await;
    assert_eq!((&*changed.name, &changed.data), ("groups", &serde_json::json!({"groups": ["db"]})));
    site.add_idle(&["a"]).await;

    let missed = async |id: &str| {
        let mut resumed = site.stream(&[("last-event-id", id)]).await;
        let (mut names, mut ids) = (Vec::new(), Vec::new());
        while names.last().is_none_or(|name| name != "freshness") {
            let sent = resumed.next().await;
            names.push(sent.name);
            ids.push(sent.id);
        }
        (names, ids)
    };
    let (names, ids) = missed(&begin).await;
    assert_eq!(names, ["jobs", "groups", "freshness"]);
    let again = missed(&ids[0]).await;
    assert_eq!(again.0, names, "the connection was lost between two events of the same changes");
    assert_eq!(missed(&ids[1]).await.0, ["freshness"]);
    assert_eq!(missed(&changed.id).await.0, ["jobs", "freshness"]);
}

#[tokio::test(start_paused = true)]
async fn changes_are_coalesced_to_ten_events_a_second() {
    let site = Site::empty().await;
    let mut stream = site.stream(&[]).await;
    stream.next().await;
    let start = tokio::time::Instant::now();
    for n in 0..200 {
        let path = format!("/job-{n}/config");
        site.write(&[(path, String::new())]).await;
        tokio::time::advance(Duration::from_millis(5)).await;
    }
    let (_, events) = until_job(&mut stream, "job-199").await;
    let tenths = start.elapsed().as_millis() / 100;
    assert!(events as u128 <= tenths + 1, "{events} events in {tenths} tenths of a second");
}

#[tokio::test(start_paused = true)]
async fn idle_stream_has_a_heartbeat() {
    let site = Site::empty().await;
    let mut stream = site.stream(&[]).await;
    stream.next().await;
    let start = tokio::time::Instant::now();
    let sent = stream.next().await;
    assert_eq!((&*sent.name, start.elapsed().as_secs()), ("", 15));
    assert_eq!(site.get(BASE).await.ok().body["freshness"]["state"], "current");
}
