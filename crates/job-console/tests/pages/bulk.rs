//! One action on all jobs that match the filters of the list.

use axum::http::StatusCode;
use coordination::ServerState;

use super::markup::faults;
use super::world::World;

const PAUSE: &str = "/n/orders/act/pause?q=e&server=10.0.0.1";

fn digest_of(page: &str) -> &str {
    page.split("name=\"digest\" value=\"").nth(1).unwrap().split('"').next().unwrap()
}

async fn is_paused(world: &World, job: &str) -> bool {
    let job = world.job(job).await;
    job.view().servers().all(|(_, state)| state == ServerState::Paused)
}

#[tokio::test]
async fn action_on_all_matching_jobs_is_shown_then_performed_and_recorded() {
    let world = World::with_jobs().await;
    let list = world.get("/n/orders/jobs?q=e&server=10.0.0.1&sort=status&page=1").await.text;
    assert!(list.contains("act/pause?q=e&amp;server=10.0.0.1\""), "{list}");
    let preview = world.get(PAUSE).await.text;
    assert_eq!(faults(&preview), [""; 0]);
    for expected in ["3 jobs would change", "0 are left alone", "server 10.0.0.2"] {
        assert!(preview.contains(expected), "{expected}: {preview}");
    }
    assert!(!is_paused(&world, "report").await);

    let form = format!("digest={}&why=data+repair", digest_of(&preview));
    let answer = world.post(PAUSE, &form).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    let location = answer.headers["location"].to_str().unwrap();
    let outcome = location.strip_prefix("../../..").unwrap();
    assert!(outcome.starts_with("/n/orders/outcome?act=pause&who=console&from="), "{outcome}");
    world.until(&outcome[1..], |page| page.matches(">changed<").count() == 3).await;
    let page = world.get(outcome).await.text;
    assert_eq!(faults(&page), [""; 0]);
    for expected in ["3 in all", "data repair", "server 10.0.0.1", "jobs/wide\">wide</a>"] {
        assert!(page.contains(expected), "{expected}: {page}");
    }
    assert!(is_paused(&world, "report").await && is_paused(&world, "wide").await);
    let record = world.job("wide").await;
    let record = record.audit().next_back().unwrap();
    assert_eq!((&*record.who, &*record.why, &*record.act), ("console", "data repair", "pause"));
}

#[tokio::test]
async fn changed_set_of_jobs_is_shown_again_instead_of_changed() {
    let world = World::with_jobs().await;
    let other = world.get("/n/orders/act/pause?q=report").await.text;
    let form = format!("digest={}&why=repair", digest_of(&other));
    let answer = world.post(PAUSE, &form).await;
    assert_eq!(answer.status, StatusCode::CONFLICT);
    assert!(answer.text.contains("Other jobs match the filters by now"), "{}", answer.text);
    assert_eq!(faults(&answer.text), [""; 0]);
    for form in ["why=repair".to_owned(), format!("digest={}&why=", digest_of(&answer.text))] {
        let answer = world.post(PAUSE, &form).await;
        assert!(answer.status.is_client_error(), "{form}");
    }
    assert!(!is_paused(&world, "report").await);
}

#[tokio::test]
async fn outcome_of_requests_to_run_shows_the_progress_of_each_job() {
    let world = World::with_jobs().await;
    let preview = world.get("/n/orders/act/run?q=report").await.text;
    let form = format!("digest={}&why=data+repair", digest_of(&preview));
    let answer = world.post("/n/orders/act/run?q=report", &form).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    let outcome = answer.headers["location"].to_str().unwrap().strip_prefix("../../../").unwrap();
    world.until(outcome, |page| page.contains("0 waiting · 0 running")).await;
    let page = world.get(&format!("/{outcome}")).await.text;
    assert!(page.contains("jobs/report?request=op-"), "{page}");
    for (address, fault) in [
        ("/n/orders/outcome", "who is missing; valid is the address"),
        ("/n/orders/outcome?who=a&act=b&from=c&until=d", "from is &quot;c&quot;; valid is a UTC"),
    ] {
        let answer = world.get(address).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST);
        assert!(answer.text.contains(fault), "{}", answer.text);
    }
}

#[tokio::test]
async fn filters_without_a_job_offer_no_change() {
    let world = World::with_jobs().await;
    let page = world.get("/n/orders/act/disable?q=nope").await.text;
    assert!(page.contains("No job matches the filters."), "{page}");
    assert!(!page.contains("name=\"why\""));
    let page = world.get("/n/orders/act/resume").await.text;
    assert!(page.contains("<b>0 jobs would change</b>, 3 are left alone"), "{page}");
    assert!(!page.contains("name=\"why\""));
}
