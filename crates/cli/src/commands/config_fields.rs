//! The fields of a configuration that people set: their names, values and parsers.

use std::time::Duration;

use coordination::{CatchUp, JobConfig, MaxTimeDiff};
use jiff::SignedDuration;
use serde_json::{Map, Value, json};

/// A field of a configuration, with its JSON value and its parser.
struct Field {
    name: &'static str,
    value_of: fn(&JobConfig) -> Value,
    parse: fn(&mut JobConfig, &str) -> Result<(), &'static str>,
}

const BOOLEAN: &str = "true or false";
const MAX_TIME_DIFF: &str = "default, off, or a duration of whole seconds, such as 5s";
const RECONCILE_INTERVAL: &str = "a duration of whole minutes, such as 10m, or 0m for never";
const JITTER: &str = "none, or a duration of 1ms to 24h, such as 30s";
const CATCH_UP: &str = "none, or a number of fires within a duration, such as \"5 in 10m\"";

/// All fields that people set, in the order of `JobConfig::fields`.
const FIELDS: [Field; 18] = [
    Field {
        name: "cron",
        value_of: |config| json!(config.cron),
        parse: |config, text| set(&mut config.cron, Ok(optional(text))),
    },
    Field {
        name: "time_zone",
        value_of: |config| json!(config.time_zone),
        parse: |config, text| set(&mut config.time_zone, Ok(optional(text))),
    },
    Field {
        name: "excluded_days",
        value_of: |config| json!(config.excluded_days),
        parse: |config, text| set(&mut config.excluded_days, Ok(optional(text))),
    },
    Field {
        name: "jitter",
        value_of: |config| json!(config.jitter_ms.map(|bound| format!("{bound} ms"))),
        parse: |config, text| set(&mut config.jitter_ms, jitter(text)),
    },
    Field {
        name: "sharding_total_count",
        value_of: |config| json!(config.sharding_total_count),
        parse: |config, text| {
            set(&mut config.sharding_total_count, text.parse().map_err(|_| "1 to 100000"))
        },
    },
    Field {
        name: "sharding_item_parameters",
        value_of: |config| json!(config.sharding_item_parameters),
        parse: |config, text| set(&mut config.sharding_item_parameters, Ok(text.to_owned())),
    },
    Field {
        name: "job_parameter",
        value_of: |config| json!(config.job_parameter),
        parse: |config, text| set(&mut config.job_parameter, Ok(text.to_owned())),
    },
    Field {
        name: "failover",
        value_of: |config| json!(config.failover),
        parse: |config, text| set(&mut config.failover, boolean(text)),
    },
    Field {
        name: "misfire",
        value_of: |config| json!(config.misfire),
        parse: |config, text| set(&mut config.misfire, boolean(text)),
    },
    Field {
        name: "monitor_execution",
        value_of: |config| json!(config.monitor_execution),
        parse: |config, text| set(&mut config.monitor_execution, boolean(text)),
    },
    Field {
        name: "max_time_diff",
        value_of: |config| json!(config.max_time_diff.to_string()),
        parse: |config, text| {
            let bound = match text {
                "default" | "" => Ok(MaxTimeDiff::Default),
                "off" => Ok(MaxTimeDiff::Off),
                _ => {
                    let seconds = whole(text, 1).filter(|seconds| *seconds > 0);
                    seconds.map(MaxTimeDiff::Seconds).ok_or(MAX_TIME_DIFF)
                }
            };
            set(&mut config.max_time_diff, bound)
        },
    },
    Field {
        name: "reconcile_interval",
        value_of: |config| json!(format!("{}m", config.reconcile_interval_minutes)),
        parse: |config, text| {
            let minutes = whole(text, 60).ok_or(RECONCILE_INTERVAL);
            set(&mut config.reconcile_interval_minutes, minutes)
        },
    },
    Field {
        name: "catch_up",
        value_of: |config| {
            json!(
                config
                    .catch_up
                    .map(|c| json!({ "window_seconds": c.window_seconds, "max": c.max }))
            )
        },
        parse: |config, text| set(&mut config.catch_up, catch_up(text)),
    },
    Field {
        name: "static_sharding",
        value_of: |config| json!(config.static_sharding),
        parse: |config, text| set(&mut config.static_sharding, boolean(text)),
    },
    Field {
        name: "strategy",
        value_of: |config| json!(config.strategy),
        parse: |config, text| set(&mut config.strategy, Ok(text.to_owned())),
    },
    Field {
        name: "description",
        value_of: |config| json!(config.description),
        parse: |config, text| set(&mut config.description, Ok(text.to_owned())),
    },
    Field {
        name: "disabled",
        value_of: |config| json!(config.disabled),
        parse: |config, text| set(&mut config.disabled, boolean(text)),
    },
    Field {
        name: "overwrite",
        value_of: |config| json!(config.overwrite),
        parse: |config, text| set(&mut config.overwrite, boolean(text)),
    },
];

fn set<T>(field: &mut T, value: Result<T, &'static str>) -> Result<(), &'static str> {
    *field = value?;
    Ok(())
}

fn optional(text: &str) -> Option<String> {
    Some(text).filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

fn boolean(text: &str) -> Result<bool, &'static str> {
    text.parse().map_err(|_| BOOLEAN)
}

/// Parses a duration as a whole number of units of `unit_seconds`.
fn whole(text: &str, unit_seconds: i64) -> Option<u32> {
    let time: SignedDuration = text.parse().ok()?;
    let is_whole = time.as_secs() % unit_seconds == 0 && time.subsec_nanos() == 0;
    if is_whole { u32::try_from(time.as_secs() / unit_seconds).ok() } else { None }
}

fn jitter(text: &str) -> Result<Option<u32>, &'static str> {
    if matches!(text, "none" | "") {
        return Ok(None);
    }
    let bound: SignedDuration = text.parse().map_err(|_| JITTER)?;
    u32::try_from(bound.as_millis()).map(Some).map_err(|_| JITTER)
}

fn catch_up(text: &str) -> Result<Option<CatchUp>, &'static str> {
    if matches!(text, "none" | "") {
        return Ok(None);
    }
    let (max, window) = text.split_once(" in ").ok_or(CATCH_UP)?;
    let window: SignedDuration = window.parse().map_err(|_| CATCH_UP)?;
    let window = Duration::try_from(window).map_err(|_| CATCH_UP)?;
    let window_seconds = u32::try_from(window.as_secs()).map_err(|_| CATCH_UP)?;
    Ok(Some(CatchUp { window_seconds, max: max.trim().parse().map_err(|_| CATCH_UP)? }))
}

/// Returns the fields as a JSON document.
pub(crate) fn document(config: &JobConfig) -> Value {
    let fields = FIELDS.iter().map(|field| (field.name.to_owned(), (field.value_of)(config)));
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
    let Some(field) = FIELDS.iter().find(|field| is_of(assignment, field.name)) else {
        return Err(format!("there is no field {name:?}; {}", hint(name)));
    };
    (field.parse)(config, value).map_err(|valid| format!("{name} is {value:?}; valid is {valid}"))
}

/// Returns the similar field, or else a list of all fields.
fn hint(name: &str) -> String {
    let names = || FIELDS.iter().map(|field| field.name);
    let similar = names().map(|known| (strsim::jaro_winkler(name, known), known));
    let close = similar.filter(|(similarity, _)| *similarity > 0.8);
    match close.max_by(|(a, _), (b, _)| a.total_cmp(b)) {
        Some((_, closest)) => format!("did you mean {closest}?"),
        None => format!("valid are {}", names().collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use coordination::JobName;

    use super::*;

    fn config() -> JobConfig {
        JobConfig::new(JobName::new("report").unwrap(), 3)
    }

    #[test]
    fn fields_are_those_of_the_configuration() {
        let names: Vec<&str> = config().fields().iter().map(|(name, _)| *name).collect();
        let names_here: Vec<&str> = FIELDS.iter().map(|field| field.name).collect();
        assert_eq!(names_here, names);
    }

    #[test]
    fn invalid_value_is_rejected_with_the_valid_ones() {
        let rows: [(&str, Result<Value, &str>); 26] = [
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
            ("excluded_days=SAT..SUN", Ok(json!("SAT..SUN"))),
            ("jitter=30s", Ok(json!("30000 ms"))),
            ("jitter=none", Ok(Value::Null)),
            ("jitter=-1s", Err("jitter is \"-1s\"; valid is none, or a duration of 1ms to 24h")),
            ("catch_up=5 in 10m", Ok(json!({ "window_seconds": 600, "max": 5 }))),
            ("catch_up=5 in 600 s", Ok(json!({ "window_seconds": 600, "max": 5 }))),
            ("catch_up=none", Ok(Value::Null)),
            ("catch_up=5", Err("valid is none, or a number of fires within a duration")),
            ("failover=yes", Err("failover is \"yes\"; valid is true or false")),
            ("crom=x", Err("there is no field \"crom\"; did you mean cron?")),
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
