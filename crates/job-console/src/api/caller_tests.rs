//! Operations that check the caller for each job, and data that only some callers see.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use axum::{Extension, Router};
use coordination::{JobConfig, JobName, encode_config};
use operations::{By, Operations};
use reg_center::{Lifetime, MemoryRegistry, NodePath, RegistryCenter as _, Txn};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::access::{Caller, Role};
use crate::console::Shared;
use crate::namespaces::{Namespace, Namespaces};

/// Describes the job `a-1`, which had no description before.
async fn replace_configuration(operations: &Operations) {
    let job = JobName::new("a-1").unwrap();
    let stored = operations.config(&job).await.unwrap();
    let wanted = stored.config.unwrap().with(|it| it.description = "daily".to_owned());
    let by = By::new("anna", "test").unwrap();
    operations.update_config(&wanted, stored.revision, &by).await.unwrap();
}

/// Returns a router over the jobs `a-1`, `a-2` and `b`, which each know one server. The
/// configuration of `a-1` has been replaced once.
async fn router() -> Router {
    let registry = MemoryRegistry::new();
    let center = registry.connect();
    for job in ["a-1", "a-2", "b"] {
        let config = encode_config(&JobConfig::new(JobName::new(job).unwrap(), 1));
        let nodes = [
            ("config", config),
            ("servers/10.0.0.1", String::new()),
            ("sharding/0/of-another-program", "text".to_owned()),
        ];
        for (path, data) in nodes {
            let path = NodePath::parse(&format!("/{job}/{path}")).unwrap();
            let txn = Txn::new().create(path, data, Lifetime::Persistent);
            assert!(center.commit(txn).await.unwrap().is_committed());
        }
    }
    let center = Arc::new(registry.connect());
    replace_configuration(&Operations::new(center.clone())).await;
    let mut namespaces = Namespaces::default();
    namespaces.add(Namespace::follow("orders".to_owned(), center, None));
    for namespace in namespaces.all() {
        namespace.live.loaded(Duration::from_secs(30)).await.unwrap();
    }
    let (router, document, _) = super::routes().split();
    let namespaces = Arc::new(namespaces);
    let shared = Shared {
        namespaces,
        access: Arc::default(),
        prefix: "".into(),
        streams: Default::default(),
    };
    let signing = super::Signing { prefix: "", is_open: true, cookie: String::new() };
    super::finish(router, &document, &signing).with_state(shared)
}

fn caller(role: Role, jobs: &str) -> Caller {
    Caller { name: "anna".to_owned(), role, jobs: jobs.to_owned() }
}

async fn send(
    router: &Router,
    caller: &Caller,
    method: &str,
    path: &str,
    body: Value,
) -> (StatusCode, Value) {
    let uri = format!("/api/v1/namespaces/orders/{path}");
    let request = Request::builder().method(method).uri(uri);
    let request = request.header("content-type", "application/json");
    let request = request.body(Body::from(body.to_string())).unwrap();
    let router = router.clone().layer(Extension(caller.clone()));
    let response = router.oneshot(request).await.unwrap();
    let status = response.status();
    let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap())
}

#[tokio::test]
async fn bulk_leaves_jobs_alone_that_the_caller_may_not_change() {
    let (router, anna) = (router().await, caller(Role::Operator, "a-*"));
    let dry = json!({ "filter": {}, "dry_run": true });
    let (status, preview) = send(&router, &anna, "POST", "bulk/pause", dry).await;
    assert_eq!(status, 200, "{preview}");
    let refused: Vec<bool> =
        preview["jobs"].as_array().unwrap().iter().map(|job| job["refused"].is_string()).collect();
    assert_eq!(refused, [false, false, true]);
    let body = json!({ "filter": {}, "digest": preview["digest"], "reason": "test" });
    let (status, got) = send(&router, &anna, "POST", "bulk/pause", body).await;
    assert_eq!(status, 200, "{got}");
    let jobs = |list: &str| -> Vec<String> {
        let entries = got["report"][list].as_array().unwrap();
        entries.iter().map(|entry| entry["job"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!((jobs("done"), jobs("left")), (vec!["a-1".into(), "a-2".into()], vec!["b".into()]));
    let why = got["report"]["left"][0]["what"].as_str().unwrap();
    assert!(why.contains("\"a-*\""), "{why}");
}

#[tokio::test]
async fn change_of_all_jobs_needs_the_pattern_of_all_jobs() {
    let router = router().await;
    let reason = json!({ "reason": "test" });
    let export = json!({
        "format": "ejob-export", "version": 1,
        "jobs": [{
            "job": "b", "dialect": "2.1.5",
            "document": encode_config(&JobConfig::new(JobName::new("b").unwrap(), 2)),
        }],
    });
    let import = json!({ "export": export, "dry_run": true });
    let bulk = json!({ "filter": {}, "dry_run": true });
    let job = "[[jobs]]\nname = 'a-1'\nsharding_total_count = 1\nstored = true\n";
    let limits = "[[groups]]\nname = 'db'\ncluster_concurrency = 2\n";
    let apply =
        |text: String| json!({ "files": [{ "name": "a.toml", "text": text }], "dry_run": true });
    let (files, grouped) = (apply(job.to_owned()), apply(format!("{limits}{job}")));
    let group = json!({ "cluster_concurrency": 2, "reason": "test" });
    let limited = caller(Role::Admin, "a-*");
    let viewer = caller(Role::Viewer, "*");
    for (caller, method, path, body, expected) in [
        (&limited, "POST", "servers/10.0.0.1/pause", &reason, 403),
        (&limited, "POST", "jobs/b/pause", &reason, 403),
        (&limited, "POST", "jobs/a-1/pause", &reason, 200),
        (&limited, "POST", "import", &import, 403),
        (&caller(Role::Admin, "*"), "POST", "import", &import, 200),
        (&caller(Role::Operator, "*"), "POST", "import", &import, 403),
        (&limited, "PUT", "groups/db?dry_run=true", &group, 403),
        (&limited, "POST", "apply", &files, 200),
        (&limited, "POST", "apply", &grouped, 403),
        (&caller(Role::Admin, "*"), "POST", "apply", &grouped, 200),
        (&viewer, "POST", "bulk/run", &bulk, 403),
        (&viewer, "GET", "export", &Value::Null, 403),
        (&viewer, "GET", "jobs", &Value::Null, 200),
    ] {
        let (status, got) = send(&router, caller, method, path, body.clone()).await;
        assert_eq!(status, expected, "{caller:?} {path}: {got}");
    }
    let (_, got) = send(&router, &limited, "GET", "export", Value::Null).await;
    assert_eq!(got["export"]["jobs"].as_array().unwrap().len(), 2);
    assert_eq!(got["left_out"][0]["job"], "b");
}

#[tokio::test]
async fn stored_documents_are_shown_to_callers_that_may_configure_the_job() {
    let router = router().await;
    for (caller, is_shown) in [
        (caller(Role::Viewer, "*"), false),
        (caller(Role::Operator, "*"), false),
        (caller(Role::Admin, "b"), false),
        (caller(Role::Admin, "a-*"), true),
    ] {
        let (_, got) = send(&router, &caller, "GET", "jobs/a-1/configuration", Value::Null).await;
        assert_eq!(got["document"].is_string(), is_shown, "{caller:?} {got}");
        assert_eq!(got["fields"]["sharding_total_count"], 1);
        let path = "jobs/a-1/configuration/former";
        let (_, got) = send(&router, &caller, "GET", path, Value::Null).await;
        let former = &got["rows"][0];
        assert_eq!(former["document"].is_string(), is_shown, "{caller:?} {got}");
        assert_eq!((&former["who"], &former["why"]), (&json!("anna"), &json!("test")));
        assert_eq!(former["changes"][0]["from"], "\"daily\"", "{got}");
        for below in ["config", "sharding/0/of-another-program"] {
            let path = format!("jobs/a-1/nodes?below={below}");
            let (_, got) = send(&router, &caller, "GET", &path, Value::Null).await;
            let row = &got["rows"][0];
            let shown = (row["text"].is_string(), row["hidden"] == true);
            assert_eq!(shown, (is_shown, !is_shown), "{below}");
        }
    }
}
