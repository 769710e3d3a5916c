//! Documents of ElasticJob 3.x.

use std::collections::BTreeMap;

use coordination::{JavaExecutor, JavaFields, JavaFields3, JavaSettings, JobName};
use serde::Deserialize;
use serde_json::json;

use super::Ours::{Although, AsJava, OfTheOther, Refused};
use super::*;

/// A document that the class wrote, with what it was made of.
#[derive(Deserialize)]
struct Document {
    fields: serde_json::Value,
    yaml: String,
}

fn of_3(config: &JobConfig) -> &JavaFields3 {
    let JavaFields::V3(java) = &config.java.fields else { panic!("it is YAML: {config:?}") };
    java
}

/// Returns what a configuration says in the words of the class.
fn meaning(config: &JobConfig) -> serde_json::Value {
    let java = of_3(config);
    json!({
        "jobName": config.job_name.as_str(),
        "cron": config.cron,
        "timeZone": config.time_zone,
        "shardingTotalCount": config.sharding_total_count,
        "shardingItemParameters": config.sharding_item_parameters,
        "jobParameter": config.job_parameter,
        "description": config.description,
        "monitorExecution": config.monitor_execution,
        "failover": config.failover,
        "misfire": config.misfire,
        "disabled": config.disabled,
        "overwrite": config.overwrite,
        "staticSharding": config.static_sharding,
        "maxTimeDiffSeconds": config.max_time_diff.java_seconds(),
        "reconcileIntervalMinutes": config.reconcile_interval_minutes,
        "jobShardingStrategyType":
            Some(&config.strategy).filter(|strategy| !strategy.is_empty()),
        "jobErrorHandlerType": java.error_handler,
        "pool": java.executor.as_ref().map(|executor| match executor {
            JavaExecutor::ServiceHandler(kind)
            | JavaExecutor::ThreadPoolSizeProvider(kind) => kind,
        }),
        "label": java.label,
        "jobListenerTypes": java.listeners,
        "props": java.props,
    })
}

#[test]
fn documents_are_read_as_they_were_meant_and_written_as_java_writes_them() {
    let documents: Vec<Document> = rows(include_str!("../../testdata/yaml-configs.jsonl"));
    assert_eq!(documents.len(), 120);
    for Document { fields, yaml } in documents {
        let config = decode_config(yaml.as_bytes()).unwrap();
        assert_eq!(meaning(&config), fields, "{yaml}");
        assert_eq!(encode_config(&config), yaml);
    }
}

/// The least that there is: a job that runs on request, by the class of 3.0.4.
const MINIMAL: &str = "\
description: ''
disabled: false
failover: false
jobName: j
jobParameter: ''
maxTimeDiffSeconds: -1
misfire: true
monitorExecution: true
overwrite: false
reconcileIntervalMinutes: 10
shardingItemParameters: ''
shardingTotalCount: 1
staticSharding: false
";

/// A job with event tracing, by the class of 3.0.4, which `Golden3 tracing` prints.
const TRACED: &str = "\
cron: 0/5 * * * * ?
description: ''
disabled: false
failover: false
jobErrorHandlerType: EMAIL
jobExecutorServiceHandlerType: SINGLE_THREAD
jobExtraConfigurations:
- !!org.apache.shardingsphere.elasticjob.tracing.yaml.YamlTracingConfiguration
  tracingStorageConfiguration: !!org.apache.shardingsphere.elasticjob.tracing.rdb.yaml.YamlDataSourceConfiguration
    dataSourceClassName: com.zaxxer.hikari.HikariDataSource
    props:
      jdbcUrl: jdbc:mysql://db:3306/jobs?useSSL=false
      username: job
      maximumPoolSize: 10
  type: RDB
jobListenerTypes:
- first
- second
jobName: traced
jobParameter: ''
jobShardingStrategyType: ODEVITY
label: blue
maxTimeDiffSeconds: -1
misfire: true
monitorExecution: true
overwrite: false
props:
  email.host: mail
reconcileIntervalMinutes: 10
shardingItemParameters: ''
shardingTotalCount: 3
staticSharding: false
timeZone: GMT+8:00
";

/// The same by 3.0.5, which has another key for the pool and is not released where it could be asked. All other keys stand
/// where they stood.
const TRACED_BY_3_0_5: &str = "\
cron: 0/5 * * * * ?
description: ''
disabled: false
failover: false
jobErrorHandlerType: EMAIL
jobExecutorThreadPoolSizeProviderType: SINGLE_THREAD
jobExtraConfigurations:
- !!org.apache.shardingsphere.elasticjob.tracing.yaml.YamlTracingConfiguration
  tracingStorageConfiguration: !!org.apache.shardingsphere.elasticjob.tracing.rdb.yaml.YamlDataSourceConfiguration
    dataSourceClassName: com.zaxxer.hikari.HikariDataSource
    props:
      jdbcUrl: jdbc:mysql://db:3306/jobs?useSSL=false
      username: job
      maximumPoolSize: 10
  type: RDB
jobListenerTypes:
- first
- second
jobName: traced
jobParameter: ''
jobShardingStrategyType: ODEVITY
label: blue
maxTimeDiffSeconds: -1
misfire: true
monitorExecution: true
overwrite: false
props:
  email.host: mail
reconcileIntervalMinutes: 10
shardingItemParameters: ''
shardingTotalCount: 3
staticSharding: false
timeZone: GMT+8:00
";

fn traced(executor: JavaExecutor) -> JobConfig {
    let lines = TRACED.split_inclusive('\n');
    let extra = lines.skip_while(|line| !line.starts_with("jobExtraConfigurations:"));
    let extra = extra.take_while(|line| !line.starts_with("jobListenerTypes:"));
    let java = JavaFields3 {
        error_handler: Some("EMAIL".into()),
        executor: Some(executor),
        listeners: vec!["first".into(), "second".into()],
        label: Some("blue".into()),
        props: BTreeMap::from([("email.host".into(), "mail".into())]),
        extra_configurations: extra.collect(),
    };
    let mut config = JobConfig::new(JobName::new("traced").unwrap(), 3);
    config.cron = Some("0/5 * * * * ?".into());
    config.time_zone = Some("GMT+8:00".into());
    config.strategy = "ODEVITY".into();
    config.java = JavaSettings { fields: JavaFields::V3(java), ..JavaSettings::of(Dialect::V3) };
    config
}

#[test]
fn whole_documents_of_both_releases_are_read_and_written() {
    let pool = || "SINGLE_THREAD".to_owned();
    let minimal = JobConfig {
        java: JavaSettings::of(Dialect::V3),
        ..JobConfig::new(JobName::new("j").unwrap(), 1)
    };
    let rows = [
        ("minimal", minimal, MINIMAL),
        ("3.0.4", traced(JavaExecutor::ServiceHandler(pool())), TRACED),
        ("3.0.5", traced(JavaExecutor::ThreadPoolSizeProvider(pool())), TRACED_BY_3_0_5),
    ];
    for (case, config, document) in rows {
        assert_eq!(encode_config(&config), document, "{case}");
        assert_eq!(decode_config(document.as_bytes()).unwrap(), config, "{case}");
    }
}

#[test]
fn documents_are_read_as_java_reads_them() {
    let table = [
        ("order of fields", AsJava),
        ("unknown field", Although("\nlater: 1\n")),
        ("missing: all that can be", AsJava),
        ("missing: jobName", Refused("job name \"\" is not valid")),
        ("missing: shardingTotalCount", Refused("sharding_total_count is 0; valid is 1")),
        ("empty: jobName", Refused("job name \"\" is not valid")),
        ("no items", Refused("sharding_total_count is 0; valid is 1 to 100000")),
        ("less than no items", Refused("field shardingTotalCount is -1; valid is 1 to 100000")),
        ("null: jobListenerTypes", Refused("field jobListenerTypes is null; valid is a list")),
        ("null: props", Refused("field props is null; valid is a mapping of texts to texts")),
        ("null: jobExtraConfigurations", Refused("field jobExtraConfigurations is null")),
        ("null: cron", AsJava),
        ("null: description", AsJava),
        ("null: failover", Refused("field failover is null; valid is true or false")),
        ("null: reconcileIntervalMinutes", Refused("field reconcileIntervalMinutes is null")),
        ("null: label", AsJava),
        ("numbers and truth values in props", AsJava),
        ("null in props", Refused("field props is a mapping; valid is a mapping of texts")),
        // Java takes it for the text "[1]".
        ("a list in props", Refused("field props is a mapping; valid is a mapping of texts")),
        ("a JSON document", AsJava),
        ("quoted number for a number", AsJava),
        ("number for a text", AsJava),
        ("number with a leading zero for a text", AsJava),
        ("truth value for a text", AsJava),
        ("quoted truth value", AsJava),
        ("yes for true", AsJava),
        ("text for a number", Refused("field shardingTotalCount is x; valid is a whole number")),
        ("text for a truth value", Refused("field failover is maybe; valid is true or false")),
        ("octal number", AsJava),
        // Java takes the only element.
        ("a list for a text", Refused("field jobName is a list; valid is a text")),
        ("a text for a list", Refused("field jobListenerTypes is l1; valid is a list of texts")),
        ("a text folded over two lines", AsJava),
        // Java takes the last one.
        ("a field twice", Refused("the document is no YAML mapping: ")),
        ("the pool key up to 3.0.4", AsJava),
        ("the pool key from 3.0.5", Although("\njobExecutorThreadPoolSizeProviderType: CPU\n")),
        ("a foreign tag", Although("\n- !!java.util.Date 2020-01-01\n")),
        ("a property of ours", AsJava),
        // Java reads it, and fails when it schedules the job.
        ("an IANA time zone", AsJava),
        ("a document of 2.1.5", OfTheOther),
        ("an empty document", Refused("the document is empty")),
        ("a list", Refused("the document is no YAML mapping: it is something else")),
    ];
    compare(Dialect::V3, include_str!("../../testdata/yaml-reader.jsonl"), &table);
}
