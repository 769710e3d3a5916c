//! Late items: pages that call a job late have their number, the first of them, and a link to all.

use coordination::{Dialect, JavaSettings, JobConfig, JobName, encode_config};
use jiff::Timestamp;
use reg_center::{Lifetime, MemoryCenter, NodePath, RegistryCenter as _, Txn};

use super::markup::faults;
use super::world::World;

/// Creates the job `stuck`, whose owner has started none of the due fires of its items. The owner
/// lives as long as the returned client.
async fn create_stuck(world: &World, items: u32) -> MemoryCenter {
    let mut config = JobConfig::new(JobName::new("stuck").unwrap(), items);
    config.cron = Some("0 * * * * ?".to_owned());
    config.java = JavaSettings::of(Dialect::V3);
    let instance = "jobInstanceId: 10.0.0.9@-@7\nserverIp: 10.0.0.9\n# RUST\n";
    let minute = Timestamp::now().as_millisecond() / 60_000 * 60_000;
    let (last, next) = (minute - 600_000, minute - 540_000);
    let record =
        format!(r#"{{"v":1,"token":1,"last":{last},"next":{next},"config":0,"state":"idle"}}"#);
    let mut nodes = vec![
        ("/stuck/config".to_owned(), encode_config(&config)),
        ("/stuck/instances/10.0.0.9@-@7".to_owned(), instance.to_owned()),
        ("/stuck/servers/10.0.0.9".to_owned(), "ENABLED".to_owned()),
    ];
    let of_items = |path: fn(u32) -> String, data: &str| {
        (0..items).map(|item| (path(item), data.to_owned())).collect::<Vec<_>>()
    };
    nodes.extend(of_items(|item| format!("/stuck/sharding/{item}/instance"), "10.0.0.9@-@7"));
    // The records are written last: their owner was ready for the next fires.
    nodes.extend(of_items(|item| format!("/stuck/ledger/{item}"), &record));
    let center = world.registry.connect();
    for (path, data) in nodes {
        let is_instance = path.contains("/instances/");
        let life = if is_instance { Lifetime::Ephemeral } else { Lifetime::Persistent };
        let txn = Txn::new().create(NodePath::parse(&path).unwrap(), data, life);
        assert!(center.commit(txn).await.unwrap().is_committed(), "{path}");
    }
    center
}

#[tokio::test]
async fn late_items_are_counted_and_the_first_are_named() {
    let world = World::empty().await;
    let _owner = create_stuck(&world, 7).await;
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
