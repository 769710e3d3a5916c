//! Next fires: why there are none, and those of a fixed delay.

use coordination::{
    Dialect, JavaSettings, JobConfig, JobName, Layout, NodeKind, ServerIp, encode_config,
};
use jiff::{SignedDuration, Timestamp};
use reg_center::{Lifetime, MemoryCenter, RegistryCenter as _, Txn};
use sharding::InstanceId;

use super::lists::create;
use super::markup::faults;
use super::world::World;

/// Returns the card of the next fires of a job's page.
fn next_of(page: &str) -> &str {
    let card = page.split("id=\"next-title\"").nth(1).expect("the page has the next fires");
    card.split("</section>").next().unwrap()
}

#[tokio::test]
async fn job_without_instance_says_so_and_not_that_it_is_paused() {
    let world = World::empty().await;
    create(&world, 1).await;
    let page = world.get("/n/orders/jobs/job-000").await.text;
    assert_eq!(faults(&page), [""; 0]);
    let next = next_of(&page);
    assert!(next.contains("No instance of the job lives"), "{next}");
    assert!(!next.contains("paused") && !next.contains("<li"), "{next}");
    let zh = world.get("/n/orders/jobs/job-000?lang=zh").await.text;
    assert!(next_of(&zh).contains("没有该作业的存活实例"), "{zh}");
}

/// Writes a job with a fixed delay of five minutes, whose last fire ended some time ago. Its
/// instance lives as long as the returned client.
async fn create_delayed(world: &World, name: &str, ended: SignedDuration) -> MemoryCenter {
    let job = JobName::new(name).unwrap();
    let mut config = JobConfig::new(job.clone(), 1);
    config.cron = Some("@after 5m".to_owned());
    config.java = JavaSettings::of(Dialect::V3);
    let at = (Timestamp::now() - ended).as_millisecond();
    let once = format!(r#"{{"v":1,"ended":{{"at":{at}}}}}"#);
    let instance = "jobInstanceId: 10.0.0.9@-@7\nserverIp: 10.0.0.9\n# RUST\n";
    let (layout, ip) = (Layout::new(&job), ServerIp::new("10.0.0.9").unwrap());
    let id = InstanceId::new("10.0.0.9@-@7");
    let txn = Txn::new()
        .create(layout.path(&NodeKind::Config), encode_config(&config), Lifetime::Persistent)
        .create(layout.path(&NodeKind::Once), once, Lifetime::Persistent)
        .create(layout.path(&NodeKind::Server(ip)), "ENABLED", Lifetime::Persistent)
        .create(layout.path(&NodeKind::Instance(id)), instance, Lifetime::Ephemeral);
    let center = world.registry.connect();
    assert!(center.commit(txn).await.unwrap().is_committed());
    let row = format!("id=\"j-{name}\"");
    world.until("n/orders/jobs", |page| page.contains(&row)).await;
    center
}

#[tokio::test]
async fn fixed_delay_has_a_next_fire_only_before_it_is_due() {
    let world = World::empty().await;
    let _waiting = create_delayed(&world, "waits", SignedDuration::from_mins(1)).await;
    let _running = create_delayed(&world, "runs", SignedDuration::from_mins(7)).await;
    for (job, fires) in [("waits", 1), ("runs", 0)] {
        let page = world.get(&format!("/n/orders/jobs/{job}")).await.text;
        let next = next_of(&page);
        assert_eq!(next.matches("<li data-until=").count(), fires, "{job}: {next}");
        assert!(next.contains("5m after the end of each run"), "{job}: {next}");
        let schedule = world.get(&format!("/n/orders/jobs/{job}/schedule")).await.text;
        assert_eq!(schedule.matches("<tr id=\"n-").count(), fires, "{job}: {schedule}");
        let rows = world.get(&format!("/api/v1/namespaces/orders/jobs/{job}/fires")).await.text;
        assert_eq!(rows.matches("\"at\":").count(), fires, "{job}: {rows}");
    }
    let page = world.get("/n/orders/jobs/runs").await.text;
    assert!(page.contains("The delay to the next fire begins when this fire has ended"), "{page}");
}
