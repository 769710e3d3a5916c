//! Errors, entity tags, pages and headers, which are the same for all operations.

use axum::body::Body;
use axum::http::{Method, Request};
use reg_center::{Lifetime, NodePath, RegistryCenter as _, Txn};

use crate::support::{BASE, Site};

#[tokio::test]
async fn unknown_namespace_is_a_problem_that_names_the_known_ones() {
    let site = Site::empty().await;
    let got = site.get("/api/v1/namespaces/order/jobs").await;
    let detail = got.problem(404, "no-such-namespace");
    assert_eq!(detail, r#"namespace is "order"; this console shows orders"#);
}

#[tokio::test]
async fn rejection_of_the_framework_is_a_problem() {
    let site = Site::empty().await;
    let run = format!("{BASE}/jobs/report/run");
    let json = [("content-type", "application/json")];
    let large = format!(r#"{{"reason":"{}"}}"#, "x".repeat(3 << 20));
    type Row<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a str, u16, &'a str, &'a str);
    let rows: [Row<'_>; 13] = [
        ("GET", "/api/v1/nothing", &[], "", 404, "no-such-address", "/api/v1/nothing"),
        ("DELETE", &run, &[], "", 405, "wrong-method", "method is DELETE"),
        ("POST", &run, &[], "{}", 415, "wrong-content-type", "Content-Type"),
        ("POST", &run, &json, "{", 400, "invalid-request", "EOF"),
        ("POST", &run, &json, "{}", 400, "invalid-reason", "reason is blank"),
        ("POST", &run, &json, r#"{"reason":"r","a":1}"#, 422, "invalid-request", "`a`"),
        ("POST", &run, &json, r#"{"reason":"r","items":["x"]}"#, 422, "invalid-request", "items"),
        ("POST", &run, &json, &large, 413, "body-too-large", "limit"),
        ("POST", &run, &json, r#"{"reason":" "}"#, 400, "invalid-reason", "reason is blank"),
        ("POST", &run, &json, r#"{"reason":"r","items":[]}"#, 400, "invalid-request", "items is"),
        ("GET", &format!("{BASE}/jobs?limit=x"), &[], "", 400, "invalid-request", "limit"),
        ("GET", &format!("{BASE}/jobs?lim=1"), &[], "", 400, "invalid-request", "\"lim\""),
        ("GET", &format!("{BASE}/jobs/%FF"), &[], "", 400, "invalid-request", "UTF-8"),
    ];
    for (method, path, headers, body, status, code, word) in rows {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let got = site.send(request.body(Body::from(body.to_owned())).unwrap()).await;
        let detail = got.problem(status, code);
        assert!(detail.contains(word), "{method} {path} {body}: {detail}");
    }
    let got = site.change(Method::DELETE, &run, &[], "").await;
    assert_eq!(got.header("allow"), Some("POST"));
}

#[tokio::test]
async fn invalid_values_are_refused_by_name() {
    let site = Site::populated().await;
    for (path, status, word) in [
        ("jobs?limit=0", 400, "limit is 0; valid is 1 to 1000"),
        ("jobs?limit=1001", 400, "limit is 1001"),
        ("jobs?cursor=x", 400, "cursor is \"x\""),
        ("jobs?status=GOOD", 400, "status is \"GOOD\"; valid is one of OK, FAILING"),
        ("jobs?server=a/b", 400, "a/b"),
        ("jobs/report/items/2", 404, "job report has no item 2; it has 2 items"),
        ("jobs/report/items/x", 400, "item is \"x\"; valid is a number from 0 to 99999"),
        ("jobs/report/fires?count=1001", 400, "count is 1001; valid is 1 to 1000"),
        ("jobs/report/fires?after=noon", 400, "after"),
        ("jobs/report/fires?time_zone=Mars", 400, "time_zone is \"Mars\""),
        ("jobs/report/plan?leave=10.0.0.7@-@7", 404, "leave: job report has no instance 10.0.0.7"),
        ("jobs/report/plan?leave=x", 400, "leave is \"x\"; valid is the id of an instance"),
        ("jobs/report/plan?join=x", 400, "join is \"x\"; valid is an IP address"),
        ("jobs/report/plan?joining=zone=a", 400, "joining is \"zone=a\"; valid is empty"),
        (
            "jobs/report/plan?join=10.0.0.8&joining=weight=0",
            400,
            "joining is \"0\" in weight; valid is 1 to 100",
        ),
        ("jobs/report/plan?enable=10.0.0.77", 404, "enable: job report has no server 10.0.0.77"),
        ("jobs/report/plan?disable=10.0.0.77", 404, "disable: job report has no server 10.0.0.77"),
        (
            "jobs/report/plan?enable=10.0.0.1&disable=10.0.0.1",
            400,
            "enable is \"10.0.0.1\"; valid is a server that disable does not name",
        ),
        ("jobs/report/plan?strategy=NO", 422, "strategy is \"NO\"; valid is one of "),
        ("jobs/report/plan?placement=pin", 400, "placement is \"pin\" in rule 1"),
        (
            "jobs/report/plan?sharding_total_count=x",
            400,
            "sharding_total_count is \"x\"; valid is 1",
        ),
        ("jobs/report/plan?without=10.0.0.1", 400, "without"),
        ("jobs/damaged/plan", 409, "damaged"),
        ("jobs/report/plan?sharding_total_count=0", 422, "sharding_total_count is 0"),
        ("jobs/nothing", 404, "namespace \"orders\" has no job nothing"),
        ("servers/10.0.0.77", 404, "10.0.0.77"),
        ("history/fires", 404, "no history"),
        ("jobs/report/verification?from=2024-02-29T12:00:00Z", 404, "no history"),
        ("jobs/report/verification", 400, "from"),
        ("findings?least=bad", 400, "bad"),
    ] {
        let got = site.get(&format!("{BASE}/{path}")).await;
        let detail = got.body["detail"].as_str().unwrap_or_default();
        assert_eq!(got.status, status, "{path} {}", got.body);
        assert!(detail.contains(word), "{path}: {detail}");
    }
}

#[tokio::test]
async fn reads_are_refused_while_the_first_snapshot_loads() {
    let site = Site::without_registry();
    let got = site.get(&format!("{BASE}/jobs")).await;
    got.problem(503, "loading");
    assert_eq!(got.header("retry-after"), Some("1"));
    let repair = r#"{"code":"necessary","reason":"test"}"#;
    let got = site.post(&format!("{BASE}/jobs/report/findings/repair"), repair).await;
    got.problem(503, "loading");
    assert_eq!(got.header("retry-after"), Some("1"), "the job is not known to be absent");
    // An export of a page without jobs would be a valid file.
    let got = site.get("/n/orders/transfer/export").await;
    got.problem(503, "loading");
    let namespace = site.get(BASE).await.ok();
    assert_eq!(namespace.body["freshness"]["state"], "loading");
}

#[tokio::test]
async fn answers_carry_the_age_of_their_data() {
    let site = Site::populated().await;
    let got = site.get(&format!("{BASE}/jobs")).await.ok();
    assert_eq!(got.header("ejob-data-age-ms"), Some("0"));
    assert_eq!(got.header("ejob-data-stale"), None);
    site.counting.center.suspend(crate::support::DEADLINE);
    site.until(BASE, |got| got.body["freshness"]["state"] == "stale").await;
    let got = site.get(&format!("{BASE}/jobs")).await.ok();
    assert!(got.header("ejob-data-age-ms").unwrap().parse::<u64>().is_ok());
    assert_eq!(got.header("ejob-data-stale"), Some("true"));
    assert_eq!(got.rows().len(), 5, "the last known jobs are shown");
}

#[tokio::test]
async fn entity_tag_of_a_job_changes_with_each_node() {
    let site = Site::empty().await;
    site.add_idle(&["a"]).await;
    let path = format!("{BASE}/jobs/a");
    let mut tags = std::collections::BTreeSet::new();
    let tag = async || {
        let got = site.get(&path).await.ok();
        got.header("etag").unwrap().to_owned()
    };
    let first = tag().await;
    tags.insert(first.clone());
    let unchanged = [("if-none-match", &*format!("W/{first}, \"x\""))];
    let got = site.change(Method::GET, &path, &unchanged, "").await;
    assert_eq!((got.status.as_u16(), got.header("etag")), (304, Some(&*first)));
    assert_eq!(got.body, "");
    let node = NodePath::parse("/a/sharding/0/misfire").unwrap();
    let changes = [
        Txn::new().create(node.clone(), "", Lifetime::Persistent),
        Txn::new().put(node.clone(), "x"),
        Txn::new().delete(node),
    ];
    for change in changes {
        let mut stream = site.stream(&[]).await;
        assert_eq!(stream.next().await.name, "freshness");
        assert!(site.registry.connect().commit(change).await.unwrap().is_committed());
        assert_eq!(stream.next().await.name, "jobs");
        tags.insert(tag().await);
    }
    assert_eq!(tags.len(), 4, "a creation, a write and a deletion: {tags:?}");
}

#[tokio::test]
async fn pages_are_stable_while_jobs_come_and_go() {
    let site = Site::empty().await;
    site.add_idle(&["b", "d", "f", "h"]).await;
    let first = site.get(&format!("{BASE}/jobs?limit=2")).await.ok();
    let names = |got: &crate::support::Got| -> Vec<String> {
        got.rows().iter().map(|row| row["jobName"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&first), ["b", "d"]);
    let body = r#"{"reason":"test","confirmation":"d"}"#;
    site.post(&format!("{BASE}/jobs/d/removal"), body).await.ok();
    site.until(&format!("{BASE}/jobs/d"), |got| got.status == 404).await;
    site.add_idle(&["a", "e"]).await;
    let next = first.body["next"].as_str().unwrap();
    let second = site.get(&format!("{BASE}/jobs?limit=10&cursor={next}")).await.ok();
    assert_eq!(names(&second), ["e", "f", "h"]);
    assert!(second.body["next"].is_null());
}
