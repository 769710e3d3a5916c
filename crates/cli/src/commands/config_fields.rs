//! The fields of a configuration that operators set: assignments and JSON values.

use coordination::JobConfig;
use operations::ConfigField;
use serde_json::{Map, Value, json};

use crate::explain;
use crate::text::did_you_mean;

/// Returns the value of a field as JSON.
fn value_of(field: &ConfigField, config: &JobConfig) -> Value {
    match field.name() {
        "cron" => json!(config.cron),
        "time_zone" => json!(config.time_zone),
        "excluded_days" => json!(config.excluded_days),
        "excluded_times" => json!(config.excluded_times),
        "not_before" => json!(config.not_before),
        "not_after" => json!(config.not_after),
        "repeated_hour" => json!(config.repeated_hour),
        "jitter" => json!(config.jitter_ms.map(|bound| format!("{bound} ms"))),
        "sharding_total_count" => json!(config.sharding_total_count),
        "catch_up" => json!(
            config.catch_up.map(|c| json!({ "window_seconds": c.window_seconds, "max": c.max }))
        ),
        _ if field.is_flag() => json!(field.text(config) == "true"),
        _ => json!(field.text(config)),
    }
}

/// Returns the fields as a JSON document.
pub(crate) fn document(config: &JobConfig) -> Value {
    let fields = ConfigField::all().map(|field| (field.name().to_owned(), value_of(field, config)));
    Value::Object(fields.collect::<Map<_, _>>())
}

/// Returns true if an assignment, `name=value`, is for this field.
pub(crate) fn is_of(assignment: &str, field: &str) -> bool {
    let name = assignment.split_once('=').map_or(assignment, |(name, _)| name);
    name.trim().replace('-', "_") == field
}

/// Assigns one field: `name=value`. The whole configuration is checked when it is written.
pub(crate) fn assign(config: &mut JobConfig, assignment: &str) -> Result<(), String> {
    let Some((name, value)) = assignment.split_once('=') else {
        return Err(format!(
            "{assignment:?} is not an assignment; valid is FIELD=VALUE, such as failover=true"
        ));
    };
    let Some(field) = ConfigField::all().find(|field| is_of(assignment, field.name())) else {
        let name = name.trim().replace('-', "_");
        if explain::is_local_key(&name) {
            return Err(format!(
                "{name} is a key of the job file alone; change it there, and restart the workers"
            ));
        }
        return Err(format!("there is no field {name:?}; {}", hint(&name)));
    };
    field.set(config, value).map_err(|error| error.to_string())
}

/// Returns the similar field, or else a list of all fields.
fn hint(name: &str) -> String {
    let names = || ConfigField::all().map(ConfigField::name);
    did_you_mean(name, names())
        .unwrap_or_else(|| format!("valid are {}", names().collect::<Vec<_>>().join(", ")))
}

#[cfg(test)]
mod tests {
    use coordination::JobName;

    use super::*;

    fn config() -> JobConfig {
        JobConfig::new(JobName::new("report").unwrap(), 3)
    }

    #[test]
    fn invalid_value_is_rejected_with_the_valid_ones() {
        let rows: [(&str, Result<Value, &str>); 32] = [
            ("cron=0 0 9 * * ?", Ok(json!("0 0 9 * * ?"))),
            ("cron=", Ok(Value::Null)),
            ("sharding_total_count=4", Ok(json!(4))),
            ("sharding-total-count=4", Ok(json!(4))),
            ("sharding_item_parameters=0=A,1=B", Ok(json!("0=A,1=B"))),
            ("failover=true", Ok(json!(true))),
            ("max_time_diff=off", Ok(json!("off"))),
            ("max_time_diff=default", Ok(json!("default"))),
            ("max_time_diff=5s", Ok(json!("5s"))),
            ("max_time_diff=500ms", Err("valid is default, off, or a duration of whole seconds")),
            ("max_time_diff_seconds=5", Err("; did you mean max_time_diff?")),
            ("reconcile_interval=1h", Ok(json!("60m"))),
            ("reconcile_interval=0s", Ok(json!("0m"))),
            ("reconcile_interval=90s", Err("valid is a duration of whole minutes, such as 10m")),
            ("placement=require disk=ssd", Ok(json!("require disk=ssd"))),
            ("placement=require disk", Err("`key=value`")),
            ("excluded_days=SAT..SUN", Ok(json!("SAT..SUN"))),
            ("excluded_times=22:00..06:00 # b", Ok(json!("22:00..06:00 # b"))),
            ("not_before=2026-01-01T00:00", Ok(json!("2026-01-01T00:00"))),
            ("not_after=", Ok(Value::Null)),
            ("jitter=30s", Ok(json!("30000 ms"))),
            ("jitter=none", Ok(Value::Null)),
            ("jitter=-1s", Err("jitter is \"-1s\"; valid is none, or a duration of 1ms to 24h")),
            ("catch_up=5 in 10m", Ok(json!({ "window_seconds": 600, "max": 5 }))),
            ("catch_up=5 in 600 s", Ok(json!({ "window_seconds": 600, "max": 5 }))),
            ("catch_up=none", Ok(Value::Null)),
            ("catch_up=5", Err("valid is none, or a number of fires within a duration")),
            ("failover=yes", Err("failover is \"yes\"; valid is true or false")),
            ("crom=x", Err("there is no field \"crom\"; did you mean cron?")),
            ("timeout=5s", Err("timeout is a key of the job file alone; change it there, and")),
            ("priority=x", Err("there is no field \"priority\"; valid are cron, time_zone")),
            ("failover", Err("is not an assignment; valid is FIELD=VALUE")),
        ];
        for (assignment, expected) in rows {
            let mut config = config();
            let found = assign(&mut config, assignment);
            match expected {
                Ok(value) => {
                    assert_eq!(found, Ok(()), "{assignment}");
                    let name = assignment.split('=').next().unwrap_or_default().replace('-', "_");
                    assert_eq!(document(&config)[&name], value, "{assignment}");
                }
                Err(part) => {
                    let error = found.unwrap_err();
                    assert!(error.contains(part), "{assignment}: {error}");
                }
            }
        }
    }
}
