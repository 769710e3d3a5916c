//! Stored configurations: decoded, encoded and decoded again.

use std::collections::BTreeMap;

use coordination::{ConfigError, Dialect, JobConfig, decode_config, encode_config};
use serde_json::value::RawValue;

/// Fields of a JSON document with their text; of a repeated field the last one counts.
type Fields = BTreeMap<String, Box<RawValue>>;

/// Known top-level fields of JSON documents. All other top-level fields are kept.
const KNOWN: [&str; 35] = [
    "jobName",
    "jobClass",
    "jobType",
    "cron",
    "shardingTotalCount",
    "shardingItemParameters",
    "jobParameter",
    "failover",
    "misfire",
    "description",
    "jobProperties",
    "streamingProcess",
    "scriptCommandLine",
    "monitorExecution",
    "maxTimeDiffSeconds",
    "monitorPort",
    "jobShardingStrategyClass",
    "reconcileIntervalMinutes",
    "disabled",
    "overwrite",
    "timeZone",
    "staticSharding",
    "catchUp",
    "excludedDays",
    "excludedTimes",
    "notBefore",
    "notAfter",
    "repeatedHour",
    "jitterMilliseconds",
    "maxTimeDiff",
    "clusterConcurrency",
    "startRate",
    "overlap",
    "serverTtl",
    "placement",
];
/// Known nested fields.
const NESTED: [&str; 4] =
    ["job_exception_handler", "executor_service_handler", "windowSeconds", "max"];

/// Decodes `bytes` as a configuration.
pub fn run(bytes: &[u8]) {
    match decode_config(bytes) {
        Ok(config) => check_accepted(&config, bytes),
        Err(error) => check_rejected(&error, bytes),
    }
}

fn check_accepted(config: &JobConfig, bytes: &[u8]) {
    let written = encode_config(config);
    let again = decode_config(written.as_bytes());
    let again = again
        .unwrap_or_else(|error| panic!("the encoded configuration {written} is rejected: {error}"));
    assert_eq!(&again, config, "the encoded configuration decodes to another one: {written}");
    assert_eq!(encode_config(&again), written, "the decoded configuration is encoded differently");

    let total = config.sharding_total_count;
    assert!((1..=coordination::MAX_SHARDING_TOTAL_COUNT).contains(&total), "{total} items");
    if config.java.dialect() == Dialect::V2 {
        check_unknown_fields(&written, bytes);
    }
}

fn check_unknown_fields(written: &str, bytes: &[u8]) {
    let document: Fields = serde_json::from_slice(bytes).expect("accepted bytes are JSON");
    let written: Fields = serde_json::from_str(written).expect("the encoded configuration is JSON");
    for (name, value) in document.iter().filter(|(name, _)| !KNOWN.contains(&name.as_str())) {
        let kept = written.get(name).map(|kept| kept.get());
        assert_eq!(kept, Some(value.get()), "the unknown field {name} was lost or changed");
    }
}

fn check_rejected(error: &ConfigError, bytes: &[u8]) {
    let message = error.to_string();
    let is_object = serde_json::from_slice::<Fields>(bytes).is_ok();
    let is_known = |field| KNOWN.contains(field) || NESTED.contains(field);
    let names_a_field = match error {
        // JSON allows a repeated field, YAML does not.
        ConfigError::Syntax { form, .. } => !is_object || *form == "YAML mapping",
        ConfigError::Field { field, .. } => {
            message.contains(field) && (!is_object || is_known(field))
        }
        ConfigError::Name(_) => message.contains("job name"),
        ConfigError::Config(invalid) => message.contains(invalid.field),
        ConfigError::Dialect { .. } => false,
        ConfigError::Empty => bytes.trim_ascii().is_empty(),
        _ => true,
    };
    assert!(names_a_field, "the error names no field: {message}");
}
