//! Dry run of a change of the placement: its form, its moves, and its faults.

use axum::http::StatusCode;
use operations::MAX_WHAT_IF_ENTRIES;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::markup::{Element, elements, faults};
use super::world::World;

const PLACEMENT: &str = "/n/orders/jobs/report/placement";

/// Returns the controls of the form with this name.
fn controls(page: &str, name: &str) -> Vec<Element> {
    let all = elements(page).unwrap().into_iter();
    all.filter(|one| one.get("name") == Some(name) && one.get("id").is_some()).collect()
}

/// Returns the values of the boxes of a part, and of those that are checked.
fn boxes(page: &str, name: &str) -> (Vec<String>, Vec<String>) {
    let all = controls(page, name);
    let values = |is_shown: fn(&&Element) -> bool| {
        let shown = all.iter().filter(is_shown);
        shown.filter_map(|one| one.get("value").map(str::to_owned)).collect()
    };
    (values(|_| true), values(|one| one.get("checked").is_some()))
}

/// Returns the page of a dry run, which has no fault of its markup.
async fn planned(world: &World, query: &str) -> String {
    let answer = world.get(&format!("{PLACEMENT}?{query}")).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    assert_eq!(faults(&answer.text), [""; 0], "{query}");
    answer.text
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

#[tokio::test]
async fn form_offers_instances_to_leave_and_servers_by_their_state() {
    let world = World::with_jobs().await;
    let page = planned(&world, "").await;
    let (instances, checked) = boxes(&page, "leave");
    assert_eq!((instances.len(), checked.len()), (2, 0), "{page}");
    assert!(instances[0].starts_with("10.0.0.1@-@"), "{instances:?}");
    assert_eq!(boxes(&page, "disable").0, ["10.0.0.1", "10.0.0.2"]);
    assert_eq!(boxes(&page, "enable").0, [""; 0]);
    assert!(!page.contains("id=\"plan-moves\"") && page.contains("data-stream"), "no plan yet");

    world.post("/n/orders/jobs/report/act/disable?server=10.0.0.2", "why=new+disk").await;
    let is_disabled = |page: &str| boxes(page, "enable").0 == ["10.0.0.2"];
    world.until("n/orders/jobs/report/placement", is_disabled).await;
    let page = planned(&world, "enable=10.0.0.2").await;
    assert_eq!(boxes(&page, "enable").1, ["10.0.0.2"]);
    assert!(page.contains("1 item would move.") && page.contains("2 instances would"), "{page}");
    assert!(page.contains("moved: an instance joined"), "{page}");
}

#[tokio::test]
async fn joining_and_leaving_instances_are_planned_with_reasons_in_both_languages() {
    let world = World::with_jobs().await;
    let leaving = boxes(&planned(&world, "").await, "leave").0;
    let [one, two] = [&leaving[0], &leaving[1]].map(|id| encoded(id));

    // A form sends the name of each checked box, and the empty controls, too.
    let query = format!(
        "join=10.0.0.8&joining=zone%3Da+disk%3Dssd&leave={one}&leave={two}&strategy=&sharding_total_count=&placement="
    );
    let page = planned(&world, &query).await;
    assert_eq!(boxes(&page, "leave").1, leaving);
    for expected in [
        "2 items would move.",
        "1 instance would be available.",
        "10.0.0.8@-@new-1",
        "moved: its owner is not available",
        "value=\"zone=a disk=ssd\"",
    ] {
        assert!(page.contains(expected), "{expected}: {page}");
    }
    assert!(!page.contains("data-stream"), "the reader compares the plan with the owners");
    let zh = planned(&world, &format!("{query}&lang=zh")).await;
    for expected in ["2 个分片将移动。", "移动：所有者不可用", "将离开的实例", "更改后的所有分片"]
    {
        assert!(zh.contains(expected), "{expected}: {zh}");
    }

    // An instance that the rules exclude owns nothing.
    let rules =
        format!("join=10.0.0.8&joining=disk%3Dhdd&leave={one}&placement=require+disk%3Dssd");
    let page = planned(&world, &rules).await;
    assert!(page.contains("No instance would be available"), "{page}");
    // One that joins without items is listed.
    let page = planned(&world, "join=10.0.0.8").await;
    assert!(page.contains("3 instances would be available."), "{page}");
    assert!(page.contains("10.0.0.8@-@new-1") && page.contains("kept where it was"), "{page}");
}

#[tokio::test]
async fn invalid_part_is_shown_at_its_control_with_its_value() {
    let world = World::with_jobs().await;
    let many = vec!["10.0.0.8"; MAX_WHAT_IF_ENTRIES + 1].join(",");
    let rows: [(String, &str, &str); 8] = [
        ("join=x".into(), "join", "join is \"x\"; valid is an IP address such as 10.0.0.7"),
        (format!("join={many}"), "join", "join is 1001 entries; valid is at most 1000"),
        (
            "joining=zone%3Da".into(),
            "joining",
            "joining is \"zone=a\"; valid is empty, unless join",
        ),
        ("leave=10.0.0.7@-@7".into(), "leave", "leave: job report has no instance 10.0.0.7@-@7"),
        ("enable=10.0.0.77".into(), "enable", "enable: job report has no server 10.0.0.77; it has"),
        (
            "sharding_total_count=0".into(),
            "sharding_total_count",
            "sharding_total_count is 0; valid is 1 to 100000",
        ),
        ("strategy=NO".into(), "strategy", "strategy is \"NO\"; valid is one of "),
        ("placement=pin+x".into(), "placement", "placement is \"pin x\" in rule 1, text; valid is"),
    ];
    for (query, part, expected) in rows {
        for lang in ["en", "zh"] {
            let page = planned(&world, &format!("{query}&lang={lang}")).await;
            assert!(!page.contains("id=\"plan-owners\""), "{query}: {page}");
            let shown = page.replace("&quot;", "\"");
            assert!(shown.contains(expected), "{expected}: {shown}");
            let all = elements(&page).unwrap();
            let fault = format!("plan-fault-{part}");
            assert!(all.iter().any(|one| one.get("id") == Some(&fault)), "{query}: {page}");
            let describes = |one: &Element| {
                one.get("id") == Some(&format!("plan-{part}"))
                    && one.get("aria-describedby").is_some_and(|ids| ids.contains(&fault))
            };
            assert!(all.iter().any(describes), "{query}: {page}");
            let link = format!("href=\"#plan-{part}\"");
            assert!(page.contains(&link), "{query}: {page}");
        }
    }
    // What was typed stays, also a name that the job does not have.
    let page = planned(&world, "leave=10.0.0.7@-@7&join=10.0.0.8&strategy=NO").await;
    assert_eq!(boxes(&page, "leave").1, ["10.0.0.7@-@7"]);
    assert_eq!(controls(&page, "join")[0].get("value"), Some("10.0.0.8"));
    assert!(page.contains("<option value=\"NO\" selected>"), "{page}");
}
