//! Lists: search, filters, sorting and pages on the server; empty lists teach.

use coordination::{JobConfig, JobName, Layout, NodeKind, encode_config};
use reg_center::{Lifetime, RegistryCenter as _, Txn};

use super::markup::faults;
use super::world::World;
use crate::support::create_parallel;

/// Creates jobs without instances.
pub(super) async fn create(world: &World, jobs: u32) {
    for job in 0..jobs {
        let name = JobName::new(&format!("job-{job:03}")).unwrap();
        let mut config = JobConfig::new(name.clone(), 3);
        config.cron = Some("0 0 3 * * ?".to_owned());
        config.description = if job == 77 { "the Needle".to_owned() } else { String::new() };
        let path = Layout::new(&name).path(&NodeKind::Config);
        let txn = Txn::new().create(path, encode_config(&config), Lifetime::Persistent);
        assert!(world.registry.connect().commit(txn).await.unwrap().is_committed());
    }
    let last = format!("jobs <b class=\"n\">{jobs}</b>");
    let last = last.replacen("jobs", "Jobs", 1);
    world.until("n/orders/jobs", |page| page.contains(&last)).await;
}

fn jobs_of(page: &str) -> Vec<&str> {
    let rows = page.split("<tr id=\"j-").skip(1);
    rows.filter_map(|row| row.split('"').next()).collect()
}

#[tokio::test]
async fn list_is_searched_filtered_sorted_and_paged_on_the_server() {
    let world = World::empty().await;
    create(&world, 120).await;
    let page = async |query: &str| world.get(&format!("/n/orders/jobs{query}")).await.text;

    let first = page("").await;
    assert_eq!(jobs_of(&first).len(), 50);
    assert_eq!(jobs_of(&first)[0], "job-000");
    assert!(first.contains("Page 1 of 3") && first.contains("120 in all"));
    assert_eq!(jobs_of(&page("?page=3").await).len(), 20);
    // A page that no longer exists is the last one.
    assert_eq!(jobs_of(&page("?page=99").await)[19], "job-119");
    assert_eq!(jobs_of(&page("?q=needle").await), ["job-077"]);
    assert_eq!(jobs_of(&page("?status=NO_INSTANCE&q=job-11").await).len(), 10);
    assert_eq!(jobs_of(&page("?status=OK").await), [""; 0]);
    assert!(page("?status=OK").await.contains("Nothing matches"));
    assert_eq!(jobs_of(&page("?server=10.0.0.9").await), [""; 0]);
    // The filters stay in the links of the pager.
    assert!(page("?q=job").await.contains("jobs?q=job&amp;page=2"));
}

#[tokio::test]
async fn wrong_filters_are_refused_with_the_valid_values() {
    let world = World::with_jobs().await;
    for (path, expected) in [
        ("jobs?page=abc", "page is &quot;abc&quot;; valid is a number from 1 on"),
        ("jobs?page=0", "page is &quot;0&quot;"),
        ("jobs?sort=zzz", "sort is &quot;zzz&quot;; valid is one of name, status, next, instances"),
        ("jobs?status=GOOD", "status is &quot;GOOD&quot;; valid is one of OK, FAILING"),
        ("audit?page=-1", "page is &quot;-1&quot;"),
        ("jobs/report/runs?from=x", "from is &quot;x&quot;; valid is a UTC time such as"),
        ("jobs/report/runs?until=x", "until is &quot;x&quot;"),
        ("jobs/report/runs?fire=x", "fire is &quot;x&quot;"),
        ("jobs/report/runs?outcome=good", "outcome is &quot;good&quot;; valid is one of succeeded"),
        ("jobs/report?item=x", "item is &quot;x&quot;; valid is a number from 0 on"),
    ] {
        let answer = world.get(&format!("/n/orders/{path}")).await;
        assert_eq!(answer.status, 400, "{path}");
        assert!(answer.text.contains(expected), "{path}: {}", answer.text);
    }
    for path in ["jobs?page=&sort=next&status=LATE", "jobs/report/runs?from=2024-02-29T12:00"] {
        assert_eq!(world.get(&format!("/n/orders/{path}")).await.status, 200, "{path}");
    }
    // The fires of the job are later.
    let page = world.get("/n/orders/jobs/report/runs?until=2024-02-29T12:00").await.text;
    assert!(page.contains("No runs"), "{page}");
}

#[tokio::test]
async fn filter_by_server_finds_the_same_jobs_as_the_api() {
    let world = World::empty().await;
    create(&world, 2).await;
    // Its server node was removed, and the instance lives.
    let name = JobName::new("job-001").unwrap();
    let instance = NodeKind::Instance(sharding::InstanceId::new("10.0.0.9@-@7"));
    let center = world.registry.connect();
    let txn = Txn::new().create(Layout::new(&name).path(&instance), "", Lifetime::Ephemeral);
    assert!(center.commit(txn).await.unwrap().is_committed());
    world.until("n/orders/servers", |page| page.contains("s-10.0.0.9")).await;
    let page = world.get("/n/orders/jobs?server=10.0.0.9").await.text;
    assert_eq!(jobs_of(&page), ["job-001"]);
    let list = world.get("/api/v1/namespaces/orders/jobs?server=10.0.0.9").await.text;
    assert!(list.contains("job-001") && !list.contains("job-000"), "{list}");
    assert_eq!(jobs_of(&world.get("/n/orders/jobs?server=a/b").await.text), [""; 0]);
}

#[tokio::test]
async fn cells_of_items_are_shown_in_pages() {
    let world = World::empty().await;
    let name = JobName::new("huge").unwrap();
    let config = encode_config(&JobConfig::new(name.clone(), 2_500));
    let path = Layout::new(&name).path(&NodeKind::Config);
    let txn = Txn::new().create(path, config, Lifetime::Persistent);
    assert!(world.registry.connect().commit(txn).await.unwrap().is_committed());
    world.until("n/orders/jobs", |page| page.contains("j-huge")).await;
    let page = world.get("/n/orders/jobs/huge").await.text;
    assert_eq!(page.matches("id=\"i-").count(), 1_000);
    assert!(page.contains("Page 1 of 3") && page.contains("2500 items"), "{page}");
    let last = world.get("/n/orders/jobs/huge?page=3").await.text;
    assert_eq!(last.matches("id=\"i-").count(), 500);
    assert!(last.contains("id=\"i-2499\""), "{last}");
}

#[tokio::test]
async fn overview_lists_the_jobs_that_need_attention() {
    let world = World::empty().await;
    create(&world, 60).await;
    let page = world.get("/n/orders").await.text;
    assert!(page.contains("60 of 60 jobs need attention."), "{page}");
    assert_eq!(page.matches("<tr id=\"p-").count(), 50);
    assert!(page.contains("and 10 more") && page.contains("No instance is alive"));
}

#[tokio::test]
async fn empty_lists_say_how_they_are_filled() {
    let world = World::empty().await;
    world.until("n/orders/jobs", |page| page.contains("class=\"fresh ok\"")).await;
    for (path, expected) in [
        ("/n/orders/jobs", "ejob worker jobs.toml"),
        ("/n/orders/servers", "ejob worker jobs.toml"),
        ("/n/orders/running", "Runs appear here while they are in progress"),
        ("/n/orders/audit", "recorded with its author and its reason"),
        ("/n/orders/doctor", "No job has leftovers"),
    ] {
        assert!(world.get(path).await.text.contains(expected), "{path}");
    }
}

#[tokio::test]
async fn runs_of_an_item_in_all_slots_are_listed() {
    let world = World::empty().await;
    let _holder = create_parallel(&world.registry, "slots").await;
    let page = "n/orders/jobs/slots";
    world.until(page, |page| page.contains("id=\"i-0.1\"")).await;
    let text = world.get(&format!("/{page}?item=0")).await.text;
    assert_eq!(faults(&text), [""; 0]);
    assert!(text.contains("jobs/slots?item=0\">0.1</a>"), "{text}");
    assert!(text.contains("<h3>0</h3>") && text.contains("<h3>0.1</h3>"), "{text}");
    let why = "2 runs of the item are unfinished, as many as overlap allows: 0 on 10.0.0.9@-@7";
    assert!(text.contains(why), "{text}");
    assert!(text.contains("jobs/slots/act/cancel?item=0"), "{text}");
    let of_fire = text.split("jobs/slots/act/cancel?fire=").skip(1);
    let fires: Vec<&str> = of_fire.filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(fires.len(), 2, "one for each run: {text}");
    let cancel = format!("/n/orders/jobs/slots/act/cancel?fire={}", fires[1]);
    let form = world.get(&cancel).await.text;
    assert_eq!(faults(&form), [""; 0]);
    assert!(form.contains("item 0.1") && !form.contains(">item 0<"), "{form}");
    assert!(form.contains("· Fire 20"), "{form}");
    let text = world.get("/n/orders/running").await.text;
    assert_eq!(faults(&text), [""; 0]);
    assert!(text.contains("id=\"r-slots-0\"") && text.contains("id=\"r-slots-0.1\""), "{text}");
}
