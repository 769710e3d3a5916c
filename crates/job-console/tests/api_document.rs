//! The document of the API is complete, and the answers match it.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::{Method, Request};
use http_body_util::BodyExt as _;
use job_console::{Access, Console};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::api_reads::READS;
use crate::schema::faults;
use crate::support::{BASE, Got, Site};

const METHODS: [&str; 5] = ["get", "put", "post", "delete", "patch"];

/// An operation: method in capitals, path and description.
struct Operation<'a> {
    method: String,
    path: &'a str,
    entry: &'a Value,
}

fn operations(document: &Value) -> Vec<Operation<'_>> {
    let paths = document["paths"].as_object().unwrap();
    let of_path = |(path, entry): (&'_ String, &'_ Value)| -> Vec<(String, String)> {
        let methods = METHODS.iter().filter(|method| entry.get(**method).is_some());
        methods.map(|method| ((*method).to_owned(), path.clone())).collect()
    };
    let all: Vec<_> = paths.iter().flat_map(of_path).collect();
    all.into_iter()
        .map(|(method, path)| {
            let (path, entry) = paths.get_key_value(&path).unwrap();
            Operation { method: method.to_uppercase(), path, entry: &entry[&method] }
        })
        .collect()
}

async fn document(site: &Site) -> Value {
    site.get("/api/v1/openapi.json").await.ok().body
}

#[tokio::test]
async fn document_describes_each_operation() {
    let document = document(&Site::empty().await).await;
    assert_eq!(document["openapi"].as_str().unwrap().split('.').next(), Some("3"));
    let mut ids = BTreeSet::new();
    for Operation { method, path, entry } in operations(&document) {
        let id = entry["operationId"].as_str().unwrap_or_else(|| panic!("{method} {path}: no id"));
        assert!(ids.insert(id.to_owned()), "{id} is the id of two operations");
        let has_text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
        assert!(has_text(&entry["summary"]), "{id} has no summary");
        let role = entry["description"].as_str().unwrap_or_default();
        assert!(role.contains("Needs the permission"), "{id}: {role}");
        let parameters = entry["parameters"].as_array().cloned().unwrap_or_default();
        for parameter in &parameters {
            assert!(has_text(&parameter["description"]), "{id}: {parameter} has no description");
        }
        let in_path: BTreeSet<_> = parameters
            .iter()
            .filter(|parameter| parameter["in"] == "path")
            .map(|parameter| format!("{{{}}}", parameter["name"].as_str().unwrap()))
            .collect();
        let named: BTreeSet<_> =
            path.split('/').filter(|part| part.starts_with('{')).map(str::to_owned).collect();
        assert_eq!(in_path, named, "{id}");
        let responses = entry["responses"].as_object().unwrap();
        assert!(responses.contains_key("200") && responses.contains_key("400"), "{id}");
        for (status, response) in responses {
            assert!(has_text(&response["description"]), "{id} {status} has no description");
            let is_problem = response["content"].get("application/problem+json").is_some();
            assert_eq!(is_problem, status.starts_with(['4', '5']), "{id} {status}");
        }
        let has_key = parameters.iter().any(|parameter| parameter["name"] == "Idempotency-Key");
        assert_eq!(has_key, method != "GET", "{id}");
        assert_eq!(entry.get("requestBody").is_some(), method != "GET", "{id}");
    }
}

#[tokio::test]
async fn document_says_where_the_api_is_and_how_callers_are_identified() {
    let site = Site::empty().await;
    let document = document(&site).await;
    assert_eq!(document["servers"], json!([{ "url": "/" }]));
    let schemes = &document["components"]["securitySchemes"];
    assert_eq!(schemes["token"]["scheme"], "bearer");
    assert_eq!(
        (&schemes["session"]["in"], &schemes["session"]["name"]),
        (&json!("cookie"), &json!("ejob-session"))
    );
    // The console of the test needs no sign-in.
    assert_eq!(document["security"], json!([{ "token": [] }, { "session": [] }, {}]));
    let start = site.get("/api/v1").await.ok().body;
    assert_eq!(start["document"], "/api/v1/openapi.json");
    site.get(start["namespaces"].as_str().unwrap()).await.ok();
}

#[tokio::test]
async fn document_of_a_console_with_sign_in_below_a_prefix_has_both() {
    let console = Console::new().access(Access::sign_in()).prefix("/tools/ejob".parse().unwrap());
    let request = Request::get("/api/v1/openapi.json").body(Body::empty()).unwrap();
    let response = console.router().oneshot(request).await.unwrap();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let document: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(document["servers"], json!([{ "url": "/tools/ejob/" }]));
    assert_eq!(document["security"], json!([{ "token": [] }, { "session": [] }]));
    let name = &document["components"]["securitySchemes"]["session"]["name"];
    assert_eq!(name, "ejob-session.tools.ejob");
}

#[tokio::test]
async fn each_operation_has_a_rule_and_each_reference_a_schema() {
    let document = document(&Site::empty().await).await;
    let in_document: BTreeSet<_> = operations(&document)
        .into_iter()
        .map(|operation| (operation.method, operation.path.to_owned()))
        .collect();
    let is_api = |path: &str| path.starts_with("/api/");
    let rules = Console::rules().into_iter().filter(|rule| is_api(&rule.path));
    let rules: Vec<_> = rules.map(|rule| (rule.method, rule.path)).collect();
    assert_eq!(rules.len(), in_document.len(), "no route has two rules");
    assert_eq!(rules.into_iter().collect::<BTreeSet<_>>(), in_document);
    let mut open = vec![&document];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(reference)) = fields.get("$ref") {
                    let pointer = reference.strip_prefix('#').unwrap();
                    assert!(document.pointer(pointer).is_some(), "{reference} is not defined");
                }
                open.extend(fields.values());
            }
            Value::Array(values) => open.extend(values),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// Returns the operation of a request, whose path has a query and names.
fn operation_of<'a>(all: &'a [Operation<'a>], method: &str, path: &str) -> &'a Operation<'a> {
    let parts: Vec<&str> = path.split('?').next().unwrap().split('/').collect();
    let matches = |template: &str| {
        let template: Vec<&str> = template.split('/').collect();
        let same = |(a, b): (&&str, &&str)| a == b || a.starts_with('{');
        template.len() == parts.len() && template.iter().zip(&parts).all(same)
    };
    let fixed = |operation: &&&Operation<'_>| operation.path.matches('{').count();
    let of_method = all.iter().filter(|one| one.method == method && matches(one.path));
    of_method.min_by_key(|one| fixed(&one)).unwrap_or_else(|| panic!("{method} {path}"))
}

fn check(document: &Value, all: &[Operation<'_>], method: &str, path: &str, got: &Got) {
    let operation = operation_of(all, method, path);
    let status = got.status.as_u16().to_string();
    let response = operation.entry["responses"].get(&status);
    let response = response.unwrap_or_else(|| panic!("{method} {path}: {status} {}", got.body));
    let kind = got.header("content-type").unwrap();
    let schema = &response["content"][kind]["schema"];
    assert!(schema.is_object(), "{method} {path}: {status} {kind} is not in the document");
    let found = faults(document, schema, &got.body);
    assert!(found.is_empty(), "{method} {path}: {found:#?}\n{}", got.body);
}

#[tokio::test]
async fn answers_match_the_document() {
    let site = Site::populated().await;
    let document = document(&site).await;
    let all = operations(&document);
    for path in
        READS.iter().chain(&["/servers", "/instances", "/jobs?limit=0", "/jobs/x", "/x?y=z"])
    {
        let path = format!("{BASE}{path}");
        let got = site.get(&path).await;
        if path != format!("{BASE}/x?y=z") {
            check(&document, &all, "GET", &path, &got);
        }
    }
    let got = site.get("/api/v1/namespaces").await;
    check(&document, &all, "GET", "/api/v1/namespaces", &got);
    let export = site.get(&format!("{BASE}/export")).await.ok().body["export"].clone();
    let reason = json!({ "reason": "test" });
    let filter = json!({ "text": "java" });
    let file = json!({
        "name": "new.toml", "text": "[[jobs]]\nname = 'new'\nsharding_total_count = 1\nstored = true\n",
    });
    for (path, body, status) in [
        ("jobs/report/run", json!({ "reason": "test", "items": [0] }), 200),
        ("jobs/report/run", json!({ "reason": "" }), 400),
        ("jobs/report/rerun-failed", reason.clone(), 200),
        ("jobs/long/cancel", json!({ "items": [0], "dry_run": true }), 200),
        ("jobs/long/cancel", json!({ "reason": "test" }), 400),
        (
            "jobs/report/backfills",
            json!({ "from": "2024-02-01T00:00:00Z", "to": "2024-02-02T00:00:00Z", "dry_run": true }),
            200,
        ),
        ("jobs/report/backfills/b/cancel", reason.clone(), 404),
        ("jobs/java-3/pause", reason.clone(), 200),
        ("jobs/java-3/resume", reason.clone(), 200),
        ("jobs/report/items/disable", json!({ "reason": "test", "items": [0] }), 200),
        ("jobs/report/items/disable", json!({ "reason": "test" }), 422),
        ("servers/10.0.0.9/disable", reason.clone(), 200),
        ("servers/10.0.0.1/drain", json!({ "reason": "test", "wait_seconds": 0 }), 200),
        ("jobs/long/servers/10.0.0.1/drain", json!({ "reason": "test", "wait_seconds": 0 }), 200),
        ("bulk/enable", json!({ "filter": filter, "dry_run": true }), 200),
        ("bulk/enable", json!({ "filter": filter, "digest": "0", "reason": "test" }), 409),
        ("import", json!({ "export": export, "dry_run": true }), 200),
        ("apply", json!({ "files": [file], "prune": true, "dry_run": true }), 200),
        ("jobs/java-2/shutdown", reason.clone(), 200),
        ("jobs/report/removal", json!({ "confirmation": "x", "reason": "test" }), 409),
        ("jobs/java-2/removal", json!({ "confirmation": "java-2", "reason": "test" }), 200),
    ] {
        let path = format!("{BASE}/{path}");
        let got = site.post(&path, &body.to_string()).await;
        assert_eq!(got.status, status, "{path} {}", got.body);
        check(&document, &all, "POST", &path, &got);
    }
    let record = site.get(&format!("{BASE}/jobs/report/audit")).await.ok();
    let is_request = |row: &&Value| row["act"] == "trigger";
    let id = record.rows().iter().find(is_request).unwrap()["id"].as_str().unwrap().to_owned();
    let path = format!("{BASE}/jobs/report/requests/{id}");
    check(&document, &all, "GET", &path, &site.get(&path).await.ok());
    let path = format!("{BASE}/jobs/report/configuration");
    let tag = site.get(&path).await.ok().header("etag").unwrap().to_owned();
    let dry = json!({ "fields": { "description": "d" }, "dry_run": true }).to_string();
    let got = site.change(Method::PUT, &path, &[("if-match", &tag)], &dry).await.ok();
    check(&document, &all, "PUT", &path, &got);
    let body = json!({ "fields": { "description": "d" }, "reason": "test" }).to_string();
    for (headers, status) in [(&[("if-match", &*tag)][..], 200), (&[], 428)] {
        let got = site.change(Method::PUT, &path, headers, &body).await;
        assert_eq!(got.status, status, "{}", got.body);
        check(&document, &all, "PUT", &path, &got);
    }
    let path = format!("{BASE}/groups/db");
    let limits = json!({ "cluster_concurrency": 3, "start_rate": "9 in 1m", "reason": "test" });
    for (method, body, status) in [
        (Method::PUT, limits, 200),
        (Method::PUT, json!({ "reason": "test" }), 400),
        (Method::PUT, json!({ "cluster_concurrency": 0, "reason": "test" }), 400),
        (Method::DELETE, reason.clone(), 200),
        (Method::DELETE, json!({}), 400),
    ] {
        let got = site.change(method.clone(), &path, &[], &body.to_string()).await;
        assert_eq!(got.status, status, "{method} {}", got.body);
        check(&document, &all, method.as_str(), &path, &got);
    }
}

#[test]
fn reference_page_lists_the_routes_with_their_permissions() {
    let page = include_str!("../../../docs/http-api.md");
    let is_row = |line: &&str| {
        let methods = METHODS.map(str::to_uppercase);
        methods.iter().any(|method| line.starts_with(&format!("| `{method} ")))
    };
    let rows = page.lines().filter(is_row);
    let rows: BTreeSet<Vec<String>> = rows
        .map(|row| {
            let cells = row.trim_matches('|').split('|');
            cells.map(|cell| cell.trim().trim_matches('`').to_owned()).take(2).collect()
        })
        .collect();
    let rules = Console::rules().into_iter().filter(|rule| rule.path.starts_with("/api/"));
    let expected: BTreeSet<Vec<String>> = rules
        .map(|rule| {
            let path = rule.path.strip_prefix("/api/v1").unwrap();
            vec![format!("{} {path}", rule.method), rule.permission.to_string()]
        })
        .collect();
    let missing: Vec<_> = expected.difference(&rows).collect();
    let surplus: Vec<_> = rows.difference(&expected).collect();
    assert!(missing.is_empty() && surplus.is_empty(), "missing {missing:#?}, surplus {surplus:#?}");
}
