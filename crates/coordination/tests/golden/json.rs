//! Documents of ElasticJob 2.1.5.

use coordination::{JavaFields, JavaFields2, JavaJobType, JobName, MaxTimeDiff};
use serde::Deserialize;
use serde_json::json;

use super::Ours::{Although, AsJava, AsJavaWith, OfTheOther, Refused};
use super::*;

/// A document that the class wrote, with what it was made of.
#[derive(Deserialize)]
struct Document {
    fields: serde_json::Value,
    json: String,
}

fn of_2(config: &JobConfig) -> &JavaFields2 {
    let JavaFields::V2(java) = &config.java.fields else { panic!("it is JSON: {config:?}") };
    java
}

/// Returns what a configuration says in the words of the class. A handler that is not given is the default one.
fn meaning(config: &JobConfig, given: &serde_json::Value) -> serde_json::Value {
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
fn documents_are_read_as_they_were_meant_and_written_as_java_writes_them() {
    let documents: Vec<Document> = rows(include_str!("../../testdata/json-configs.jsonl"));
    assert_eq!(documents.len(), 100);
    for Document { fields, json } in documents {
        let config = decode_config(json.as_bytes()).unwrap();
        assert_eq!(meaning(&config, &fields), fields, "{json}");
        assert_eq!(encode_config(&config), json);
    }
}

/// The same without a file: what each field is called, where it stands, and how it is written.
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

/// A text, and how it stands in a document.
#[derive(Deserialize)]
struct Text {
    text: String,
    json: String,
}

#[test]
fn texts_have_the_escapes_that_java_writes() {
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
fn documents_are_read_as_java_reads_them() {
    let table = [
        ("order of fields", AsJava),
        ("unknown field: a string", AsJavaWith(r#","later":"x""#)),
        ("unknown field: a number", AsJavaWith(r#","later":12"#)),
        ("unknown field: true", AsJavaWith(r#","later":true"#)),
        ("unknown field: null", AsJavaWith(r#","later":null"#)),
        ("unknown field: a list", AsJavaWith(r#","later":[1,null,{}]"#)),
        ("unknown field: an object", AsJavaWith(r#","later":{"a":[1,null]}"#)),
        ("unknown property", Although(r#""job_exception_handler":"H","#)),
        ("unknown property alone", Although(r#"DefaultExecutorServiceHandler","later":"x"}"#)),
        ("null: jobName", Refused("field jobName is null; valid is a string")),
        ("null: jobClass", Refused("field jobClass is null; valid is a string")),
        ("null: jobType", Refused("field jobType is null; valid is a string")),
        ("null: cron", Refused("field cron is null; valid is a string")),
        ("null: shardingItemParameters", Refused("field shardingItemParameters is null")),
        ("null: jobParameter", Refused("field jobParameter is null; valid is a string")),
        ("null: description", Refused("field description is null; valid is a string")),
        ("null: jobShardingStrategyClass", Refused("field jobShardingStrategyClass is null")),
        ("null: scriptCommandLine", Refused("field scriptCommandLine is null")),
        ("null: jobProperties", Refused("field jobProperties is null; valid is an object")),
        ("null: shardingTotalCount", Refused("field shardingTotalCount is null")),
        ("null: failover", Refused("field failover is null; valid is true or false")),
        ("null: monitorExecution", Refused("field monitorExecution is null")),
        ("missing: all that can be", AsJava),
        ("missing: in an empty jobProperties", AsJava),
        ("missing: jobName", Refused("job name \"\" is not valid")),
        ("missing: jobType", Refused("field jobType is \"\"; valid is \"SIMPLE\"")),
        ("missing: jobClass", Although(r#""jobClass":"","#)),
        ("missing: cron", Although(r#""cron":"","#)),
        ("missing: shardingTotalCount", Refused("sharding_total_count is 0; valid is 1")),
        ("empty: jobName", Refused("job name \"\" is not valid")),
        ("empty: jobType", Refused("field jobType is \"\"; valid is \"SIMPLE\"")),
        ("empty: jobClass", Although(r#""jobClass":"","#)),
        ("empty: cron", Although(r#""cron":"","#)),
        ("empty: jobClass of a script", AsJava),
        ("type in lower case", Refused("field jobType is \"simple\"; valid is \"SIMPLE\"")),
        ("quoted number: shardingTotalCount", AsJava),
        ("quoted number: the others", AsJava),
        ("quoted truth value", Refused("field failover is \"true\"; valid is true or false")),
        ("number for a string", AsJava),
        ("truth value for a string", Refused("field jobParameter is true; valid is a string")),
        ("number with a fraction", Refused("field shardingTotalCount is 3.5; valid is a whole")),
        ("text for a number", Refused("field shardingTotalCount is \"x\"; valid is a whole")),
        ("no items", Refused("sharding_total_count is 0; valid is 1 to 100000")),
        ("less than no items", Refused("field shardingTotalCount is -1; valid is 1 to 100000")),
        ("a field twice", AsJava),
        ("the console's document", AsJava),
        (
            "fields of ours",
            AsJavaWith(
                r#","timeZone":"Asia/Shanghai","staticSharding":true,"catchUp":{"windowSeconds":60,"max":5}"#,
            ),
        ),
        ("a document of 3.x", OfTheOther),
        ("an empty document", Refused("the document is empty")),
        ("a blank document", Refused("the document is empty")),
        ("a damaged document", Refused("the document is no JSON object")),
    ];
    compare(Dialect::V2, include_str!("../../testdata/json-reader.jsonl"), &table);
}
