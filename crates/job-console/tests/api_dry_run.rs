//! Dry runs: each changing route has one, and it writes nothing.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::Method;
use job_console::Console;
use reg_center::{NodePath, RegistryCenter as _};
use serde_json::{Value, json};

use crate::support::{BASE, Got, Site};

/// Part of an answer that shows the expected effect.
#[derive(Clone, Copy)]
enum Shows {
    /// `report.done` has entries.
    Done,
    /// This field is not empty.
    Field(&'static str),
}

use Shows::{Done, Field};

/// A changing route: its path below the namespace with the method if it is DELETE, the names in
/// the path, the body without a reason, and the expected answer.
type Row = (&'static str, &'static [(&'static str, &'static str)], Value, Shows);

/// Prefix of the path of a row whose path has two methods.
const DELETE: &str = "DELETE ";

/// A permit that no run returns.
const PERMIT: &str = "/job@-@groups/db/permits/9";

fn rows(exported: &Value, finding: &Value) -> Vec<Row> {
    const REPORT: &[(&str, &str)] = &[("job", "report")];
    const LONG: &[(&str, &str)] = &[("job", "long")];
    const PAUSED: &[(&str, &str)] = &[("job", "paused")];
    const OFF: &[(&str, &str)] = &[("job", "off")];
    const JAVA: &[(&str, &str)] = &[("job", "java-3")];
    const GROUP: &[(&str, &str)] = &[("group", "db")];
    const SERVER: &[(&str, &str)] = &[("server", "10.0.0.9")];
    const BOTH: &[(&str, &str)] = &[("job", "java-3"), ("server", "10.0.0.9")];
    const PAUSED_SERVER: &[(&str, &str)] = &[("job", "paused"), ("server", "10.0.0.1")];
    const OFF_SERVER: &[(&str, &str)] = &[("job", "off"), ("server", "10.0.0.1")];
    let empty = || json!({});
    let all = || json!({ "filter": {} });
    let items = || json!({ "items": [0] });
    let wait = || json!({ "wait_seconds": 600 });
    let mut export = exported.clone();
    let changed = export["jobs"][0]["document"].as_str().unwrap().replace(" 3 ", " 5 ");
    export["jobs"][0]["document"] = changed.into();
    let text = "[[jobs]]\nname = \"new\"\nsharding_total_count = 1\nstored = true\n";
    let files = json!([{ "name": "a.toml", "text": text }]);
    let fields = json!({ "fields": { "cron": "0 0 7 * * ?" } });
    let creation = json!({ "template": "monthly", "fields": { "sharding_total_count": 1 } });
    let of_group = json!({ "code": "orphaned-group-permit", "node": PERMIT });
    let period = json!({ "from": "2024-02-01T00:00:00Z", "to": "2024-02-03T00:00:00Z" });
    let silence = json!({ "expectation": "late_after", "seconds": 60 });
    vec![
        ("/jobs/{job}", &[("job", "new")], creation, Done),
        ("/jobs/{job}/configuration", REPORT, fields, Done),
        ("/jobs/{job}/configuration/restore", PAUSED, json!({ "index": 1 }), Done),
        ("/jobs/{job}/run", REPORT, json!({ "parameter": "x", "wait_seconds": 600 }), Done),
        ("/jobs/{job}/rerun-failed", REPORT, empty(), Done),
        ("/jobs/{job}/backfills", REPORT, period, Field("fires")),
        (
            "/jobs/{job}/backfills/{backfill}/cancel",
            &[("job", "report"), ("backfill", "none")],
            empty(),
            Done,
        ),
        ("/jobs/{job}/cancel", LONG, json!({ "all": true }), Done),
        ("/jobs/{job}/pause", REPORT, empty(), Done),
        ("/jobs/{job}/resume", PAUSED, empty(), Done),
        ("/jobs/{job}/disable", REPORT, empty(), Done),
        ("/jobs/{job}/enable", OFF, empty(), Done),
        ("/jobs/{job}/items/disable", REPORT, items(), Done),
        ("/jobs/{job}/items/enable", OFF, items(), Done),
        ("/jobs/{job}/shutdown", REPORT, empty(), Done),
        (
            "/jobs/{job}/instances/{instance}/shutdown",
            &[("job", "java-3"), ("instance", "10.0.0.9@-@7")],
            empty(),
            Done,
        ),
        ("/jobs/{job}/removal", OFF, json!({ "confirmation": "off" }), Done),
        ("/jobs/{job}/findings/repair", JAVA, finding.clone(), Done),
        ("/groups/{group}/findings/repair", GROUP, of_group, Done),
        ("/servers/{server}/pause", &[("server", "10.0.0.1")], empty(), Done),
        ("/servers/{server}/resume", &[("server", "10.0.0.1")], empty(), Done),
        ("/servers/{server}/disable", SERVER, empty(), Done),
        ("/servers/{server}/enable", &[("server", "10.0.0.1")], empty(), Done),
        ("/servers/{server}/drain", SERVER, wait(), Done),
        ("/servers/{server}/shutdown", SERVER, empty(), Done),
        ("/servers/{server}/removal", SERVER, empty(), Done),
        ("/servers/removal", &[], json!({ "servers": "10.0.*" }), Done),
        (
            "/jobs/{job}/servers/{server}/pause",
            &[("job", "report"), ("server", "10.0.0.1")],
            empty(),
            Done,
        ),
        ("/jobs/{job}/servers/{server}/resume", PAUSED_SERVER, empty(), Done),
        ("/jobs/{job}/servers/{server}/disable", BOTH, empty(), Done),
        ("/jobs/{job}/servers/{server}/enable", OFF_SERVER, empty(), Done),
        ("/jobs/{job}/servers/{server}/drain", BOTH, wait(), Done),
        ("/jobs/{job}/servers/{server}/shutdown", BOTH, empty(), Done),
        ("/jobs/{job}/servers/{server}/removal", BOTH, empty(), Done),
        ("/jobs/{job}/silence", REPORT, silence, Field("until")),
        ("/jobs/{job}/end-silence", REPORT, json!({ "expectation": "late_after" }), Field("job")),
        ("/bulk/run", &[], all(), Field("jobs")),
        ("/bulk/rerun-failed", &[], all(), Field("jobs")),
        ("/bulk/cancel", &[], all(), Field("jobs")),
        ("/bulk/pause", &[], all(), Field("jobs")),
        ("/bulk/resume", &[], all(), Field("jobs")),
        ("/bulk/disable", &[], all(), Field("jobs")),
        ("/bulk/enable", &[], all(), Field("jobs")),
        ("/groups/{group}", GROUP, json!({ "start_rate": "9 in 1m" }), Field("after")),
        ("DELETE /groups/{group}", GROUP, empty(), Field("after")),
        ("/import", &[], json!({ "export": export, "overwrite": true }), Field("steps")),
        ("/apply", &[], json!({ "files": files }), Field("plan")),
    ]
}

/// Returns the data and the versions of all nodes.
async fn nodes(site: &Site) -> BTreeMap<String, (Vec<u8>, i64)> {
    let mut open = vec![NodePath::root()];
    let mut found = BTreeMap::new();
    let center = site.registry.connect();
    while let Some(path) = open.pop() {
        if let Some(node) = center.read(&path).await.unwrap() {
            let version = i64::from(node.stat.version.0);
            found.insert(path.as_str().to_owned(), (node.data.to_vec(), version));
        }
        for name in center.children(&path).await.unwrap().into_iter().flatten() {
            open.push(path.join(&name).unwrap());
        }
    }
    found
}

fn is_shown(got: &Got, shows: Shows) -> bool {
    let has = |value: &Value| value.as_array().is_some_and(|list| !list.is_empty());
    match shows {
        Done => has(&got.body["report"]["done"]) && got.body["report"]["records"] == json!([]),
        Field(name) => {
            let value = &got.body[name];
            has(value) || value.is_string() || value.is_object()
        }
    }
}

/// A site with a paused job and a job that is off.
async fn prepared() -> (Site, Value) {
    let site = Site::populated().await;
    site.add_idle(&["paused", "off"]).await;
    let post = async |path: &str, body: &str| {
        site.post(&format!("{BASE}/jobs/{path}"), body).await.ok();
    };
    // One job gets a former configuration, and the other one a schedule with past fires.
    for job in ["paused", "report"] {
        let configuration = format!("{BASE}/jobs/{job}/configuration");
        let tag = site.get(&configuration).await.ok().header("etag").unwrap().to_owned();
        let update = r#"{"fields":{"cron":"0 0 6 * * ?"},"reason":"test"}"#;
        site.change(Method::PUT, &configuration, &[("if-match", &*tag)], update).await.ok();
    }
    post("paused/pause", r#"{"reason":"test"}"#).await;
    post("off/items/disable", r#"{"items":[0],"reason":"test"}"#).await;
    post("off/disable", r#"{"reason":"test"}"#).await;
    let trigger = "/java-3/trigger/10.0.0.2@-@9".to_owned();
    site.write(&[(PERMIT.to_owned(), "x".to_owned()), (trigger, String::new())]).await;
    let path = format!("{BASE}/jobs/java-3/findings?least=info");
    let code = operations::FindingCode::OrphanedTrigger.as_str();
    let found = |got: &Got| got.rows().iter().find(|row| row["code"] == code).cloned();
    let got = site.until(&path, |got| found(got).is_some()).await;
    let row = found(&got).unwrap();
    (site, json!({ "code": row["code"], "node": row["node"] }))
}

async fn tag(site: &Site, names: &[(&str, &str)]) -> String {
    let Some((_, job)) = names.iter().find(|(name, _)| *name == "job") else {
        return "\"0\"".to_owned();
    };
    let got = site.get(&format!("{BASE}/jobs/{job}/configuration")).await;
    got.header("etag").unwrap_or("\"0\"").to_owned()
}

#[tokio::test]
async fn dry_run_of_each_changing_route_answers_without_writing() {
    let (site, finding) = prepared().await;
    let exported = site.get(&format!("{BASE}/export")).await.ok();
    let rows = rows(&exported.body["export"], &finding);
    let prefix = "/api/v1/namespaces/{namespace}";
    let rules = Console::rules().into_iter();
    let changes: BTreeMap<String, String> = rules
        .filter(|rule| rule.path.starts_with("/api/") && rule.method != "GET")
        .map(|rule| match &*rule.method {
            "DELETE" => (format!("{DELETE}{}", rule.path), rule.method),
            _ => (rule.path, rule.method),
        })
        .collect();
    let of_row = |row: &str| match row.strip_prefix(DELETE) {
        Some(path) => format!("{DELETE}{prefix}{path}"),
        None => format!("{prefix}{row}"),
    };
    let in_table: BTreeSet<String> = rows.iter().map(|(path, ..)| of_row(path)).collect();
    assert_eq!(in_table, changes.keys().cloned().collect(), "each change is in the table once");
    assert_eq!(in_table.len(), rows.len());

    let (before, writes) = (nodes(&site).await, site.counting.writes());
    for (path, names, body, shows) in rows {
        let method: Method = changes[&of_row(path)].parse().unwrap();
        let address = path.strip_prefix(DELETE).unwrap_or(path);
        let address = names.iter().fold(address.to_owned(), |path, (name, value)| {
            path.replace(&format!("{{{name}}}"), value)
        });
        let address = format!("{BASE}{address}");
        let tag = tag(&site, names).await;
        let send = async |query: &str| {
            let address = format!("{address}{query}");
            let headers = [("if-match", &*tag)];
            site.change(method.clone(), &address, &headers, &body.to_string()).await
        };
        let got = send("?dry_run=true").await;
        // An unknown backfill is the only one that this site has.
        if path.contains("{backfill}") {
            got.problem(404, "no-such-target");
        } else {
            assert_eq!(got.status, 200, "{path}: {}", got.body);
            assert!(is_shown(&got, shows), "{path}: {}", got.body);
        }
        assert_eq!(site.counting.writes(), writes, "{path} has written");
        // Without a dry run, the change needs a reason.
        for query in ["", "?dry_run=false"] {
            send(query).await.problem(400, "invalid-reason");
        }
        let detail = send("?dry_run=yes").await;
        let detail = detail.problem(400, "invalid-request");
        assert_eq!(detail, "query parameter dry_run is \"yes\"; valid is true or false", "{path}");
    }
    assert_eq!(site.counting.writes(), writes);
    assert_eq!(nodes(&site).await, before);
}

#[tokio::test]
async fn key_of_a_dry_run_does_not_answer_the_change() {
    let site = Site::empty().await;
    site.add_idle(&["a"]).await;
    let path = format!("{BASE}/jobs/a/pause");
    let key = ("idempotency-key", "one");
    let body = r#"{"reason":"test"}"#;
    let dry = site.change(Method::POST, &format!("{path}?dry_run=true"), &[key], body).await.ok();
    assert_eq!(dry.body["report"]["records"], json!([]));
    let got = site.change(Method::POST, &path, &[key], body).await.ok();
    assert_eq!(got.header("idempotency-replayed"), None);
    assert_eq!(got.body["report"]["done"], dry.body["report"]["done"]);
    assert_eq!(got.body["report"]["records"][0]["act"], "pause");
}
