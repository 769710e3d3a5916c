//! Errors, entity tags, pages and headers, which are the same for all operations.

use axum::body::Body;
use axum::http::{Method, Request};
use reg_center::{Lifetime, NodePath, RegistryCenter as _, Txn};
use serde_json::{Value, json};

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
        ("POST", &run, &json, "{", 400, "invalid-request", "line 1, column 1"),
        ("POST", &run, &json, "{}", 400, "invalid-reason", "reason is blank"),
        ("POST", &run, &json, r#"{"reason":"r","a":1}"#, 422, "invalid-request", "field \"a\""),
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
async fn unreadable_values_are_refused_with_the_valid_ones() {
    let site = Site::populated().await;
    const TIME: &str = "valid is a time such as 2026-11-30T09:00:00Z";
    let time = |given: &str| format!("{given}; {TIME}");
    let item = "item is \"x\"; valid is a number from 0 to 99999";
    for (path, detail) in [
        ("jobs/report/verification", time("from is missing")),
        ("jobs/report/verification?from=xx", time("from is \"xx\"")),
        ("jobs/report/verification?from=", time("from is \"\"")),
        ("jobs/report/fires?after=noon", time("after is \"noon\"")),
        ("jobs?limit=x", "limit is \"x\"; valid is a number from 1 to 1000".to_owned()),
        (
            "jobs?limit=99999999999",
            "limit is \"99999999999\"; valid is a number from 1 to 1000".into(),
        ),
        ("jobs?limit=1&limit=2", "limit is given twice; valid is once".to_owned()),
        ("history/output?item=x", "job is missing; valid is a text".to_owned()),
        ("history/fires?item=x", item.to_owned()),
        ("history/counts?item=x", item.to_owned()),
        (
            "history/counts?item=100000",
            "item is 100000; valid is a number from 0 to 99999".to_owned(),
        ),
        ("history/output?item=x&job=report&fire=2024-02-29T12:00:00Z", item.to_owned()),
        ("findings?least=bad", "least is \"bad\"; valid is one of info, warning, error".to_owned()),
    ] {
        let got = site.get(&format!("{BASE}/{path}")).await;
        assert_eq!(got.problem(400, "invalid-request"), detail, "{path}");
    }
    let numbers = "valid is a list of numbers, or null";
    let bounds = "valid is an object with max, window_seconds, or null";
    for (method, path, body, detail) in [
        (
            "POST",
            "jobs/report/backfills",
            r#"{"from":"yesterday","to":"x"}"#,
            time("from is \"yesterday\""),
        ),
        (
            "POST",
            "jobs/report/backfills",
            r#"{"to":"2024-02-29T12:00:00Z"}"#,
            time("from is missing"),
        ),
        ("POST", "jobs/report/cancel", r#"{"fire":"x"}"#, time("fire is \"x\"") + ", or null"),
        (
            "POST",
            "jobs/report/cancel",
            r#"{"all":1}"#,
            "all is 1; valid is true or false".to_owned(),
        ),
        ("POST", "jobs/report/run", r#"{"items":3}"#, format!("items is 3; {numbers}")),
        (
            "POST",
            "jobs/report/run",
            r#"{"items":[0,-1]}"#,
            "items[1] is -1; valid is a number from 0 to 4294967295".to_owned(),
        ),
        (
            "POST",
            "jobs/report/run",
            r#"{"wait_seconds":-1}"#,
            "wait_seconds is -1; valid is a number from 0 to 600".to_owned(),
        ),
        (
            "POST",
            "servers/10.0.0.1/drain",
            r#"{"mode":"off"}"#,
            "mode is \"off\"; valid is one of disable, pause, or null".to_owned(),
        ),
        (
            "PUT",
            "jobs/report/configuration",
            r#"{"fields":{"catch_up":"3 in 1h"}}"#,
            format!("fields.catch_up is \"3 in 1h\"; {bounds}"),
        ),
        (
            "PUT",
            "jobs/report/configuration",
            r#"{"fields":{"catch_up":{"max":1}}}"#,
            "fields.catch_up.window_seconds is missing; valid is a number from 1 to 4294967295"
                .into(),
        ),
        (
            "POST",
            "jobs/report/pause",
            r#"{"reason":"a","reason":"b"}"#,
            "the body has a field twice; valid is once".to_owned(),
        ),
        (
            "POST",
            "jobs/report/pause",
            "[]",
            "the body is []; valid is an object with reason".to_owned(),
        ),
    ] {
        let json = [("content-type", "application/json")];
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let got = site.change(method, &format!("{BASE}/{path}"), &json, body).await;
        assert_eq!(got.problem(422, "invalid-request"), detail, "{path} {body}");
    }
}

/// Returns a schema with the reference that it may be, or that one of its variants is.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let of_variants = || {
        let variants = schema["oneOf"].as_array()?;
        variants.iter().find(|one| one.get("$ref").is_some())
    };
    let schema = of_variants().unwrap_or(schema);
    let Some(name) = schema["$ref"].as_str() else { return schema };
    document.pointer(&name[1..]).unwrap()
}

/// Returns bodies of which each has one field that is not as documented.
fn bad_bodies(document: &Value, schema: &Value) -> Vec<Value> {
    let wrong = [json!("x"), json!(-1), json!(7e40), json!([true]), json!({ "a": 1 }), json!(true)];
    let schema = resolved(document, schema);
    let mut bodies = wrong.to_vec();
    bodies.extend([json!({}), json!({ "unknown": 1 })]);
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let values = match resolved(document, field)["properties"].is_object() {
            true => bad_bodies(document, field),
            false => wrong.to_vec(),
        };
        bodies.extend(values.into_iter().map(|value| json!({ name: value })));
    }
    bodies
}

#[tokio::test]
async fn no_problem_has_texts_of_the_code() {
    let site = Site::populated().await;
    let document = site.get("/api/v1/openapi.json").await.ok().body;
    let json = [("content-type", "application/json"), ("if-match", "\"1\"")];
    let mut requests = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        let mut path = path.clone();
        for (name, value) in [
            ("{namespace}", "orders"),
            ("{job}", "report"),
            ("{item}", "0"),
            ("{server}", "10.0.0.1"),
            ("{group}", "database"),
        ] {
            path = path.replace(name, value);
        }
        for (method, operation) in operations.as_object().unwrap() {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            if path.ends_with("/events") && !path.contains("history") {
                continue;
            }
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            for parameter in parameters.filter(|parameter| parameter["in"] == "query") {
                let name = parameter["name"].as_str().unwrap();
                let values = ["x", "", "-1", "1e9", "%FF", "99999999999999999999"];
                let query = |value: &str| format!("{path}?{name}={value}");
                requests
                    .extend(values.map(|value| (method.clone(), query(value), "{}".to_owned())));
            }
            let dry =
                if method == Method::GET { path.clone() } else { format!("{path}?dry_run=true") };
            requests.push((method.clone(), format!("{path}?unknown=1"), "{}".to_owned()));
            requests.push((method.clone(), dry.clone(), "{".to_owned()));
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            let bodies = bad_bodies(&document, schema).into_iter();
            requests.extend(bodies.map(|body| (method.clone(), dry.clone(), body.to_string())));
        }
    }
    assert!(requests.len() > 1_000, "{}", requests.len());
    let mut leaks = Vec::new();
    for (method, path, body) in requests {
        let got = site.change(method.clone(), &path, &json, &body).await;
        let detail = got.body["detail"].as_str().unwrap_or_default();
        let text = detail.to_lowercase();
        let words =
            ["expected", "deserialize", "invalid type", "invalid value", "digit", "struct "];
        let has_word = words.into_iter().any(|word| text.contains(word));
        let has_type =
            text.contains("::") || detail.contains("Fields") || detail.contains("Request");
        if has_word || has_type {
            leaks.push(format!("{method} {path} {body}: {detail}"));
        }
    }
    assert!(leaks.is_empty(), "{}", leaks.join("\n"));
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
