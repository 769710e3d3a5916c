//! Reads: complete, filtered, without a read of the registry, for jobs of Rust and Java.

use job_history::{History, HistoryOptions};
use lite::{GroupLimits, GroupName, JobBuilder, Scheduler, job_fn};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::support::{BASE, DEADLINE, Got, Site, create_parallel, within};

/// Paths of all reads from the read model, for the populated site.
pub(crate) const READS: [&str; 37] = [
    "",
    "/jobs",
    "/jobs?status=FAILING&text=rep&server=10.0.0.1",
    "/jobs?status=LATE",
    "/jobs?status=ATTENTION",
    "/jobs/report",
    "/jobs/java-2",
    "/jobs/damaged",
    "/jobs/report/items",
    "/jobs/java-3/items",
    "/jobs/report/items/1",
    "/jobs/report/configuration",
    "/jobs/java-3/configuration",
    "/jobs/damaged/configuration",
    "/jobs/report/configuration/former",
    "/jobs/damaged/configuration/former",
    "/jobs/report/why",
    "/jobs/long/why",
    "/jobs/java-2/why",
    "/jobs/damaged/why",
    "/jobs/long/items/0/why",
    "/jobs/java-3/items/1/why",
    "/jobs/report/fires?count=3",
    "/jobs/report/plan?disable=10.0.0.1",
    "/jobs/java-3/plan?join=10.0.0.7&joining=weight=2%20zone=a&leave=10.0.0.9@-@7",
    "/jobs/report/audit",
    "/audit",
    "/jobs/report/nodes",
    "/jobs/left/nodes",
    "/jobs/left/findings",
    "/findings",
    "/jobs/report/removal",
    "/servers/10.0.0.9",
    "/groups",
    "/groups/db",
    "/running",
    "/export",
];

#[tokio::test]
async fn reads_need_no_read_of_the_registry() {
    let site = Site::populated().await;
    let before = (site.counting.reads(), site.counting.writes());
    for path in READS.iter().chain(&["/servers", "/instances"]) {
        site.get(&format!("{BASE}{path}")).await.ok();
    }
    assert_eq!((site.counting.reads(), site.counting.writes()), before);
}

fn column(got: &Got, name: &str) -> Vec<String> {
    let text = |row: &Value| row[name].as_str().unwrap_or_default().to_owned();
    got.rows().iter().map(text).collect()
}

#[tokio::test]
async fn jobs_are_filtered_by_each_condition() {
    let site = Site::populated().await;
    let create = r#"{"template":"monthly","label":"eu","fields":{"sharding_total_count":1},
        "reason":"test"}"#;
    let path = format!("{BASE}/jobs/monthly-eu");
    site.change(axum::http::Method::PUT, &path, &[], create).await.ok();
    site.until(&path, |got| got.status.is_success()).await;
    for (query, expected) in [
        ("", &["damaged", "java-2", "java-3", "long", "monthly-eu", "report"][..]),
        ("text=JAVA", &["java-2", "java-3"]),
        ("status=FAILING", &["report"]),
        ("server=10.0.0.9", &["java-2", "java-3"]),
        ("template=monthly", &["monthly-eu"]),
        ("label=eu", &["monthly-eu"]),
        ("label=us", &[]),
        ("text=java&status=FAILING", &[]),
    ] {
        let got = site.get(&format!("{BASE}/jobs?{query}")).await.ok();
        assert_eq!(column(&got, "jobName"), expected, "{query}");
    }
}

/// Rows, the filter and the counts have the same words, also for a job whose nodes alone show `OK`.
#[tokio::test]
async fn status_is_one_word_in_rows_filter_and_counts() {
    let site = Site::populated().await;
    site.add_idle(&["idle"]).await;
    let _owner = site.add_late("stuck").await;
    let late = format!("{BASE}/jobs?status=LATE");
    site.until(&late, |got| column(got, "jobName") == ["stuck"]).await;
    let all = site.get(&format!("{BASE}/jobs")).await.ok();
    let mut by_status: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in all.rows() {
        let [name, status] = ["jobName", "status"].map(|field| row[field].as_str().unwrap());
        by_status.entry(status).or_default().push(name);
    }
    assert_eq!(by_status["LATE"], ["stuck"]);
    assert_eq!(by_status["INVALID"], ["damaged"]);
    let namespace = site.get(BASE).await.ok();
    let counts: BTreeMap<_, _> =
        by_status.iter().map(|(status, jobs)| (*status, jobs.len())).collect();
    assert_eq!(namespace.body["jobs_by_status"], serde_json::to_value(counts).unwrap());
    for (status, jobs) in &by_status {
        let got = site.get(&format!("{BASE}/jobs?status={status}")).await.ok();
        assert_eq!(column(&got, "jobName"), *jobs, "{status}");
        assert_eq!(column(&got, "status"), vec![*status; jobs.len()]);
        for job in jobs {
            let one = site.get(&format!("{BASE}/jobs/{job}")).await.ok();
            assert_eq!(one.body["brief"]["status"], *status, "{job}");
        }
    }
    let detail = site.get(&format!("{BASE}/jobs?status=late")).await;
    let expected = "status is \"late\"; valid is one of OK, FAILING, CRASHED, INVALID, LATE, \
                    RESHARDING, PAUSED, PARTLY_PAUSED, DISABLED, NO_INSTANCE, ATTENTION";
    assert_eq!(detail.problem(400, "invalid-request"), expected);
    let document = site.get("/api/v1/openapi.json").await.ok().body;
    let schemas = &document["components"]["schemas"];
    let words: Vec<_> = expected.rsplit(" of ").next().unwrap().split(", ").collect();
    let (last, statuses) = words.split_last().unwrap();
    let of_schema = |name: &str| -> BTreeSet<String> {
        let schema = &schemas[name];
        let one_of = schema["oneOf"].as_array().cloned().unwrap_or_else(|| vec![schema.clone()]);
        let values = one_of.iter().flat_map(|one| one["enum"].as_array().unwrap().clone());
        values.map(|value| value.as_str().unwrap().to_owned()).collect()
    };
    let set = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(of_schema("JobStatus"), set(statuses));
    assert_eq!(of_schema("StatusWord"), set(&[statuses, &[*last]].concat()));
}

#[tokio::test]
async fn java_jobs_are_read_without_records_of_this_project() {
    let site = Site::populated().await;
    for (job, dialect) in [("java-2", "2.1.5"), ("java-3", "3.x")] {
        let got = site.get(&format!("{BASE}/jobs/{job}")).await.ok();
        assert_eq!(got.body["brief"]["dialect"], dialect);
        assert_eq!(got.body["leader"], "10.0.0.9@-@7");
        assert_eq!(got.body["instances"][0]["java"], true, "{}", got.body);
        assert_eq!(got.body["servers"][0]["state"], "enabled");
        let items = site.get(&format!("{BASE}/jobs/{job}/items")).await.ok();
        let running: Vec<_> = items.rows().iter().map(|item| item["running"].clone()).collect();
        assert_eq!(running, [false, true], "the mark of Java shows the run");
        assert!(items.rows()[1]["token"].is_null());
        let config = site.get(&format!("{BASE}/jobs/{job}/configuration")).await.ok();
        assert_eq!(config.body["fields"]["cron"], "0 0 3 * * ?");
        let document = config.body["document"].as_str().unwrap();
        assert!(document.contains("0 0 3 * * ?"), "{document}");
        let body = r#"{"items":[0],"reason":"test"}"#;
        let refused = site.post(&format!("{BASE}/jobs/{job}/run"), body).await;
        refused.problem(422, "not-supported");
        let ran = site.post(&format!("{BASE}/jobs/{job}/run"), r#"{"reason":"test"}"#).await.ok();
        assert_eq!(ran.body["report"]["done"][0]["target"], "instance 10.0.0.9@-@7");
        assert!(ran.body["request"].is_null(), "the outcome of Java runs cannot be followed");
    }
}

#[tokio::test]
async fn plan_has_each_kind_of_change_and_the_reason_of_each_item() {
    let site = Site::populated().await;
    let plan =
        async |query: &str| site.get(&format!("{BASE}/jobs/report/plan?{query}")).await.ok().body;
    let owners = |plan: &Value| -> Vec<String> {
        let rows = plan["items"].as_array().unwrap().iter();
        rows.map(|row| row["owner"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let (here, new) = ("10.0.0.1@-@1", "10.0.0.8@-@new-1");
    let joined = plan("join=10.0.0.8&joining=weight=2%20zone=a").await;
    assert_eq!(owners(&joined), [here, new]);
    assert_eq!(joined["members"], json!([new, here]));
    let ssd = "placement=require%20disk=ssd";
    let included = plan(&format!("join=10.0.0.8&joining=disk=ssd&{ssd}")).await;
    assert_eq!((owners(&included), &included["members"]), (vec![new.into(); 2], &json!([new])));
    let excluded = plan(&format!("join=10.0.0.8&joining=disk=hdd&{ssd}")).await;
    assert_eq!(excluded["members"], json!([]), "{excluded}");
    let left = plan(&format!("join=10.0.0.8&leave={here}")).await;
    let reason = "moved: its owner is not available";
    assert_eq!(left["moves"].as_array().unwrap().len(), 2, "{left}");
    let last = json!({ "item": 1, "from": here, "to": new, "waits": false, "reason": reason });
    assert_eq!(left["moves"][1], last);
    assert_eq!(left["items"][1], json!({ "item": 1, "owner": new, "reason": reason }));

    site.post(&format!("{BASE}/servers/10.0.0.1/disable"), r#"{"reason":"test"}"#).await.ok();
    let unchanged = format!("{BASE}/jobs/report/plan");
    site.until(&unchanged, |got| got.body["members"] == json!([])).await;
    let enabled = plan("enable=10.0.0.1").await;
    assert_eq!((owners(&enabled), &enabled["members"]), (vec![here.into(); 2], &json!([here])));
}

#[tokio::test]
async fn running_items_are_listed_in_pages_with_the_oldest_first() {
    let site = Site::populated().await;
    let path = format!("{BASE}/running");
    let all = site.get(&path).await.ok();
    let jobs: Vec<_> = all.rows().iter().map(|row| row["job"].as_str().unwrap()).collect();
    assert_eq!(jobs, ["long", "long", "java-2", "java-3"], "runs without a start come last");
    let starts: Vec<_> =
        all.rows().iter().filter_map(|row| row["item"]["began_ms"].as_i64()).collect();
    assert!(starts.is_sorted(), "{starts:?}");
    let first = site.get(&format!("{path}?limit=3")).await.ok();
    let next = first.body["next"].as_str().unwrap();
    let second = site.get(&format!("{path}?limit=3&cursor={next}")).await.ok();
    let paged: Vec<_> = first.rows().iter().chain(second.rows()).collect();
    assert_eq!(paged, all.rows().iter().collect::<Vec<_>>());
}

#[tokio::test]
async fn audit_lists_changes_of_all_jobs_with_the_newest_first() {
    let site = Site::empty().await;
    site.add_idle(&["a", "b"]).await;
    for (job, act, reason) in
        [("a", "pause", "one"), ("b", "disable", "two"), ("a", "resume", "three")]
    {
        let body = format!(r#"{{"reason":"{reason}"}}"#);
        site.post(&format!("{BASE}/jobs/{job}/{act}"), &body).await.ok();
    }
    let path = format!("{BASE}/audit");
    let all = site.until(&path, |got| got.rows().len() == 3).await;
    let mut times: Vec<_> = all.rows().iter().map(|row| row["at_ms"].as_i64().unwrap()).collect();
    times.reverse();
    assert!(times.is_sorted(), "{times:?}");
    assert!(all.rows().iter().all(|row| row["who"] == "console"));
    let first = site.get(&format!("{path}?limit=1")).await.ok();
    let next = first.body["next"].as_str().unwrap();
    let rest = site.get(&format!("{path}?cursor={next}")).await.ok();
    assert_eq!(rest.rows().as_slice(), &all.rows()[1..]);
    let of_a = site.get(&format!("{BASE}/jobs/a/audit")).await.ok();
    let mut reasons = column(&of_a, "why");
    reasons.sort();
    assert_eq!(reasons, ["one", "three"]);
}

#[tokio::test]
async fn wait_for_a_permit_of_a_group_is_explained() {
    let site = Site::empty().await;
    let builder = Scheduler::builder(Arc::new(site.registry.connect()));
    let scheduler = builder.server_ip("10.0.0.1").unwrap().build().unwrap();
    let one = GroupLimits { cluster_concurrency: Some(1), start_rate: None };
    scheduler.define_group(GroupName::new("db").unwrap(), one).await.unwrap();
    let config = JobBuilder::new("grouped", 2).group("db").build().unwrap();
    let endless = job_fn(async |_: lite::ShardingContext| std::future::pending().await);
    let job = scheduler.schedule(config, endless).await.unwrap();
    within("joining", job.joined()).await.unwrap();
    job.trigger().await.unwrap();
    let running = |got: &Got| got.rows().iter().position(|row| row["running"] == true);
    let items =
        site.until(&format!("{BASE}/jobs/grouped/items"), |got| running(got).is_some()).await;
    let waiting = 1 - running(&items).unwrap();
    let is_explained = |got: &Got| {
        let reasons = got.body["reasons"].as_array().unwrap();
        let mut texts = reasons.iter().filter_map(|reason| reason["text"].as_str());
        let expected = "waits for a permit of the group db (1 of 1 are taken)";
        texts.any(|text| text.starts_with(expected))
    };
    let before = site.counting.reads();
    site.until(&format!("{BASE}/jobs/grouped/items/{waiting}/why"), is_explained).await;
    // The other item waits in the line.
    let group = format!("{BASE}/groups/db");
    let got = site.until(&group, |got| got.body["waiting_count"] == 1).await;
    assert_eq!(site.counting.reads(), before, "the read model has the group");
    assert_eq!(got.body["limits"], json!({ "cluster_concurrency": 1, "start_rate": null }));
    let permits = got.body["permits"].as_array().unwrap();
    assert_eq!((permits.len(), &got.body["permits_taken"]), (1, &json!(1)));
    assert_eq!((&permits[0]["job"], &permits[0]["item"]), (&json!("grouped"), &json!(1 - waiting)));
    assert!(permits[0]["holder"].as_str().unwrap().starts_with("10.0.0.1@-@"), "{permits:?}");
    assert!(permits[0]["since"].is_string(), "{permits:?}");
    assert_eq!(got.body["waiting"][0]["job"], "grouped");
    assert_eq!((&got.body["jobs"], &got.body["jobs_count"]), (&json!(["grouped"]), &json!(1)));
    let list = site.get(&format!("{BASE}/groups")).await.ok();
    assert_eq!(list.rows(), &[got.body], "the list has the same facts");
    scheduler.abort();
}

#[tokio::test]
async fn nodes_are_decoded_and_bounded() {
    let site = Site::populated().await;
    let binary = reg_center::NodePath::parse("/left/data").unwrap();
    let data = vec![0xff; 20_000];
    let txn = reg_center::Txn::new().create(binary, data, reg_center::Lifetime::Persistent);
    let writer = site.registry.connect();
    use reg_center::RegistryCenter as _;
    assert!(writer.commit(txn).await.unwrap().is_committed());
    let path = format!("{BASE}/jobs/left/nodes?below=data");
    let got = site.until(&path, |got| got.rows().len() == 1).await;
    let row = &got.rows()[0];
    assert_eq!(
        (&row["bytes"], &row["cut"], &row["text"]),
        (&20_000.into(), &true.into(), &Value::Null)
    );
    assert!(row["base64"].as_str().unwrap().starts_with("////"));
    let got = site.get(&format!("{BASE}/jobs/java-3/nodes?below=instances")).await.ok();
    let row = got.rows().last().unwrap();
    assert_eq!(
        (&row["kind"], &row["path"]),
        (&"instance".into(), &"/java-3/instances/10.0.0.9@-@7".into())
    );
    assert!(row["owner_session"].as_str().unwrap().starts_with("0x"), "{row}");
    assert!(row["text"].as_str().unwrap().contains("serverIp: 10.0.0.9"));
    let got = site.get(&format!("{BASE}/jobs/damaged/nodes?below=/config")).await.ok();
    assert_eq!(
        (&got.rows()[0]["kind"], &got.rows()[0]["text"]),
        (&"configuration".into(), &"{".into())
    );
    assert!(got.rows()[0]["fault"].is_string(), "{}", got.body);
}

#[tokio::test]
async fn next_fires_are_shown_in_a_time_zone() {
    let site = Site::populated().await;
    let after = "after=2024-02-29T12:00:00Z&count=1";
    for (zone, name, local) in [
        ("", "UTC", "2024-03-01T03:00:00+00:00"),
        ("&time_zone=Asia/Shanghai", "Asia/Shanghai", "2024-03-01T11:00:00+08:00"),
        ("&time_zone=GMT-03:30", "GMT-03:30", "2024-02-29T23:30:00-03:30"),
        ("&time_zone=gmt%2B8", "GMT+08:00", "2024-03-01T11:00:00+08:00"),
        ("&time_zone=GMT%2B530", "GMT+05:30", "2024-03-01T08:30:00+05:30"),
    ] {
        let path = format!("{BASE}/jobs/java-3/fires?{after}{zone}");
        let got = site.get(&path).await.ok();
        assert_eq!(got.body["time_zone"], name);
        assert_eq!(got.body["exclusion"], serde_json::Value::Null);
        let expected = serde_json::json!([{ "at": "2024-03-01T03:00:00Z", "local": local }]);
        assert_eq!(got.body["rows"], expected);
    }
}

#[tokio::test]
async fn history_is_read_in_pages() {
    let folder = tempfile::tempdir().unwrap();
    let options = || HistoryOptions::sqlite(folder.path().join("history.db"));
    let history = History::open(options()).await.unwrap();
    let site = Site::loading(Some(History::open(options()).await.unwrap()));
    let scheduler = Scheduler::builder(Arc::new(site.registry.connect()));
    let scheduler = scheduler.event_subscriber(history.subscriber()).build().unwrap();
    let job = JobBuilder::new("report", 3).build().unwrap();
    let job = scheduler.schedule(job, job_fn(async |_| Ok(()))).await.unwrap();
    within("joining", job.joined()).await.unwrap();
    let path = format!("{BASE}/jobs/report/run");
    site.until(&format!("{BASE}/jobs/report"), |got| got.body["brief"]["status"] == "OK").await;
    site.post(&path, r#"{"reason":"test"}"#).await.ok();
    within("the runs", history.wait_for(|stats| stats.written >= 6)).await;
    scheduler.shutdown(DEADLINE).await;
    history.flush(DEADLINE).await.unwrap();
    let fires = format!("{BASE}/history/fires");
    let first = site.get(&format!("{fires}?job=report&limit=2")).await.ok();
    let next = first.body["next"].as_str().unwrap();
    let second = site.get(&format!("{fires}?job=report&limit=2&cursor={next}")).await.ok();
    let mut items: Vec<_> =
        first.rows().iter().chain(second.rows()).map(|row| row["item"].as_u64().unwrap()).collect();
    items.sort_unstable();
    assert_eq!(items, [0, 1, 2]);
    let counts = site.get(&format!("{BASE}/history/counts?job=report")).await.ok();
    let expected = serde_json::json!([{ "job": "report", "outcome": "succeeded", "fires": 3 }]);
    assert_eq!(counts.body["rows"], expected);
    let events = site.get(&format!("{BASE}/history/events?kind=became_leader")).await.ok();
    assert_eq!(events.rows().len(), 1, "{}", events.body);
    let drops = site.get(&format!("{BASE}/history/drops")).await.ok();
    assert!(drops.rows().is_empty());
    let hour_ago = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(1);
    let verification = format!("{BASE}/jobs/report/verification?from={hour_ago}");
    let verified = site.get(&verification).await.ok();
    let numbers =
        serde_json::json!({ "run": 3, "run_twice": 0, "missed": 0, "unexplained": 0, "open": 0 });
    assert_eq!(verified.body["counts"], numbers, "{}", verified.body);
    let row = &verified.rows()[0];
    assert_eq!((&row["verdict"], &row["record"]["source"]), (&"run".into(), &"MANUAL".into()));
    assert_eq!(verified.body["explained"], false, "the job did not exist an hour ago");
    let none = site.get(&format!("{verification}&verdict=run_twice,unexplained")).await.ok();
    assert!(none.rows().is_empty() && none.body["counts"] == numbers, "{}", none.body);
    for (wrong, word) in [
        (format!("{verification}&verdict=twice"), "verdict is \"twice\"; valid are run, run_twice"),
        (format!("{verification}&limit=1001"), "limit is 1001; valid is 1 to 1000"),
        (format!("{verification}&until=2024-02-29T12:00:00Z"), "until: "),
    ] {
        let answer = site.get(&wrong).await;
        let detail = answer.problem(400, "invalid-request");
        assert!(detail.contains(word), "{detail}");
    }
    site.get(&format!("{fires}?outcome=bad")).await.problem(400, "invalid-request");
    site.get(&format!("{fires}?cursor=InhhIg")).await.problem(400, "invalid-request");
    history.close(DEADLINE).await.unwrap();
}

#[tokio::test]
async fn runs_of_an_item_in_all_slots_have_rows() {
    let site = Site::empty().await;
    let _holder = create_parallel(&site.registry, "slots").await;
    let path = format!("{BASE}/jobs/slots/items");
    let items = site.until(&path, |got| got.body["rows"].as_array().map(Vec::len) == Some(2)).await;
    let slot = |row: &Value| (row["item"].as_u64(), row.get("slot").and_then(Value::as_u64));
    let expected = [(Some(0), None), (Some(0), Some(1))];
    assert_eq!(items.rows().iter().map(slot).collect::<Vec<_>>(), expected);
    let first = site.get(&format!("{path}?limit=1")).await.ok();
    let next = first.body["next"].as_str().unwrap();
    let second = site.get(&format!("{path}?limit=1&cursor={next}")).await.ok();
    assert_eq!(slot(&second.rows()[0]), (Some(0), Some(1)));

    let path = format!("{BASE}/running");
    let all = site.get(&path).await.ok();
    let slots: Vec<_> = all.rows().iter().map(|row| slot(&row["item"])).collect();
    assert_eq!(slots, expected);
    let first = site.get(&format!("{path}?limit=1")).await.ok();
    let next = first.body["next"].as_str().unwrap();
    let second = site.get(&format!("{path}?limit=1&cursor={next}")).await.ok();
    assert_eq!(slot(&second.rows()[0]["item"]), (Some(0), Some(1)));

    let document = site.get("/api/v1/openapi.json").await.ok().body;
    let brief = &document["components"]["schemas"]["ItemBrief"];
    assert!(brief["properties"]["slot"].is_object(), "{brief}");
    assert!(!brief["required"].as_array().unwrap().contains(&"slot".into()), "{brief}");

    let body = r#"{"items":[0],"reason":"too slow"}"#;
    let cancelled = site.post(&format!("{BASE}/jobs/slots/cancel"), body).await.ok();
    let done = cancelled.body["report"]["done"].as_array().unwrap();
    let targets: Vec<_> = done.iter().map(|entry| entry["target"].as_str().unwrap()).collect();
    assert_eq!(targets, ["item 0", "item 0.1"]);
}
