//! The tab "Verification": the form, the verdicts of a period, and periods that cannot be judged.

use super::markup::faults;
use super::world::World;

const TAB: &str = "/n/orders/jobs/report/verification";

#[tokio::test]
async fn period_is_judged_when_it_is_asked_for() {
    let world = World::with_jobs().await;
    let form = world.get(TAB).await.text;
    assert_eq!(faults(&form), [""; 0]);
    // The proposed begin is a whole minute.
    let from = form.split("name=\"from\"").nth(1).unwrap().split("value=\"").nth(1).unwrap();
    let from = from.split('"').next().unwrap();
    assert_eq!(from.len(), "2024-02-29T12:00".len(), "{from}");
    assert!(form.contains("Judge this period") && !form.contains("<tbody"), "{form}");

    let page = world.get(&format!("{TAB}?from=2024-02-29T12:00")).await.text;
    assert!(page.contains("until: ") && page.contains("at most 366 days after from"), "{page}");
    let hour_ago = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(1);
    let asked = format!("{TAB}?from={}", hour_ago.strftime("%Y-%m-%dT%H:%M:%S"));
    let page = world.get(&asked).await.text;
    assert_eq!(faults(&page), [""; 0]);
    assert!(page.contains("run <b class=\"n\">2</b>"), "two items have run: {page}");
    assert!(page.contains("run twice <b class=\"n\">0</b>"), "{page}");
    assert_eq!(page.matches("<span class=\"st done\">run</span>").count(), 2, "{page}");
    assert!(page.contains("the first record of the job in the history is later"), "{page}");

    let twice = world.get(&format!("{asked}&verdict=run_twice")).await.text;
    assert_eq!(faults(&twice), [""; 0]);
    assert!(twice.contains("No fire has this verdict") && !twice.contains("<tbody"), "{twice}");
    assert!(twice.contains("run <b class=\"n\">2</b>"), "all fires are counted: {twice}");
}

#[tokio::test]
async fn unreadable_time_is_named_and_a_failed_history_is_shown() {
    let world = World::without_reachable_history().await;
    super::lists::create(&world, 1).await;
    let tab = "/n/orders/jobs/job-000/verification";
    let page = world.get(&format!("{tab}?from=noon")).await.text;
    assert_eq!(faults(&page), [""; 0]);
    assert!(page.contains("valid is a UTC time such as 2024-02-29T12:00"), "{page}");
    let hour_ago = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(1);
    let asked = format!("{tab}?from={}", hour_ago.strftime("%Y-%m-%dT%H:%M:%S"));
    let page = world.get(&asked).await.text;
    assert!(page.contains("The history does not answer:"), "{page}");
}
