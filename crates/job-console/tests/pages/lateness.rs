//! Late items: pages that call a job late have their number, the first of them, and a link to all.

use coordination::{Dialect, JavaSettings, JobConfig, JobName, encode_config};
use jiff::Timestamp;
use reg_center::{Lifetime, MemoryCenter, NodePath, RegistryCenter as _, Txn};

use super::markup::faults;
use super::world::World;
use crate::support::{create_late, create_late_limited};

/// Creates a node. That of an instance lives as long as the client.
async fn write(center: &MemoryCenter, path: &str, data: &str) {
    let is_instance = path.contains("/instances/");
    let life = if is_instance { Lifetime::Ephemeral } else { Lifetime::Persistent };
    let txn = Txn::new().create(NodePath::parse(path).unwrap(), data.to_owned(), life);
    assert!(center.commit(txn).await.unwrap().is_committed(), "{path}");
}

#[tokio::test]
async fn late_job_names_the_limit_for_which_it_waits() {
    let world = World::empty().await;
    let holder = world.registry.connect();
    write(&holder, "/stuck/coordination/permits/0", "0 10.0.0.1@-@1").await;
    let _owner = create_late_limited(&world.registry, "stuck", 2, Some(1)).await;
    let page = "n/orders/jobs/stuck";
    world.until(page, |page| page.contains("2 items are late")).await;
    for page in ["/n/orders", "/n/orders/jobs/stuck"] {
        let text = world.get(page).await.text;
        assert_eq!(faults(&text), [""; 0]);
        assert!(text.contains("Waits for a permit of the job (1 of 1 are taken"), "{page}: {text}");
    }
}

#[tokio::test]
async fn job_with_a_recent_gap_is_not_called_well() {
    let world = World::empty().await;
    let owner = world.registry.connect();
    let mut config = JobConfig::new(JobName::new("report").unwrap(), 1);
    config.cron = Some("0 0 0 1 1 ?".to_owned());
    config.java = JavaSettings::of(Dialect::V3);
    let until = Timestamp::now().as_millisecond() / 1_000 * 1_000;
    let first = until - 60_000;
    let gap = format!(r#"{{"first":{first},"until":{until},"count":4,"config":0}}"#);
    let record = format!(r#"{{"v":1,"state":"idle","token":1,"last":{until},"gaps":[{gap}]}}"#);
    let instance = "jobInstanceId: 10.0.0.9@-@7\nserverIp: 10.0.0.9\n# RUST\n";
    for (node, data) in [
        ("config", &*encode_config(&config)),
        ("instances/10.0.0.9@-@7", instance),
        ("servers/10.0.0.9", "ENABLED"),
        ("leader/election/instance", "10.0.0.9@-@7"),
        ("sharding/0/instance", "10.0.0.9@-@7"),
        ("ledger/0", &record),
    ] {
        write(&owner, &format!("/report/{node}"), data).await;
    }
    let page = "n/orders/jobs/report";
    world.until(page, |page| page.contains("4 fires of 1 item were not run")).await;
    let text = world.get("/n/orders/jobs/report").await.text;
    assert_eq!(faults(&text), [""; 0]);
    assert!(!text.contains("All is well") && !text.contains("Outage"), "{text}");
}

#[tokio::test]
async fn late_items_are_counted_and_the_first_are_named() {
    let world = World::empty().await;
    let _owner = create_late(&world.registry, "stuck", 7).await;
    let page = "n/orders/jobs/stuck";
    world.until(page, |page| page.contains("7 items are late")).await;
    for page in ["/n/orders", "/n/orders/jobs/stuck"] {
        let text = world.get(page).await.text;
        assert_eq!(faults(&text), [""; 0]);
        let sentence = text.split("<b>7 items are late</b>").nth(1).expect(page);
        let sentence = sentence.split("on").next().unwrap();
        for item in 0..5 {
            assert!(sentence.contains(&format!("jobs/stuck?item={item}\"")), "{page}: {sentence}");
        }
        assert!(!sentence.contains("?item=5") && sentence.contains("and 2 more"), "{sentence}");
        assert!(sentence.contains("jobs/stuck?show=late\""), "{page}: {sentence}");
    }
    let late = world.get(&format!("/{page}?show=late")).await.text;
    assert_eq!(late.matches(" id=\"i-").count(), 7);
    assert_eq!(late.matches("<span class=\"st wait\">late</span>").count(), 8, "{late}");
    let one = world.get(&format!("/{page}?item=3")).await.text;
    let item = one.split("id=\"item-title\"").nth(1).expect("the item is shown");
    assert!(item.split("</div>").next().unwrap().contains(">late</span>"), "{item}");
    // The operations that help are beside the reason.
    assert!(late.contains("jobs/stuck?item=0\">Item 0</a>"), "{late}");
    let failing = world.get(&format!("/{page}?show=failing")).await.text;
    assert_eq!(failing.matches(" id=\"i-").count(), 0);
    assert!(failing.contains("No item is in this state now."), "{failing}");
}
