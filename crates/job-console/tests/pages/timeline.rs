//! The timeline: one list of what each source has recorded, with filters in the address.

use std::collections::BTreeSet;

use axum::http::StatusCode;
use coordination::{JobEvent, JobName};
use jiff::Timestamp;
use lite::{EventSubscriber as _, JobRecord};
use sharding::InstanceId;

use super::configuring::changed_by_another;
use super::lists::create;
use super::markup::{elements, faults};
use super::world::{DEADLINE, MAX_PAGES, World};

const TIMELINE: &str = "/n/orders/timeline";

fn kinds(page: &str) -> BTreeSet<String> {
    let pills = page.split("<td><span class=\"st ").skip(1);
    pills.filter_map(|pill| Some(pill.split_once('>')?.1.split_once('<')?.0.to_owned())).collect()
}

#[tokio::test]
async fn timeline_has_entries_of_all_sources() {
    let world = World::with_jobs().await;
    changed_by_another(&world, |config| config.sharding_total_count = 5).await;
    world.history.flush(DEADLINE).await.unwrap();
    let page = world.get(TIMELINE).await.text;
    assert_eq!(faults(&page), [""; 0]);
    let all = kinds(&page);
    for kind in ["configuration replaced", "operator action", "resharded", "instance joined"] {
        assert!(all.contains(kind), "{kind}: {all:?}");
    }
    for (filter, expected) in [
        ("kind=failed", "failed"),
        ("kind=configuration", "configuration replaced"),
        ("kind=operator", "operator action"),
        ("kind=joined&job=wide", "instance joined"),
    ] {
        let page = world.get(&format!("{TIMELINE}?{filter}")).await.text;
        assert_eq!(kinds(&page), BTreeSet::from([expected.to_owned()]), "{filter}");
        assert_eq!(page.matches("<tr id=\"t-").count() > 0, !page.contains("Nothing was recorded"));
    }
    let none = world.get(&format!("{TIMELINE}?until=2020-01-01T00:00")).await.text;
    assert!(none.contains("Nothing was recorded") && none.contains("Latest"), "{none}");
    let answer = world.get(&format!("{TIMELINE}?kind=nope")).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    assert!(answer.text.contains("valid is one of operator, configuration"), "{}", answer.text);
}

#[tokio::test]
async fn older_leads_to_each_entry_once() {
    let world = World::empty().await;
    create(&world, 1).await;
    let subscriber = world.history.subscriber();
    for n in 0..130 {
        let instance = InstanceId::new(format!("10.0.0.1@-@{n}"));
        let event = JobEvent::Left { instance: instance.clone() };
        // Two entries have the same time.
        let at = Timestamp::from_second(n / 2).unwrap();
        let mut record = JobRecord::new(JobName::new("job-000").unwrap(), at, event);
        record.instance = Some(instance);
        subscriber.on_event(&record);
    }
    world.history.flush(DEADLINE).await.unwrap();
    let (mut address, mut found) = (TIMELINE.to_owned(), Vec::new());
    for n in 0.. {
        assert!(n < MAX_PAGES, "older leads from {address} to itself");
        let page = world.get(&address).await.text;
        let rows = page.split("title=\"10.0.0.1@-@").skip(1);
        found.extend(rows.map(|row| row.split('"').next().unwrap().parse::<u32>().unwrap()));
        let links = elements(&page).unwrap();
        let older = links.iter().find(|link| link.get("rel") == Some("next"));
        let Some(older) = older.and_then(|link| link.get("href")) else { break };
        address = older.replacen("../../", "/", 1);
    }
    let newest_first = found.windows(2).all(|pair| pair[0] / 2 >= pair[1] / 2);
    assert!(newest_first, "{found:?}");
    assert_eq!((found.len(), found.into_iter().collect::<BTreeSet<_>>().len()), (130, 130));
}

#[tokio::test]
async fn timeline_names_the_sources_that_it_lacks() {
    let world = World::without_reachable_history().await;
    let page = world.get(TIMELINE).await.text;
    assert!(page.contains("The history does not answer:"), "{page}");
    assert_eq!(faults(&page), [""; 0]);
}

#[tokio::test]
async fn pages_of_the_past_show_which_records_the_history_lacks() {
    let world = World::empty().await;
    create(&world, 1).await;
    let subscriber = world.history.subscriber();
    let job = JobName::new("job-000").unwrap();
    // The writer takes none meanwhile, so that the queue gets full.
    for n in 0..20_000 {
        let event = JobEvent::BecameLeader { term: n };
        subscriber.on_event(&JobRecord::new(job.clone(), Timestamp::now(), event));
    }
    let dropped = world.history.stats().dropped;
    assert!(dropped > 0, "the queue has room for all");
    world.history.flush(DEADLINE).await.unwrap();
    let expected = format!("Records that the history lacks: {dropped}, between");
    for path in [TIMELINE, "/n/orders", "/n/orders/jobs/job-000/runs"] {
        let page = world.get(path).await.text;
        assert!(page.contains(&expected), "{path}: {page}");
        assert_eq!(faults(&page), [""; 0]);
    }
    let page = world.get(&format!("{TIMELINE}?until=2020-01-01T00:00")).await.text;
    assert!(!page.contains("Records that the history lacks"), "{page}");
}
