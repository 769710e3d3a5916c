//! Documents of ElasticJob 2.1.5.

use coordination::{JavaFields, JavaFields2, JavaJobType, JobName, MaxTimeDiff};
use serde::Deserialize;
use serde_json::json;

use super::Expected::{Accepted, OtherDialect, Rejected, SameAsJava, SameWithExtra};
use super::*;

/// A document that the class wrote, with the fields of its configuration.
#[derive(Deserialize)]
struct Document {
    fields: serde_json::Value,
    json: String,
}

fn of_2(config: &JobConfig) -> &JavaFields2 {
    let JavaFields::V2(java) = &config.java.fields else {
        panic!("not a configuration of 2.1.5: {config:?}")
    };
    java
}

/// Returns a configuration with the field names of the class. Handlers that `given` lacks must be
/// the default ones.
fn java_fields(config: &JobConfig, given: &serde_json::Value) -> serde_json::Value {
    let java = of_2(config);
    let (kind, streaming, command_line) = match &java.job_type {
        JavaJobType::Simple => ("SIMPLE", false, None),
        JavaJobType::Dataflow { streaming } => ("DATAFLOW", *streaming, None),
        JavaJobType::Script { command_line } => ("SCRIPT", false, command_line.clone()),
    };
    let default = JavaFields2::default();
    let mut properties = serde_json::Map::new();
    for (name, handler, default) in [
        ("job_exception_handler", &java.exception_handler, default.exception_handler),
        ("executor_service_handler", &java.executor_handler, default.executor_handler),
    ] {
        let is_given = given["jobProperties"].get(name).is_some();
        assert!(is_given || *handler == default, "{name} is {handler}");
        if is_given {
            properties.insert(name.to_owned(), handler.as_str().into());
        }
    }
    json!({
        "jobName": config.job_name.as_str(),
        "jobClass": config.java.job_class,
        "jobType": kind,
        "cron": config.cron,
        "shardingTotalCount": config.sharding_total_count,
        "shardingItemParameters": config.sharding_item_parameters,
        "jobParameter": config.job_parameter,
        "failover": config.failover,
        "misfire": config.misfire,
        "description": config.description,
        "jobProperties": properties,
        "streamingProcess": streaming,
        "scriptCommandLine": command_line,
        "monitorExecution": config.monitor_execution,
        "maxTimeDiffSeconds": config.max_time_diff.java_seconds(),
        "monitorPort": java.monitor_port,
        "jobShardingStrategyClass": config.strategy,
        "reconcileIntervalMinutes": config.reconcile_interval_minutes,
        "disabled": config.disabled,
        "overwrite": config.overwrite,
    })
}

#[test]
fn documents_of_java_are_read_and_written_unchanged() {
    let documents: Vec<Document> = rows(include_str!("../../testdata/json-configs.jsonl"));
    assert_eq!(documents.len(), 100);
    for Document { fields, json } in documents {
        let config = decode_config(json.as_bytes()).unwrap();
        assert_eq!(java_fields(&config, &fields), fields, "{json}");
        assert_eq!(encode_config(&config), json);
    }
}

/// Name, position and format of each field.
#[test]
fn a_document_with_everything_in_it() {
    let mut config = JobConfig::new(JobName::new("作业").unwrap(), 3);
    config.cron = Some("0/1 * * * * ?".into());
    config.sharding_item_parameters = "0=A,1=B".into();
    config.job_parameter = "<a>&'\"\\/".into();
    config.failover = true;
    config.misfire = false;
    config.description = "\t\u{8}\n\r\u{c}\u{1}\u{2028}\u{2029}🚀".into();
    config.max_time_diff = MaxTimeDiff::Seconds(10);
    config.strategy = "x.Y".into();
    config.reconcile_interval_minutes = 15;
    config.disabled = true;
    config.overwrite = true;
    config.java.job_class = "a.b.C".into();
    config.java.fields = JavaFields::V2(JavaFields2 {
        job_type: JavaJobType::Dataflow { streaming: true },
        exception_handler: "h.H".into(),
        executor_handler: "p.P".into(),
        monitor_port: 9888,
        other_properties: Vec::new(),
    });
    let expected = r#"{"jobName":"作业","jobClass":"a.b.C","jobType":"DATAFLOW","cron":"0/1 * * * * ?","shardingTotalCount":3,"shardingItemParameters":"0\u003dA,1\u003dB","jobParameter":"\u003ca\u003e\u0026\u0027\"\\/","failover":true,"misfire":false,"description":"\t\b\n\r\f\u0001\u2028\u2029🚀","jobProperties":{"job_exception_handler":"h.H","executor_service_handler":"p.P"},"streamingProcess":true,"monitorExecution":true,"maxTimeDiffSeconds":10,"monitorPort":9888,"jobShardingStrategyClass":"x.Y","reconcileIntervalMinutes":15,"disabled":true,"overwrite":true}"#;
    assert_eq!(encode_config(&config), expected);
    assert_eq!(decode_config(expected.as_bytes()).unwrap(), config);
}

/// A text, with its form in a document.
#[derive(Deserialize)]
struct Text {
    text: String,
    json: String,
}

#[test]
fn texts_have_the_escapes_of_java() {
    let texts: Vec<Text> = rows(include_str!("../../testdata/json-texts.jsonl"));
    assert_eq!(texts.len(), 273);
    let config = |text: &str| {
        let mut config = JobConfig::new(JobName::new("j").unwrap(), 3);
        text.clone_into(&mut config.job_parameter);
        config
    };
    for Text { text, json } in texts {
        let (config, written) = (config(&text), encode_config(&config(&text)));
        let expected = format!(r#","jobParameter":{json},"failover":false,"#);
        assert!(written.contains(&expected), "{text:?}: {written}");
        assert_eq!(decode_config(written.as_bytes()).unwrap(), config, "{text:?}");
    }
}

#[test]
fn documents_are_read_as_by_java() {
    let table = [
        ("order of fields", SameAsJava),
        ("unknown field: a string", SameWithExtra(r#","later":"x""#)),
        ("unknown field: a number", SameWithExtra(r#","later":12"#)),
        ("unknown field: true", SameWithExtra(r#","later":true"#)),
        ("unknown field: null", SameWithExtra(r#","later":null"#)),
        ("unknown field: a list", SameWithExtra(r#","later":[1,null,{}]"#)),
        ("unknown field: an object", SameWithExtra(r#","later":{"a":[1,null]}"#)),
        ("unknown property", Accepted(r#""job_exception_handler":"H","#)),
        ("unknown property alone", Accepted(r#"DefaultExecutorServiceHandler","later":"x"}"#)),
        ("null: jobName", Rejected("field jobName is null; valid is a string")),
        ("null: jobClass", Rejected("field jobClass is null; valid is a string")),
        ("null: jobType", Rejected("field jobType is null; valid is a string")),
        ("null: cron", Rejected("field cron is null; valid is a string")),
        ("null: shardingItemParameters", Rejected("field shardingItemParameters is null")),
        ("null: jobParameter", Rejected("field jobParameter is null; valid is a string")),
        ("null: description", Rejected("field description is null; valid is a string")),
        ("null: jobShardingStrategyClass", Rejected("field jobShardingStrategyClass is null")),
        ("null: scriptCommandLine", Rejected("field scriptCommandLine is null")),
        ("null: jobProperties", Rejected("field jobProperties is null; valid is an object")),
        ("null: shardingTotalCount", Rejected("field shardingTotalCount is null")),
        ("null: failover", Rejected("field failover is null; valid is true or false")),
        ("null: monitorExecution", Rejected("field monitorExecution is null")),
        ("missing: all that can be", SameAsJava),
        ("missing: in an empty jobProperties", SameAsJava),
        ("missing: jobName", Rejected("job name \"\" is not valid")),
        ("missing: jobType", Rejected("field jobType is \"\"; valid is \"SIMPLE\"")),
        ("missing: jobClass", Accepted(r#""jobClass":"","#)),
        ("missing: cron", Accepted(r#""cron":"","#)),
        ("missing: shardingTotalCount", Rejected("sharding_total_count is 0; valid is 1")),
        ("empty: jobName", Rejected("job name \"\" is not valid")),
        ("empty: jobType", Rejected("field jobType is \"\"; valid is \"SIMPLE\"")),
        ("empty: jobClass", Accepted(r#""jobClass":"","#)),
        ("empty: cron", Accepted(r#""cron":"","#)),
        ("empty: jobClass of a script", SameAsJava),
        ("type in lower case", Rejected("field jobType is \"simple\"; valid is \"SIMPLE\"")),
        ("quoted number: shardingTotalCount", SameAsJava),
        ("quoted number: the others", SameAsJava),
        ("quoted truth value", Rejected("field failover is \"true\"; valid is true or false")),
        ("number for a string", SameAsJava),
        ("truth value for a string", Rejected("field jobParameter is true; valid is a string")),
        ("number with a fraction", Rejected("field shardingTotalCount is 3.5; valid is a whole")),
        ("text for a number", Rejected("field shardingTotalCount is \"x\"; valid is a whole")),
        ("no items", Rejected("sharding_total_count is 0; valid is 1 to 100000")),
        ("less than no items", Rejected("field shardingTotalCount is -1; valid is 1 to 100000")),
        ("a field twice", SameAsJava),
        ("the console's document", SameAsJava),
        (
            "fields of ours",
            SameWithExtra(
                r#","timeZone":"Asia/Shanghai","staticSharding":true,"catchUp":{"windowSeconds":60,"max":5}"#,
            ),
        ),
        ("a document of 3.x", OtherDialect),
        ("an empty document", Rejected("the document is empty")),
        ("a blank document", Rejected("the document is empty")),
        ("a damaged document", Rejected("the document is no JSON object")),
    ];
    compare(Dialect::V2, include_str!("../../testdata/json-reader.jsonl"), &table);
}

#[test]
fn group_is_stored_in_both_dialects() {
    let rows = [
        (coordination::Dialect::V2, r#""group":"db""#),
        (coordination::Dialect::V3, "elastic-job-rust.group: db"),
    ];
    for (dialect, stored) in rows {
        let name = coordination::JobName::new("j").unwrap();
        let mut config = coordination::JobConfig::new(name, 2);
        config.java = coordination::JavaSettings::of(dialect);
        assert!(!coordination::encode_config(&config).contains(stored), "{dialect}");
        config.group = coordination::GroupName::new("db").ok();
        let document = coordination::encode_config(&config);
        assert!(document.contains(stored), "{document}");
        let read = coordination::decode_config(document.as_bytes()).unwrap();
        assert_eq!(read.group, config.group, "{document}");
        let wrong = document.replace(stored, &stored.replace("db", "d@-@b"));
        let error = coordination::decode_config(wrong.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("d@-@b") && error.contains("at most 128 bytes"), "{error}");
    }
}

#[test]
fn start_rate_is_stored_in_both_dialects() {
    let rows = [
        (coordination::Dialect::V2, r#""startRate":"3 in 90s""#),
        (coordination::Dialect::V3, "elastic-job-rust.start-rate: 3 in 90s"),
    ];
    for (dialect, stored) in rows {
        let name = coordination::JobName::new("j").unwrap();
        let mut config = coordination::JobConfig::new(name, 2);
        config.java = coordination::JavaSettings::of(dialect);
        assert!(!coordination::encode_config(&config).contains(stored), "{dialect}");
        config.start_rate = coordination::StartRate::parse("3 in 90s");
        let document = coordination::encode_config(&config);
        assert!(document.contains(stored), "{document}");
        let read = coordination::decode_config(document.as_bytes()).unwrap();
        assert_eq!(read.start_rate, config.start_rate, "{document}");
        let wrong = document.replace("3 in 90s", "3 per 90s");
        let error = coordination::decode_config(wrong.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("3 per 90s") && error.contains("10 in 1m"), "{error}");
    }
}

#[test]
fn overlap_is_stored_in_both_dialects() {
    let rows = [
        (coordination::Dialect::V2, r#""overlap":"cancel""#),
        (coordination::Dialect::V3, "elastic-job-rust.overlap: cancel"),
    ];
    for (dialect, stored) in rows {
        let name = coordination::JobName::new("j").unwrap();
        let mut config = coordination::JobConfig::new(name, 2);
        config.java = coordination::JavaSettings::of(dialect);
        assert!(!coordination::encode_config(&config).contains("overlap"), "{dialect}");
        config.overlap = Some(coordination::Overlap::Cancel);
        let document = coordination::encode_config(&config);
        assert!(document.contains(stored), "{document}");
        let read = coordination::decode_config(document.as_bytes()).unwrap();
        assert_eq!(read.overlap, config.overlap, "{document}");
        config.overlap = Some(coordination::Overlap::Queue(7));
        let queue = coordination::encode_config(&config);
        assert_eq!(queue, document.replace("cancel", "queue 7"));
        assert_eq!(coordination::decode_config(queue.as_bytes()).unwrap().overlap, config.overlap);
        config.overlap = Some(coordination::Overlap::Parallel(3));
        let parallel = coordination::encode_config(&config);
        assert_eq!(parallel, document.replace("cancel", "parallel 3"));
        let read = coordination::decode_config(parallel.as_bytes()).unwrap();
        assert_eq!(read.overlap, config.overlap);
        for wrong in ["stop", "queue 0", "queue 101", "queue", "parallel 1", "parallel 17"] {
            let text = document.replace("cancel", wrong);
            let error = coordination::decode_config(text.as_bytes()).unwrap_err().to_string();
            let valid = "cancel, queue 1 to queue 100, parallel 2 to parallel 16, or none";
            let names = error.contains(&format!("{wrong:?}"));
            assert!(names && error.contains(valid), "{error}");
        }
    }
}

#[test]
fn limit_of_runs_is_stored_in_both_dialects() {
    let rows = [
        (coordination::Dialect::V2, r#""clusterConcurrency":3"#),
        (coordination::Dialect::V3, "elastic-job-rust.cluster-concurrency: "),
    ];
    for (dialect, stored) in rows {
        let name = coordination::JobName::new("j").unwrap();
        let mut config = coordination::JobConfig::new(name, 2);
        config.java = coordination::JavaSettings::of(dialect);
        assert!(!coordination::encode_config(&config).contains(stored), "{dialect}");
        config.cluster_concurrency = Some(3);
        let document = coordination::encode_config(&config);
        assert!(document.contains(stored), "{document}");
        let read = coordination::decode_config(document.as_bytes()).unwrap();
        assert_eq!(read.cluster_concurrency, Some(3), "{document}");
    }
}
