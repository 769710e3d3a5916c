//! The commands, on namespaces in memory with real schedulers.

use std::sync::Arc;

use crate::support;

use cli::Exit;
use coordination::{
    AuditRecord, AuditSubject, GroupName, JobConfig, JobName, Overlap, encode_config,
};
use job_history::{History, HistoryOptions};
use reg_center::{Lifetime, MemoryCenter, NodePath, RegistryCenter, Txn};
use serde_json::json;
use support::{World, owned};

const WHY: [&str; 4] = ["--by", "anna", "--why", "release 12"];

fn signed<'a>(line: &[&'a str]) -> Vec<&'a str> {
    line.iter().copied().chain(WHY).collect()
}

#[tokio::test]
async fn empty_namespace_is_reported_in_words() {
    let world = World::new();
    for (line, expected) in [
        (&["jobs"][..], "no jobs\n"),
        (&["instances"], "no instances\n"),
        (&["servers"], "no servers\n"),
        (&["audit"], "no changes\n"),
        (&["doctor"], "found in 0 jobs: nothing\n"),
    ] {
        assert_eq!(world.ejob(line).await.done(), expected, "{line:?}");
    }
}

#[tokio::test]
async fn jobs_instances_and_servers_are_listed() {
    let world = World::new();
    let _members = world.shared().await;
    let rows = [
        (
            &["jobs"][..],
            "JOB     STATE  ITEMS  INSTANCES  CRON        DESCRIPTION\n\
             report  OK     4      2          on request  counts\n",
        ),
        (
            &["servers"],
            "SERVER    INSTANCES  JOBS  DISABLED  PAUSED\n\
             10.0.0.1  1          1     0         0\n\
             10.0.0.2  1          1     0         0\n",
        ),
        (
            &["jobs", "--server", "10.0.0.2"],
            "JOB     SERVER STATE  INSTANCES\n\
             report  enabled       1\n",
        ),
        (&["doctor"], "found in 1 job: nothing\n"),
    ];
    for (line, expected) in rows {
        assert_eq!(world.ejob(line).await.done(), expected, "{line:?}");
    }
    let instances = world.ejob(&["instances", "--json"]).await.json();
    let first = &instances["instances"][0];
    assert_eq!(first["instance"], "10.0.0.1@-@1", "{instances}");
    assert_eq!((&first["language"], &first["state"]), (&json!("rust"), &json!("available")));
    assert_eq!(first["items"].as_array().unwrap().len(), 2, "{instances}");
    let one = world.ejob(&["instances", "--server", "10.0.0.2"]).await.done();
    assert!(one.contains("10.0.0.2@-@2") && !one.contains("10.0.0.1"), "{one}");
}

#[tokio::test]
async fn details_of_one_job_are_shown() {
    let world = World::new();
    let _members = world.shared().await;
    let text = world.ejob(&["job", "report"]).await.done();
    for part in [
        "job          report\n",
        "servers      10.0.0.1 enabled, 10.0.0.2 enabled\n",
        "ITEM  STATE    OWNER",
        "10.0.0.2@-@2",
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    let job = world.ejob(&["job", "report", "--json"]).await.json();
    assert_eq!(job["config"]["sharding_total_count"], 4, "{job}");
    assert_eq!(job["items"].as_array().unwrap().len(), 4, "{job}");
    let why = world.ejob(&["why", "report"]).await.done();
    assert_eq!(why, "the job has no schedule and runs on request only\n");
    let dump = world.ejob(&["dump", "report"]).await.done();
    assert!(dump.contains("/report/instances/10.0.0.1@-@1 (ephemeral) | "), "{dump}");
}

#[tokio::test]
async fn manual_run_is_awaited_and_its_failure_is_an_exit_code() {
    let world = World::new();
    let _members = world.shared().await;
    let some = signed(&["trigger", "report", "--items", "0,2", "--wait", "50s"]);
    let output = world.ejob(&some).await.done();
    assert!(output.ends_with("ITEM  RUN\n0     succeeded\n2     succeeded\n"), "{output}");
    let all = world.ejob(&["trigger", "report", "--wait", "50s", "--json"]).await;
    assert_eq!(all.exit, Exit::Partly, "{all:?}");
    let failed = json!({ "state": "ended", "outcome": "failed", "reason": "it fails" });
    assert_eq!(all.json()["runs"]["3"], failed);
    let again = world.ejob(&["rerun", "report", "--wait", "50s"]).await;
    assert_eq!(again.exit, Exit::Partly, "{again:?}");
    assert!(again.out.ends_with("ITEM  RUN\n3     failed: it fails\n"), "{again:?}");

    let jobs = world.ejob(&["jobs"]).await.done();
    assert!(jobs.contains("report  FAILING (1 of 4 items)  4 "), "{jobs}");
    let job = world.ejob(&["job", "report"]).await.done();
    assert!(job.contains("\nITEM  LAST FAILURE\n3     it fails\n"), "{job}");
    let doctor = world.ejob(&["doctor"]).await.done();
    assert!(
        doctor.starts_with("warning failing report: the last run of item 3 failed; "),
        "{doctor}"
    );
    assert!(doctor.contains(": it fails\n"), "{doctor}");
}

#[tokio::test]
async fn paused_job_shows_author_reason_and_waiting_request() {
    let world = World::new();
    let _members = world.shared().await;
    world.ejob(&signed(&["pause", "report", "--server", "10.0.0.1"])).await.done();
    let part = world.ejob(&["jobs"]).await.done();
    assert!(part.contains("report  OK (1 of 2 servers paused)  4 "), "{part}");
    world.ejob(&signed(&["pause", "report"])).await.done();
    let jobs = world.ejob(&["jobs"]).await.done();
    assert!(jobs.contains("report  PAUSED  4 "), "{jobs}");
    let why = world.ejob(&["why", "report"]).await.done();
    let reason = "server 10.0.0.1 is paused (pause by anna at 2";
    assert!(
        why.starts_with("all servers are paused, and no item starts until one is resumed: "),
        "{why}"
    );
    assert!(why.contains(reason) && why.contains(": release 12)"), "{why}");
    assert!(!why.contains("no problem found"), "{why}");
    let doctor = world.ejob(&["doctor"]).await.done();
    assert!(doctor.starts_with("info held-back report: no item of the job starts: "), "{doctor}");
    let asked = world.ejob(&["trigger", "report"]).await.done();
    let waits = "done: report, all items: asked to run now; it waits until a server is resumed: ";
    assert!(asked.starts_with(waits) && asked.contains(reason), "{asked}");
    // The leader may move the request to the records of the items before this read.
    let job = world.ejob(&["job", "report"]).await.done();
    let request = job.lines().find(|line| line.starts_with("requests ")).unwrap_or_default();
    let (unread, at_items) = ("waits for all items", "waiting in the records of items 0-3");
    assert!(request.ends_with(unread) || request.ends_with(at_items), "{job}");
}

#[tokio::test]
async fn servers_and_items_are_paused_disabled_and_enabled() {
    let world = World::new();
    let _members = world.shared().await;
    let done = "done: report, server 10.0.0.1: ";
    let rows = [
        (
            signed(&["pause", "report", "--server", "10.0.0.1"]),
            format!("{done}paused\n"),
            Exit::Done,
        ),
        (
            signed(&["pause", "report", "--server", "10.0.0.1"]),
            "left alone: report, server 10.0.0.1: it is paused already\n".to_owned(),
            Exit::Done,
        ),
        (
            vec!["resume", "--server", "10.0.0.1"],
            format!("{done}enabled; it was paused\n"),
            Exit::Done,
        ),
        (
            signed(&["disable", "report", "--server", "10.0.0.1"]),
            format!("{done}disabled; it was enabled\n"),
            Exit::Done,
        ),
        (
            vec!["resume", "report", "--server", "10.0.0.1"],
            "left alone: report, server 10.0.0.1: it is disabled\n".to_owned(),
            Exit::Partly,
        ),
        (
            vec!["enable", "report"],
            format!(
                "{done}enabled; it was disabled\nleft alone: report, server 10.0.0.2: it is enabled already\n"
            ),
            Exit::Done,
        ),
        (
            signed(&["disable", "report", "--items", "2-3"]),
            "done: report, item 2: disabled\ndone: report, item 3: disabled\n".to_owned(),
            Exit::Done,
        ),
        (
            vec!["enable", "report", "--items", "3"],
            "done: report, item 3: enabled\n".to_owned(),
            Exit::Done,
        ),
    ];
    for (line, expected, exit) in rows {
        let output = world.ejob(&line).await;
        assert_eq!(
            (output.out.as_str(), output.exit),
            (&*expected, exit),
            "{line:?}: {}",
            output.err
        );
    }
    let why = world.ejob(&["why", "report", "2"]).await.done();
    assert!(why.contains("the item is disabled (disable items by anna at "), "{why}");
    let audit = world.ejob(&["audit", "report"]).await.done();
    assert_eq!(audit.lines().count(), 1 + 6, "{audit}");
    let last = world.ejob(&["audit", "report", "--limit", "1"]).await.done();
    let lines: Vec<_> = audit.lines().collect();
    assert_eq!(
        last.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect::<Vec<_>>(),
        [lines[0], lines[6], "earlier changes exist: raise --limit"]
            .map(|line| line.split_whitespace().collect::<Vec<_>>())
    );
}

#[tokio::test]
async fn target_left_alone_is_a_failure_unless_it_is_as_wanted() {
    let world = World::new();
    let _members = world.shared().await;
    let one = |act| signed(&[act, "report", "--server", "10.0.0.1"]);
    world.ejob(&one("disable")).await.done();
    let resume = ["resume", "report"];
    world.ejob(&signed(&["pause", "report", "--server", "10.0.0.2"])).await.done();
    let output = world.ejob(&resume).await;
    assert!(output.out.starts_with("done: report, server 10.0.0.2: enabled"), "{output:?}");
    assert!(
        output.out.ends_with("left alone: report, server 10.0.0.1: it is disabled\n"),
        "{output:?}"
    );
    assert_eq!(output.exit, Exit::Partly, "{output:?}");

    // A request for all items skips disabled ones, as long as there are others.
    world.ejob(&signed(&["disable", "report", "--items", "1,3"])).await.done();
    let output = world.ejob(&["trigger", "report"]).await.done();
    assert!(output.contains("left alone: report, item 1: it is disabled\n"), "{output}");
    let none = world.ejob(&["trigger", "report", "--items", "1,3"]).await;
    assert_eq!(none.exit, Exit::Partly, "{none:?}");
}

#[tokio::test]
async fn cancellation_says_that_nothing_runs() {
    let world = World::new();
    let _members = world.shared().await;
    let preview = world.ejob(&["cancel", "report", "--all", "--dry-run"]).await;
    let nothing = "left alone: report, job: no run is unfinished\n";
    assert_eq!(preview.out, format!("{nothing}nothing was changed\n"), "{preview:?}");
    let all = world.ejob(&signed(&["cancel", "report", "--all"])).await;
    assert_eq!((all.exit, &*all.out), (Exit::Partly, nothing), "{all:?}");
    let item = world.ejob(&signed(&["cancel", "report", "--item", "1"])).await;
    assert_eq!(item.out, "left alone: report, item 1: it does not run\n", "{item:?}");
}

#[tokio::test]
async fn past_fires_are_previewed_run_and_listed() {
    let world = World::new();
    let _members = world.shared().await;
    let period = ["backfill", "report", "--from", "2024-02-23", "--to", "2024-02-26"];
    let cron = ["config", "set", "report", "cron=0 0 6 * * ?"];
    world.ejob(&signed(&cron)).await.done();
    let without_zone = world.ejob(&[&period[..], &["--dry-run"]].concat()).await.done();
    let warning = "warning: the job has no time_zone, so these fires are computed in UTC; ";
    assert!(without_zone.contains(warning), "{without_zone}");
    let zone = ["config", "set", "report", "time_zone=UTC"];
    world.ejob(&signed(&zone)).await.done();
    let none = world.ejob(&["backfill", "report"]).await.done();
    assert_eq!(none, "job report has no backfills\n");
    let preview = world.ejob(&[&period[..], &["--dry-run"]].concat()).await.done();
    let expected = "fire 2024-02-23T06:00:00Z\nfire 2024-02-24T06:00:00Z\n\
                    fire 2024-02-25T06:00:00Z\nwould do: report, job: backfill preview: 3 fires \
                    from 2024-02-23T06:00:00Z to 2024-02-25T06:00:00Z, 2 at once, by items 0, 2\n\
                    nothing was changed\n";
    let some = ["--items", "0,2", "--concurrency", "2"];
    let of_some = world.ejob(&[&period[..], &some, &["--dry-run"]].concat()).await.done();
    assert_eq!(of_some, expected);
    assert!(preview.contains("1 at once, by all items"), "{preview}");

    let line = signed(&[&period[..], &some, &["--wait", "50s"]].concat());
    let output = world.ejob(&line).await.done();
    assert!(output.starts_with("done: report, job: backfill "), "{output}");
    assert!(output.ends_with("all items have ended 3 fires\n"), "{output}");
    let list = world.ejob(&["backfill", "report", "--json"]).await.json();
    let known = &list[0];
    assert_eq!((&known["state"], &known["done"]), (&json!("done"), &json!(3)), "{list}");
    assert_eq!((&known["items"], &known["by"]), (&json!([0, 2]), &json!("anna")), "{list}");
    let table = world.ejob(&["backfill", "report"]).await.done();
    assert!(table.contains("3/3") && table.contains("release 12"), "{table}");
    let id = known["id"].as_str().unwrap();
    let names = world.ejob(&["backfill", "report", "-o", "name"]).await.done();
    assert_eq!(names, format!("{id}\n"));
    let cancel = signed(&["backfill", "report", "--cancel", id, "-o", "name"]);
    assert_eq!(world.ejob(&cancel).await.exit, Exit::Usage);
    let ended = world.ejob(&signed(&["backfill", "report", "--cancel", id])).await;
    let left = format!("left alone: report, backfill {id}: it has ended\n");
    assert_eq!((ended.exit, ended.out), (Exit::Partly, left));
}

#[tokio::test]
async fn manual_run_gets_its_parameter() {
    let world = World::new();
    let _members = world.shared().await;
    for (parameter, exit, outcome) in
        [("go on", Exit::Done, "succeeded"), ("fail", Exit::Partly, "failed: it fails")]
    {
        let line = ["trigger", "report", "--items", "0", "--parameter", parameter, "--wait", "50s"];
        let output = world.ejob(&line).await;
        assert_eq!(output.exit, exit, "{output:?}");
        let start = "done: report, item 0: asked to run now, with a parameter\n";
        assert!(output.out.starts_with(start), "{output:?}");
        assert!(output.out.ends_with(&format!("0     {outcome}\n")), "{output:?}");
    }
}

#[tokio::test]
async fn job_from_a_template_is_created_exported_and_imported() {
    let world = World::new();
    let create = [
        "create",
        "report-eu",
        "sharding_total_count=4",
        "cron=0 0 3 * * ?",
        "--template",
        "report",
        "--label",
        "eu",
        "--dialect",
        "3.x",
    ];
    let from = "from the template report, label eu\n";
    let made = world.ejob(&signed(&create)).await.done();
    assert_eq!(made, format!("done: report-eu, job: created {from}"));
    let again = world.ejob(&create).await;
    assert_eq!(again.exit, Exit::Stale, "{again:?}");
    assert!(again.err.contains("the registry already has job report-eu"), "{again:?}");
    let shown = world.ejob(&["config", "get", "report-eu", "--json"]).await.json();
    assert_eq!(shown["config"]["sharding_total_count"], 4, "{shown}");
    assert_eq!(shown["config"]["cron"], "0 0 3 * * ?", "{shown}");
    assert!(
        world.stored("/report-eu/config").unwrap().starts_with("cron: "),
        "the configuration is not in the dialect 3.x"
    );
    let record = world.stored("/report-eu/coordination/template").unwrap();
    assert_eq!(record, r#"{"v":1,"template":"report","label":"eu"}"#);
    let audit = world.ejob(&["audit", "report-eu", "--json"]).await.json();
    assert_eq!(audit["records"][0]["record"]["who"], "anna", "{audit}");

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("jobs.yaml");
    let file = file.to_str().unwrap();
    world.ejob(&["export", "-f", file]).await.done();
    let dry = world.ejob_in("/other", &["import", file]).await.done();
    assert!(dry.starts_with(&format!("would create report-eu {from}")), "{dry}");
    let done = world.ejob_in("/other", &["import", file, "--apply"]).await.done();
    assert_eq!(done, made);

    let document = folder.path().join("document");
    std::fs::write(&document, DOCUMENT_3.replace("old", "from-document")).unwrap();
    let document = ["--template", "report", "--document", document.to_str().unwrap()];
    let create = [&["create", "from-document", "failover=false"][..], &document].concat();
    world.ejob(&create).await.done();
    let stored = world.stored("/from-document/config").unwrap();
    assert!(stored.contains("failover: false\n") && stored.contains("shardingTotalCount: 2\n"));
}

#[tokio::test]
async fn server_is_drained_of_all_its_jobs() {
    let world = World::new();
    let _members = world.shared().await;
    let _others = (world.member(1, "import").await, world.member(2, "import").await);
    let both = |job: &operations::JobSnapshot| owned(job, 1) == 2 && owned(job, 2) == 2;
    world.until("import", "both to share", both).await;
    let drain = ["drain", "--server", "10.0.0.1", "--deadline", "50s"];
    let output = world.ejob(&signed(&drain)).await.done();
    let expected = "done: import, server 10.0.0.1: disabled; it was enabled\n\
                    done: report, server 10.0.0.1: disabled; it was enabled\n\
                    drained: no item of import runs on 10.0.0.1\n\
                    drained: no item of report runs on 10.0.0.1\n";
    assert_eq!(output, expected);
    let again = world.ejob(&signed(&[&drain[..], &["--json"]].concat())).await;
    let document = again.json();
    let jobs: Vec<_> = document["jobs"].as_array().unwrap().iter().collect();
    assert_eq!(jobs.len(), 2, "{document}");
    assert!(jobs.iter().all(|job| job["complete"] == true), "{document}");
    assert_eq!(again.exit, Exit::Done, "{again:?}");
    let unknown = world.ejob(&signed(&["drain", "--server", "192.168.7.7"])).await;
    assert_eq!(unknown.exit, Exit::NotFound, "{unknown:?}");
}

#[tokio::test]
async fn misspelled_job_and_server_are_answered_with_a_suggestion() {
    let world = World::new();
    let _members = world.shared().await;
    let rows = [
        (&["job", "reprot"][..], "no job reprot; did you mean report? `ejob jobs` lists"),
        (&["why", "repor"], "no job repor; did you mean report? `ejob jobs` lists"),
        (&["job", "xyz"], "the registry has no job xyz; `ejob jobs` lists the existing ones"),
        (
            &["jobs", "--server", "10.0.0.11"],
            "knows a server 10.0.0.11; did you mean 10.0.0.1? `ejob servers` lists",
        ),
        (
            &["config", "set", "report", "strategy=ODEVTY"],
            "strategy is \"ODEVTY\"; valid is one of",
        ),
        (&["config", "set", "report", "strategy=ODEVTY"], "or empty; did you mean ODEVITY?"),
        (&["plan", "report", "--strategy", "ODEVTY"], "; did you mean ODEVITY?"),
        (
            &["next", "--cron", "0 0 3 * * ?", "--time-zone", "Shanghai"],
            "; did you mean Asia/Shanghai?",
        ),
    ];
    for (line, expected) in rows {
        let output = world.ejob(line).await;
        assert!(output.err.contains(expected), "{line:?}: {output:?}");
        assert!(matches!(output.exit, Exit::NotFound | Exit::Usage), "{line:?}: {output:?}");
    }
}

#[tokio::test]
async fn server_is_drained_and_instance_is_asked_to_leave() {
    let world = World::new();
    let (_first, second) = world.shared().await;
    let drain = signed(&["drain", "report", "--server", "10.0.0.1", "--deadline", "50s"]);
    let output = world.ejob(&drain).await.done();
    assert!(output.ends_with("drained: no item of report runs on 10.0.0.1\n"), "{output}");
    world.until("report", "items to move", |job| owned(job, 2) == 4).await;
    let leave = signed(&["shutdown", "report", "--instance", "10.0.0.2@-@2"]);
    let output = world.ejob(&leave).await.done();
    assert_eq!(output, "done: report, instance 10.0.0.2@-@2: asked to leave\n");
    let mut events = second.handle.events();
    support::within("leaving", async {
        while !second.handle.has_ended() && events.next().await.is_some() {}
    })
    .await;
}

#[tokio::test]
async fn removal_needs_a_confirmation() {
    let world = World::new();
    let (first, second) = world.shared().await;
    let preview = world.ejob(&["remove", "report"]).await.done();
    assert!(preview.contains("would ask to leave: 10.0.0.1@-@1\n"), "{preview}");
    assert!(
        preview.contains("nothing was removed; to remove the job: ejob remove report --confirm ")
    );
    let alive = world.ejob(&signed(&["remove", "report", "--confirm", "report"])).await;
    assert_eq!(alive.exit, Exit::Partly, "{alive:?}");
    assert!(alive.err.starts_with("error: instances of job report are alive: "), "{alive:?}");
    assert!(world.stored("/report/config").is_some());
    for member in [first, second] {
        support::within("leaving", member.scheduler.shutdown(support::PATIENCE)).await;
    }
    let gone = world.ejob(&signed(&["remove", "report", "--confirm", "report"])).await.done();
    assert_eq!(gone, "done: report, job: removed\n");
    assert_eq!(world.stored("/report"), None);
}

#[tokio::test]
async fn history_keeps_the_changes_of_a_removed_job() {
    let world = World::new();
    let (first, second) = world.shared().await;
    world.ejob(&["config", "set", "report", "description=daily", "--by", "anna"]).await.done();
    for member in [first, second] {
        support::within("leaving", member.scheduler.shutdown(support::PATIENCE)).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let history = format!("sqlite:{}", folder.path().join("h.db").display());
    let store = ["--history", &*history];
    let with = |words: &[&'static str]| [words, &store[..]].concat();

    // A store that cannot be opened does not undo the removal, and the answer says so.
    let audit = world.ejob(&with(&["audit", "report"])).await;
    assert_eq!(audit.exit, Exit::Done, "{audit:?}");
    assert!(
        audit.err.contains("remark: without the history: there is no history at "),
        "{audit:?}"
    );
    assert!(audit.out.contains("description: "), "{audit:?}");
    let remove =
        with(&["remove", "report", "--confirm", "report", "--why", "moved", "--by", "bob"]);
    assert_eq!(world.ejob(&remove).await.done(), "done: report, job: removed\n");

    let gone = world.ejob(&["audit", "report"]).await;
    assert_eq!(gone.exit, Exit::NotFound, "{gone:?}");
    let audit = world.ejob(&with(&["audit", "report", "--json"])).await.json();
    let records = audit["records"].as_array().unwrap();
    let last = &records.last().unwrap()["record"];
    assert_eq!([&last["who"], &last["why"]], ["bob", "moved"], "{audit}");
    let by_anna = records.iter().find(|of| of["record"]["who"] == "anna");
    assert!(by_anna.is_some(), "the last changes are removed with the job: {audit}");
    let all = world.ejob(&with(&["audit"])).await.done();
    assert!(all.contains("bob") && all.contains("moved"), "{all}");
}

#[tokio::test]
async fn removal_reports_a_history_that_does_not_store_it() {
    let world = World::new();
    let (first, second) = world.shared().await;
    for member in [first, second] {
        support::within("leaving", member.scheduler.shutdown(support::PATIENCE)).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("h.db");
    std::fs::write(&file, "no database, and longer than the header of one".repeat(9)).unwrap();
    let history = format!("sqlite:{}", file.display());
    let remove = ["remove", "report", "--confirm", "report", "--history", &history];
    let removed = world.ejob(&signed(&remove)).await;
    assert_eq!((removed.exit, &*removed.out), (Exit::Done, "done: report, job: removed\n"));
    let remark = "remark: the history does not have the audit record of the removal: ";
    assert!(removed.err.contains(remark), "{removed:?}");
    assert_eq!(world.stored("/report"), None);
}

#[tokio::test]
async fn configuration_is_shown_compared_and_changed() {
    let world = World::new();
    let _members = world.shared().await;
    let stored = world.ejob(&["config", "get", "report", "--json"]).await.json();
    let revision = stored["revision"].as_str().unwrap().to_owned();
    assert_eq!(stored["config"]["failover"], true, "{stored}");
    let diff = world.ejob(&["config", "diff", "report", "failover=false"]).await;
    assert_eq!(diff.out, "failover: true -> false\n", "{diff:?}");
    assert_eq!(diff.exit, Exit::Partly);
    let same = world.ejob(&["config", "diff", "report", "failover=true"]).await.done();
    assert_eq!(same, "no difference\n");

    let fields = ["cron=0 0 9 * * ?", "description=every day"];
    let set = ["config", "set", "report", "--revision", &revision];
    let set: Vec<&str> = set.into_iter().chain(fields).collect();
    let output = world.ejob(&set).await.done();
    assert!(output.contains("cron: \"\" -> \"0 0 9 * * ?\"; description: "), "{output}");
    let audit = world.ejob(&["audit", "report"]).await.done();
    assert!(audit.contains("cron: \"\" -> \"0 0 9 * * ?\"; description: "), "{audit}");
    let before = world.stored("/report/config");
    let late = world.ejob(&set).await;
    assert_eq!(late.exit, Exit::Stale, "{late:?}");
    assert!(late.err.contains("read it again and repeat the change\n"), "{late:?}");
    let again = world.ejob(&["config", "set", "report", "failover=true"]).await.done();
    assert_eq!(again, "left alone: report, configuration: it is as wanted already\n");
    let bad = world.ejob(&["config", "set", "report", "cron=0 0 25 * * ?"]).await;
    assert_eq!(bad.exit, Exit::Usage, "{bad:?}");
    assert_eq!(world.stored("/report/config"), before);

    let next = ["next", "report", "-n", "2", "--after", "2024-02-29T12:00:00Z"];
    let next = world.ejob(&next).await.done();
    assert_eq!(next, "2024-03-01T09:00:00Z\n2024-03-02T09:00:00Z\n");
}

#[tokio::test]
async fn start_rate_is_set_and_explains_a_wait() {
    let world = World::new();
    let _members = world.shared().await;
    let explained = world.ejob(&["explain", "start_rate"]).await.done();
    assert!(explained.contains("start_rate") && explained.contains("10 in 1m"), "{explained}");
    for (rate, valid) in [
        ("often", "none, or a number of starts in a period, such as \"10 in 1m\""),
        ("0 in 1h", "a number of starts in a period, such as \"10 in 1m\": 1 to 1000 in 1s to 24h"),
    ] {
        let field = format!("start_rate={rate}");
        let bad = world.ejob(&["config", "set", "report", &field]).await;
        assert_eq!(bad.exit, Exit::Usage, "{bad:?}");
        for part in ["start_rate", rate, valid] {
            assert!(bad.err.contains(part), "{part:?} in {bad:?}");
        }
    }
    let set = world.ejob(&["config", "set", "report", "start_rate=2 in 1h"]).await.done();
    assert!(set.contains("start_rate: none -> 2 in 1h"), "{set}");

    world.ejob(&signed(&["trigger", "report", "--items", "0,1", "--wait", "50s"])).await.done();
    world.ejob(&signed(&["trigger", "report", "--items", "2"])).await.done();
    let why = world.ejob(&["why", "report", "2"]).await.done();
    let waits =
        "the job has reached its start rate (2 in 1h, start_rate); the next run may begin at ";
    assert!(why.contains(waits), "{why}");
    let of_item = world.ejob(&["why", "report", "2", "--json"]).await.json();
    assert!(of_item.to_string().contains("2 in 1h"), "{of_item}");
    let exported = world.ejob(&["config", "get", "report", "--json"]).await.json();
    assert_eq!(exported["config"]["start_rate"], "2 in 1h", "{exported}");
}

#[tokio::test]
async fn group_is_set_listed_and_explains_a_wait() {
    let world = World::new();
    let _members = world.shared().await;
    for (arguments, valid) in [
        (["group", "set", "d/b", "--cluster-concurrency=1"], "at most 128 bytes"),
        (["group", "set", "db", "--cluster-concurrency=0"], "0 is not in 1.."),
        (["group", "set", "db", "--start-rate=often"], "such as \"10 in 1m\""),
    ] {
        let bad = world.ejob(&signed(&arguments)).await;
        assert_eq!(bad.exit, Exit::Usage, "{bad:?}");
        assert!(bad.err.contains(valid), "{valid:?} in {bad:?}");
    }
    assert_eq!(world.ejob(&["groups"]).await.done(), "no group of jobs has limits\n");
    let none = world.ejob(&signed(&["group", "set", "db"])).await;
    assert_eq!(none.exit, Exit::Usage, "{none:?}");
    assert!(none.err.contains("--cluster-concurrency <COUNT>|--start-rate <RATE>"), "{none:?}");
    let unsigned = world.ejob(&["group", "set", "db", "--start-rate", "2 in 1h"]).await;
    assert_eq!(unsigned.exit, Exit::Usage, "{unsigned:?}");
    assert!(unsigned.err.contains("--why is missing"), "{unsigned:?}");
    let set = ["group", "set", "db", "--start-rate", "2 in 1h"];
    let dry = [&set[..], &["--dry-run"]].concat();
    let would = "would do: group db: no limits -> at most 2 starts in 1h\nnothing was changed\n";
    assert_eq!(world.ejob(&dry).await.done(), would);
    assert_eq!(world.ejob(&["groups"]).await.done(), "no group of jobs has limits\n");
    let changed = world.ejob(&signed(&set)).await.done();
    assert_eq!(changed, "group db: no limits -> at most 2 starts in 1h\n");
    let again = world.ejob(&signed(&set)).await.done();
    assert_eq!(again, "group db has at most 2 starts in 1h already\n");
    let again = world.ejob(&dry).await.done();
    assert_eq!(again, "group db has at most 2 starts in 1h already\nnothing was changed\n");
    assert_eq!(world.ejob(&["groups", "-o", "name"]).await.done(), "db\n");
    let joined = world.ejob(&["config", "set", "report", "group=db"]).await.done();
    assert!(joined.contains("group: none -> \"db\""), "{joined}");

    world.ejob(&signed(&["trigger", "report", "--items", "0,1", "--wait", "50s"])).await.done();
    world.ejob(&signed(&["trigger", "report", "--items", "2"])).await.done();
    let why = world.ejob(&["why", "report", "2"]).await.done();
    let waits = "the group db has reached its start rate (2 in 1h); the next run may begin at ";
    assert!(why.contains(waits), "{why}");
    let listed = world.ejob(&["groups"]).await.done();
    assert!(listed.contains("db") && listed.contains("2 in 1h"), "{listed}");
    let listed = world.ejob(&["groups", "--json"]).await.json();
    assert_eq!(listed[0]["limits"]["start_rate"], "2 in 1h", "{listed}");
    let would = world.ejob(&["group", "remove", "db", "--dry-run", "--json"]).await.json();
    assert_eq!(would["before"]["start_rate"], "2 in 1h", "{would}");
    assert!(would["after"]["start_rate"].is_null() && would["record"].is_null(), "{would}");
    let removed = world.ejob(&signed(&["group", "remove", "db"])).await.done();
    assert_eq!(removed, "group db: at most 2 starts in 1h -> no limits\n");

    let audit = world.ejob(&["audit", "--group", "db"]).await.done();
    let lines: Vec<_> = audit.lines().collect();
    assert_eq!(lines.len(), 3, "{audit}");
    assert!(lines[1].contains(" group db ") && lines[1].contains("set group"), "{audit}");
    assert!(lines[2].contains("remove group"), "{audit}");
    let all = world.ejob(&["audit", "--json"]).await.json();
    let records = all["records"].as_array().unwrap();
    let of = |kind: &str, name: &str| records.iter().filter(|one| one[kind] == name).count();
    assert_eq!((of("group", "db"), of("job", "report") > 0), (2, true), "{all}");
    let of_job = world.ejob(&["audit", "report"]).await.done();
    assert!(!of_job.contains("group db "), "{of_job}");
    let none = world.ejob(&["audit", "--group", "api"]).await.done();
    assert_eq!(none, "no changes\n", "a group needs no node");
    let both = world.ejob(&["audit", "report", "--group", "db"]).await;
    assert_eq!(both.exit, Exit::Usage, "{both:?}");
}

#[tokio::test]
async fn history_keeps_the_changes_of_a_group_beyond_those_of_the_registry() {
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h.db");
    let history = History::open(HistoryOptions::sqlite(&path)).await.unwrap();
    let subject = AuditSubject::Group(GroupName::new("db").unwrap());
    let old = AuditRecord {
        id: "op-1".to_owned(),
        at_ms: 1,
        who: "bert".to_owned(),
        why: "a slow disk".to_owned(),
        act: "set group".to_owned(),
        target: "db".to_owned(),
        what: "no limits -> at most 1 runs at once".to_owned(),
    };
    assert!(history.record_audit(&subject, &old).await);
    world.ejob(&signed(&["group", "set", "db", "--cluster-concurrency", "2"])).await.done();
    let operations = operations::Operations::new(Arc::new(world.registry.connect()));
    let group = operations.group(&GroupName::new("db").unwrap()).await.unwrap();
    assert!(history.record_audit(&subject, group.audit().next().unwrap()).await);
    history.close(support::PATIENCE).await.unwrap();
    let store = format!("sqlite:{}", path.display());
    let audit = world.ejob(&["audit", "--group", "db", "--history", &store, "--json"]).await.json();
    let records = audit["records"].as_array().unwrap();
    let authors: Vec<_> = records.iter().map(|one| &one["record"]["who"]).collect();
    assert_eq!(authors, ["bert", "anna"], "each change is shown once: {audit}");
    let all = world.ejob(&["audit", "--history", &store]).await.done();
    assert!(all.contains(" group db ") && all.contains("bert"), "{all}");
}

#[tokio::test]
async fn overlap_is_set_checked_and_explained() {
    let world = World::new();
    let _members = world.shared().await;
    let explained = world.ejob(&["explain", "overlap"]).await.done();
    assert!(explained.contains("overlap") && explained.contains("needs misfire"), "{explained}");
    for (fields, parts) in [
        (
            &["overlap=stop"][..],
            ["overlap", "stop", "cancel, queue 1 to queue 100, parallel 2 to parallel 16, or none"],
        ),
        (&["overlap=queue 101"][..], ["overlap", "queue 101", "queue 1 to queue 100"]),
        (&["overlap=parallel 17"][..], ["overlap", "parallel 17", "parallel 2 to parallel 16"]),
        (
            &["overlap=cancel", "misfire=false"][..],
            ["overlap", "cancel", "none, or misfire = true"],
        ),
    ] {
        let bad = world.ejob(&[&["config", "set", "report"][..], fields].concat()).await;
        assert_eq!(bad.exit, Exit::Usage, "{bad:?}");
        for part in parts {
            assert!(bad.err.contains(part), "{part:?} in {bad:?}");
        }
    }
    let set = world.ejob(&["config", "set", "report", "overlap=cancel"]).await.done();
    assert!(set.contains("overlap: none -> cancel"), "{set}");
    let exported = world.ejob(&["config", "get", "report", "--json"]).await.json();
    assert_eq!(exported["config"]["overlap"], "cancel", "{exported}");
    assert!(world.stored("/report/config").unwrap().contains(r#""overlap":"cancel""#));
    let parallel = world.ejob(&["config", "set", "report", "overlap=parallel 3"]).await.done();
    assert!(parallel.contains("overlap: cancel -> parallel 3"), "{parallel}");
    let queued = world.ejob(&["config", "set", "report", "overlap=queue 5"]).await.done();
    assert!(queued.contains("overlap: parallel 3 -> queue 5"), "{queued}");
    assert!(world.stored("/report/config").unwrap().contains(r#""overlap":"queue 5""#));
    let unset = world.ejob(&["config", "set", "report", "overlap=none"]).await.done();
    assert!(unset.contains("overlap: queue 5 -> none"), "{unset}");
}

#[tokio::test]
async fn replaced_configuration_is_listed_and_restored() {
    let world = World::new();
    let _members = world.shared().await;
    let none = world.ejob(&["config", "former", "report"]).await.done();
    assert_eq!(none, "the configuration has not been replaced\n");
    let missing = world.ejob(&["config", "restore", "report"]).await;
    assert_eq!(missing.exit, Exit::NotFound, "{missing:?}");

    let before = world.stored("/report/config");
    world.ejob(&signed(&["config", "set", "report", "failover=false"])).await.done();
    let former = world.ejob(&["config", "former", "report"]).await.done();
    let row = former.lines().nth(1).unwrap();
    assert!(row.starts_with("1 ") && row.ends_with("failover: false -> true"), "{former}");
    let far = world.ejob(&["config", "restore", "report", "--back", "2"]).await;
    assert!(far.err.contains("--back is 2; valid for job report is 1 to 1"), "{far:?}");
    let stale = ["config", "restore", "report", "--revision", "1"];
    assert_eq!(world.ejob(&stale).await.exit, Exit::Stale);

    let changed = world.stored("/report/config");
    let would = world.ejob(&["config", "restore", "report", "--dry-run"]).await.done();
    let expected =
        "would do: report, configuration: failover: false -> true\nnothing was changed\n";
    assert_eq!(would, expected);
    assert_eq!(world.stored("/report/config"), changed);
    let stale = [&stale[..], &["--dry-run"]].concat();
    assert_eq!(world.ejob(&stale).await.exit, Exit::Stale);
    let restored = world.ejob(&signed(&["config", "restore", "report"])).await.done();
    assert_eq!(restored, "done: report, configuration: failover: false -> true\n");
    assert_eq!(world.stored("/report/config"), before);
    let shown = world.ejob(&["config", "former", "report", "--json"]).await.json();
    let changes = shown["former"].as_array().unwrap().iter().map(|former| &former["changes"]);
    let changed: Vec<usize> = changes.map(|changes| changes.as_array().unwrap().len()).collect();
    assert_eq!(changed, [1, 0], "the undone configuration and the present one");
}

#[tokio::test]
async fn plan_shows_moves_without_changes() {
    let world = World::new();
    let _members = world.shared().await;
    let plan = ["plan", "report", "--leave", "10.0.0.2@-@2", "--json"];
    let plan = world.ejob(&plan).await.json();
    assert_eq!(plan["moves"].as_array().unwrap().len(), 2, "{plan}");
    assert_eq!(plan["moves"][0]["to"], "10.0.0.1@-@1", "{plan}");
    assert_eq!(world.ejob(&["plan", "report"]).await.done(), "no item would move\n");
    let empty = ["plan", "report", "--disable", "10.0.0.1", "--disable", "10.0.0.2"];
    let empty = world.ejob(&empty).await.done();
    assert_eq!(empty, "no instance would be available: items keep their owners, and none runs\n");
}

const DOCUMENT_3: &str = "cron: 0 0 9 * * ?\nfailover: true\njobName: old\njobParameter: ''\n\
    misfire: true\nmonitorExecution: true\nshardingItemParameters: ''\nshardingTotalCount: 2\n";

#[tokio::test]
async fn doctor_shows_findings_and_applies_fixes() {
    let world = World::new();
    let left = "/old/sharding/0/running";
    world
        .write(&[
            ("/old", "com.acme.Old"),
            ("/old/config", DOCUMENT_3),
            ("/old/servers/10.0.0.9", "ENABLED"),
            (left, "10.0.0.9@-@9"),
        ])
        .await;
    let found = world.ejob(&["doctor", "--least", "error"]).await;
    assert_eq!(found.exit, Exit::Findings, "{found:?}");
    assert!(found.out.starts_with("error run-of-nobody"), "{found:?}");
    assert!(found.out.contains("[can be fixed: --fix]\n"), "{found:?}");
    let dry = world.ejob(&["doctor", "--fix"]).await;
    assert!(dry.out.contains("    fix: remove "), "{dry:?}");
    assert!(
        dry.out
            .ends_with("nothing was changed; to apply the fixes, repeat with --apply --why TEXT\n")
    );
    assert!(world.stored(left).is_some(), "a dry run must not change nodes");
    let unsigned = world.ejob(&["doctor", "--fix", "--apply"]).await;
    assert_eq!(unsigned.exit, Exit::Usage, "{unsigned:?}");
    assert!(unsigned.err.starts_with("error: --why is missing; give a reason"), "{unsigned:?}");
    let fixed = world.ejob(&signed(&["doctor", "--fix", "--apply"])).await;
    assert_eq!(world.stored(left), None, "{fixed:?}");
    assert!(fixed.out.contains("done: old, run-of-nobody"), "{fixed:?}");
    let json = world.ejob(&["doctor", "old", "--json"]).await.json();
    assert!(json["findings"].as_array().unwrap().iter().all(|f| f["code"] != "run-of-nobody"));
}

/// Items are reassigned only once no mark blocks it. So the second finding appears after the first
/// fix.
#[tokio::test]
async fn findings_that_appear_after_a_fix_are_not_fixed() {
    let world = World::new();
    world
        .write(&[
            ("/old", "com.acme.Old"),
            ("/old/config", DOCUMENT_3),
            ("/old/servers/10.0.0.1", "ENABLED"),
            ("/old/sharding/0/running", "10.0.0.9@-@9"),
        ])
        .await;
    let java = world.registry.connect();
    let path = NodePath::parse("/old/instances/10.0.0.1@-@1").unwrap();
    let data = "jobInstanceId: 10.0.0.1@-@1\nserverIp: 10.0.0.1\n";
    java.commit(Txn::new().create(path, data, Lifetime::Ephemeral)).await.unwrap();
    let dry = world.ejob(&["doctor", "--fix"]).await;
    let with_fix = dry.out.lines().filter(|line| line.starts_with("warning unassigned"));
    assert_eq!(with_fix.count(), 1, "{dry:?}");
    assert!(dry.out.contains("    fix: ") && !dry.out.contains("necessary"), "{dry:?}");
    let fixed = world.ejob(&signed(&["doctor", "--fix", "--apply"])).await;
    assert_eq!(fixed.out.matches("done: ").count(), 1, "{fixed:?}");
    assert!(fixed.out.contains("done: old, run-of-nobody"), "{fixed:?}");
    assert_eq!(world.stored("/old/leader/sharding/necessary"), None, "{fixed:?}");
    let again = world.ejob(&["doctor", "--fix"]).await;
    let fix = again.out.lines().find(|line| line.starts_with("    fix: "));
    assert!(fix.is_some_and(|line| line.contains("necessary")), "{again:?}");
}

#[tokio::test]
async fn completions_are_printed_for_each_shell() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = world.ejob(&["completions", shell]).await.done();
        assert!(script.contains("ejob") && script.contains("EJOB_COMPLETE"), "{shell}: {script}");
    }
}

/// Creates a job whose only item has unfinished runs in slots 0 and 1. Their instance lives as long
/// as the returned client.
async fn with_two_runs(world: &World) -> MemoryCenter {
    let config = JobConfig::new(JobName::new("slots").unwrap(), 1).with(|it| {
        it.cron = Some("0/10 * * * * ?".to_owned());
        it.overlap = Some(Overlap::Parallel(2));
    });
    let run = |fire: i64| {
        let run = format!(r#""holder":"10.0.0.1@-@1","fire":{fire},"source":"NORMAL","token":7"#);
        format!(r#"{{"v":1,"state":"running",{run},"last":{fire},"began":{fire}}}"#)
    };
    let nodes = [
        ("/slots/config", &*encode_config(&config)),
        ("/slots/servers/10.0.0.1", ""),
        ("/slots/sharding/0/instance", "10.0.0.1@-@1"),
        ("/slots/ledger/0", &run(1_709_208_000_000)),
        ("/slots/ledger/0.1", &run(1_709_208_010_000)),
        (
            "/slots/coordination/progress/0.1",
            r#"{"v":1,"token":7,"done":3,"total":4,"message":"half","at":1709208011000,"succeeded":90,"failed":2}"#,
        ),
    ];
    world.write(&nodes).await;
    let session = world.registry.connect();
    let instance = NodePath::parse("/slots/instances/10.0.0.1@-@1").unwrap();
    session.commit(Txn::new().create(instance, "RUST", Lifetime::Ephemeral)).await.unwrap();
    session
}

#[tokio::test]
async fn runs_of_an_item_in_all_slots_are_listed() {
    let world = World::new();
    let _holder = with_two_runs(&world).await;
    let shown = world.ejob(&["job", "slots"]).await.done();
    let rows: Vec<Vec<&str>> = shown
        .lines()
        .map(|line| line.split_whitespace().take(2).collect())
        .filter(|row: &Vec<&str>| row.last() == Some(&"RUNNING"))
        .collect();
    assert_eq!(rows, [["0", "RUNNING"], ["0.1", "RUNNING"]], "{shown}");
    assert!(
        shown.lines().any(|line| line.starts_with("0.1") && line.contains("3 of 4")),
        "{shown}"
    );
    assert_eq!(shown.matches("90 succeeded, 2 failed").count(), 2, "of job and item: {shown}");
    let json = world.ejob(&["job", "slots", "--json"]).await.json();
    let slots: Vec<_> = [0, 1].map(|n| json["items"][n].get("slot").cloned()).into();
    assert_eq!(slots, [None, Some(1.into())], "{json}");
    assert_eq!(json["items"][1]["item"], 0, "{json}");
    assert_eq!(json["items"][0]["processed"]["failed"], 2, "{json}");
    assert_eq!(json["job"]["processed"]["succeeded"], 90, "{json}");
    let why = world.ejob(&["why", "slots", "--item", "0"]).await.out;
    assert!(why.contains("2 runs of the item are unfinished, as many as overlap allows"), "{why}");
}

#[tokio::test]
async fn cancellation_names_the_slots_of_the_runs() {
    let world = World::new();
    let _holder = with_two_runs(&world).await;
    let of_item = world.ejob(&["cancel", "slots", "--items", "0", "--dry-run"]).await.done();
    assert!(of_item.contains("item 0: ") && of_item.contains("item 0.1: "), "{of_item}");
    let fire = ["cancel", "slots", "--fire", "2024-02-29T12:00:10Z"];
    let of_fire = world.ejob(&signed(&fire)).await.done();
    assert!(of_fire.contains("item 0.1: ") && !of_fire.contains("item 0: "), "{of_fire}");
    assert!(world.stored("/slots/ledger/0.1").unwrap().contains("cancel"));
    assert!(!world.stored("/slots/ledger/0").unwrap().contains("cancel"));
}
