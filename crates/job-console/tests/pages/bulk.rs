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
    assert_eq!(location, "../../../n/orders/jobs?q=e&server=10.0.0.1&changed=6");
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
async fn filters_without_a_job_offer_no_change() {
    let world = World::with_jobs().await;
    let page = world.get("/n/orders/act/disable?q=nope").await.text;
    assert!(page.contains("No job matches the filters."), "{page}");
    assert!(!page.contains("name=\"why\""));
    let page = world.get("/n/orders/act/resume").await.text;
    assert!(page.contains("<b>0 jobs would change</b>, 3 are left alone"), "{page}");
    assert!(!page.contains("name=\"why\""));
}
