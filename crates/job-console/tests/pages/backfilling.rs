//! Backfills: the list, the request with its preview, and the cancellation.

use axum::http::StatusCode;
use coordination::JobName;
use operations::{BackfillState, By, Scope};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::configuring::form_of;
use super::lists::create;
use super::markup::faults;
use super::world::{DEADLINE, HOSTILE, World};

const LIST: &str = "n/orders/jobs/report/backfills";
const FORM: &str = "/n/orders/jobs/report/backfills/request";
/// Three days of a job that fires daily at two o'clock in Shanghai.
const PERIOD: &str = "from=2024-02-01T00:00&to=2024-02-04T00:00";

fn report() -> JobName {
    JobName::new("report").unwrap()
}

/// Pauses the job, so that a backfill of it stays in progress.
async fn pause(world: &World) {
    let by = By::new("anna", "hold").unwrap();
    world.operations().pause(&Scope::of_job(report()), &by).await.unwrap();
    world.until("n/orders/jobs/report", |page| page.contains("All 2 servers are paused")).await;
}

#[tokio::test]
async fn past_fires_are_shown_then_requested_and_listed() {
    let world = World::with_jobs().await;
    let page = world.get(&format!("/{LIST}")).await.text;
    assert_eq!(faults(&page), [""; 0]);
    assert!(page.contains("No backfills"), "{page}");
    assert!(page.contains("backfills/request\">Run past fires again…</a>"), "{page}");
    let form = world.get(FORM).await;
    assert_eq!((form.status, faults(&form.text)), (StatusCode::OK, vec![]), "{}", form.text);
    assert!(!form.text.contains("class=\"fault\""), "{}", form.text);

    let address = format!("{FORM}?{PERIOD}&items=&concurrency=2");
    let preview = world.get(&address).await;
    assert_eq!((preview.status, faults(&preview.text)), (StatusCode::OK, vec![]));
    let preview = preview.text;
    assert!(preview.contains("6 runs: 3 fires of 2 items"), "{preview}");
    for fire in ["2024-02-01T18:00:00Z", "2024-02-02T18:00:00Z", "2024-02-03T18:00:00Z"] {
        assert!(preview.contains(&format!("datetime=\"{fire}\"")), "{fire}: {preview}");
    }
    assert!(preview.contains("2 at once, by all items"), "{preview}");
    assert_eq!(world.job("report").await.backfills().count(), 0, "a preview changes nothing");
    let edit = world.get(&format!("{address}&edit=yes")).await.text;
    for value in ["2024-02-01T00:00", "2024-02-04T00:00", "2"] {
        assert!(edit.contains(&format!("value=\"{value}\"")), "{value}: {edit}");
    }
    let blank = world.post(&address, &form_of(&preview, &[("why", " ")])).await;
    assert_eq!(blank.status, StatusCode::BAD_REQUEST);
    assert!(blank.text.contains("id=\"fault-why\""), "{}", blank.text);

    let answer = world.post(&address, &form_of(&preview, &[("why", "wrong <rates>")])).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    assert_eq!(
        answer.headers["location"],
        "../../../../../n/orders/jobs/report/backfills?changed=1"
    );
    let one = world.job("report").await.backfills().next().unwrap();
    let ended = world.operations().backfill_outcome(&report(), &one.id, DEADLINE).await.unwrap();
    assert_eq!((ended.state, ended.by.as_str()), (BackfillState::Done, "console"));
    world.until(LIST, |page| page.contains("<span class=\"st done\">done</span>")).await;
    let page = world.get(&format!("/{LIST}")).await.text;
    assert_eq!(faults(&page), [""; 0]);
    for text in ["3 / 3", "0-1", "who=console", "wrong &lt;rates&gt;", &one.id] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(!page.contains(&format!("{}/cancel\"", one.id)), "it has ended: {page}");
    let zh = world.get(&format!("/{LIST}?lang=zh")).await.text;
    assert!(zh.contains("已完成") && zh.contains("再次运行过去的触发"), "{zh}");
}

#[tokio::test]
async fn backfill_in_progress_is_cancelled_and_excludes_another() {
    let world = World::with_jobs().await;
    pause(&world).await;
    let address = format!("{FORM}?{PERIOD}&items=0&concurrency=1");
    let preview = world.get(&address).await.text;
    assert!(preview.contains("3 runs: 3 fires of 1 item"), "{preview}");
    let requested = world.post(&address, &form_of(&preview, &[("why", "wrong rates")])).await;
    assert_eq!(requested.status, StatusCode::SEE_OTHER, "{}", requested.text);
    let id = world.job("report").await.backfills().next().unwrap().id;
    let cancel = format!("/{LIST}/{id}/cancel");
    world.until(LIST, |page| page.contains(&format!("{id}/cancel\" data-dialog"))).await;
    let page = world.get(&format!("/{LIST}")).await.text;
    assert!(page.contains("in progress") && page.contains("0 / 3"), "{page}");
    assert!(page.contains("one backfill at a time") && !page.contains("/request\""), "{page}");
    let second = world.get(&address).await;
    assert_eq!(second.status, StatusCode::CONFLICT, "{}", second.text);

    let form = world.get(&cancel).await.text;
    assert_eq!(faults(&form), [""; 0]);
    assert!(form.contains("id=\"act-form\""), "{form}");
    assert!(form.contains("cancelled after 0 of 3 fires"), "{form}");
    let blank = world.post(&cancel, "why=").await;
    assert_eq!(blank.status, StatusCode::BAD_REQUEST);
    assert!(blank.text.contains("why is blank"), "{}", blank.text);
    let answer = world.post(&cancel, "why=again+wrong").await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    let place = answer.headers["location"].to_str().unwrap();
    assert!(place.ends_with("n/orders/jobs/report/backfills?changed=1"), "{place}");
    world.until(LIST, |page| page.contains("cancelled by console: again wrong")).await;
    let record = world.job("report").await.audit().next_back().unwrap().clone();
    assert_eq!((&*record.act, &*record.why), ("cancel backfill", "again wrong"));
    let again = world.get(&cancel).await.text;
    assert!(again.contains("Nothing changes.") && !again.contains("act-why"), "{again}");
    let unknown = world.get(&format!("/{LIST}/nope/cancel")).await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    assert!(unknown.text.contains(&format!("it has {id}")), "{}", unknown.text);
}

#[tokio::test]
async fn unusable_values_are_named_beside_their_fields() {
    let world = World::with_jobs().await;
    let rows = [
        ("from=2024-02-01", "to", "to is missing; valid is a UTC time such as"),
        ("from=noon&to=2024-02-04", "from", "from is &quot;noon&quot;; valid is a UTC time"),
        ("from=2024-02-04&to=2024-02-01", "from", "valid is a time before 2024-02-01T00:00:00Z"),
        ("from=2024-02-01&to=9000-01-01", "to", "valid is a time until now"),
        ("from=2024-02-01&to=2024-02-04&items=0,x", "items", "valid are item numbers and ranges"),
        ("from=2024-02-01&to=2024-02-04&items=7", "items", "job report has no item 7"),
        ("from=2024-02-01&to=2024-02-04&concurrency=17", "concurrency", "a number from 1 to 16"),
        ("from=2024-02-01&to=2024-02-04&concurrency=x", "concurrency", "a number from 1 to 16"),
        ("from=2014-02-01&to=2024-02-04", "to", "a period of at most 1000 fires: end it at"),
    ];
    for (query, field, expected) in rows {
        for answer in [
            world.get(&format!("{FORM}?{query}")).await,
            world.post(&format!("{FORM}?{query}"), "why=test").await,
        ] {
            assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{query}: {}", answer.text);
            assert_eq!(faults(&answer.text), [""; 0], "{query}");
            let fault = answer.text.split(&format!("id=\"fault-{field}\"")).nth(1);
            let fault = fault.unwrap_or_else(|| panic!("{query}: {}", answer.text));
            assert!(fault.split("</p>").next().unwrap().contains(expected), "{query}: {fault}");
        }
    }
    assert_eq!(world.job("report").await.backfills().count(), 0);
}

#[tokio::test]
async fn period_without_fires_changes_nothing_and_asks_for_no_reason() {
    let world = World::with_jobs().await;
    let address = format!("{FORM}?from=2024-02-01T00:00&to=2024-02-01T10:00");
    let preview = world.get(&address).await.text;
    assert_eq!(faults(&preview), [""; 0]);
    assert!(preview.contains("Nothing changes."), "{preview}");
    assert!(preview.contains("its schedule has no fires"), "{preview}");
    assert!(!preview.contains("act-why"), "{preview}");
    let zh = world.get(&format!("{address}&lang=zh")).await.text;
    assert!(zh.contains("其调度没有触发") && !zh.contains("has no fires"), "{zh}");
}

#[tokio::test]
async fn backfill_is_shown_again_if_its_effects_have_changed() {
    let world = World::with_jobs().await;
    let narrow = world.get(&format!("{FORM}?{PERIOD}&items=0")).await.text;
    let wide = format!("{FORM}?{PERIOD}");
    let answer = world.post(&wide, &form_of(&narrow, &[("why", "test")])).await;
    assert_eq!(answer.status, StatusCode::CONFLICT);
    assert!(answer.text.contains("have changed"), "{}", answer.text);
    assert_eq!(world.job("report").await.backfills().count(), 0);
}

#[tokio::test]
async fn long_list_of_fires_is_shortened_and_names_are_escaped() {
    let world = World::with_jobs().await;
    let job = utf8_percent_encode(HOSTILE, NON_ALPHANUMERIC);
    let form = format!("/n/orders/jobs/{job}/backfills/request");
    let preview = world.get(&format!("{form}?from=2024-02-01&to=2024-03-01")).await.text;
    assert_eq!(faults(&preview), [""; 0]);
    assert!(preview.contains("29 runs: 29 fires of 1 item") && preview.contains("and 19 more"));
    let next = preview.split("<ul class=\"next\">").nth(1).unwrap().split("</ul>").next().unwrap();
    assert_eq!(next.matches("<time").count(), 10, "{next}");
    assert!(!preview.contains("<img"), "{preview}");
}

#[tokio::test]
async fn job_that_cannot_run_past_fires_says_why() {
    let world = World::empty().await;
    create(&world, 1).await;
    let job = JobName::new("job-000").unwrap();
    let stored = world.operations().config(&job).await.unwrap();
    let mut config = stored.config.unwrap();
    config.cron = Some("@after 5m".to_owned());
    let by = By::new("anna", "a delay").unwrap();
    world.operations().update_config(&config, stored.revision, &by).await.unwrap();
    let list = "n/orders/jobs/job-000/backfills";
    world.until(list, |page| page.contains("A backfill of this job is not possible")).await;
    let page = world.get(&format!("/{list}")).await.text;
    assert!(page.contains("with a fixed delay, the end of each run"), "{page}");
    assert!(!page.contains("backfills/request"), "{page}");
    let zh = world.get(&format!("/{list}?lang=zh")).await.text;
    assert!(zh.contains("固定延迟的作业") && !zh.contains("fixed delay"), "{zh}");
}

#[tokio::test]
async fn fires_of_a_job_without_a_zone_come_with_a_warning() {
    let world = World::empty().await;
    create(&world, 1).await;
    let job = JobName::new("job-000").unwrap();
    let stored = world.operations().config(&job).await.unwrap();
    let mut config = stored.config.unwrap();
    (config.cron, config.time_zone) = (Some("0 0 6 * * ?".to_owned()), None);
    let by = By::new("anna", "daily").unwrap();
    world.operations().update_config(&config, stored.revision, &by).await.unwrap();
    world.until("n/orders/jobs/job-000/configuration", |page| page.contains("0 0 6 * * ?")).await;
    let form = format!("/n/orders/jobs/job-000/backfills/request?{PERIOD}");
    let preview = world.get(&form).await.text;
    assert_eq!(faults(&preview), [""; 0]);
    assert!(preview.contains("the job has no time_zone"), "{preview}");
    let zh = world.get(&format!("{form}&lang=zh")).await.text;
    assert!(zh.contains("作业没有 time_zone") && !zh.contains("the job has no"), "{zh}");
}
