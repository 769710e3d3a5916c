//! Documents of ElasticJob 3.x.

use std::collections::BTreeMap;

use coordination::{JavaExecutor, JavaFields, JavaFields3, JavaSettings, JobName};
use serde::Deserialize;
use serde_json::json;

use super::Expected::{Accepted, OtherDialect, Rejected, SameAsJava};
use super::*;

/// A document that the class wrote, with the fields of its configuration.
#[derive(Deserialize)]
struct Document {
    fields: serde_json::Value,
    yaml: String,
}

fn of_3(config: &JobConfig) -> &JavaFields3 {
    let JavaFields::V3(java) = &config.java.fields else {
        panic!("not a configuration of 3.x: {config:?}")
    };
    java
}

/// Returns a configuration with the field names of the class.
fn java_fields(config: &JobConfig) -> serde_json::Value {
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
fn documents_of_java_are_read_and_written_unchanged() {
    let documents: Vec<Document> = rows(include_str!("../../testdata/yaml-configs.jsonl"));
    assert_eq!(documents.len(), 120);
    for Document { fields, yaml } in documents {
        let config = decode_config(yaml.as_bytes()).unwrap();
        assert_eq!(java_fields(&config), fields, "{yaml}");
        assert_eq!(encode_config(&config), yaml);
    }
}

/// The smallest document of the class of 3.0.4: a job that runs only on request.
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

/// A job with event tracing, as `Golden3 tracing` prints it with the class of 3.0.4.
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

/// The same job for 3.0.5, which has another key for the pool. Written by hand, because no public
/// repository has 3.0.5.
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
    let minimal = JobConfig::new(JobName::new("j").unwrap(), 1)
        .with(|it| it.java = JavaSettings::of(Dialect::V3));
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
fn documents_are_read_as_by_java() {
    let table = [
        ("order of fields", SameAsJava),
        ("unknown field", Accepted("\nlater: 1\n")),
        ("missing: all that can be", SameAsJava),
        ("missing: jobName", Rejected("job name \"\" is not valid")),
        ("missing: shardingTotalCount", Rejected("sharding_total_count is 0; valid is 1")),
        ("empty: jobName", Rejected("job name \"\" is not valid")),
        ("no items", Rejected("sharding_total_count is 0; valid is 1 to 100000")),
        ("less than no items", Rejected("field shardingTotalCount is -1; valid is 1 to 100000")),
        ("null: jobListenerTypes", Rejected("field jobListenerTypes is null; valid is a list")),
        ("null: props", Rejected("field props is null; valid is a mapping of texts to texts")),
        ("null: jobExtraConfigurations", Rejected("field jobExtraConfigurations is null")),
        ("null: cron", SameAsJava),
        ("null: description", SameAsJava),
        ("null: failover", Rejected("field failover is null; valid is true or false")),
        ("null: reconcileIntervalMinutes", Rejected("field reconcileIntervalMinutes is null")),
        ("null: label", SameAsJava),
        ("numbers and truth values in props", SameAsJava),
        ("null in props", Rejected("field props is a mapping; valid is a mapping of texts")),
        // Java reads the text "[1]".
        ("a list in props", Rejected("field props is a mapping; valid is a mapping of texts")),
        ("a JSON document", SameAsJava),
        ("quoted number for a number", SameAsJava),
        ("number for a text", SameAsJava),
        ("number with a leading zero for a text", SameAsJava),
        ("truth value for a text", SameAsJava),
        ("quoted truth value", SameAsJava),
        ("yes for true", SameAsJava),
        ("text for a number", Rejected("field shardingTotalCount is x; valid is a whole number")),
        ("text for a truth value", Rejected("field failover is maybe; valid is true or false")),
        ("octal number", SameAsJava),
        // Java reads the only element.
        ("a list for a text", Rejected("field jobName is a list; valid is a text")),
        ("a text for a list", Rejected("field jobListenerTypes is l1; valid is a list of texts")),
        ("a text folded over two lines", SameAsJava),
        // Java reads the last value.
        ("a field twice", Rejected("the document is no YAML mapping: ")),
        ("the pool key up to 3.0.4", SameAsJava),
        ("the pool key from 3.0.5", Accepted("\njobExecutorThreadPoolSizeProviderType: CPU\n")),
        ("a foreign tag", Accepted("\n- !!java.util.Date 2020-01-01\n")),
        ("a property of ours", SameAsJava),
        // Java reads it, but fails to schedule the job.
        ("an IANA time zone", SameAsJava),
        ("a document of 2.1.5", OtherDialect),
        ("an empty document", Rejected("the document is empty")),
        ("a list", Rejected("the document is no YAML mapping: it is something else")),
    ];
    compare(Dialect::V3, include_str!("../../testdata/yaml-reader.jsonl"), &table);
}
