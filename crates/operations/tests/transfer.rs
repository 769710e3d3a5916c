//! Export of configurations, and their import into another namespace.

use crate::support;

use coordination::{
    Dialect, JavaFields, JavaJobType, JavaSettings, JobConfig, JobName, Label, MaxTimeDiff,
    TemplateName, TemplateRecord, encode_config,
};
use operations::{
    Converted, Error, Export, ExportError, ImportAct, Importable, JobSnapshot, convert_version_1,
    export, plan_import,
};
use reg_center::{Node, NodePath, Revision, SessionId, Stat, Version};
use sharding::StrategyRegistry;
use support::{World, by, noon};

fn config(name: &str, dialect: Dialect) -> JobConfig {
    let mut config = JobConfig::new(JobName::new(name).unwrap(), 3);
    config.java = JavaSettings::of(dialect);
    config
}

fn node(path: &str, data: &str) -> Node {
    let stat = Stat {
        version: Version(0),
        created: Revision(1),
        modified: Revision(1),
        modified_at: None,
        owner: None::<SessionId>,
    };
    Node { path: NodePath::parse(path).unwrap(), data: data.to_owned().into(), stat }
}

#[test]
fn damaged_export_is_rejected_as_a_whole() {
    let good = Export::of([&config("a", Dialect::V2), &config("b", Dialect::V3)]);
    assert_eq!(good.importable().unwrap().len(), 2);
    type Damage = fn(&mut Export);
    let rows: [(&str, Damage, &str); 7] = [
        ("format", |e| e.format = "x".into(), "format is \"x\"; valid is \"ejob-export\""),
        ("version", |e| e.version = 2, "version is 2; this program reads version 1"),
        (
            "twice",
            |e| e.jobs[1].job = "a".into(),
            "job \"a\" occurs twice; each job may occur once",
        ),
        ("name", |e| e.jobs[0].job = "a/b".into(), "job name \"a/b\" is not valid"),
        ("of another", |e| e.jobs[0].job = "c".into(), "it is of job \"a\""),
        ("dialect", |e| e.jobs[0].dialect = "3.x".into(), "it is of ElasticJob 2.1.5, not \"3.x\""),
        (
            "document",
            |e| e.jobs[0].document = "{".into(),
            "the document of job \"a\" cannot be used",
        ),
    ];
    for (case, damage, part) in rows {
        let mut export = good.clone();
        damage(&mut export);
        let error: ExportError = export.importable().unwrap_err();
        assert!(error.to_string().contains(part), "{case}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn export_and_import_keep_the_documents() {
    let (source, target) = (World::new(), World::new());
    let mut java_2 = config("two", Dialect::V2);
    java_2.cron = Some("0 0 9 * * ?".into());
    java_2.java.job_class = "com.acme.Two".into();
    java_2.unknown = vec![("later".into(), "{\"a\":[1,null]}".into())];
    let document = encode_config(&java_2);
    let document_3 = encode_config(&config("three", Dialect::V3));
    source
        .write(
            &[
                ("/two/config", document.as_str()),
                ("/three", "com.acme.Three"),
                ("/three/config", &document_3),
                ("/bad/config", "{"),
                ("/stray/servers/10.0.0.1", ""),
            ],
            &[],
        )
        .await;
    let (export, left_out) = export(&source.operations().namespace().await.unwrap().jobs);
    let names: Vec<&str> = export.jobs.iter().map(|job| &*job.job).collect();
    assert_eq!((names, left_out.len(), &*left_out[0].0), (vec!["three", "two"], 1, "bad"));

    let operations = target.operations();
    let strategies = StrategyRegistry::default();
    let jobs = export.importable().unwrap();
    let plan = async |overwrite| {
        let namespace = operations.namespace().await.unwrap();
        plan_import(&jobs, |name| namespace.stored(name), overwrite, &strategies, noon())
    };
    for step in plan(false).await {
        assert_eq!(step.act, ImportAct::Create { changes: Vec::new() }, "{step}");
        let report = operations.import(&step, &by()).await.unwrap();
        assert_eq!(report.records.len(), 1, "{report}");
        // A concurrent import of the same step must not write the configuration twice.
        let again = operations.import(&step, &by()).await;
        assert!(matches!(again, Err(Error::AlreadyThere { .. })), "{again:?}");
    }
    assert_eq!(target.stored("/two/config").unwrap(), document);
    assert_eq!(target.stored("/three/config").unwrap(), document_3);
    assert_eq!(target.stored("/three").unwrap(), "com.acme.Three");
    assert!(plan(false).await.iter().all(|step| step.act == ImportAct::Same));
}

#[tokio::test(start_paused = true)]
async fn import_replaces_only_on_request_and_only_the_planned_revision() {
    let world = World::new();
    let stored = config("job", Dialect::V2);
    let document = encode_config(&stored);
    world.write(&[("/job/config", document.as_str())], &[]).await;
    let wanted = stored.clone().with(|it| it.sharding_total_count = 4);
    let jobs = [Importable::from(wanted.clone())];
    let operations = world.operations();
    let strategies = StrategyRegistry::default();
    let namespace = operations.namespace().await.unwrap();
    let stays = &plan_import(&jobs, |name| namespace.stored(name), false, &strategies, noon())[0];
    let line = "keep job, although it differs: sharding_total_count: 3 -> 4";
    assert_eq!(stays.to_string(), line);
    let report = operations.import(stays, &by()).await.unwrap();
    assert!(!report.has_changed(), "{report}");
    assert_eq!(world.stored("/job/config").unwrap(), document);

    let replace = &plan_import(&jobs, |name| namespace.stored(name), true, &strategies, noon())[0];
    assert_eq!(replace.to_string(), "replace job: sharding_total_count: 3 -> 4");
    operations.import(replace, &by()).await.unwrap();
    assert_eq!(world.stored("/job/config").unwrap(), encode_config(&wanted));
    let late = operations.import(replace, &by()).await;
    assert!(matches!(late, Err(Error::StaleConfig { .. })), "{late:?}");
}

#[tokio::test(start_paused = true)]
async fn import_keeps_the_stored_java_class() {
    let world = World::new();
    let stored = config("job", Dialect::V3);
    let document = encode_config(&stored);
    world.write(&[("/job", "com.acme.Here"), ("/job/config", document.as_str())], &[]).await;
    let mut wanted = stored.with(|it| it.sharding_total_count = 4);
    wanted.java.job_class = "com.acme.There".into();
    let operations = world.operations();
    let namespace = operations.namespace().await.unwrap();
    let strategies = StrategyRegistry::default();
    let step =
        &plan_import(&[wanted.into()], |name| namespace.stored(name), true, &strategies, noon())[0];
    assert_eq!(step.to_string(), "replace job: sharding_total_count: 3 -> 4");
    operations.import(step, &by()).await.unwrap();
    assert!(world.stored("/job/config").unwrap().contains("shardingTotalCount: 4\n"));
    assert_eq!(world.stored("/job").unwrap(), "com.acme.Here");
}

#[tokio::test(start_paused = true)]
async fn import_rejects_configurations_that_cannot_run() {
    let world = World::new();
    let document = encode_config(&config("job", Dialect::V2));
    let nodes =
        [("/job/config", &*document), ("/old/servers/10.0.0.1", "ENABLED"), ("/bad/config", "{")];
    world.write(&nodes, &[]).await;
    let namespace = world.operations().namespace().await.unwrap();
    let strategies = StrategyRegistry::default();
    let with = |name: &str, dialect, change: fn(&mut JobConfig)| {
        let mut config = config(name, dialect);
        change(&mut config);
        config
    };
    let rows = [
        (
            "items",
            with("a", Dialect::V2, |c| c.sharding_total_count = 0),
            "sharding_total_count is 0",
        ),
        ("cron", with("a", Dialect::V2, |c| c.cron = Some("x".into())), "cron is \"x\""),
        ("strategy", with("a", Dialect::V2, |c| c.strategy = "x".into()), "strategy is \"x\""),
        ("dialect", with("job", Dialect::V3, |_| ()), "dialect is 3.x; valid is 2.1.5"),
        (
            "dialect of leftover nodes",
            with("old", Dialect::V2, |_| ()),
            "dialect is 2.1.5; valid is 3.x",
        ),
        (
            "damaged",
            with("bad", Dialect::V2, |_| ()),
            "the stored configuration cannot be used, and stays",
        ),
    ];
    for (case, config, part) in rows {
        let step = &plan_import(
            &[config.into()],
            |name| namespace.stored(name),
            false,
            &strategies,
            noon(),
        )[0];
        let ImportAct::Refused { reason } = &step.act else { panic!("{case}: {step}") };
        assert!(reason.contains(part), "{case}: {reason}");
    }
}

#[tokio::test(start_paused = true)]
async fn import_rejects_configurations_that_java_cannot_read() {
    let world = World::new();
    let mut stored = config("job", Dialect::V2);
    stored.cron = Some("0 0 9 * * ?".into());
    stored.java.job_class = "com.acme.Report".into();
    let document = encode_config(&stored);
    let _java = world
        .write(
            &[("/job/config", &*document), ("/job/servers/10.0.0.9", "")],
            &[("/job/instances/10.0.0.9@-@9", "")],
        )
        .await;
    let namespace = world.operations().namespace().await.unwrap();
    let wanted = stored.with(|it| {
        it.cron = None;
        it.job_parameter = "new".into();
    });
    let strategies = StrategyRegistry::default();
    let mut unclassed = wanted.clone();
    unclassed.java = JavaSettings::of(Dialect::V2);
    for wanted in [wanted, unclassed] {
        let step = &plan_import(
            &[wanted.into()],
            |name| namespace.stored(name),
            true,
            &strategies,
            noon(),
        )[0];
        let ImportAct::Refused { reason } = &step.act else { panic!("{step}") };
        assert!(reason.starts_with("cron is"), "{reason}");
    }
}

fn report(label: Option<&str>) -> TemplateRecord {
    let label = label.map(|label| Label::new(label).unwrap());
    TemplateRecord { template: TemplateName::new("report").unwrap(), label }
}

#[tokio::test(start_paused = true)]
async fn export_and_import_keep_the_template() {
    let (source, target) = (World::new(), World::new());
    let template = report(Some("eu"));
    for dialect in [Dialect::V2, Dialect::V3] {
        let name = format!("made-{}", dialect.as_str());
        let config = config(&name, dialect);
        source.operations().create_job(&template, &config, &by()).await.unwrap();
    }
    let (export, left_out) = export(&source.operations().namespace().await.unwrap().jobs);
    assert!(left_out.is_empty(), "{left_out:?}");
    let written = serde_json::to_string(&export).unwrap();
    let export: Export = serde_json::from_str(&written).unwrap();
    let (jobs, operations) = (export.importable().unwrap(), target.operations());
    let strategies = StrategyRegistry::default();
    let plan = async || {
        let namespace = operations.namespace().await.unwrap();
        plan_import(&jobs, |name| namespace.stored(name), false, &strategies, noon())
    };
    for step in plan().await {
        let line = format!("create {} from the template report, label eu", step.job);
        assert_eq!(step.to_string(), line);
        operations.import(&step, &by()).await.unwrap();
        let again = operations.import(&step, &by()).await;
        assert!(matches!(again, Err(Error::JobExists { .. })), "{again:?}");
    }
    for job in operations.namespace().await.unwrap().jobs {
        assert_eq!(job.template(), Some(Ok(template.clone())), "{}", job.job());
    }
    assert!(plan().await.iter().all(|step| step.act == ImportAct::Same));
}

#[tokio::test(start_paused = true)]
async fn import_never_changes_the_template_of_a_job() {
    let world = World::new();
    let document = encode_config(&config("coded", Dialect::V2));
    world.write(&[("/coded/config", &*document), ("/left/ledger/0", "")], &[]).await;
    let operations = world.operations();
    let made = config("made", Dialect::V2);
    operations.create_job(&report(None), &made, &by()).await.unwrap();
    let namespace = operations.namespace().await.unwrap();
    let rows = [
        ("made", "the job was created from the template report, not created from the"),
        ("coded", "the job was registered by the code of its instances, not created"),
        ("left", "the registry has nodes without a configuration, not created from"),
    ];
    let strategies = StrategyRegistry::default();
    for (name, part) in rows {
        let config = config(name, Dialect::V2);
        let mut wanted = Importable::from(config);
        wanted.template = Some(report(Some("us")));
        let step =
            &plan_import(&[wanted], |name| namespace.stored(name), true, &strategies, noon())[0];
        let ImportAct::Refused { reason } = &step.act else { panic!("{name}: {step}") };
        assert!(
            reason.contains(part) && reason.ends_with("remove the job first"),
            "{name}: {reason}"
        );
    }
    let left = JobSnapshot::of_nodes(
        &JobName::new("bad").unwrap(),
        vec![
            node("/bad/config", &encode_config(&config("bad", Dialect::V2))),
            node("/bad/coordination/template", "{"),
        ],
    );
    let (export, left_out) = export([&left]);
    assert!(export.jobs.is_empty(), "{export:?}");
    let why = "the template of the job cannot be read: ";
    assert!(left_out[0].1.starts_with(why), "{left_out:?}");
}

/// Nodes of a job of a running 1.0.5, from its dump.
const VERSION_1: [(&str, &str); 19] = [
    ("config", ""),
    ("config/jobClass", "com.acme.Report"),
    ("config/shardingTotalCount", "3"),
    ("config/shardingItemParameters", "0=A,1=B"),
    ("config/jobParameter", ""),
    ("config/cron", "0/4 * * * * ?"),
    ("config/monitorExecution", "true"),
    ("config/processCountIntervalSeconds", "300"),
    ("config/concurrentDataProcessThreadCount", "1"),
    ("config/fetchDataCount", "1"),
    ("config/maxTimeDiffSeconds", "-1"),
    ("config/failover", "false"),
    ("config/misfire", "true"),
    ("config/jobShardingStrategyClass", ""),
    ("config/description", "every four seconds"),
    ("config/monitorPort", "-1"),
    ("servers/10.0.0.1/hostName", "host7"),
    ("servers/10.0.0.1/sharding", "0,1,2"),
    ("execution/0/lastBeginTime", "1795220300050"),
];

/// Converts the job with changed or additional nodes; a node with the data `-` is removed.
fn converted(changes: &[(&str, &str)], dialect: Dialect) -> Option<Result<Converted, String>> {
    let is_changed = |name: &str| changes.iter().any(|(changed, _)| *changed == name);
    let nodes = VERSION_1.iter().filter(|(name, _)| !is_changed(name));
    let nodes = nodes.chain(changes).filter(|(_, data)| *data != "-");
    let nodes = nodes.map(|(name, data)| node(&format!("/job/{name}"), data)).collect();
    convert_version_1(&JobSnapshot::of_nodes(&JobName::new("job").unwrap(), nodes), dialect)
}

#[test]
fn version_1_job_is_converted_to_either_dialect() {
    for dialect in [Dialect::V2, Dialect::V3] {
        let Converted { config, notes, .. } = converted(&[], dialect).unwrap().unwrap();
        assert_eq!(config.java.dialect(), dialect);
        assert_eq!(
            (config.sharding_total_count, config.cron.as_deref()),
            (3, Some("0/4 * * * * ?"))
        );
        assert_eq!(config.sharding_item_parameters, "0=A,1=B");
        assert_eq!(
            (config.misfire, config.failover, config.monitor_execution),
            (true, false, true)
        );
        assert_eq!(config.max_time_diff, MaxTimeDiff::Default);
        assert_eq!(config.java.job_class, "com.acme.Report");
        assert_eq!(notes.len(), 2, "{notes:?}");
        assert!(notes[0].contains("config/jobType is missing, as before 1.1.0"), "{notes:?}");
        assert!(notes[1].contains("has to be ported"), "{notes:?}");
        assert!(config.check().and_then(|()| config.check_for_java()).is_ok());
    }
}

#[test]
fn version_1_settings_are_converted_or_noted() {
    type Shown = fn(&JobConfig) -> String;
    let strategy: Shown = |c| c.strategy.clone();
    let class: Shown = |c| c.java.job_class.clone();
    let kind: Shown = |c| match &c.java.fields {
        JavaFields::V2(java) => match &java.job_type {
            JavaJobType::Simple => "simple".into(),
            JavaJobType::Dataflow { streaming } => format!("dataflow {streaming}"),
            JavaJobType::Script { command_line } => format!("script {command_line:?}"),
        },
        JavaFields::V3(java) => format!("{:?}", java.props),
    };
    let rotate =
        "com.dangdang.ddframe.job.plugin.sharding.strategy.RotateServerByNameJobShardingStrategy";
    let rotate_2 =
        "com.dangdang.ddframe.job.lite.api.strategy.impl.RotateServerByNameJobShardingStrategy";
    let (v2, v3) = (Dialect::V2, Dialect::V3);
    type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], Dialect, Shown, &'a str, Option<&'a str>);
    let rows: [Row<'_>; 17] = [
        (
            "strategy, 2.1.5",
            &[("config/jobShardingStrategyClass", rotate)],
            v2,
            strategy,
            rotate_2,
            None,
        ),
        (
            "strategy, 3.x",
            &[("config/jobShardingStrategyClass", rotate)],
            v3,
            strategy,
            "ROUND_ROBIN",
            None,
        ),
        (
            "own strategy",
            &[("config/jobShardingStrategyClass", "a.B")],
            v2,
            strategy,
            "",
            Some("the strategy a.B is unknown"),
        ),
        (
            "script, 2.1.5",
            &[("config/scriptCommandLine", "run.sh -x")],
            v2,
            kind,
            "script Some(\"run.sh -x\")",
            None,
        ),
        (
            "script, 3.x",
            &[("config/scriptCommandLine", "run.sh -x")],
            v3,
            kind,
            "{\"script.command.line\": \"run.sh -x\"}",
            None,
        ),
        (
            "class of a script, 3.x",
            &[("config/scriptCommandLine", "run.sh")],
            v3,
            class,
            "SCRIPT",
            None,
        ),
        (
            "dataflow, 2.1.5",
            &[("config/jobType", "DATA_FLOW"), ("config/streamingProcess", "true")],
            v2,
            kind,
            "dataflow true",
            None,
        ),
        (
            "dataflow, 3.x",
            &[("config/jobType", "DATA_FLOW")],
            v3,
            kind,
            "{\"streaming.process\": \"false\"}",
            None,
        ),
        ("port, 3.x", &[("config/monitorPort", "9888")], v3, kind, "{}", Some("pass 9888")),
        (
            "counter",
            &[("config/fetchDataCount", "9")],
            v2,
            kind,
            "simple",
            Some("fetchDataCount is 9"),
        ),
        ("unknown", &[("config/later", "9")], v2, kind, "simple", Some("config/later is unknown")),
        (
            "paused server",
            &[("servers/10.0.0.1/stoped", "")],
            v2,
            kind,
            "simple",
            Some("server 10.0.0.1 is paused in 1.x"),
        ),
        (
            "shut down server",
            &[("servers/10.0.0.1/shutdown", "")],
            v2,
            kind,
            "simple",
            Some("server 10.0.0.1 is shut down in 1.x"),
        ),
        (
            "no schedule",
            &[("config/cron", "-")],
            v3,
            |c| format!("{:?}", c.cron),
            "None",
            Some("config/cron is missing: the job will run on request only"),
        ),
        ("simple by name", &[("config/jobType", "SIMPLE")], v2, kind, "simple", None),
        (
            "offset of no item",
            &[("offset/3", "17")],
            v2,
            kind,
            "simple",
            Some("the offset of item 3 is not imported; the items are 0 to 2"),
        ),
        (
            "failover without effect",
            &[("config/failover", "true"), ("config/monitorExecution", "false")],
            v2,
            |c| c.failover.to_string(),
            "false",
            Some("failover had no effect"),
        ),
    ];
    for (case, changes, dialect, shown, expected, note) in rows {
        let Converted { config, notes, .. } = converted(changes, dialect).unwrap().unwrap();
        assert_eq!(shown(&config), expected, "{case}");
        let notes = notes.join("\n");
        assert!(note.is_none_or(|note| notes.contains(note)), "{case}: {notes}");
        let is_named = changes
            .iter()
            .any(|(name, _)| matches!(*name, "config/jobType" | "config/scriptCommandLine"));
        assert_eq!(notes.contains("config/jobType is missing"), !is_named, "{case}: {notes}");
        assert!(config.check().and_then(|()| config.check_for_java()).is_ok(), "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn offsets_of_version_1_become_checkpoints() {
    let offsets = [("offset/0", "17"), ("offset/1", ""), ("offset/2", "a;b")];
    let converted = converted(&offsets, Dialect::V2).unwrap().unwrap();
    let mut wanted = Importable::from(converted.config);
    wanted.checkpoints = converted.checkpoints;
    let strategies = StrategyRegistry::default();
    let absent = |_: &JobName| Ok(None::<JobSnapshot>);
    let step = &plan_import(&[wanted.clone()], absent, false, &strategies, noon())[0];
    assert_eq!(step.to_string(), "create job with checkpoints of 2 items");
    wanted.checkpoints.clear();
    let other = &plan_import(&[wanted], absent, false, &strategies, noon())[0];
    assert_ne!(step.identity(), other.identity());

    let world = World::new();
    world.write(&[("/job/coordination/checkpoints/2", "of the code")], &[]).await;
    let report = world.operations().import(step, &by()).await.unwrap();
    assert_eq!(world.stored("/job/coordination/checkpoints/0").unwrap(), "17");
    assert_eq!(world.stored("/job/coordination/checkpoints/1"), None);
    assert_eq!(world.stored("/job/coordination/checkpoints/2").unwrap(), "of the code");
    assert_eq!((report.left.len(), report.left[0].target.as_str()), (1, "item 2"), "{report}");
}

#[test]
fn conversion_rejects_damaged_fields_and_later_jobs() {
    let rows = [
        (
            "count",
            ("config/shardingTotalCount", "x"),
            "config/shardingTotalCount is \"x\"; valid is 1",
        ),
        ("no count", ("config/shardingTotalCount", "-"), "config/shardingTotalCount is missing"),
        ("flag", ("config/misfire", "yes"), "config/misfire is \"yes\"; valid is true or false"),
    ];
    for (case, change, part) in rows {
        let error = converted(&[change], Dialect::V2).unwrap().unwrap_err();
        assert!(error.contains(part), "{case}: {error}");
    }
    let document = encode_config(&config("job", Dialect::V2));
    let later = vec![node("/job/config", &document)];
    let later = JobSnapshot::of_nodes(&JobName::new("job").unwrap(), later);
    assert_eq!(convert_version_1(&later, Dialect::V2), None);
}
