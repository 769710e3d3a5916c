//! Changes: their effects, reports and conditions.

use axum::http::Method;
use serde_json::{Value, json};

use crate::support::{BASE, Got, Site};

async fn post(site: &Site, path: &str, body: Value) -> Got {
    site.post(&format!("{BASE}/{path}"), &body.to_string()).await
}

fn done(got: &Got) -> Vec<(String, String)> {
    let text = |entry: &Value, name: &str| entry[name].as_str().unwrap().to_owned();
    let done = got.body["report"]["done"].as_array().unwrap();
    done.iter().map(|entry| (text(entry, "job"), text(entry, "target"))).collect()
}

#[tokio::test]
async fn server_states_change_for_a_job_a_server_or_both() {
    let site = Site::empty().await;
    site.add_idle(&["a", "b"]).await;
    let server = "server 10.0.0.1";
    for (path, jobs) in [
        ("jobs/a/pause", &["a"][..]),
        ("jobs/a/resume", &["a"]),
        ("jobs/a/disable", &["a"]),
        ("jobs/a/enable", &["a"]),
        ("servers/10.0.0.1/pause", &["a", "b"]),
        ("servers/10.0.0.1/resume", &["a", "b"]),
        ("servers/10.0.0.1/disable", &["a", "b"]),
        ("servers/10.0.0.1/enable", &["a", "b"]),
        ("jobs/b/servers/10.0.0.1/pause", &["b"]),
        ("jobs/b/servers/10.0.0.1/resume", &["b"]),
        ("jobs/b/servers/10.0.0.1/disable", &["b"]),
        ("jobs/b/servers/10.0.0.1/enable", &["b"]),
        ("jobs/b/servers/10.0.0.1/removal", &["b"]),
        ("servers/10.0.0.1/removal", &["a"]),
    ] {
        let got = post(&site, path, json!({ "reason": "test" })).await.ok();
        let expected: Vec<_> =
            jobs.iter().map(|job| ((*job).to_owned(), server.to_owned())).collect();
        assert_eq!(done(&got), expected, "{path}");
        let record = &got.body["report"]["records"][0];
        assert_eq!((&record["who"], &record["why"]), (&"console".into(), &"test".into()), "{path}");
    }
}

#[tokio::test]
async fn servers_that_match_are_removed_after_a_dry_run() {
    let site = Site::empty().await;
    site.add_idle(&["a", "b"]).await;
    let expected =
        [("a", "server 10.0.0.1"), ("b", "server 10.0.0.1")].map(|(a, b)| (a.into(), b.into()));
    let dry = json!({ "servers": "10.0.*", "dry_run": true });
    for _ in 0..2 {
        let got = post(&site, "servers/removal", dry.clone()).await.ok();
        assert_eq!(done(&got), expected, "a dry run changes nothing");
        assert_eq!(got.body["report"]["records"], json!([]));
    }
    let unsigned = json!({ "servers": "10.0.*" });
    post(&site, "servers/removal", unsigned).await.problem(400, "invalid-reason");
    let remove = json!({ "servers": "10.0.*", "reason": "test" });
    let got = post(&site, "servers/removal", remove.clone()).await.ok();
    assert_eq!(done(&got), expected);
    assert_eq!(got.body["report"]["records"][0]["why"], "test");
    post(&site, "servers/removal", remove).await.problem(404, "no-such-server");
    let bad = json!({ "servers": "host-*", "reason": "test" });
    let got = post(&site, "servers/removal", bad).await;
    let detail = "servers is \"host-*\"; valid is an IP address such as 10.0.0.7, or a pattern such \
                  as 10.0.*";
    assert_eq!(got.problem(400, "invalid-request"), detail);
}

#[tokio::test]
async fn instances_are_shut_down() {
    let site = Site::populated().await;
    let reason = json!({ "reason": "test" });
    let path = "jobs/java-2/instances/10.0.0.7@-@7/shutdown";
    post(&site, path, reason.clone()).await.problem(404, "no-such-target");
    let target = ("java-2".to_owned(), "instance 10.0.0.9@-@7".to_owned());
    let path = "jobs/java-2/instances/10.0.0.9@-@7/shutdown";
    assert_eq!(done(&post(&site, path, reason.clone()).await.ok()), [target]);
    let target = ("java-3".to_owned(), "instance 10.0.0.9@-@7".to_owned());
    let path = "servers/10.0.0.9/shutdown";
    assert_eq!(done(&post(&site, path, reason.clone()).await.ok()), [target]);
    let got = post(&site, "jobs/java-3/servers/10.0.0.9/shutdown", reason.clone()).await.ok();
    assert_eq!(done(&got), [], "no instance is left");
    let got = post(&site, "jobs/report/shutdown", reason).await.ok();
    assert_eq!(done(&got).len(), 1);
}

#[tokio::test]
async fn runs_and_items_are_changed() {
    let site = Site::populated().await;
    let got = post(&site, "jobs/report/rerun-failed", json!({ "reason": "test" })).await.ok();
    assert_eq!(got.body["request"]["items"], json!([1]));
    let body = json!({ "items": [0], "parameter": "2024-02", "reason": "test" });
    let got = post(&site, "jobs/report/run", body).await.ok();
    assert_eq!(got.body["request"]["items"], json!([0]));
    let body = json!({ "items": [0, 1], "reason": "test" });
    let got = post(&site, "jobs/report/items/disable", body.clone()).await.ok();
    assert_eq!(done(&got).len(), 2);
    let path = format!("{BASE}/jobs/report/items/0");
    site.until(&path, |got| got.body["status"] == "DISABLED").await;
    assert_eq!(done(&post(&site, "jobs/report/items/enable", body).await.ok()).len(), 2);
    let body = json!({ "items": [2], "reason": "test" });
    post(&site, "jobs/report/items/disable", body).await.problem(404, "no-such-target");
}

#[tokio::test]
async fn runs_are_cancelled_after_a_preview() {
    let site = Site::populated().await;
    let path = "jobs/long/cancel";
    let preview = post(&site, path, json!({ "all": true, "dry_run": true })).await.ok();
    let targets = done(&preview);
    assert!(!targets.is_empty(), "{}", preview.body);
    let body = json!({ "all": true, "reason": "wrong month" });
    let got = post(&site, path, body.clone()).await.ok();
    assert_eq!(done(&got), targets);
    assert_eq!(got.body["report"]["records"][0]["act"], "cancel");
    for (body, found) in [
        (json!({ "reason": "test" }), "items is absent, fire is absent and all is false"),
        (
            json!({ "items": [0], "all": true, "reason": "test" }),
            "items is given, fire is absent and all is true",
        ),
    ] {
        let detail = post(&site, path, body).await;
        let detail = detail.problem(400, "invalid-request");
        assert!(detail.starts_with(found), "{detail}");
    }
    let body = json!({ "items": [99], "reason": "test" });
    post(&site, path, body).await.problem(404, "no-such-target");
    let body = json!({ "fire": "2024-02-29T12:00:00Z", "reason": "test" });
    let got = post(&site, path, body).await.ok();
    assert_eq!(got.body["report"]["left"][0]["target"], "job", "{}", got.body);
}

#[tokio::test]
async fn past_fires_run_again_after_a_preview() {
    let site = Site::populated().await;
    let path = "jobs/report/backfills";
    let configuration = format!("{BASE}/jobs/report/configuration");
    let tag = site.get(&configuration).await.ok().header("etag").unwrap().to_owned();
    let body = json!({ "fields": { "cron": "0 0 6 * * ?" }, "reason": "test" }).to_string();
    site.change(Method::PUT, &configuration, &[("if-match", &*tag)], &body).await.ok();

    let period = json!({ "from": "2024-02-01T00:00:00Z", "to": "2024-02-03T00:00:00Z" });
    let with = |more: Value| {
        let mut body = period.clone();
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let preview = post(&site, path, with(json!({ "dry_run": true }))).await.ok();
    assert_eq!(preview.body["fires"].as_array().unwrap().len(), 2, "{}", preview.body);
    let warning = preview.body["warning"].as_str().unwrap();
    assert!(warning.starts_with("the job has no time_zone"), "{warning}");
    assert_eq!(site.get(&format!("{BASE}/{path}")).await.ok().body, json!([]));
    let got = post(&site, path, with(json!({ "items": [0], "reason": "test" }))).await.ok();
    assert_eq!(got.body["report"]["records"][0]["act"], "backfill", "{}", got.body);
    let id = got.body["id"].as_str().unwrap().to_owned();
    let ended = |got: &Got| got.body[0]["state"] == "done" && got.body[0]["id"] == *id;
    site.until(&format!("{BASE}/{path}"), ended).await;

    let cancel = format!("{path}/{id}/cancel");
    let left = post(&site, &cancel, json!({ "dry_run": true })).await.ok();
    assert_eq!(left.body["report"]["left"][0]["what"], "it has ended", "{}", left.body);
    let unknown = format!("{path}/b/cancel");
    post(&site, &unknown, json!({ "reason": "test" })).await.problem(404, "no-such-target");
    let detail = post(&site, path, with(json!({ "concurrency": 17, "reason": "test" }))).await;
    let detail = detail.problem(422, "invalid-backfill");
    assert!(detail.starts_with("concurrency is 17; valid is"), "{detail}");
    post(&site, path, with(json!({}))).await.problem(400, "invalid-reason");
}

#[tokio::test]
async fn states_of_requested_runs_are_returned_after_a_wait() {
    let site = Site::populated().await;
    let body = json!({ "wait_seconds": 60, "reason": "test" });
    let got = post(&site, "jobs/report/run", body.clone()).await.ok();
    assert_eq!(got.body["runs"]["0"], json!({ "state": "ended", "outcome": "succeeded" }));
    let failed = &got.body["runs"]["1"];
    assert_eq!((&failed["state"], &failed["outcome"]), (&json!("ended"), &json!("failed")));
    let got = post(&site, "jobs/report/rerun-failed", body).await.ok();
    assert_eq!(got.body["runs"].as_object().unwrap().keys().collect::<Vec<_>>(), ["1"]);
    // The runs of this job do not end.
    let body = json!({ "items": [0], "wait_seconds": 1, "reason": "test" });
    let got = post(&site, "jobs/long/run", body).await.ok();
    assert_eq!(got.body["runs"]["0"]["state"], "waiting", "the item is busy");
    let body = json!({ "reason": "test" });
    assert_eq!(post(&site, "jobs/report/run", body).await.ok().body["runs"], json!(null));
    let body = json!({ "wait_seconds": 601, "reason": "test" });
    let detail = post(&site, "jobs/report/run", body).await;
    assert_eq!(detail.problem(400, "invalid-request"), "wait_seconds is 601; valid is 0 to 600");
}

#[tokio::test]
async fn drain_lists_the_items_that_still_run() {
    let site = Site::populated().await;
    let path = "jobs/long/servers/10.0.0.1/drain";
    let body = json!({ "mode": "pause", "wait_seconds": 601, "reason": "test" });
    let detail = post(&site, path, body).await;
    assert_eq!(detail.problem(400, "invalid-request"), "wait_seconds is 601; valid is 0 to 600");
    let body = json!({ "mode": "pause", "wait_seconds": 0, "reason": "test" });
    let got = post(&site, path, body).await.ok();
    assert_eq!(got.body["complete"], false);
    site.release.notify_waiters();
    let body = json!({ "mode": "pause", "wait_seconds": 60, "reason": "test" });
    let got = post(&site, path, body).await.ok();
    assert_eq!((&got.body["complete"], &got.body["running"]), (&json!(true), &json!([])));
}

#[tokio::test]
async fn server_is_drained_of_all_its_jobs() {
    let site = Site::populated().await;
    let path = "servers/10.0.0.1/drain";
    let body = json!({ "wait_seconds": 0, "reason": "test" });
    let got = post(&site, path, body).await.ok();
    let server = "server 10.0.0.1".to_owned();
    assert_eq!(
        done(&got),
        [("long".to_owned(), server.clone()), ("report".to_owned(), server)],
        "{}",
        got.body
    );
    assert_eq!(got.body["report"]["records"][0]["act"], "drain");
    let complete = |got: &Got| -> Vec<bool> {
        let jobs = got.body["jobs"].as_array().unwrap();
        jobs.iter().map(|job| job["complete"].as_bool().unwrap()).collect()
    };
    assert!(!complete(&got)[0], "runs of the job long do not end by themselves: {}", got.body);
    site.release.notify_waiters();
    let body = json!({ "wait_seconds": 60, "reason": "test" });
    let got = post(&site, path, body.clone()).await.ok();
    assert_eq!(complete(&got), [true, true], "{}", got.body);
    post(&site, "servers/10.0.0.77/drain", body).await.problem(404, "no-such-server");
}

#[tokio::test]
async fn outcome_of_a_request_is_read_later() {
    let site = Site::populated().await;
    let got = post(&site, "jobs/report/run", json!({ "reason": "month end" })).await.ok();
    let id = got.body["request"]["id"].as_str().unwrap().to_owned();
    let path = format!("{BASE}/jobs/report/requests/{id}");
    let is_over = |got: &Got| {
        let items = got.body["items"].as_array().unwrap();
        items.iter().all(|item| item["progress"] == "succeeded" || item["progress"] == "failed")
    };
    let got = site.until(&path, is_over).await;
    let (first, second) = (&got.body["items"][0], &got.body["items"][1]);
    assert_eq!((&first["item"], &first["progress"]), (&json!(0), &json!("succeeded")));
    assert_eq!((&second["progress"], &second["outcome"]), (&json!("failed"), &json!("failed")));
    assert!(second["failure"].as_str().unwrap().contains("the disk is full"), "{}", got.body);
    assert_eq!((&got.body["why"], &got.body["incomplete"]), (&json!("month end"), &json!(false)));
    // Other audited changes are no requests.
    let pause = post(&site, "jobs/report/pause", json!({ "reason": "test" })).await.ok();
    let other = pause.body["report"]["records"][0]["id"].as_str().unwrap().to_owned();
    for id in [&*other, "nope"] {
        let got = site.get(&format!("{BASE}/jobs/report/requests/{id}")).await;
        let detail = got.problem(404, "no-such-request").to_owned();
        assert!(detail.contains(&format!("{id:?}")), "{detail}");
    }
}

#[tokio::test]
async fn dry_run_of_a_configuration_changes_nothing() {
    let site = Site::empty().await;
    site.add_idle(&["a"]).await;
    let path = format!("{BASE}/jobs/a/configuration");
    let restore = format!("{path}/restore");
    let tag = async || site.get(&path).await.ok().header("etag").unwrap().to_owned();
    let (before, writes) = (tag().await, site.counting.writes());
    let fields = json!({ "cron": "0 0 4 * * ?" });
    let dry = json!({ "fields": fields, "dry_run": true }).to_string();
    let put = async |tag: &str, body: &str| {
        site.change(Method::PUT, &path, &[("if-match", tag)], body).await
    };
    let got = put(&before, &dry).await.ok();
    assert_eq!(got.body["changes"][0]["field"], "cron");
    assert_eq!(got.body["report"]["records"], json!([]));
    assert_eq!((tag().await, site.counting.writes()), (before.clone(), writes));
    put("\"999\"", &dry).await.problem(412, "stale-configuration");
    let bad = json!({ "fields": { "cron": "every day" }, "dry_run": true }).to_string();
    put(&before, &bad).await.problem(422, "invalid-configuration");
    let unsigned = json!({ "fields": fields }).to_string();
    put(&before, &unsigned).await.problem(400, "invalid-reason");
    put(&before, &json!({ "fields": fields, "reason": "test" }).to_string()).await.ok();
    let is_written = |got: &Got| got.header("etag") != Some(&before);
    let after = site.until(&path, is_written).await.header("etag").unwrap().to_owned();
    let writes = site.counting.writes();
    let dry = json!({ "index": 1, "dry_run": true }).to_string();
    let got = site.change(Method::POST, &restore, &[("if-match", &after)], &dry).await.ok();
    assert_eq!(got.body["changes"][0]["field"], "cron");
    assert_eq!((tag().await, site.counting.writes()), (after, writes));
}

#[tokio::test]
async fn configuration_is_updated_under_its_revision_only() {
    let site = Site::empty().await;
    site.add_idle(&["a"]).await;
    let path = format!("{BASE}/jobs/a/configuration");
    let read = site.get(&path).await.ok();
    let tag = read.header("etag").unwrap().to_owned();
    assert_eq!(tag, format!("\"{}\"", read.body["revision"]));
    let body = json!({ "fields": { "cron": "0 0 4 * * ?" }, "reason": "test" }).to_string();
    let put = async |headers: &[(&str, &str)], body: &str| {
        site.change(Method::PUT, &path, headers, body).await
    };
    put(&[], &body).await.problem(428, "no-revision");
    put(&[("if-match", "17")], &body).await.problem(400, "invalid-request");
    put(&[("if-match", "\"999\"")], &body).await.problem(412, "stale-configuration");
    let same_document = read.body["document"].as_str().unwrap();
    for (fields, word) in [
        (json!({ "reason": "test" }), "fields and document"),
        (json!({ "fields": {}, "document": same_document, "reason": "test" }), "both given"),
    ] {
        let got = put(&[("if-match", &tag)], &fields.to_string()).await;
        assert!(got.problem(400, "invalid-request").contains(word));
    }
    let bad = json!({ "fields": { "cron": "every day" }, "reason": "test" }).to_string();
    let got = put(&[("if-match", &tag)], &bad).await;
    assert!(got.problem(422, "invalid-configuration").starts_with("cron is \"every day\""));
    let got = put(&[("if-match", &tag)], &body).await.ok();
    assert_eq!(got.body["changes"][0]["field"], "cron");
    put(&[("if-match", &tag)], &body).await.problem(412, "stale-configuration");
    let read = site.until(&path, |got| got.body["fields"]["cron"] == "0 0 4 * * ?").await;
    let document = json!({ "document": same_document, "reason": "back" }).to_string();
    let got = put(&[("if-match", read.header("etag").unwrap())], &document).await.ok();
    assert_eq!(got.body["changes"][0]["to"], "\"0 0 3 * * ?\"");
}

#[tokio::test]
async fn former_configuration_is_restored_under_the_revision_of_its_list() {
    let site = Site::empty().await;
    site.add_idle(&["a"]).await;
    let path = format!("{BASE}/jobs/a/configuration");
    let (list, restore) = (format!("{path}/former"), format!("{path}/restore"));
    let first = site.get(&list).await.ok();
    assert_eq!((first.rows().len(), &first.body["rows"]), (0, &json!([])));
    let mut tag = first.header("etag").unwrap().to_owned();
    for (hour, replaced) in [(4, 1), (5, 2)] {
        let cron = format!("0 0 {hour} * * ?");
        let body = json!({ "fields": { "cron": cron }, "reason": format!("hour {hour}") });
        let body = body.to_string();
        site.change(Method::PUT, &path, &[("if-match", &tag)], &body).await.ok();
        let got = site.until(&list, |got| got.rows().len() == replaced).await;
        tag = got.header("etag").unwrap().to_owned();
    }
    let got = site.get(&list).await.ok();
    assert_eq!(tag, format!("\"{}\"", got.body["revision"]));
    let shown: Vec<_> = got.rows().iter().map(|row| (&row["index"], &row["why"])).collect();
    assert_eq!(shown, [(&json!(1), &json!("hour 5")), (&json!(2), &json!("hour 4"))]);
    let change = json!([{
        "field": "cron", "from": "\"0 0 5 * * ?\"", "to": "\"0 0 3 * * ?\"",
    }]);
    assert_eq!((&got.rows()[1]["changes"], &got.rows()[1]["fault"]), (&change, &json!(null)));
    assert!(got.rows()[1]["document"].as_str().unwrap().contains("0 0 3"));
    let body = |index: u32| json!({ "index": index, "reason": "back" }).to_string();
    let post = async |tag: Option<&str>, index| {
        let headers: Vec<_> = tag.iter().map(|tag| ("if-match", *tag)).collect();
        site.change(Method::POST, &restore, &headers, &body(index)).await
    };
    post(None, 1).await.problem(428, "no-revision");
    for index in [0, 3] {
        let got = post(Some(&tag), index).await;
        let detail = got.problem(400, "invalid-request");
        assert_eq!(detail, format!("index is {index}; valid is 1 to 2"));
    }
    let old = first.header("etag").unwrap();
    post(Some(old), 2).await.problem(412, "stale-configuration");
    let got = post(Some(&tag), 2).await.ok();
    assert_eq!(got.body["changes"], change);
    let got = site.until(&list, |got| got.rows().len() == 3).await;
    assert_eq!((&got.rows()[0]["why"], &got.rows()[2]["changes"]), (&json!("back"), &json!([])));
    post(Some(&tag), 2).await.problem(412, "stale-configuration");
}

#[tokio::test]
async fn job_is_created_and_removed_with_confirmation() {
    let site = Site::empty().await;
    let path = format!("{BASE}/jobs/new");
    let body = json!({
        "template": "report", "dialect": "3.x", "reason": "test",
        "fields": { "sharding_total_count": 4, "cron": "0 0 3 * * ?" },
    });
    site.change(Method::PUT, &path, &[], &body.to_string()).await.ok();
    let got = site.change(Method::PUT, &path, &[], &body.to_string()).await;
    got.problem(409, "job-exists");
    let got = site.until(&path, |got| got.status.is_success()).await;
    assert_eq!(got.body["brief"]["dialect"], "3.x");
    let preview = site.get(&format!("{path}/removal")).await.ok();
    let confirmation = preview.body["confirmation"].as_str().unwrap();
    let body = json!({ "confirmation": "other", "reason": "test" });
    post(&site, "jobs/new/removal", body).await.problem(409, "not-confirmed");
    let body = json!({ "confirmation": confirmation, "reason": "test" });
    post(&site, "jobs/new/removal", body).await.ok();
    site.until(&path, |got| got.status == 404).await;
}

#[tokio::test]
async fn repair_names_a_finding_of_the_present_diagnosis() {
    let site = Site::populated().await;
    let nodes = [("/java-3/trigger/10.0.0.2@-@9".to_owned(), String::new())];
    site.write(&nodes).await;
    let path = format!("{BASE}/jobs/java-3/findings?least=info");
    let code = operations::FindingCode::OrphanedTrigger.as_str();
    let is_found = |got: &Got| got.rows().iter().any(|row| row["code"] == code);
    let got = site.until(&path, is_found).await;
    let row = got.rows().iter().find(|row| row["code"] == code).unwrap();
    assert!(row["fix"].is_array(), "{row}");
    let repair = "jobs/java-3/findings/repair";
    let body = json!({ "code": "no-leader", "reason": "test" });
    post(&site, repair, body).await.problem(404, "no-such-finding");
    let body = json!({ "code": row["code"], "node": row["node"], "reason": "test" });
    assert_eq!(done(&post(&site, repair, body).await.ok()).len(), 1);
    site.until(&path, |got| !is_found(got)).await;
}

#[tokio::test]
async fn import_needs_the_digest_of_its_dry_run() {
    let site = Site::empty().await;
    site.add_idle(&["a", "b"]).await;
    let exported = site.get(&format!("{BASE}/export")).await.ok();
    let mut export = exported.body["export"].clone();
    assert_eq!(export["jobs"].as_array().unwrap().len(), 2);
    let document = export["jobs"][0]["document"].as_str().unwrap().replace(" 3 ", " 5 ");
    export["jobs"][0]["document"] = document.into();
    let request = |digest: Option<&str>| {
        json!({
            "export": export, "overwrite": true, "reason": "test",
            "dry_run": digest.is_none(), "digest": digest,
        })
    };
    let plan = post(&site, "import", request(None)).await.ok();
    let acts: Vec<_> = plan.body["steps"].as_array().unwrap().iter().map(|s| &s["act"]).collect();
    assert_eq!(acts, ["replace", "same"]);
    post(&site, "import", request(Some("0"))).await.problem(409, "plan-changed");
    let digest = plan.body["digest"].as_str().unwrap();
    let got = post(&site, "import", request(Some(digest))).await.ok();
    assert_eq!(done(&got), [("a".to_owned(), "configuration".to_owned())]);
    let body = json!({ "export": { "format": "x", "version": 1, "jobs": [] }, "dry_run": true });
    post(&site, "import", body).await.problem(422, "invalid-export");
}

#[tokio::test]
async fn import_carries_the_limits_of_groups() {
    let site = Site::empty().await;
    site.add_idle(&["a"]).await;
    let exported = site.get(&format!("{BASE}/export")).await.ok();
    let mut export = exported.body["export"].clone();
    assert_eq!(export.get("groups"), None, "no job is in a group");
    export["groups"] = json!([{ "group": "db", "cluster_concurrency": 3 }]);
    let request = |export: &Value, digest: Option<&str>| json!({ "export": export, "reason": "test", "dry_run": digest.is_none(), "digest": digest });
    let plan = post(&site, "import", request(&export, None)).await.ok();
    let step = &plan.body["steps"][0];
    assert_eq!((&step["group"], &step["act"]), (&json!("db"), &json!("create")), "{step}");
    let digest = plan.body["digest"].as_str().unwrap();
    let got = post(&site, "import", request(&export, Some(digest))).await.ok();
    assert_eq!(done(&got), [("group db".to_owned(), "limits".to_owned())]);
    export["groups"][0]["cluster_concurrency"] = json!(5);
    let plan = post(&site, "import", request(&export, None)).await.ok();
    let change = &plan.body["steps"][0];
    assert_eq!((&change["act"], &change["changes"][0]["from"]), (&json!("stays"), &json!("3")));
    export["groups"][0]["cluster_concurrency"] = json!(0);
    let wrong = post(&site, "import", request(&export, None)).await;
    let detail = wrong.problem(422, "invalid-export");
    assert!(detail.contains("cluster_concurrency is 0; valid is 1 to"), "{detail}");
}

#[tokio::test]
async fn files_are_applied_with_the_digest_of_their_dry_run() {
    let site = Site::empty().await;
    site.add_idle(&["a"]).await;
    let file = |job: &str, items: u32| {
        let text =
            format!("[[jobs]]\nname = '{job}'\nsharding_total_count = {items}\nstored = true\n");
        json!({ "name": format!("{job}.toml"), "text": text })
    };
    let request = |files: &[Value], digest: Option<&str>| {
        json!({
            "files": files, "prune": true, "reason": "test",
            "dry_run": digest.is_none(), "digest": digest,
        })
    };
    let steps = |got: &Value| {
        let steps = got["plan"]["steps"].as_array().unwrap().iter();
        steps.map(|step| format!("{} {}", step["job"], step["act"])).collect::<Vec<_>>()
    };
    let both = [file("a", 2), file("b", 3)];
    let plan = post(&site, "apply", request(&both, None)).await.ok();
    assert_eq!(steps(&plan.body), ["\"a\" \"replace\"", "\"b\" \"create\""]);
    post(&site, "apply", request(&both, Some("0"))).await.problem(409, "plan-changed");
    let unsigned = json!({ "files": both, "digest": plan.body["digest"] });
    post(&site, "apply", unsigned).await.problem(400, "invalid-reason");
    let digest = plan.body["digest"].as_str().unwrap();
    let got = post(&site, "apply", request(&both, Some(digest))).await.ok();
    let changed = [("a", "configuration"), ("b", "configuration")];
    assert_eq!(done(&got), changed.map(|(job, what)| (job.to_owned(), what.to_owned())));

    // The owner created b only, so that only b is pruned.
    let one = [file("other", 1)];
    let plan = post(&site, "apply", request(&one, None)).await.ok();
    let removals = plan.body["plan"]["removals"].as_array().unwrap();
    assert_eq!(removals.iter().map(|one| &one["job"]).collect::<Vec<_>>(), ["b"]);
    let digest = plan.body["digest"].as_str().unwrap();
    post(&site, "apply", request(&one, Some(digest))).await.ok();
    let left = post(&site, "apply", request(&both, None)).await.ok();
    assert_eq!(steps(&left.body), ["\"a\" \"same\"", "\"b\" \"create\""]);
}

#[tokio::test]
async fn unusable_files_are_named() {
    let site = Site::empty().await;
    let apply = async |files: Value, owner: &str| {
        let body = json!({ "files": files, "owner": owner, "dry_run": true });
        post(&site, "apply", body).await
    };
    let text = "[[jobs]]\nname = 'a'\nsharding_total_count = 0\nstored = true\n";
    let got = apply(json!([{ "name": "a.toml", "text": text }]), "default").await;
    let detail = got.problem(422, "invalid-job-file");
    assert!(detail.starts_with("a.toml: line 3: job \"a\": sharding_total_count is 0"), "{detail}");
    let text = text.replace("= 0", "= 1");
    let limiting = |max: u32, job: &str| {
        let jobs = text.replace("'a'", &format!("'{job}'"));
        let text = format!("[[groups]]\nname = 'db'\ncluster_concurrency = {max}\n{jobs}");
        json!({ "name": format!("{job}.toml"), "text": text })
    };
    let got = apply(json!([limiting(0, "a")]), "default").await;
    let detail = got.problem(422, "invalid-job-file");
    let expected = "a.toml: line 3: cluster_concurrency is 0; valid is 1 to 4294967295";
    assert!(detail.starts_with(expected), "{detail}");
    apply(json!([limiting(2, "a"), limiting(2, "b")]), "default").await.ok();
    let different = json!([limiting(2, "a"), limiting(3, "b")]);
    let detail = "group db has at most 2 runs at once in a.toml and at most 3 runs at once in \
                  b.toml; valid are the same limits in all files";
    assert_eq!(apply(different, "default").await.problem(422, "invalid-job-file"), detail);
    let got = apply(json!([{ "name": "a.json", "text": "{}" }]), "default").await;
    assert!(got.problem(422, "invalid-job-file").contains("valid is a name that ends in .toml"));
    let twice = json!([{ "name": "a.toml", "text": text }, { "name": "b.toml", "text": text }]);
    let detail = "job a is declared in a.toml and in b.toml; valid is one file for each job";
    assert_eq!(apply(twice, "default").await.problem(422, "invalid-job-file"), detail);
    let detail = "files has 0 files; valid are 1 to 1000";
    assert_eq!(apply(json!([]), "default").await.problem(400, "invalid-request"), detail);
    let got = apply(json!([{ "name": "a.toml", "text": text }]), "team a").await;
    assert!(got.problem(400, "invalid-request").starts_with("owner is \"team a\"; valid are"));
}

#[tokio::test]
async fn bulk_fails_if_other_jobs_match_than_in_the_dry_run() {
    let site = Site::empty().await;
    site.add_idle(&["a-1", "a-2", "b"]).await;
    let request = |digest: Option<&str>| {
        json!({
            "filter": { "text": "a-" }, "reason": "test",
            "dry_run": digest.is_none(), "digest": digest,
        })
    };
    let mut body = request(Some(""));
    body.as_object_mut().unwrap().remove("digest");
    let got = post(&site, "bulk/pause", body).await;
    assert!(got.problem(400, "invalid-request").starts_with("digest is missing"));
    let writes = site.counting.writes();
    let preview = post(&site, "bulk/pause", request(None)).await.ok();
    assert_eq!(site.counting.writes(), writes, "a dry run writes nothing");
    let jobs = preview.body["jobs"].as_array().unwrap();
    let shown: Vec<_> = jobs.iter().map(|job| (&job["job"], &job["changes"])).collect();
    assert_eq!(shown, [(&json!("a-1"), &json!(1)), (&json!("a-2"), &json!(1))]);
    let digest = preview.body["digest"].as_str().unwrap().to_owned();
    let got = post(&site, "bulk/resume", request(Some(&digest))).await;
    got.problem(409, "plan-changed");
    site.add_idle(&["a-3"]).await;
    let got = post(&site, "bulk/pause", request(Some(&digest))).await;
    got.problem(409, "plan-changed");
    let preview = post(&site, "bulk/pause", request(None)).await.ok();
    let digest = preview.body["digest"].as_str().unwrap();
    let got = post(&site, "bulk/pause", request(Some(digest))).await.ok();
    let jobs: Vec<_> = done(&got).into_iter().map(|(job, _)| job).collect();
    assert_eq!(jobs, ["a-1", "a-2", "a-3"]);
    assert_eq!(got.body["report"]["records"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn each_bulk_action_previews_what_it_does() {
    let site = Site::populated().await;
    for action in ["run", "rerun-failed", "cancel", "pause", "resume", "disable", "enable"] {
        let path = format!("bulk/{action}");
        let filter = json!({ "text": "report" });
        let body = json!({ "filter": filter, "dry_run": true });
        let preview = post(&site, &path, body).await.ok();
        let digest = &preview.body["digest"];
        let body = json!({ "filter": filter, "digest": digest, "reason": "test" });
        let got = post(&site, &path, body).await.ok();
        let expected = &preview.body["jobs"][0]["changes"];
        assert_eq!(json!(done(&got).len()), *expected, "{action}: {}", got.body);
        site.until(&format!("{BASE}/jobs/report/audit"), |audit| {
            let records = got.body["report"]["records"].as_array().unwrap();
            records.iter().all(|record| audit.rows().iter().any(|row| row["id"] == record["id"]))
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn failed_part_of_a_change_has_its_own_status() {
    let site = Site::empty().await;
    site.add_idle(&["a", "b"]).await;
    let filter = json!({ "text": "" });
    let preview = post(&site, "bulk/run", json!({ "filter": filter, "dry_run": true })).await.ok();
    site.counting.center.suspend(10 * crate::support::DEADLINE);
    let body = json!({ "filter": filter, "digest": preview.body["digest"], "reason": "test" });
    let got = post(&site, "bulk/run", body).await;
    assert_eq!(got.status, 207, "{}", got.body);
    assert_eq!(got.body["report"]["failed"].as_array().unwrap().len(), 2);
}
