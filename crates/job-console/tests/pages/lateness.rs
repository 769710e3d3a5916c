//! Late items: pages that call a job late have their number, the first of them, and a link to all.

use super::markup::faults;
use super::world::World;
use crate::support::create_late;

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
