//! Changes of the limits of groups, by themselves and by job files: previews, audit records, and
//! values that are not valid.

use axum::http::Method;
use reg_center::RegistryCenter as _;
use serde_json::{Value, json};

use crate::support::{BASE, Got, Site};

const DB: &str = "/groups/db";

async fn put(site: &Site, group: &str, body: &Value) -> Got {
    site.change(Method::PUT, &format!("{BASE}{group}"), &[], &body.to_string()).await
}

#[tokio::test]
async fn limits_are_set_and_removed_with_an_audit_record() {
    let site = Site::populated().await;
    let none = json!({ "cluster_concurrency": null, "start_rate": null });
    let five = json!({ "cluster_concurrency": 5, "start_rate": null });
    let rate = json!({ "cluster_concurrency": null, "start_rate": "90 in 1m" });
    let body = json!({ "start_rate": "90 in 1m", "reason": "the database is slow" });
    let got = put(&site, DB, &body).await.ok();
    assert_eq!((&got.body["before"], &got.body["after"]), (&five, &rate), "both are replaced");
    let record = &got.body["record"];
    assert_eq!((&record["act"], &record["who"]), (&json!("set group"), &json!("console")));
    assert_eq!(record["why"], "the database is slow");
    assert_eq!(record["what"], "at most 5 runs at once -> at most 90 starts in 1m");
    let writes = site.counting.writes();
    let same = put(&site, DB, &body).await.ok();
    assert_eq!((&same.body["before"], &same.body["record"]), (&rate, &Value::Null));
    assert_eq!(site.counting.writes(), writes, "limits that are as wanted are not written");
    let removal = json!({ "reason": "it has grown" }).to_string();
    let got = site.change(Method::DELETE, &format!("{BASE}{DB}"), &[], &removal).await.ok();
    assert_eq!((&got.body["after"], &got.body["record"]["act"]), (&none, &json!("remove group")));
    let path = format!("{BASE}{DB}");
    let is_removed = |got: &Got| got.body["changes"][0]["act"] == "remove group";
    let shown = site.until(&path, is_removed).await;
    assert_eq!((&shown.body["limits"], &shown.body["jobs"]), (&none, &json!(["long"])));
    assert_eq!(shown.body["changes"].as_array().unwrap().len(), 2, "the newest comes first");

    let is_of_group = |row: &&Value| row["group"] == "db";
    let all = site.get(&format!("{BASE}/audit")).await.ok();
    let of_group: Vec<_> = all.rows().iter().filter(is_of_group).collect();
    let shown: Vec<_> = of_group.iter().map(|row| (&row["act"], &row["why"])).collect();
    assert_eq!(
        shown[0],
        (&json!("remove group"), &json!("it has grown")),
        "the newest comes first"
    );
    assert_eq!(shown[1], (&json!("set group"), &json!("the database is slow")));
    assert!(of_group.iter().all(|row| row["job"].is_null()), "{}", all.body);
    let of_jobs = all.rows().iter().filter(|row| row["job"].is_string());
    assert!(of_jobs.clone().count() > 0 && of_jobs.clone().all(|row| row["group"].is_null()));
    let (mut paged, mut next) = (Vec::new(), String::new());
    loop {
        let page = site.get(&format!("{BASE}/audit?limit=1{next}")).await.ok();
        paged.extend(page.rows().iter().cloned());
        let Some(cursor) = page.body["next"].as_str() else { break };
        next = format!("&cursor={cursor}");
    }
    assert_eq!(&paged, all.rows(), "pages have changes of jobs and of groups");
    let of_job = site.get(&format!("{BASE}/jobs/long/audit")).await.ok();
    assert!(!of_job.rows().iter().any(|row| is_of_group(&row)), "{}", of_job.body);
}

#[tokio::test]
async fn groups_without_use_are_not_listed() {
    let site = Site::empty().await;
    site.get(&format!("{BASE}/groups/api")).await.problem(404, "no-such-group");
    put(&site, "/groups/api", &json!({ "cluster_concurrency": 2, "reason": "test" })).await.ok();
    let list = format!("{BASE}/groups");
    let got = site.until(&list, |got| got.rows().len() == 1).await;
    assert_eq!(got.rows()[0]["group"], "api", "the group needs no job");
    let removal = json!({ "reason": "test" }).to_string();
    site.change(Method::DELETE, &format!("{BASE}/groups/api"), &[], &removal).await.ok();
    site.until(&list, |got| got.rows().is_empty()).await;
    let got = site.get(&format!("{BASE}/groups/api")).await.ok();
    assert_eq!(got.body["changes"].as_array().unwrap().len(), 2, "its changes stay known");
}

#[tokio::test]
async fn values_that_are_not_valid_are_named() {
    let site = Site::empty().await;
    for (body, expected) in [
        (json!({}), "cluster_concurrency and start_rate are both missing; valid is one of them"),
        (json!({ "cluster_concurrency": 0 }), "cluster_concurrency is 0; valid is 1 to 4294967295"),
        (json!({ "start_rate": "often" }), "start_rate is \"often\"; valid is a number of starts"),
        (json!({ "start_rate": "0 in 1m" }), "start_rate is 0 in 1m; valid is a number of starts"),
    ] {
        let got = site
            .change(Method::PUT, &format!("{BASE}{DB}?dry_run=true"), &[], &body.to_string())
            .await;
        let detail = got.problem(400, "invalid-request");
        assert!(detail.starts_with(expected), "{detail}");
    }
    let got = put(&site, "/groups/a%2Fb", &json!({ "start_rate": "9 in 1m" })).await;
    got.problem(400, "invalid-reason");
    let dry = site
        .change(
            Method::PUT,
            &format!("{BASE}/groups/a%2Fb?dry_run=true"),
            &[],
            r#"{"start_rate":"9 in 1m"}"#,
        )
        .await;
    dry.problem(400, "invalid-name");
}

#[tokio::test]
async fn unreadable_limits_are_null_and_can_be_replaced() {
    let site = Site::empty().await;
    site.write(&[("/job@-@groups/db/limits".to_owned(), "{".to_owned())]).await;
    let path = format!("{BASE}{DB}");
    let got = site.until(&path, |got| got.status.is_success()).await;
    assert_eq!(got.body["limits"], Value::Null);
    let change = json!({ "cluster_concurrency": 2, "reason": "repair" });
    let got = put(&site, DB, &change).await.ok();
    assert_eq!(
        (&got.body["before"], &got.body["after"]["cluster_concurrency"]),
        (&Value::Null, &json!(2))
    );
    let center = site.registry.connect();
    let limits = reg_center::NodePath::parse("/job@-@groups/db/limits").unwrap();
    assert!(center.read(&limits).await.unwrap().is_some_and(|node| node.data.len() > 1));
}

#[tokio::test]
async fn findings_about_groups_are_listed_first_and_repaired() {
    let site = Site::populated().await;
    let permit = "/job@-@groups/db/permits/9".to_owned();
    site.write(&[(permit.clone(), "x".to_owned())]).await;
    let path = format!("{BASE}/findings");
    let is_found = |got: &Got| got.rows().iter().any(|row| row["group"] == "db");
    let got = site.until(&path, is_found).await;
    let row = got.rows()[0].clone();
    assert_eq!((&row["job"], &row["group"]), (&json!(""), &json!("db")), "{row}");
    assert_eq!(row["code"], "orphaned-group-permit");
    let page = site.get(&format!("{path}?limit=1")).await.ok();
    assert_eq!(page.rows(), std::slice::from_ref(&row));
    let next = page.body["next"].as_str().unwrap();
    let rest = site.get(&format!("{path}?cursor={next}")).await.ok();
    assert_eq!(rest.rows(), &got.rows()[1..], "the cursor is valid for groups");
    let of_job = format!("{BASE}/jobs/long/findings");
    assert!(is_found(&site.get(&of_job).await.ok()), "the job is in the group");
    assert!(!is_found(&site.get(&format!("{BASE}/jobs/java-3/findings")).await.ok()));

    let repair = |subject: &str, dry_run: &str| {
        let path = format!("{BASE}/{subject}/findings/repair{dry_run}");
        let body = json!({ "code": row["code"], "node": permit, "reason": "leftover" });
        (path, body.to_string())
    };
    for subject in ["jobs/long", "groups/api"] {
        let (path, body) = repair(subject, "");
        let got = site.change(Method::POST, &path, &[], &body).await;
        got.problem(404, "no-such-finding");
    }
    let writes = site.counting.writes();
    let (preview, body) = repair("groups/db", "?dry_run=true");
    let previewed = site.change(Method::POST, &preview, &[], &body).await.ok();
    assert_eq!(site.counting.writes(), writes, "a dry run writes nothing");
    let (apply, body) = repair("groups/db", "");
    let got = site.change(Method::POST, &apply, &[], &body).await.ok();
    assert_eq!(got.body["report"]["done"], previewed.body["report"]["done"]);
    assert_eq!(got.body["report"]["done"][0]["job"], "group db", "{}", got.body);
    site.until(&path, |got| !is_found(got)).await;
    let group = site.get(&format!("{BASE}{DB}")).await.ok();
    let change = &group.body["changes"][0];
    assert_eq!((&change["act"], &change["why"]), (&json!("fix"), &json!("leftover")));
}

/// A request to apply a file with the limits of `db` and the job `a` of that group.
fn declaring(max: u32, digest: Option<&Value>) -> String {
    let text = format!(
        "[[groups]]\nname = 'db'\ncluster_concurrency = {max}\n\n\
         [[jobs]]\nname = 'a'\ngroup = 'db'\nsharding_total_count = 1\nstored = true\n"
    );
    let files = json!([{ "name": "jobs.toml", "text": text }]);
    let dry_run = digest.is_none();
    json!({ "files": files, "dry_run": dry_run, "digest": digest, "reason": "release 12" })
        .to_string()
}

#[tokio::test]
async fn job_files_set_limits_before_their_jobs() {
    let site = Site::empty().await;
    let apply = format!("{BASE}/apply");
    let writes = site.counting.writes();
    let plan = site.post(&apply, &declaring(2, None)).await.ok();
    let changes = json!([{ "field": "cluster_concurrency", "from": "none", "to": "2" }]);
    let group = json!({ "job": "group db", "group": "db", "act": "create", "changes": changes });
    let steps = json!([group, { "job": "a", "act": "create" }]);
    assert_eq!(plan.body["plan"]["steps"], steps);
    assert_eq!(site.counting.writes(), writes, "a dry run writes nothing");

    let wanted = declaring(2, Some(&plan.body["digest"]));
    let key = [("idempotency-key", "one")];
    let got = site.change(Method::POST, &apply, &key, &wanted).await.ok();
    let report = &got.body["report"];
    let done = ["group db", "a"].map(|job| json!(job));
    assert_eq!([0, 1].map(|n| report["done"][n]["job"].clone()), done, "{report}");
    assert_eq!(report["done"][0]["target"], "limits");
    assert_eq!(report["done"][0]["what"], "no limits -> at most 2 runs at once");
    let record = &report["records"][0];
    assert_eq!((&record["act"], &record["who"]), (&json!("set group"), &json!("console")));
    assert_eq!((&record["job"], &record["why"]), (&json!("group db"), &json!("release 12")));
    let is_set = |got: &Got| got.body["limits"]["cluster_concurrency"] == 2;
    let shown = site.until(&format!("{BASE}{DB}"), is_set).await;
    assert_eq!(shown.body["changes"][0]["why"], "release 12");

    let writes = site.counting.writes();
    let repeat = site.change(Method::POST, &apply, &key, &wanted).await.ok();
    assert_eq!((&repeat.body, site.counting.writes()), (&got.body, writes));
    let plan = site.post(&apply, &declaring(2, None)).await.ok();
    assert_eq!(plan.body["plan"]["steps"][0]["act"], "same");
    let same = site.post(&apply, &declaring(2, Some(&plan.body["digest"]))).await.ok();
    assert_eq!(same.body["report"]["done"], json!([]));
    let left = &same.body["report"]["left"][0];
    assert_eq!((&left["job"], &left["as_wanted"]), (&json!("group db"), &json!(true)));
    assert_eq!(site.counting.writes(), writes, "limits that are as wanted are not written");
}

#[tokio::test]
async fn job_files_conflict_with_another_change_of_the_limits() {
    let site = Site::empty().await;
    let apply = format!("{BASE}/apply");
    put(&site, DB, &json!({ "start_rate": "9 in 1m", "reason": "test" })).await.ok();
    let plan = site.post(&apply, &declaring(2, None)).await.ok();
    let step = &plan.body["plan"]["steps"][0];
    let changes = json!([
        { "field": "cluster_concurrency", "from": "none", "to": "2" },
        { "field": "start_rate", "from": "9 in 1m", "to": "none" },
    ]);
    assert_eq!((&step["act"], &step["changes"]), (&json!("replace"), &changes));
    put(&site, DB, &json!({ "start_rate": "8 in 1m", "reason": "test" })).await.ok();
    let stale = site.post(&apply, &declaring(2, Some(&plan.body["digest"]))).await;
    stale.problem(409, "plan-changed");
    let shown = site.get(&format!("{BASE}{DB}")).await.ok();
    assert_eq!(shown.body["limits"]["start_rate"], "8 in 1m");
    site.get(&format!("{BASE}/jobs/a")).await.problem(404, "no-such-job");
}

/// The log of changes of the group is not readable, so that its limits cannot be set.
#[tokio::test]
async fn jobs_of_a_group_whose_limits_fail_are_left_alone() {
    let site = Site::empty().await;
    site.write(&[("/job@-@groups/db/audit".to_owned(), "{".to_owned())]).await;
    let apply = format!("{BASE}/apply");
    let plan = site.post(&apply, &declaring(2, None)).await.ok();
    let got = site.post(&apply, &declaring(2, Some(&plan.body["digest"]))).await;
    assert_eq!(got.status, 207, "{}", got.body);
    let report = &got.body["report"];
    let failed = &report["failed"][0];
    assert_eq!((&failed["job"], &failed["target"]), (&json!("group db"), &json!("limits")));
    let what = "not tried, as the limits of its group were not set";
    assert_eq!(
        (&report["left"][0]["job"], &report["left"][0]["what"]),
        (&json!("a"), &json!(what))
    );
    assert_eq!(report["done"], json!([]));
}
