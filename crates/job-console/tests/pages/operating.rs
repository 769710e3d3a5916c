//! Operations by forms: preview, reason, record, result.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use coordination::ServerState;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::markup::faults;
use super::world::{HOSTILE, World};

#[tokio::test]
async fn operation_shows_its_effect_then_is_performed_and_recorded() {
    let world = World::with_jobs().await;
    let form = world.get("/n/orders/jobs/report/act/pause").await.text;
    assert_eq!(faults(&form), [""; 0]);
    for expected in ["server 10.0.0.1", "server 10.0.0.2", "Recorded as console.", "required"] {
        assert!(form.contains(expected), "{expected}: {form}");
    }
    // The preview has changed nothing.
    let before = world.job("report").await;
    assert!(before.view().servers().all(|(_, state)| state == ServerState::Enabled));

    let answer = world.post("/n/orders/jobs/report/act/pause", "why=data+repair").await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    let location = answer.headers["location"].to_str().unwrap();
    assert_eq!(location, "../../../../../n/orders/jobs/report?did=pause&changed=2");
    let after = world.job("report").await;
    assert!(after.view().servers().all(|(_, state)| state == ServerState::Paused));
    let record = after.audit().next_back().unwrap();
    assert_eq!((&*record.who, &*record.why, &*record.act), ("console", "data repair", "pause"));

    let is_shown = |page: &str| page.contains("All 2 servers are paused by console");
    world.until("n/orders/jobs/report?did=pause&changed=2", is_shown).await;
    let page = world.get("/n/orders/jobs/report?did=pause&changed=2").await.text;
    assert!(
        page.contains("<b>Pause</b>: Done: 2 changes are written.") && page.contains("act/resume")
    );
}

#[tokio::test]
async fn requested_runs_are_followed_until_their_outcome() {
    let world = World::with_jobs().await;
    world.post("/n/orders/jobs/report/act/pause", "why=hold+the+runs").await;
    let answer = world.post("/n/orders/jobs/report/act/run", "why=new+figures").await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    let location = answer.headers["location"].to_str().unwrap().trim_start_matches("../");
    let record = world.job("report").await.audit().next_back().unwrap().clone();
    assert_eq!(location, format!("n/orders/jobs/report?request={}", record.id));
    let waiting = "2 waiting · 0 running · 0 succeeded · 0 did not succeed";
    world.until(location, |page| page.contains(waiting)).await;
    let page = world.get(&format!("/{location}")).await.text;
    assert_eq!(faults(&page), [""; 0]);
    assert!(page.contains("by console") && page.contains("new figures"), "{page}");

    world.post("/n/orders/jobs/report/act/resume", "why=go+on").await;
    let over = "0 waiting · 0 running · 2 succeeded · 0 did not succeed";
    world.until(location, |page| page.contains(over)).await;
    let old = world.get("/n/orders/jobs/report?request=0").await.text;
    assert!(old.contains("This request is no longer recorded"), "{old}");
}

#[tokio::test]
async fn rerun_leads_to_its_items() {
    let world = World::with_jobs().await;
    let job = utf8_percent_encode(HOSTILE, NON_ALPHANUMERIC);
    let rerun = format!("/n/orders/jobs/{job}/act/rerun");
    assert!(world.get(&rerun).await.text.contains("item 0"));
    let answer = world.post(&rerun, "why=try+again").await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    let location = answer.headers["location"].to_str().unwrap().trim_start_matches("../");
    let record = world.job(HOSTILE).await.audit().next_back().unwrap().clone();
    assert_eq!(location, format!("n/orders/jobs/{job}?request={}", record.id));
    assert_eq!(&*record.target, "item 0");
}

#[tokio::test]
async fn cancel_of_no_run_says_so_and_asks_for_no_reason() {
    let world = World::with_jobs().await;
    let cancel = "/n/orders/jobs/report/act/cancel";
    let page = world.get(cancel).await.text;
    assert_eq!(faults(&page), [""; 0]);
    assert!(
        page.contains("Cancel runs: report") && page.contains("no run is unfinished"),
        "{page}"
    );
    assert!(!page.contains("name=\"why\""), "{page}");
    let job = world.get("/n/orders/jobs/report").await.text;
    assert!(job.contains("act/cancel"), "{job}");
}

#[tokio::test]
async fn enabling_after_a_drain_puts_the_pause_back_and_says_so() {
    let world = World::with_jobs().await;
    let pause = "/n/orders/jobs/report/act/pause?server=10.0.0.1";
    world.post(pause, "why=the+provider+changes").await;
    let server = "n/orders/servers/10.0.0.1";
    let held = "by console";
    world.until(server, |page| page.contains(held) && page.contains("the provider changes")).await;
    let drain = world.get("/n/orders/servers/10.0.0.1/act/drain").await.text;
    assert_eq!(faults(&drain), [""; 0]);
    for expected in ["1 pause is replaced.", "puts the pause back", "report · 10.0.0.1"] {
        assert!(drain.contains(expected), "{expected}: {drain}");
    }

    let answer = world.post("/n/orders/servers/10.0.0.1/act/drain", "why=new+disk").await;
    assert!(answer.headers["location"].to_str().unwrap().ends_with("?did=drain&changed=3"));
    let is_drained = |page: &str| {
        page.contains("Last operation: <b>Drain</b> for all 3 jobs by console")
            && page.contains("The drain is complete: no item runs here.")
    };
    world.until(server, is_drained).await;
    let page = world.get(&format!("/{server}?did=drain&changed=3")).await.text;
    assert!(page.contains("<b>Drain</b>: Done: 3 changes are written."), "{page}");
    assert!(page.contains("new disk") && !page.contains("the provider changes"), "{page}");
    let enable = world.get("/n/orders/servers/10.0.0.1/act/enable").await.text;
    assert_eq!(faults(&enable), [""; 0]);
    for expected in ["1 server is paused again, and starts nothing.", "paused again: the pause by"]
    {
        assert!(enable.contains(expected), "{expected}: {enable}");
    }

    world.post("/n/orders/servers/10.0.0.1/act/enable", "why=the+disk+works").await;
    let is_paused = |page: &str| page.contains("Last operation: <b>Pause</b> for the job");
    world.until(server, is_paused).await;
    let page = world.get(&format!("/{server}")).await.text;
    let named = page.split("for the job").nth(1).unwrap().split("by console").next().unwrap();
    assert!(named.contains("jobs/report\">report</a>"), "{named}");
    assert!(page.contains("the provider changes"), "{page}");
    let list = world.get("/n/orders/servers").await.text;
    assert_eq!(faults(&list), [""; 0]);
    for expected in ["held back for 1 of 3 jobs", ">Running items<", ">Paused for<"] {
        assert!(list.contains(expected), "{expected}: {list}");
    }
    let zh = world.get(&format!("/{server}?lang=zh")).await.text;
    assert!(zh.contains("，作业：") && zh.contains("3 个作业中有 1 个被暂停或禁用"), "{zh}");
}

#[tokio::test]
async fn pause_of_some_servers_is_shown_as_partly_paused() {
    let world = World::with_jobs().await;
    world.post("/n/orders/jobs/report/act/pause?server=10.0.0.1", "why=first").await;
    let job = "n/orders/jobs/report";
    world.until(job, |page| page.contains("1 of 2 servers is paused by console")).await;
    let page = world.get(&format!("/{job}")).await.text;
    for expected in ["partly paused", "Why is it partly paused?", "Their item does not start"] {
        assert!(page.contains(expected), "{expected}: {page}");
    }
    world.until("n/orders/jobs?status=PARTLY_PAUSED", |page| page.contains("jobs/report\"")).await;

    // Each pause is shown with its own servers.
    world.post("/n/orders/jobs/report/act/pause?server=10.0.0.2", "why=second").await;
    world.until(job, |page| page.contains("All 2 servers are paused: 10.0.0.1 by console")).await;
    let page = world.get(&format!("/{job}")).await.text;
    assert!(page.contains("first; 10.0.0.2 by console") && page.contains("second."), "{page}");
    assert!(!page.contains("partly paused"), "{page}");
}

#[tokio::test]
async fn operation_without_a_reason_changes_nothing() {
    let world = World::with_jobs().await;
    for form in ["", "why=", "why=+++"] {
        let answer = world.post("/n/orders/jobs/report/act/disable", form).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{form}");
        assert!(answer.text.contains("why is blank"), "{form}: {}", answer.text);
    }
    let job = world.job("report").await;
    assert!(job.view().servers().all(|(_, state)| state == ServerState::Enabled));
}

#[tokio::test]
async fn body_that_is_no_form_is_a_problem_with_a_page() {
    let world = World::with_jobs().await;
    for path in [
        "/preferences",
        "/n/orders/jobs/report/act/pause",
        "/n/orders/jobs/report/silence?expectation=late_after",
        "/n/orders/jobs/report/configuration/edit",
        "/n/orders/transfer",
    ] {
        let request = Request::post(path).header("accept", "text/html");
        let request = request.header("content-type", "text/plain").body(Body::from("why=x"));
        let answer = world.send(request.unwrap()).await;
        assert_eq!(answer.status, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{path}: {}", answer.text);
        assert!(answer.text.contains("the form cannot be read: "), "{path}: {}", answer.text);
        assert_eq!(faults(&answer.text), [""; 0], "{path}");
    }
}

#[tokio::test]
async fn removal_needs_the_name() {
    let world = World::with_jobs().await;
    let server = "/n/orders/servers/10.0.0.1/act/remove";
    let answer = world.post(server, "why=gone&name=10.0.0.2").await;
    assert_eq!(answer.status, StatusCode::CONFLICT);
    let expected = "name is &quot;10.0.0.2&quot;; valid is &quot;10.0.0.1&quot;";
    assert!(answer.text.contains(expected), "{}", answer.text);
    let job = "/n/orders/jobs/report/act/remove";
    assert_eq!(world.post(job, "why=gone&name=other").await.status, StatusCode::CONFLICT);
    // Live instances prevent the removal unless they are to be shut down.
    let answer = world.post(job, "why=gone&name=report").await;
    assert!(answer.text.contains("instances of job report are alive"), "{}", answer.text);
    let answer = world.post(job, "why=gone&name=report&alive=yes").await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    world.until("n/orders/jobs", |page| !page.contains("id=\"j-report\"")).await;
}

#[tokio::test]
async fn result_without_changes_says_why() {
    let world = World::with_jobs().await;
    let answer = world.post("/n/orders/jobs/report/act/resume", "why=over").await;
    assert_eq!(answer.status, StatusCode::OK);
    assert!(answer.text.contains("Nothing changes."), "{}", answer.text);
    assert!(answer.text.contains("it is enabled already"), "{}", answer.text);
}

#[tokio::test]
async fn operation_on_old_data_has_to_be_confirmed() {
    let world = World::with_jobs().await;
    world.center.suspend(super::world::DEADLINE);
    world.until("n/orders", |page| page.contains("The registry does not answer.")).await;
    let form = world.get("/n/orders/jobs/report/act/pause").await.text;
    assert!(form.contains("I know that this page shows old data"));
    let answer = world.post("/n/orders/jobs/report/act/pause", "why=repair").await;
    assert_eq!(answer.status, StatusCode::CONFLICT);
    assert!(answer.text.contains("no contact with the registry"));
    // The confirmation is accepted, and the next check refuses the request.
    let answer = world.post("/n/orders/jobs/report/act/pause", "why=&stale=yes").await;
    assert!(answer.text.contains("why is blank"), "{}", answer.text);
    world.center.resume();
    world.until("n/orders", |page| !page.contains("The registry does not answer.")).await;
    let answer = world.post("/n/orders/jobs/report/act/pause", "why=repair").await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn preferences_are_stored_and_lead_back_into_the_console_only() {
    let world = World::empty().await;
    let answer = world.post("/preferences", "back=n%2Forders%2Fjobs&theme=dark&lang=zh").await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    assert_eq!(answer.headers["location"], "./n/orders/jobs");
    let cookies: Vec<_> = answer.headers.get_all("set-cookie").iter().collect();
    assert_eq!(cookies.len(), 2, "{cookies:?}");
    let answer = world.post("/preferences", "back=%2F%2Fevil.example&theme=dark").await;
    assert_eq!(answer.headers["location"], "./");
    let answer = world.post("/preferences", "theme=purple").await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn palette_offers_operations_on_the_found_job_and_server() {
    let world = World::with_jobs().await;
    let found = world.get("/n/orders/find?q=repo&root=../").await.text;
    for word in ["run", "rerun", "pause", "resume", "enable"] {
        let link = format!("href=\"../n/orders/jobs/report/act/{word}\"");
        assert!(found.contains(&link), "{word}: {found}");
    }
    let found = world.get("/n/orders/find?q=0.0.2&root=./").await.text;
    assert!(found.contains("href=\"./n/orders/servers/10.0.0.2/act/drain\""), "{found}");
    let all = world.get("/n/orders/find?q=&root=./").await.text;
    assert!(all.contains("jobs/report\"") && !all.contains("/act/"), "{all}");
}

#[tokio::test]
async fn effects_of_an_operation_are_chinese_on_a_chinese_page() {
    let world = World::with_jobs().await;
    let page = world.get("/n/orders/servers/10.0.0.1/act/drain?lang=zh").await.text;
    assert_eq!(faults(&page), [""; 0]);
    assert!(page.contains("服务器 10.0.0.1") && page.contains("禁用；之前为启用"), "{page}");
    assert!(!page.contains("it was enabled"), "{page}");
    let edit = world.get("/n/orders/jobs/report/configuration/edit?lang=zh").await.text;
    let sub = edit.split("<p class=\"sub\">").nth(1).unwrap().split("</p>").next().unwrap();
    assert!(sub.starts_with("修订") && sub.contains("。") && !sub.contains('.'), "{sub}");
}

#[tokio::test]
async fn operation_without_effect_asks_for_no_reason() {
    let world = World::with_jobs().await;
    let resume = world.get("/n/orders/jobs/report/act/resume").await.text;
    assert_eq!(faults(&resume), [""; 0]);
    assert!(resume.contains("Nothing changes.") && resume.contains("data-close>Back"), "{resume}");
    assert!(!resume.contains("act-why"), "{resume}");
}

#[tokio::test]
async fn paused_job_lists_no_next_fires_and_removal_stands_apart() {
    let world = World::with_jobs().await;
    let job = "n/orders/jobs/report";
    let page = world.get(&format!("/{job}")).await.text;
    assert!(
        page.contains("<li class=\"apart\"><a href=\"../../../n/orders/jobs/report/act/shut-down"),
        "{page}"
    );
    world.post("/n/orders/jobs/report/act/pause", "why=hold").await;
    world.until(job, |page| page.contains("No fire starts while all servers")).await;
}

#[tokio::test]
async fn one_instance_is_shut_down_from_the_placement_of_its_job() {
    let world = World::with_jobs().await;
    let before = world.job("report").await.instances();
    let [leaving, other] = before.iter().collect::<Vec<_>>()[..] else { panic!("{before:?}") };
    let id = utf8_percent_encode(leaving.as_str(), NON_ALPHANUMERIC).to_string();
    let placement = world.get("/n/orders/jobs/report/placement").await.text;
    assert_eq!(faults(&placement), [""; 0]);
    assert_eq!(placement.matches("act/shut-down?instance=").count(), 2, "{placement}");

    let act = format!("/n/orders/jobs/report/act/shut-down?instance={id}");
    let form = world.get(&act).await.text;
    assert_eq!(faults(&form), [""; 0]);
    assert!(form.contains(&format!("instance {leaving}")), "{form}");
    assert!(!form.contains(other.as_str()), "{form}");
    let answer = world.post(&act, "why=").await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{}", answer.text);
    assert_eq!(world.job("report").await.instances(), before);

    let answer = world.post(&act, "why=it+leaks").await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    let location = answer.headers["location"].to_str().unwrap().trim_start_matches("../");
    assert_eq!(location, "n/orders/jobs/report/placement?did=shut-down&changed=1");
    let job = world.job("report").await;
    let record = job.audit().next_back().unwrap();
    assert_eq!((&*record.who, &*record.why, &*record.act), ("console", "it leaks", "shutdown"));
    assert!(job.view().is_registered(other));
    world.until(location, |page| page.matches("act/shut-down?instance=").count() == 1).await;
    let page = world.get(&format!("/{location}")).await.text;
    assert_eq!(faults(&page), [""; 0]);
    assert!(page.contains("<b>Shut down</b>: Done: 1 change is written."), "{page}");
    let again = world.get(&act).await;
    assert_eq!(again.status, StatusCode::NOT_FOUND, "{}", again.text);
    assert!(again.text.contains(other.as_str()), "{}", again.text);
}

#[tokio::test]
async fn one_job_leaves_a_server_and_forgets_it() {
    let world = World::with_jobs().await;
    let server = "n/orders/servers/10.0.0.1";
    let link = |word: &str| format!("jobs/report/act/{word}?server=10.0.0.1\" data-dialog");
    let page = world.get(&format!("/{server}")).await.text;
    assert!(page.contains(&link("shut-down")) && page.contains(&link("remove")), "{page}");
    let shut_down = "/n/orders/jobs/report/act/shut-down?server=10.0.0.1";
    let answer = world.post(shut_down, "why=it+leaks").await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    world.until(server, |page| !page.contains(&link("shut-down"))).await;
    let page = world.get(&format!("/{server}")).await.text;
    assert!(page.contains(&link("remove")), "the record is left: {page}");
    assert!(page.contains("jobs/wide/act/shut-down?server=10.0.0.1\""), "{page}");

    let remove = "/n/orders/jobs/report/act/remove?server=10.0.0.1";
    let answer = world.post(remove, "why=gone&name=10.0.0.1").await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    world.until(server, |page| !page.contains("jobs/report/act/")).await;
    let job = world.job("report").await;
    let left: Vec<_> = job.view().servers().map(|(ip, _)| ip.to_string()).collect();
    assert_eq!(left, ["10.0.0.2"]);
    assert!(world.job("wide").await.view().servers().count() == 2);
}

#[tokio::test]
async fn one_job_is_drained_on_a_server() {
    let world = World::with_jobs().await;
    let server = "n/orders/servers/10.0.0.1";
    let page = world.get(&format!("/{server}")).await.text;
    assert!(page.contains("jobs/report/act/drain?server=10.0.0.1"), "{page}");
    let act = "/n/orders/jobs/report/act/drain?server=10.0.0.1";
    let form = world.get(act).await.text;
    assert_eq!(faults(&form), [""; 0]);
    assert!(form.contains("server 10.0.0.1") && !form.contains("server 10.0.0.2"), "{form}");
    let answer = world.post(act, "why=new+disk").await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    let location = answer.headers["location"].to_str().unwrap().trim_start_matches("../");
    assert_eq!(location, format!("{server}?did=drain&changed=1"));
    let record = world.job("report").await.audit().next_back().unwrap().clone();
    assert_eq!((&*record.why, &*record.act), ("new disk", "drain"));
    let wide = world.job("wide").await;
    assert!(wide.view().servers().all(|(_, state)| state == ServerState::Enabled));
    let missing = world.get("/n/orders/jobs/report/act/drain").await;
    assert_eq!(missing.status, StatusCode::BAD_REQUEST, "{}", missing.text);
    assert!(missing.text.contains("server is missing"), "{}", missing.text);
}
