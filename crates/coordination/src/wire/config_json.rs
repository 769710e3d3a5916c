//! The configuration in the format of ElasticJob 2.1.5: one line of JSON, fields in a fixed order,
//! Gson's escapes.

use std::fmt::Write as _;

use super::config::{OFF, group, off, overlap, placement, server_ttl, start_rate, total_of};
use super::config_error::ConfigError;
use super::json::Fields;
use crate::{
    CatchUp, JavaFields, JavaFields2, JavaJobType, JavaSettings, JobConfig, JobName, MaxTimeDiff,
    ServerTtl,
};

/// The class that Java gives to all script jobs, regardless of the document.
const SCRIPT_CLASS: &str = "com.dangdang.ddframe.job.api.script.ScriptJob";

/// Fields of this project that belong to the schedule.
const EXCLUDED_DAYS: &str = "excludedDays";
const EXCLUDED_TIMES: &str = "excludedTimes";
const NOT_BEFORE: &str = "notBefore";
const NOT_AFTER: &str = "notAfter";
const REPEATED_HOUR: &str = "repeatedHour";

/// Field of this project that switches the comparison of clocks off by `"off"`. Java instances read
/// only `maxTimeDiffSeconds`.
const MAX_TIME_DIFF: &str = "maxTimeDiff";
/// Fields of this project, absent at their defaults.
const CLUSTER_CONCURRENCY: &str = "clusterConcurrency";
const START_RATE: &str = "startRate";
const GROUP: &str = "group";
const OVERLAP: &str = "overlap";
const SERVER_TTL: &str = "serverTtl";
/// Field of this project, absent without rules.
const PLACEMENT: &str = "placement";

/// Encodes a configuration.
///
/// The fields of this project follow those of Java if they are set: `timeZone`, `staticSharding`,
/// `catchUp`, `excludedDays`, `excludedTimes`, `notBefore`, `notAfter`, `repeatedHour`,
/// `jitterMilliseconds`, `maxTimeDiff`, `serverTtl`, `clusterConcurrency`, `startRate`, `group`,
/// `overlap` and `placement`. Unknown fields of the former document follow at the end. Java
/// instances skip both, but fail on unknown properties.
pub(super) fn encode(config: &JobConfig, java: &JavaFields2) -> String {
    let mut json = Writer::default();
    json.string("jobName", config.job_name.as_str());
    json.string("jobClass", &config.java.job_class);
    json.string("jobType", type_name(&java.job_type));
    json.string("cron", config.cron.as_deref().unwrap_or_default());
    json.raw("shardingTotalCount", config.sharding_total_count);
    json.string("shardingItemParameters", &config.sharding_item_parameters);
    json.string("jobParameter", &config.job_parameter);
    json.raw("failover", config.failover);
    json.raw("misfire", config.misfire);
    json.string("description", &config.description);
    json.object("jobProperties", |json| {
        json.string("job_exception_handler", &java.exception_handler);
        json.string("executor_service_handler", &java.executor_handler);
        java.other_properties.iter().for_each(|(name, value)| json.raw(name, value));
    });
    match &java.job_type {
        JavaJobType::Simple | JavaJobType::Script { command_line: None } => {}
        JavaJobType::Dataflow { streaming } => json.raw("streamingProcess", streaming),
        JavaJobType::Script { command_line: Some(line) } => json.string("scriptCommandLine", line),
    }
    json.raw("monitorExecution", config.monitor_execution);
    json.raw("maxTimeDiffSeconds", config.max_time_diff.java_seconds());
    json.raw("monitorPort", java.monitor_port);
    json.string("jobShardingStrategyClass", &config.strategy);
    json.raw("reconcileIntervalMinutes", config.reconcile_interval_minutes);
    json.raw("disabled", config.disabled);
    json.raw("overwrite", config.overwrite);
    if let Some(zone) = &config.time_zone {
        json.string("timeZone", zone);
    }
    if config.static_sharding {
        json.raw("staticSharding", true);
    }
    if let Some(catch_up) = &config.catch_up {
        json.object("catchUp", |json| {
            json.raw("windowSeconds", catch_up.window_seconds);
            json.raw("max", catch_up.max);
        });
    }
    let of_schedule = [
        (EXCLUDED_DAYS, &config.excluded_days),
        (EXCLUDED_TIMES, &config.excluded_times),
        (NOT_BEFORE, &config.not_before),
        (NOT_AFTER, &config.not_after),
        (REPEATED_HOUR, &config.repeated_hour),
    ];
    for (name, value) in of_schedule {
        if let Some(value) = value {
            json.string(name, value);
        }
    }
    if let Some(bound) = config.jitter_ms {
        json.raw("jitterMilliseconds", bound);
    }
    if config.max_time_diff == MaxTimeDiff::Off {
        json.string(MAX_TIME_DIFF, OFF);
    }
    if config.server_ttl != ServerTtl::default() {
        json.string(SERVER_TTL, &config.server_ttl.to_string());
    }
    if let Some(max) = config.cluster_concurrency {
        json.raw(CLUSTER_CONCURRENCY, max);
    }
    if let Some(rate) = config.start_rate {
        json.string(START_RATE, &rate.to_string());
    }
    if let Some(group) = &config.group {
        json.string(GROUP, group.as_str());
    }
    if let Some(overlap) = config.overlap {
        json.string(OVERLAP, &overlap.to_string());
    }
    if !config.placement.is_empty() {
        json.string(PLACEMENT, config.placement.as_str());
    }
    for (name, value) in &config.unknown {
        json.raw(name, value);
    }
    json.finish()
}

/// Decodes a document of ElasticJob 2.1.5, of its console, or of [`encode`].
///
/// Missing fields have the defaults of the Java reader: strings are empty, `misfire`, `failover`,
/// `disabled` and `overwrite` are false, `monitorExecution` is true, `maxTimeDiffSeconds` and
/// `monitorPort` are −1, `reconcileIntervalMinutes` is 10, and a script job has its fixed class.
/// Numbers may be quoted. Unknown fields and properties keep their text.
///
/// Java fails on a document without a class or with unknown properties. It also fails on one
/// without a cron expression, which this project writes for a job that runs on request only.
pub(super) fn decode(bytes: &[u8]) -> Result<JobConfig, ConfigError> {
    let mut fields = Fields::read(bytes)
        .map_err(|error| ConfigError::Syntax { form: "JSON object", reason: error.to_string() })?;
    let job_name = JobName::new(&fields.string("jobName")?)?;
    let total = total_of(fields.integer("shardingTotalCount", 0)?)?;
    let mut config = JobConfig::new(job_name, total);
    config.java = decode_java(&mut fields)?;
    config.cron = non_empty(fields.string("cron")?);
    config.time_zone = non_empty(fields.string("timeZone")?);
    config.sharding_item_parameters = fields.string("shardingItemParameters")?;
    config.job_parameter = fields.string("jobParameter")?;
    config.failover = fields.boolean("failover", false)?;
    config.misfire = fields.boolean("misfire", false)?;
    config.description = fields.string("description")?;
    config.monitor_execution = fields.boolean("monitorExecution", true)?;
    let is_off = off(MAX_TIME_DIFF, non_empty(fields.string(MAX_TIME_DIFF)?))?;
    config.max_time_diff = MaxTimeDiff::of_java(fields.integer("maxTimeDiffSeconds", -1)?, is_off);
    config.strategy = fields.string("jobShardingStrategyClass")?;
    let reconcile = fields.integer("reconcileIntervalMinutes", 10)?;
    config.reconcile_interval_minutes = u32::try_from(reconcile).unwrap_or(0);
    config.disabled = fields.boolean("disabled", false)?;
    config.overwrite = fields.boolean("overwrite", false)?;
    config.static_sharding = fields.boolean("staticSharding", false)?;
    config.catch_up = decode_catch_up(&mut fields)?;
    config.excluded_days = non_empty(fields.string(EXCLUDED_DAYS)?);
    config.excluded_times = non_empty(fields.string(EXCLUDED_TIMES)?);
    config.not_before = non_empty(fields.string(NOT_BEFORE)?);
    config.not_after = non_empty(fields.string(NOT_AFTER)?);
    config.repeated_hour = non_empty(fields.string(REPEATED_HOUR)?);
    config.jitter_ms = limit(&mut fields, "jitterMilliseconds")?;
    config.cluster_concurrency = limit(&mut fields, CLUSTER_CONCURRENCY)?;
    config.start_rate = start_rate(START_RATE, non_empty(fields.string(START_RATE)?))?;
    config.group = group(GROUP, non_empty(fields.string(GROUP)?))?;
    config.overlap = overlap(OVERLAP, non_empty(fields.string(OVERLAP)?))?;
    config.server_ttl = server_ttl(SERVER_TTL, non_empty(fields.string(SERVER_TTL)?))?;
    config.placement = placement(fields.string(PLACEMENT)?)?;
    config.unknown = fields.rest();
    Ok(config)
}

/// Reads a number from 1. An invalid one becomes 0, which the check of the configuration rejects.
fn limit(fields: &mut Fields, name: &'static str) -> Result<Option<u32>, ConfigError> {
    let number = fields.has(name).then(|| fields.integer(name, 0)).transpose()?;
    Ok(number.map(|number| u32::try_from(number).unwrap_or(0)))
}

fn decode_catch_up(fields: &mut Fields) -> Result<Option<CatchUp>, ConfigError> {
    let mut catch_up = fields.object("catchUp")?;
    if catch_up.is_empty() {
        return Ok(None);
    }
    let number = |value: i64| u32::try_from(value).unwrap_or(0);
    let window_seconds = number(catch_up.integer("windowSeconds", 0)?);
    Ok(Some(CatchUp { window_seconds, max: number(catch_up.integer("max", 0)?) }))
}

fn decode_java(fields: &mut Fields) -> Result<JavaSettings, ConfigError> {
    let defaults = JavaFields2::default();
    let streaming = fields.boolean("streamingProcess", false)?;
    let line = "scriptCommandLine";
    let command_line = fields.has(line).then(|| fields.string(line)).transpose()?;
    let kind = fields.string("jobType")?;
    let job_type = match kind.as_str() {
        "SIMPLE" => JavaJobType::Simple,
        "DATAFLOW" => JavaJobType::Dataflow { streaming },
        "SCRIPT" => JavaJobType::Script { command_line },
        _ => {
            let valid = "\"SIMPLE\", \"DATAFLOW\" or \"SCRIPT\"";
            return Err(ConfigError::Field { field: "jobType", found: format!("{kind:?}"), valid });
        }
    };
    let is_script = matches!(job_type, JavaJobType::Script { .. });
    let mut properties = fields.object("jobProperties")?;
    let handler = |given: String, default| if given.is_empty() { default } else { given };
    let exception = properties.string("job_exception_handler")?;
    let executor = properties.string("executor_service_handler")?;
    let port = fields.integer("monitorPort", -1)?;
    let of_2 = JavaFields2 {
        job_type,
        exception_handler: handler(exception, defaults.exception_handler),
        executor_handler: handler(executor, defaults.executor_handler),
        monitor_port: i32::try_from(port).unwrap_or(-1),
        other_properties: properties.rest(),
    };
    let class = fields.string("jobClass")?;
    let job_class = if is_script { handler(class, SCRIPT_CLASS.to_owned()) } else { class };
    Ok(JavaSettings { job_class, fields: JavaFields::V2(of_2) })
}

fn non_empty(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

fn type_name(job_type: &JavaJobType) -> &'static str {
    match job_type {
        JavaJobType::Simple => "SIMPLE",
        JavaJobType::Dataflow { .. } => "DATAFLOW",
        JavaJobType::Script { .. } => "SCRIPT",
    }
}

/// Writes one JSON object.
#[derive(Default)]
struct Writer {
    out: String,
}

impl Writer {
    fn name(&mut self, name: &str) {
        match self.out.chars().next_back() {
            None => self.out.push('{'),
            Some('{') => {}
            Some(_) => self.out.push(','),
        }
        push_java_json(&mut self.out, name);
        self.out.push(':');
    }

    fn string(&mut self, name: &str, value: &str) {
        self.name(name);
        push_java_json(&mut self.out, value);
    }

    fn raw(&mut self, name: &str, value: impl std::fmt::Display) {
        self.name(name);
        write!(self.out, "{value}").expect("writing to a string cannot fail");
    }

    fn object(&mut self, name: &str, fields: impl FnOnce(&mut Self)) {
        self.name(name);
        self.out.push('{');
        fields(self);
        self.out.push('}');
    }

    fn finish(mut self) -> String {
        self.out.push('}');
        self.out
    }
}

/// Appends a text as a quoted JSON string with the escapes of Gson's default, HTML-safe mode.
/// ElasticJob writes all of its JSON in this form.
///
/// # Examples
/// ```
/// let mut json = String::new();
/// coordination::push_java_json(&mut json, "x=1&y");
/// assert_eq!(json, r#""x\u003d1\u0026y""#);
/// ```
pub fn push_java_json(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\u{c}' => out.push_str("\\f"),
            '\0'..='\u{1f}' | '<' | '>' | '&' | '=' | '\'' | '\u{2028}' | '\u{2029}' => {
                write!(out, "\\u{:04x}", u32::from(c)).expect("writing to a string cannot fail");
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::super::{decode_config, encode_config};
    use super::*;

    const DOCUMENT: &str = r#"{"jobName":"j","jobType":"SIMPLE","shardingTotalCount":3"#;

    fn of_2(config: &JobConfig) -> &JavaFields2 {
        let JavaFields::V2(java) = &config.java.fields else { panic!("it is JSON: {config:?}") };
        java
    }

    #[test]
    fn unknown_fields_keep_their_text() {
        let rows = [
            ("a number beyond 64 bits", "123456789012345678901234567890"),
            ("a fraction with more digits than a double has", "0.1000000000000000055511151231"),
            ("zeros at the end", "1.500"),
            ("an exponent that no double has", "-1E+400"),
            ("escapes that need not be", r#""\u003d\/\u0041""#),
            ("half of a pair", r#""\ud800""#),
            ("spaces and line breaks", "[ 1,\n  null ]"),
            ("order and repetition", r#"{"b":1,"a":2,"b":3}"#),
            ("a hundred and fifty lists", &format!("{}{}", "[".repeat(150), "]".repeat(150))),
        ];
        for (case, value) in rows {
            let document = format!(r#"{DOCUMENT},"later":{value},"also":0}}"#);
            let config = decode_config(document.as_bytes()).unwrap();
            let expected = [("later", value), ("also", "0")];
            let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
            assert_eq!(config.unknown, expected, "{case}");
            let written = encode_config(&config);
            let end = format!(r#","later":{value},"also":0}}"#);
            assert!(written.ends_with(&end), "{case}: {written}");
            assert_eq!(decode_config(written.as_bytes()).unwrap(), config, "{case}");
        }
    }

    #[test]
    fn excluded_days_and_jitter_stand_behind_what_java_reads() {
        let config = decode_config(format!("{DOCUMENT}}}").as_bytes()).unwrap();
        assert_eq!((&config.excluded_days, config.jitter_ms), (&None, None));
        let excluded_days = Some("SAT..SUN,12-25".into());
        let config = JobConfig { excluded_days, jitter_ms: Some(500), ..config };
        let written = encode_config(&config);
        assert!(
            written.ends_with(
                r#","overwrite":false,"excludedDays":"SAT..SUN,12-25","jitterMilliseconds":500}"#
            ),
            "{written}"
        );
        assert_eq!(decode_config(written.as_bytes()).unwrap(), config);
    }

    #[test]
    fn period_and_repeated_hour_are_kept() {
        let config = decode_config(format!("{DOCUMENT}}}").as_bytes()).unwrap();
        assert_eq!(
            (&config.not_before, &config.not_after, &config.repeated_hour),
            (&None, &None, &None)
        );
        let config = JobConfig {
            not_before: Some("2026-01-01T00:00:00Z".into()),
            not_after: Some("2026-12-24T09:00:00".into()),
            repeated_hour: Some("both".into()),
            ..config
        };
        let written = encode_config(&config);
        let end = concat!(
            r#","overwrite":false,"notBefore":"2026-01-01T00:00:00Z","#,
            r#""notAfter":"2026-12-24T09:00:00","repeatedHour":"both"}"#
        );
        assert!(written.ends_with(end), "{written}");
        assert_eq!(decode_config(written.as_bytes()).unwrap(), config);
    }

    #[test]
    fn clocks_are_not_compared_only_if_a_field_of_this_project_says_so() {
        let read = |more: &str| decode_config(format!("{DOCUMENT}{more}}}").as_bytes());
        let rows = [
            ("", MaxTimeDiff::Default),
            (r#","maxTimeDiffSeconds":-1"#, MaxTimeDiff::Default),
            (r#","maxTimeDiffSeconds":5"#, MaxTimeDiff::Seconds(5)),
            (r#","maxTimeDiffSeconds":-1,"maxTimeDiff":"off""#, MaxTimeDiff::Off),
            (r#","maxTimeDiffSeconds":5,"maxTimeDiff":"off""#, MaxTimeDiff::Seconds(5)),
        ];
        for (more, expected) in rows {
            let config = read(more).unwrap();
            assert_eq!(config.max_time_diff, expected, "{more}");
            let written = encode_config(&config);
            let java = format!(r#""maxTimeDiffSeconds":{},"#, expected.java_seconds());
            assert!(written.contains(&java), "{more}: {written}");
            let is_off = written.ends_with(r#","maxTimeDiff":"off"}"#);
            assert_eq!(is_off, expected == MaxTimeDiff::Off, "{more}: {written}");
            assert_eq!(decode_config(written.as_bytes()).unwrap(), config, "{more}");
        }
        let error = read(r#","maxTimeDiff":"never""#).unwrap_err().to_string();
        assert_eq!(error, "field maxTimeDiff is \"never\"; valid is off, or no such field");
    }

    #[test]
    fn jitter_out_of_range_is_rejected() {
        for bound in ["0", "-1", "86400001", "99999999999"] {
            let document =
                format!(r#"{DOCUMENT},"cron":"* * * * * ?","jitterMilliseconds":{bound}}}"#);
            let error = decode_config(document.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("jitter is ") && error.contains("1 to 86400000 ms"), "{error}");
        }
    }

    /// Java fails on unknown properties. Its error must reach the author of the document, so this
    /// project does not remove them silently.
    #[test]
    fn unknown_properties_are_kept_after_known_ones() {
        let properties = r#"{"later":"x","job_exception_handler":"H","more":1.0}"#;
        let document = format!(r#"{DOCUMENT},"jobProperties":{properties}}}"#);
        let config = decode_config(document.as_bytes()).unwrap();
        let expected = [("later", "\"x\""), ("more", "1.0")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(of_2(&config).other_properties, expected);
        let written = encode_config(&config);
        let expected = r#""jobProperties":{"job_exception_handler":"H","executor_service_handler":"com.dangdang.ddframe.job.executor.handler.impl.DefaultExecutorServiceHandler","later":"x","more":1.0},"#;
        assert!(written.contains(expected), "{written}");
        assert_eq!(decode_config(written.as_bytes()).unwrap(), config);
    }
}
