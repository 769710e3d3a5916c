//! The tab "Runs": whole fires, and the way to older ones.

use coordination::{
    AuditSubject, FencingToken, FireTime, GroupLimits, GroupName, JobConfig, JobEvent, JobName,
    Layout, NodeKind, Outcome, RunSource, encode_config,
};
use jiff::Timestamp;
use job_history::AuditQuery;
use lite::{EventSubscriber as _, JobRecord, OutputLine};
use operations::By;
use reg_center::{Lifetime, MemoryCenter, RegistryCenter as _, Txn};
use sharding::{InstanceId, ShardingItem};

use super::lists::create;
use super::markup::{elements, faults};
use super::world::{DEADLINE, MAX_PAGES, World};

/// Records a claim of each item for each fire, one fire a minute.
async fn claim(world: &World, fires: i64, items: u32) {
    let subscriber = world.history.subscriber();
    for fire in 0..fires {
        for item in 0..items {
            let at = Timestamp::from_second(fire * 60).unwrap();
            let fire = FireTime(at.as_millisecond());
            let (source, token) = (RunSource::Normal, FencingToken(1));
            let event = JobEvent::Claimed {
                item: ShardingItem::new(item),
                fire,
                source,
                token,
                past_fire: None,
            };
            let mut record = JobRecord::new(JobName::new("job-000").unwrap(), at, event);
            record.instance = Some(InstanceId::new("10.0.0.1@-@7"));
            subscriber.on_event(&record);
        }
        world.history.flush(DEADLINE).await.unwrap();
    }
}

/// Returns the fires of all pages, and the number of items of each.
async fn all_fires(world: &World) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut address = "/n/orders/jobs/job-000/runs".to_owned();
    for n in 0.. {
        assert!(n < MAX_PAGES, "older leads from {address} to itself");
        let page = world.get(&address).await.text;
        assert_eq!(faults(&page), [""; 0]);
        for row in page.split("<tr id=\"f-").skip(1) {
            let fire = row.split('"').next().unwrap().to_owned();
            let items = row.split("<td class=\"num\">").nth(1).unwrap();
            found.push((fire, items.split("</td>").next().unwrap().to_owned()));
        }
        let links = elements(&page).unwrap();
        let mut links = links.iter().filter_map(|link| link.get("href"));
        let is_older = |link: &&str| link.contains("until=") && !link.contains("fire=");
        let Some(older) = links.find(is_older) else { break };
        address = older.replace("../", "").replacen("n/", "/n/", 1);
    }
    found
}

#[tokio::test]
async fn older_leads_to_each_fire_once_with_all_its_items() {
    let world = World::empty().await;
    create(&world, 1).await;
    claim(&world, 60, 12).await;
    let expected: Vec<_> = (0..60).rev().map(|fire| (fire * 60_000).to_string()).collect();
    let found = all_fires(&world).await;
    assert!(found.iter().all(|(_, items)| items == "0 / 12"), "{found:?}");
    assert_eq!(found.into_iter().map(|(fire, _)| fire).collect::<Vec<_>>(), expected);
    // A filter shows some of the items, so that "0 / 12" would be wrong.
    let page = world.get("/n/orders/jobs/job-000/runs?outcome=running").await.text;
    assert!(page.contains("<td class=\"num\">0, 1, 2, 3, 4, 5, 6, 7, …</td>"), "{page}");
}

#[tokio::test]
async fn fire_with_more_items_than_a_page_is_marked_and_has_older_ones() {
    let world = World::empty().await;
    create(&world, 1).await;
    claim(&world, 2, 600).await;
    let page = world.get("/n/orders/jobs/job-000/runs").await.text;
    assert!(page.contains("The fire has more items; these are 500 of them."), "{page}");
    let fires: Vec<_> = all_fires(&world).await.into_iter().map(|(fire, _)| fire).collect();
    assert_eq!(fires, ["60000", "0"]);
}

#[tokio::test]
async fn output_of_a_run_is_escaped_and_names_what_is_left_out() {
    let world = World::empty().await;
    create(&world, 1).await;
    claim(&world, 1, 2).await;
    for (seq, text) in [(0, "<script>alert(1)</script>"), (5, "end")] {
        let (job, instance) = (JobName::new("job-000").unwrap(), InstanceId::new("10.0.0.1@-@7"));
        let mut line = OutputLine::new(job, instance, ShardingItem::new(1), FireTime(0));
        (line.token, line.seq, line.text) = (FencingToken(1), seq, text.to_owned());
        world.history.subscriber().on_output(&line);
    }
    world.history.flush(DEADLINE).await.unwrap();
    let run = "/n/orders/jobs/job-000/runs?fire=1970-01-01T00%3A00%3A00Z&output=";
    let page = world.get(&format!("{run}1")).await.text;
    assert_eq!(faults(&page), [""; 0]);
    assert!(page.contains("&lt;script&gt;alert(1)") && !page.contains("<script>alert"), "{page}");
    assert!(page.contains("4 lines left out"), "{page}");
    let page = world.get(&format!("{run}0")).await.text;
    assert!(page.contains("The run has no output in the history"), "{page}");
    let api = "/api/v1/namespaces/orders/history/output?job=job-000";
    let lines = world.get(&format!("{api}&fire=1970-01-01T00:00:00Z&item=1")).await.text;
    assert!(lines.contains(r#""seq":5"#) && lines.contains(r#""more":false"#), "{lines}");
    let missing = world.get(&format!("{api}&fire=1970-01-01T00:00:30Z")).await.text;
    assert!(missing.contains("the nearest with a run are 1970-01-01T00:00:00Z"), "{missing}");
    let stream = world.get(&format!("{api}&fire=1970-01-01T00:00:00Z&stream=out")).await.text;
    assert!(stream.contains("valid is one of stdout, stderr, log, http"), "{stream}");
}

/// Waits until the history has this number of changes.
async fn until_copied(world: &World, query: &AuditQuery, count: usize) {
    let copied = async {
        while world.history.audit(query, 100, None).await.unwrap().records.len() < count {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, copied).await.unwrap();
}

#[tokio::test]
async fn audited_changes_are_copied_and_those_of_removed_jobs_stay() {
    let world = World::empty().await;
    create(&world, 1).await;
    // The page loads the namespace.
    let _ = world.get("/n/orders/audit").await;
    let operations = world.operations();
    let by = By::new("anna", "a test").unwrap();
    let job = JobName::new("job-000").unwrap();
    operations.disable_items(&job, &[ShardingItem::new(0)].into(), &by).await.unwrap();
    let gone = coordination::AuditRecord {
        id: "removal-1".to_owned(),
        at_ms: 1,
        who: "bert".to_owned(),
        why: "replaced".to_owned(),
        act: "remove job".to_owned(),
        target: "old-job".to_owned(),
        what: "removed".to_owned(),
    };
    let old_job = AuditSubject::Job(JobName::new("old-job").unwrap());
    assert!(world.history.record_audit(&old_job, &gone).await);
    world.history.flush(DEADLINE).await.unwrap();
    until_copied(&world, &AuditQuery::default().job("job-000"), 1).await;
    let page = world.get("/n/orders/audit").await.text;
    assert_eq!(faults(&page), [""; 0]);
    assert!(page.contains("old-job") && page.contains("bert"), "{page}");
    assert_eq!(page.matches("id=\"a-job-000-").count(), 1, "the same change is shown once");
    let stored = world.get("/api/v1/namespaces/orders/history/audit?job=old-job").await.text;
    assert!(stored.contains(r#""who":"bert""#), "{stored}");
}

#[tokio::test]
async fn audited_changes_of_groups_are_copied_beyond_those_of_the_registry() {
    let world = World::empty().await;
    create(&world, 1).await;
    let (operations, by) = (world.operations(), By::new("anna", "a test").unwrap());
    let (job, db) = (JobName::new("job-000").unwrap(), GroupName::new("db").unwrap());
    operations.disable_items(&job, &[ShardingItem::new(0)].into(), &by).await.unwrap();
    let set = async |limits: std::ops::RangeInclusive<u32>| {
        for runs in limits {
            let limits = GroupLimits { cluster_concurrency: Some(runs), start_rate: None };
            operations.set_group(&db, limits, &by).await.unwrap();
        }
    };
    let query = AuditQuery::default().group("db");
    // The registry has the last 32 changes, so the first ones are copied before they are lost.
    set(1..=20).await;
    until_copied(&world, &query, 20).await;
    set(21..=40).await;
    until_copied(&world, &query, 40).await;
    let kept = operations.group(&db).await.unwrap().audit().count();
    assert_eq!(kept, 32, "the registry has lost the first changes");

    let page = world.get("/n/orders/audit?group=db").await.text;
    assert_eq!(faults(&page), [""; 0]);
    assert_eq!(page.matches("id=\"g-db-").count(), 40, "each change is shown once: {page}");
    assert!(page.contains("groups/db\">db</a>") && !page.contains("id=\"a-job-000-"), "{page}");
    let page = world.get("/n/orders/audit?job=job-000").await.text;
    assert!(page.contains("id=\"a-job-000-") && !page.contains("id=\"g-db-"), "{page}");
    let page = world.get("/n/orders/audit").await.text;
    assert!(page.contains("id=\"a-job-000-") && page.contains("id=\"g-db-"), "{page}");
    let group = world.get("/n/orders/groups/db").await.text;
    assert!(group.contains("audit?group=db\">All changes</a>"), "{group}");

    let stored = "/api/v1/namespaces/orders/history/audit";
    let of_group = world.get(&format!("{stored}?group=db&limit=1")).await.text;
    assert!(of_group.contains(r#""job":null,"group":"db""#), "{of_group}");
    let of_job = world.get(&format!("{stored}?job=db")).await.text;
    assert!(of_job.contains(r#""rows":[]"#), "the job has the name of the group: {of_job}");
}

#[tokio::test]
async fn unreachable_history_is_named_on_each_page_that_shows_fires() {
    let world = World::without_reachable_history().await;
    create(&world, 1).await;
    for page in ["", "/jobs/job-000", "/jobs/job-000/runs"] {
        let page = world.get(&format!("/n/orders{page}")).await.text;
        assert!(page.contains("The history does not answer:"), "{page}");
        assert_eq!(faults(&page), [""; 0]);
    }
}

#[tokio::test]
async fn run_of_a_backfill_is_shown_with_its_past_fire() {
    let (world, job) = (World::with_jobs().await, JobName::new("report").unwrap());
    let (at, item) = (Timestamp::now(), ShardingItem::new(0));
    let fire = Timestamp::from_millisecond(at.as_millisecond()).unwrap();
    let event = JobEvent::Claimed {
        item,
        fire: FireTime(at.as_millisecond()),
        source: RunSource::Backfill,
        token: FencingToken(9),
        past_fire: Some(FireTime(1_709_208_000_000)),
    };
    let mut record = JobRecord::new(job, at, event);
    record.instance = Some(InstanceId::new("10.0.0.1@-@7"));
    world.history.subscriber().on_event(&record);
    world.history.flush(DEADLINE).await.unwrap();
    let page = world.get(&format!("/n/orders/jobs/report/runs?fire={fire}")).await.text;
    assert_eq!(faults(&page), [""; 0]);
    let shown = page.split("past fire ").nth(1).expect("the row has the past fire");
    assert!(shown.starts_with("<time datetime=\"2024-02-29T12:00:00Z\""), "{shown}");
}

/// Records ended runs of an item of a job, now.
fn end_runs(world: &World, (job, item): (&JobName, u32), outcome: Outcome, runs: i64) {
    let subscriber = world.history.subscriber();
    let (at, item) = (Timestamp::now(), ShardingItem::new(item));
    for n in 0..runs {
        let fire = FireTime(at.as_millisecond() - 1_000 * (n + 1));
        let (source, token) = (RunSource::Normal, FencingToken(1));
        let event = JobEvent::Settled { item, fire, source, token, outcome };
        let mut record = JobRecord::new(job.clone(), at, event);
        record.instance = Some(InstanceId::new("10.0.0.1@-@7"));
        subscriber.on_event(&record);
    }
}

#[tokio::test]
async fn job_whose_last_runs_failed_in_part_is_named() {
    let (world, report) = (World::with_jobs().await, JobName::new("report").unwrap());
    end_runs(&world, (&report, 0), Outcome::Failed, 1);
    world.history.flush(DEADLINE).await.unwrap();
    let page = world.get("/n/orders").await.text;
    assert!(!page.contains("fails at times"), "one failure may be an accident: {page}");
    end_runs(&world, (&report, 0), Outcome::Failed, 1);
    world.history.flush(DEADLINE).await.unwrap();
    let page = world.get("/n/orders").await.text;
    assert!(page.contains("fails at times"), "half of its runs: {page}");
    assert!(page.contains("1 more job failed several times in the last hour."), "{page}");
    end_runs(&world, (&report, 0), Outcome::Failed, 2);
    world.history.flush(DEADLINE).await.unwrap();
    let page = world.get("/n/orders").await.text;
    assert_eq!(faults(&page), [""; 0]);
    let row = page.split("id=\"p-report\"").nth(1).expect("the job is in the list");
    let row = row.split("</tr>").next().unwrap();
    assert!(row.contains("fails mostly") && row.contains("runs of its items failed"), "{row}");
    let list = world.get("/n/orders/jobs").await.text;
    assert_eq!(faults(&list), [""; 0]);
    let row = list.split("id=\"j-report\"").nth(1).unwrap().split("</tr>").next().unwrap();
    assert!(
        row.contains("class=\"fails\" href=\"../../n/orders/jobs/report/runs\">4 / 6<"),
        "{row}"
    );
}

const OWNER: &str = "10.0.0.9@-@7";

/// Creates jobs of one item with an owner, which lives as long as the returned client.
async fn create_well(world: &World, jobs: usize) -> (Vec<JobName>, MemoryCenter) {
    let (center, owner) = (world.registry.connect(), InstanceId::new(OWNER));
    let server = NodeKind::Server(coordination::server_of(&owner).unwrap());
    let item = NodeKind::Owner(ShardingItem::new(0));
    let mut names = Vec::new();
    for n in 0..jobs {
        let name = JobName::new(&format!("well-{n:03}")).unwrap();
        let mut config = JobConfig::new(name.clone(), 1);
        config.cron = Some("0 0 3 * * ?".to_owned());
        let layout = Layout::new(&name);
        let txn = Txn::new()
            .create(layout.path(&NodeKind::Config), encode_config(&config), Lifetime::Persistent)
            .create(layout.path(&NodeKind::Instance(owner.clone())), "", Lifetime::Ephemeral)
            .create(layout.path(&server), "ENABLED", Lifetime::Persistent)
            .create(layout.path(&item), OWNER, Lifetime::Persistent);
        assert!(center.commit(txn).await.unwrap().is_committed(), "{name}");
        names.push(name);
    }
    (names, center)
}

#[tokio::test]
async fn jobs_that_fail_at_times_are_counted_beyond_the_listed_ones() {
    let world = World::empty().await;
    let (names, _owner) = create_well(&world, 52).await;
    for name in &names {
        end_runs(&world, (name, 0), Outcome::Failed, 2);
        end_runs(&world, (name, 1), Outcome::Succeeded, 1);
    }
    world.history.flush(DEADLINE).await.unwrap();
    world.until("n/orders", |page| page.contains("<b>52 jobs fail at times.</b>")).await;
    let page = world.get("/n/orders").await.text;
    assert_eq!(faults(&page), [""; 0]);
    assert_eq!(page.matches("<tr id=\"p-well-").count(), 50);
    let all = "<a href=\"../n/orders/jobs\">52 jobs fail at times.</a>";
    assert!(page.contains(all), "{page}");
}

/// Records runs of items that begin now and end with an outcome.
async fn run_now(world: &World, job: &JobName, items: &[u32], outcome: Outcome) {
    let subscriber = world.history.subscriber();
    for item in items {
        let (at, item) = (Timestamp::now(), ShardingItem::new(*item));
        let (fire, token) = (FireTime(at.as_millisecond()), FencingToken(9));
        let source = RunSource::Normal;
        for event in [
            JobEvent::Claimed { item, fire, source, token, past_fire: None },
            JobEvent::Settled { item, fire, source, token, outcome },
        ] {
            let mut record = JobRecord::new(job.clone(), at, event);
            record.instance = Some(InstanceId::new("10.0.0.1@-@7"));
            subscriber.on_event(&record);
        }
    }
    world.history.flush(DEADLINE).await.unwrap();
}

#[tokio::test]
async fn items_that_fail_since_a_change_name_it_and_the_way_back() {
    let (world, report) = (World::with_jobs().await, JobName::new("report").unwrap());
    let path = "/n/orders/jobs/report";
    let note = async || {
        let page = world.get(path).await.text;
        assert_eq!(faults(&page), [""; 0]);
        let note = page.split("id=\"failing-since\"").nth(1);
        note.map(|note| note.split("</section>").next().unwrap().to_owned())
    };
    assert_eq!(note().await, None, "all runs have succeeded");
    let job = world.job("report").await;
    let mut config = job.config().unwrap().clone();
    config.job_parameter = "EURO".to_owned();
    let by = By::new("ben", "the new currency").unwrap();
    let revision = job.config_revision().unwrap();
    world.operations().update_config(&config, revision, &by).await.unwrap();
    let changed = world.job("report").await;
    let revision = changed.config_revision().unwrap();
    let shown = format!("<dd>{revision}</dd>");
    world.until("n/orders/jobs/report/configuration", |page| page.contains(&shown)).await;
    assert_eq!(note().await, None, "nothing has run since the change");

    run_now(&world, &report, &[0, 1], Outcome::Failed).await;
    let found = note().await.expect("both items fail since the change");
    let replaced = changed.former_configs().unwrap().iter().next_back().unwrap().replaced_ms;
    for expected in [
        &*format!("Failing since revision {revision} of"),
        "by ben",
        "the new currency",
        "Items 0-1: the last success began at",
        "<code>job_parameter</code>: <span class=\"dim\">– (not set)</span> → <code>&quot;EURO&quot;",
        "jobs/report/configuration#former-title",
        &*format!("jobs/report/configuration/restore?replaced={replaced}"),
    ] {
        assert!(found.contains(expected), "{expected}: {found}");
    }
    let zh = world.get(&format!("{path}?lang=zh")).await.text;
    assert!(zh.contains(&format!("自修订 {revision} 起失败")), "{zh}");

    // One item works again, so only the other one still fails since the change.
    run_now(&world, &report, &[1], Outcome::Succeeded).await;
    let found = note().await.expect("item 0 still fails");
    assert!(found.contains("Items 0:"), "{found}");
    run_now(&world, &report, &[0], Outcome::Succeeded).await;
    assert_eq!(note().await, None, "both items work again");
    run_now(&world, &report, &[0, 1], Outcome::Failed).await;
    assert_eq!(note().await, None, "they have succeeded since the change");
}

#[tokio::test]
async fn drawings_of_fires_have_times_and_outcomes() {
    let world = World::with_jobs().await;
    let page = world.get("/n/orders/jobs/report").await.text;
    let spark = page.split("class=\"spark\"").nth(1).expect("the page has the last fires");
    let bar = spark.split("<rect").nth(1).unwrap().split("</rect>").next().unwrap();
    assert!(bar.contains("<title>Fire of 2") && bar.contains(": succeeded, "), "{bar}");
    let runs = world.get("/n/orders/jobs/report/runs").await.text;
    let fire = runs.split("<tr id=\"f-").nth(1).unwrap().split('"').next().unwrap();
    let fire = Timestamp::from_millisecond(fire.parse().unwrap()).unwrap();
    let page = world.get(&format!("/n/orders/jobs/report/runs?fire={fire}&lang=zh")).await.text;
    assert_eq!(faults(&page), [""; 0]);
    let axis = page.split("class=\"axis\"").nth(1).expect(&page).split("</g>").next().unwrap();
    assert_eq!(axis.matches("<line").count(), 5, "{axis}");
    assert!(axis.contains(">+0 毫秒</text>"), "{axis}");
    assert!(page.contains("<title>0: 成功</title>"), "{page}");
}
