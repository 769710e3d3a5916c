//! `export` and `import`, on namespaces in memory.

use crate::support;

use std::os::unix::fs::PermissionsExt;

use cli::Exit;
use coordination::{GroupName, JobConfig, JobName, decode_config, encode_config};
use support::World;

const DOCUMENT_3: &str = "cron: 0 0 9 * * ?\ndescription: 'all: \"of\" it # here'\nfailover: true\n\
    jobName: three\njobParameter: ''\nlater: [1, two]\nmisfire: true\nmonitorExecution: true\n\
    shardingItemParameters: 0=A,1=B\nshardingTotalCount: 2\n";
const DOCUMENT_2: &str = r#"{"jobName":"two","jobClass":"a.B","jobType":"SIMPLE","cron":"0/5 * * * * ?","shardingTotalCount":3,"misfire":true}"#;

/// Creates two jobs, stored with all their fields.
async fn world() -> World {
    let world = World::new();
    let whole = |document: &str| encode_config(&decode_config(document.as_bytes()).unwrap());
    world
        .write(&[
            ("/three", "com.acme.Three"),
            ("/three/config", &whole(DOCUMENT_3)),
            ("/two/config", &whole(DOCUMENT_2)),
        ])
        .await;
    world
}

#[tokio::test]
async fn import_restores_exported_documents_byte_for_byte() {
    for form in ["yaml", "json"] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(format!("jobs.{form}"));
        let file = file.to_str().unwrap();
        let world = world().await;
        let output = world.ejob(&["export", "-f", file]).await.done();
        assert_eq!(output, format!("2 jobs written to {file}\n"));
        let mode = std::fs::metadata(file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "only the owner may read an export, which may hold secrets");

        // A dry run creates nothing, not even the namespace.
        let dry = world.ejob_in("/other", &["import", file]).await.done();
        let steps = "would create three\nwould create two\n";
        assert_eq!(dry, format!("{steps}nothing was changed; to import, repeat with --apply\n"));
        assert_eq!(world.ejob_in("/other", &["jobs"]).await.exit, Exit::NotFound);

        let done = world.ejob_in("/other", &["import", file, "--apply"]).await.done();
        let stored = "done: three, configuration: stored\ndone: two, configuration: stored\n";
        assert_eq!(done, stored);
        let again = world.ejob_in("/other", &["import", file, "--apply"]).await.done();
        assert!(again.starts_with("left alone: three, configuration: it is as wanted"), "{again}");
        for job in ["three", "two"] {
            let document = ["config", "get", job, "--document"];
            let exported = world.ejob(&document).await.done();
            assert_eq!(exported, world.ejob_in("/other", &document).await.done(), "{form} {job}");
        }
        let dump = world.ejob_in("/other", &["dump", "three"]).await.done();
        assert!(dump.starts_with("/three | com.acme.Three\n"), "{dump}");
    }
}

#[tokio::test]
async fn differing_configuration_stays_without_overwrite() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("jobs.yaml");
    let file = file.to_str().unwrap();
    let world = world().await;
    world.ejob(&["export", "three", "-f", file]).await.done();
    world.ejob(&["config", "set", "three", "failover=false"]).await.done();
    let before = world.stored("/three/config");

    let dry = world.ejob(&["import", file]).await.done();
    let differs = "would keep three, although it differs: failover: false -> true\n";
    assert!(dry.starts_with(differs), "{dry}");
    let kept = world.ejob(&["import", file, "--apply"]).await;
    assert_eq!((kept.exit, world.stored("/three/config")), (Exit::Partly, before), "{kept:?}");
    let output = world.ejob(&["import", file, "--apply", "--overwrite"]).await.done();
    assert_eq!(output, "done: three, configuration: failover: false -> true\n");
    assert!(world.stored("/three/config").unwrap().contains("failover: true\n"));
}

#[tokio::test]
async fn leftover_nodes_are_not_exported() {
    let world = world().await;
    world.write(&[("/left/servers/10.0.0.1", "")]).await;
    let output = world.ejob(&["export", "left"]).await;
    assert_eq!(output.exit, Exit::NotFound, "{output:?}");
    assert!(output.err.starts_with("error: the registry has no job left; "), "{output:?}");
    let all = world.ejob(&["export", "--form", "json"]).await.done();
    assert!(!all.contains("left"), "{all}");
}

#[tokio::test]
async fn version_1_namespace_is_converted_with_notes() {
    let world = World::new();
    world
        .write(&[
            ("/report/config/jobClass", "com.acme.Report"),
            ("/report/config/shardingTotalCount", "3"),
            ("/report/config/cron", "0/4 * * * * ?"),
            ("/report/config/fetchDataCount", "9"),
            ("/report/servers/10.0.0.1/disabled", ""),
            ("/bad/config/shardingTotalCount", "many"),
        ])
        .await;
    let import = ["import", "--from-1x", "/jobs", "--dialect", "3.x"];
    let dry = world.ejob_in("/new", &import).await;
    assert_eq!(dry.exit, Exit::Partly, "{dry:?}");
    for line in [
        "note: report: the class com.acme.Report implements the interfaces of 1.x",
        "note: report: fetchDataCount is 9; later releases do not have this field\n",
        "note: report: server 10.0.0.1 is disabled in 1.x; this setting is not imported\n",
        "not converted: bad: config/shardingTotalCount is \"many\"; valid is 1 to 100000\n",
        "would create report\n",
    ] {
        assert!(dry.out.contains(line), "{line:?} in {}", dry.out);
    }
    let apply = [&import[..], &["--apply"]].concat();
    let done = world.ejob_in("/new", &apply).await;
    assert_eq!(done.exit, Exit::Partly, "{done:?}");
    assert!(done.out.ends_with("done: report, configuration: stored\n"), "{done:?}");
    let job = world.ejob_in("/new", &["config", "get", "report", "--json"]).await.json();
    assert_eq!(job["config"]["cron"], "0/4 * * * * ?", "{job}");
    assert_eq!(job["config"]["sharding_total_count"], 3, "{job}");
    let dump = world.ejob_in("/new", &["dump", "report"]).await.done();
    assert!(dump.starts_with("/report | com.acme.Report\n"), "{dump}");
}

const REPORT: &str = "[[jobs]]\nname = 'report'\nsharding_total_count = 2\nstored = true\n";
const IMPORT: &str = "[[jobs]]\nname = 'import'\nsharding_total_count = 1\nstored = true\n";

/// A folder with one file for each text, and its path.
fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let path = folder.path().to_str().unwrap().to_owned();
    (folder, path)
}

#[tokio::test]
async fn apply_makes_the_namespace_what_the_files_declare() {
    let world = World::new();
    let (both, dir) = folder(&[("a.toml", REPORT), ("b.toml", IMPORT), ("notes.txt", "no job")]);
    let dry = world.ejob(&["apply", &dir, "--dry-run"]).await;
    let expected = "would create import\nwould create report\nnothing was changed\n";
    assert_eq!((dry.exit, &*dry.out), (Exit::Partly, expected), "{dry:?}");
    let done = world.ejob(&["apply", &dir]).await.done();
    let stored = "done: import, configuration: stored\ndone: report, configuration: stored\n";
    assert_eq!(done, stored);
    let same = world.ejob(&["apply", &dir, "--dry-run"]).await.done();
    assert!(same.starts_with("would keep import: it is as wanted already\n"), "{same}");

    let changed = REPORT.replace("= 2", "= 3");
    std::fs::write(both.path().join("a.toml"), changed).unwrap();
    std::fs::remove_file(both.path().join("b.toml")).unwrap();
    let kept = world.ejob(&["apply", &dir]).await.done();
    assert_eq!(kept, "done: report, configuration: sharding_total_count: 2 -> 3\n");
    let prune = ["apply", &dir, "--prune", "--dry-run"];
    let other = [&prune[..], &["--owner", "others"]].concat();
    let other = world.ejob(&other).await;
    let refused = "would refuse report: the owner default created it, not others\n";
    assert!(other.out.starts_with(refused) && !other.out.contains("remove"), "{other:?}");
    let dry = world.ejob(&prune).await;
    assert!(dry.out.contains("would remove import: "), "{dry:?}");
    world.ejob(&["config", "set", "import", "description=daily", "--by", "anna"]).await.done();
    let store = tempfile::tempdir().unwrap();
    let history = format!("sqlite:{}", store.path().join("h.db").display());
    let store = ["--history", &*history];
    let prune = ["apply", &dir, "--prune", "--why", "import is over", "--by", "bob"];
    let done = world.ejob(&[&prune[..], &store].concat()).await.done();
    assert!(done.starts_with("done: import, job: removed\n"), "{done}");
    assert!(world.stored("/import/config").is_none());
    assert!(world.stored("/report/config").is_some());
    let audit = [&["audit", "import", "--json"][..], &store].concat();
    let audit = world.ejob(&audit).await.json();
    let changes = audit["records"].as_array().unwrap().iter().map(|change| &change["record"]);
    let changes: Vec<_> = changes.map(|record| (&record["who"], &record["why"])).collect();
    let [.., last_change, removal] = &changes[..] else { panic!("{audit}") };
    assert_eq!(last_change.0, "anna", "{audit}");
    assert_eq!(*removal, (&"bob".into(), &"import is over".into()), "{audit}");
}

#[tokio::test]
async fn apply_takes_groups_from_a_file_of_their_own() {
    let world = World::new();
    let job = REPORT.replace("sharding_total_count", "group = 'db'\nsharding_total_count");
    let group = "[[groups]]\nname = 'db'\ncluster_concurrency = 2\n";
    let (_files, dir) = folder(&[("a.toml", &job), ("groups.toml", group)]);
    let done = world.ejob(&["apply", &dir]).await.done();
    assert!(done.contains("group db"), "{done}");
    let groups = world.ejob(&["groups", "--json"]).await.json();
    assert_eq!(groups[0]["limits"]["cluster_concurrency"], 2, "{groups}");

    let path = format!("{dir}/groups.toml");
    let output = world.ejob(&["worker", &path, "--check"]).await;
    assert_eq!(output.exit, Exit::Usage, "{output:?}");
    let expected =
        format!("error: {path}: jobs is empty; valid is at least one job for a worker\n");
    assert_eq!(output.err, expected);
}

#[tokio::test]
async fn export_and_import_carry_the_limits_of_groups() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("jobs.yaml");
    let file = file.to_str().unwrap();
    let world = world().await;
    let set = |group: &'static str, max: &'static str| {
        ["group", "set", group, "--cluster-concurrency", max, "--why", "test"]
    };
    world.ejob(&set("db", "3")).await.done();
    world.ejob(&set("idle", "1")).await.done();
    let mut config = JobConfig::new(JobName::new("plain").unwrap(), 2);
    config.group = Some(GroupName::new("db").unwrap());
    world.write(&[("/plain/config", &encode_config(&config))]).await;
    let one = world.ejob(&["export", "plain", "--form", "json"]).await.done();
    assert!(one.contains("\"db\"") && !one.contains("idle"), "only the groups of the job: {one}");
    let output = world.ejob(&["export", "-f", file]).await.done();
    assert_eq!(output, format!("3 jobs and 2 groups written to {file}\n"));

    let dry = world.ejob_in("/other", &["import", file]).await.done();
    let steps = "would create group db: at most 3 runs at once\n\
                 would create group idle: at most 1 run at once\n\
                 would create plain\nwould create three\nwould create two\n";
    assert_eq!(dry, format!("{steps}nothing was changed; to import, repeat with --apply\n"));
    let done = world.ejob_in("/other", &["import", file, "--apply"]).await.done();
    assert!(
        done.starts_with("done: group db, limits: no limits -> at most 3 runs at once\n"),
        "{done}"
    );
    world.ejob_in("/other", &set("db", "5")).await.done();
    let dry = world.ejob_in("/other", &["import", file]).await.done();
    let differs = "would keep group db, although it differs: cluster_concurrency: 5 -> 3\n";
    assert!(dry.starts_with(differs), "{dry}");
    let done = world.ejob_in("/other", &["import", file, "--apply", "--overwrite"]).await.done();
    assert!(
        done.starts_with("done: group db, limits: at most 5 runs at once -> at most 3"),
        "{done}"
    );

    let text = std::fs::read_to_string(file).unwrap();
    std::fs::write(file, text.replace("cluster_concurrency: 3", "cluster_concurrency: 0")).unwrap();
    let bad = world.ejob_in("/other", &["import", file, "--apply"]).await;
    assert_eq!(bad.exit, Exit::Usage, "{bad:?}");
    let expected = "group \"db\": cluster_concurrency is 0; valid is 1 to 4294967295";
    assert!(bad.err.contains(expected), "{bad:?}");
}

#[tokio::test]
async fn prune_and_restore_leave_the_limits_of_groups() {
    let world = World::new();
    let limits = |max: u32| format!("[[groups]]\nname = 'db'\ncluster_concurrency = {max}\n");
    let in_group = |max: u32| format!("{}{REPORT}group = 'db'\n", limits(max));
    let (files, dir) = folder(&[("a.toml", &in_group(2))]);
    let done = world.ejob(&["apply", &dir]).await.done();
    let set = "done: group db, limits: no limits -> at most 2 runs at once\n";
    assert_eq!(done, format!("{set}done: report, configuration: stored\n"));
    std::fs::write(files.path().join("a.toml"), in_group(4)).unwrap();
    let dry = world.ejob(&["apply", &dir, "--dry-run"]).await;
    let differs = "would replace group db: cluster_concurrency: 2 -> 4\n";
    assert!(dry.exit == Exit::Partly && dry.out.starts_with(differs), "{dry:?}");
    world.ejob(&["apply", &dir]).await.done();
    let same = world.ejob(&["apply", &dir, "--dry-run"]).await.done();
    assert!(same.starts_with("would keep group db: it is as wanted already\n"), "{same}");

    // No file declares the group or a job in it any more.
    std::fs::write(files.path().join("a.toml"), REPORT).unwrap();
    let done = world.ejob(&["apply", &dir, "--prune", "--why", "test"]).await.done();
    assert_eq!(done, "done: report, configuration: group: \"db\" -> none\n");
    let listed = world.ejob(&["groups", "--json"]).await.json();
    assert_eq!(listed[0]["limits"]["cluster_concurrency"], 4, "{listed}");
    world.ejob(&["config", "restore", "report", "--back", "1", "--why", "test"]).await.done();
    let job = world.ejob(&["config", "get", "report", "--json"]).await.json();
    assert_eq!(job["config"]["group"], "db", "{job}");
    let listed = world.ejob(&["groups", "--json"]).await.json();
    assert_eq!(listed[0]["limits"]["cluster_concurrency"], 4, "{listed}");
}

#[tokio::test]
async fn doctor_removes_leftover_permits_of_groups() {
    let world = world().await;
    let permit = r#"{"v":1,"job":"two","item":1,"by":"10.0.0.9@-@9","token":4}"#;
    let limits = ("/job@-@groups/db/limits", "x");
    world.write(&[("/job@-@groups/db/permits/0", permit), limits]).await;
    let found = world.ejob(&["doctor", "--least", "error"]).await;
    assert_eq!(found.exit, Exit::Findings, "{found:?}");
    let lines = [
        "error group-limits-unreadable /job@-@groups/db/limits: ",
        "error orphaned-group-permit /job@-@groups/db/permits/0: no session owns this permit",
    ];
    assert!(lines.iter().all(|line| found.out.contains(line)), "{found:?}");
    let of_job = world.ejob(&["doctor", "three", "--least", "error"]).await.done();
    assert!(!of_job.contains("group"), "the findings are about another job: {of_job}");
    let fix = ["doctor", "--least", "error", "--fix", "--apply", "--why", "test"];
    let fixed = world.ejob(&fix).await;
    let done = "done: group db, orphaned-group-permit /job@-@groups/db/permits/0: ";
    assert!(fixed.out.starts_with(done), "{fixed:?}");
    assert!(world.stored("/job@-@groups/db/permits/0").is_none());
    world.ejob(&["group", "set", "db", "--cluster-concurrency", "1", "--why", "test"]).await.done();
    world.ejob(&["doctor", "--least", "error"]).await.done();
}

#[tokio::test]
async fn apply_rejects_folders_that_declare_no_unique_jobs() {
    let world = World::new();
    let (_twice, twice) = folder(&[("a.toml", REPORT), ("b.toml", REPORT)]);
    let (_none, none) = folder(&[("notes.txt", "")]);
    let (_bad, bad) = folder(&[("a.toml", "[[jobs]]\nname = 'report'\n")]);
    let limits =
        |max: u32| format!("{REPORT}[[groups]]\nname = 'db'\ncluster_concurrency = {max}\n");
    let other = limits(3).replace("'report'", "'other'");
    let (_limits, different) = folder(&[("a.toml", &limits(2)), ("b.toml", &other)]);
    let rows = [
        (
            &*different,
            "group db has at most 2 runs at once in ",
            "valid are the same limits in all",
        ),
        (&*twice, "job report is declared in ", "b.toml; valid is one file for each job"),
        (&*none, "", " has 0 files of jobs; valid is 1 to 1000 files *.toml, *.yaml or *.yml"),
        (&*bad, "", "sharding_total_count"),
        ("/nowhere/at/all", "/nowhere/at/all cannot be read: ", "valid is a folder with job files"),
    ];
    for (dir, begins, contains) in rows {
        let output = world.ejob(&["apply", dir]).await;
        assert_eq!(output.exit, Exit::Usage, "{output:?}");
        let error = output.err.strip_prefix("error: ").unwrap();
        assert!(error.starts_with(begins) && error.contains(contains), "{output:?}");
    }
    let (_one, one) = folder(&[("a.toml", REPORT)]);
    let output = world.ejob(&["apply", &one, "--prune"]).await;
    assert_eq!(output.exit, Exit::Usage, "{output:?}");
    assert!(output.err.starts_with("error: --why is missing"), "{output:?}");
    assert!(world.stored("/report/config").is_none(), "nothing was done");
}

#[tokio::test]
async fn remove_server_takes_patterns_and_shows_them_first() {
    let world = world().await;
    let servers = ["10.0.0.1", "10.0.0.2", "10.1.0.1"].map(|ip| format!("/two/servers/{ip}"));
    world.write(&servers.each_ref().map(|path| (path.as_str(), ""))).await;
    let remove = ["remove-server", "--server", "10.0.*"];
    let dry = world.ejob(&[&remove[..], &["--dry-run"]].concat()).await.done();
    let expected = "would do: two, server 10.0.0.1: removed\nwould do: two, server 10.0.0.2: removed\n\
                    nothing was changed\n";
    assert_eq!(dry, expected);
    let unsigned = world.ejob(&remove).await;
    assert_eq!(unsigned.exit, Exit::Usage, "{unsigned:?}");
    let why = [&remove[..], &["--why", "gone"]].concat();
    let done = world.ejob(&why).await.done();
    assert!(done.contains("done: two, server 10.0.0.2: removed\n"), "{done}");
    assert!(world.stored("/two/servers/10.1.0.1").is_some());
    let none = world.ejob(&why).await;
    assert_eq!(none.exit, Exit::NotFound, "{none:?}");
    assert!(none.err.contains("no job knows a server 10.0.*"), "{none:?}");
    let bad = world.ejob(&["remove-server", "--server", "host-*", "--why", "x"]).await;
    assert_eq!(bad.exit, Exit::Usage, "{bad:?}");
    assert!(bad.err.contains("an IP address such as 10.0.0.7, or a pattern"), "{bad:?}");
}
