//! The configuration in the format of ElasticJob 3.x: YAML, fields in alphabetical order.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::config::{OFF, group, off, overlap, placement, server_ttl, start_rate, total_of};
use super::config_error::ConfigError;
use super::yaml::{Document, Value, Writer};
use crate::{
    CatchUp, Dialect, JavaExecutor, JavaFields, JavaFields3, JavaSettings, JobConfig, JobName,
    MaxTimeDiff, ServerTtl,
};

/// Fields that only documents of 3.x have.
pub(super) const ONLY_3: &[&str] = &[
    "jobErrorHandlerType",
    SERVICE_HANDLER,
    SIZE_PROVIDER,
    "jobExtraConfigurations",
    "jobListenerTypes",
    "jobShardingStrategyType",
    "label",
    "props",
    "staticSharding",
];
const SERVICE_HANDLER: &str = "jobExecutorServiceHandlerType";
const SIZE_PROVIDER: &str = "jobExecutorThreadPoolSizeProviderType";
/// Settings of this project are stored in `props`, because Java instances fail on unknown fields.
const CATCH_UP_WINDOW: &str = "elastic-job-rust.catch-up.window-seconds";
const CATCH_UP_MAX: &str = "elastic-job-rust.catch-up.max";
const EXCLUDED_DAYS: &str = "elastic-job-rust.excluded-days";
const EXCLUDED_TIMES: &str = "elastic-job-rust.excluded-times";
const NOT_BEFORE: &str = "elastic-job-rust.not-before";
const NOT_AFTER: &str = "elastic-job-rust.not-after";
const REPEATED_HOUR: &str = "elastic-job-rust.repeated-hour";
const JITTER: &str = "elastic-job-rust.jitter-milliseconds";
const MAX_TIME_DIFF: &str = "elastic-job-rust.max-time-diff";
const CLUSTER_CONCURRENCY: &str = "elastic-job-rust.cluster-concurrency";
const START_RATE: &str = "elastic-job-rust.start-rate";
const GROUP: &str = "elastic-job-rust.group";
const OVERLAP: &str = "elastic-job-rust.overlap";
const SERVER_TTL: &str = "elastic-job-rust.server-ttl";
const PLACEMENT: &str = "elastic-job-rust.placement";

/// Encodes a configuration. Unknown fields of the former document follow at the end.
pub(super) fn encode(config: &JobConfig, java: &JavaFields3) -> String {
    let mut yaml = Writer::default();
    let optional = |yaml: &mut Writer, name: &str, value: Option<&str>| {
        if let Some(value) = value {
            yaml.text(name, value);
        }
    };
    optional(&mut yaml, "cron", config.cron.as_deref());
    yaml.text("description", &config.description);
    yaml.plain("disabled", config.disabled);
    yaml.plain("failover", config.failover);
    optional(&mut yaml, "jobErrorHandlerType", java.error_handler.as_deref());
    match &java.executor {
        None => {}
        Some(JavaExecutor::ServiceHandler(kind)) => yaml.text(SERVICE_HANDLER, kind),
        Some(JavaExecutor::ThreadPoolSizeProvider(kind)) => yaml.text(SIZE_PROVIDER, kind),
    }
    yaml.raw(&java.extra_configurations);
    if !java.listeners.is_empty() {
        yaml.list("jobListenerTypes", java.listeners.iter().map(String::as_str));
    }
    yaml.text("jobName", config.job_name.as_str());
    yaml.text("jobParameter", &config.job_parameter);
    let strategy = Some(config.strategy.as_str()).filter(|strategy| !strategy.is_empty());
    optional(&mut yaml, "jobShardingStrategyType", strategy);
    optional(&mut yaml, "label", java.label.as_deref());
    yaml.plain("maxTimeDiffSeconds", config.max_time_diff.java_seconds());
    yaml.plain("misfire", config.misfire);
    yaml.plain("monitorExecution", config.monitor_execution);
    yaml.plain("overwrite", config.overwrite);
    let props = all_props(config, java);
    if !props.is_empty() {
        yaml.map("props", props.iter().map(|(key, value)| (*key, &**value)));
    }
    yaml.plain("reconcileIntervalMinutes", config.reconcile_interval_minutes);
    yaml.text("shardingItemParameters", &config.sharding_item_parameters);
    yaml.plain("shardingTotalCount", config.sharding_total_count);
    yaml.plain("staticSharding", config.static_sharding);
    optional(&mut yaml, "timeZone", config.time_zone.as_deref());
    config.unknown.iter().for_each(|(_, lines)| yaml.raw(lines));
    yaml.finish()
}

fn all_props<'a>(config: &'a JobConfig, java: &'a JavaFields3) -> BTreeMap<&'a str, Cow<'a, str>> {
    let given = java.props.iter().map(|(key, value)| (key.as_str(), Cow::from(value)));
    let mut props: BTreeMap<&str, Cow<'_, str>> = given.collect();
    if let Some(CatchUp { window_seconds, max }) = config.catch_up {
        props.insert(CATCH_UP_WINDOW, window_seconds.to_string().into());
        props.insert(CATCH_UP_MAX, max.to_string().into());
    }
    if let Some(bound) = config.jitter_ms {
        props.insert(JITTER, bound.to_string().into());
    }
    let of_schedule = [
        (EXCLUDED_DAYS, &config.excluded_days),
        (EXCLUDED_TIMES, &config.excluded_times),
        (NOT_BEFORE, &config.not_before),
        (NOT_AFTER, &config.not_after),
        (REPEATED_HOUR, &config.repeated_hour),
    ];
    for (key, value) in of_schedule {
        if let Some(value) = value {
            props.insert(key, value.into());
        }
    }
    if config.max_time_diff == MaxTimeDiff::Off {
        props.insert(MAX_TIME_DIFF, OFF.into());
    }
    if config.server_ttl != ServerTtl::default() {
        props.insert(SERVER_TTL, config.server_ttl.to_string().into());
    }
    if let Some(max) = config.cluster_concurrency {
        props.insert(CLUSTER_CONCURRENCY, max.to_string().into());
    }
    if let Some(rate) = config.start_rate {
        props.insert(START_RATE, rate.to_string().into());
    }
    if let Some(group) = &config.group {
        props.insert(GROUP, group.as_str().into());
    }
    if let Some(overlap) = config.overlap {
        props.insert(OVERLAP, overlap.to_string().into());
    }
    if !config.placement.is_empty() {
        props.insert(PLACEMENT, config.placement.as_str().into());
    }
    props
}

/// Decodes a document of ElasticJob 3.x, of its console, or of [`encode`].
///
/// Missing fields have the defaults of the Java reader: texts are empty, booleans are false,
/// `maxTimeDiffSeconds` is −1, and `reconcileIntervalMinutes` is 0.
pub(super) fn decode(bytes: &[u8]) -> Result<JobConfig, ConfigError> {
    let syntax = |reason| ConfigError::Syntax { form: "YAML mapping", reason };
    let text = std::str::from_utf8(bytes).map_err(|error| syntax(error.to_string()))?;
    let mut fields = Fields(Document::read(text).map_err(syntax)?);
    let job_name = JobName::new(&fields.text("jobName")?.unwrap_or_default())?;
    let total = total_of(fields.integer("shardingTotalCount", 0)?)?;
    let mut config = JobConfig::new(job_name, total);
    let mut java = JavaFields3::default();
    config.cron = fields.text("cron")?;
    config.time_zone = fields.text("timeZone")?;
    config.sharding_item_parameters = fields.text("shardingItemParameters")?.unwrap_or_default();
    config.job_parameter = fields.text("jobParameter")?.unwrap_or_default();
    config.description = fields.text("description")?.unwrap_or_default();
    config.failover = fields.boolean("failover")?;
    config.misfire = fields.boolean("misfire")?;
    config.monitor_execution = fields.boolean("monitorExecution")?;
    config.disabled = fields.boolean("disabled")?;
    config.overwrite = fields.boolean("overwrite")?;
    config.static_sharding = fields.boolean("staticSharding")?;
    let max_time_diff = fields.integer("maxTimeDiffSeconds", -1)?;
    let reconcile = fields.integer("reconcileIntervalMinutes", 0)?;
    config.reconcile_interval_minutes = u32::try_from(reconcile).unwrap_or(0);
    config.strategy = fields.text("jobShardingStrategyType")?.unwrap_or_default();
    java.error_handler = fields.text("jobErrorHandlerType")?;
    java.executor = fields.executor()?;
    java.listeners = fields.list("jobListenerTypes")?;
    java.label = fields.text("label")?;
    java.props = fields.map("props")?;
    java.extra_configurations = fields.lines("jobExtraConfigurations")?;
    config.catch_up = take_catch_up(&mut java.props)?;
    let mut take = |key| java.props.remove(key).filter(|value: &String| !value.is_empty());
    config.excluded_days = take(EXCLUDED_DAYS);
    config.excluded_times = take(EXCLUDED_TIMES);
    config.not_before = take(NOT_BEFORE);
    config.not_after = take(NOT_AFTER);
    config.repeated_hour = take(REPEATED_HOUR);
    config.jitter_ms = take_number(&mut java.props, JITTER)?;
    config.cluster_concurrency = take_number(&mut java.props, CLUSTER_CONCURRENCY)?;
    config.start_rate = start_rate(START_RATE, java.props.remove(START_RATE))?;
    config.group = group(GROUP, java.props.remove(GROUP))?;
    config.overlap = overlap(OVERLAP, java.props.remove(OVERLAP))?;
    let is_off = off(MAX_TIME_DIFF, java.props.remove(MAX_TIME_DIFF))?;
    config.max_time_diff = MaxTimeDiff::of_java(max_time_diff, is_off);
    config.server_ttl = server_ttl(SERVER_TTL, java.props.remove(SERVER_TTL))?;
    config.placement = placement(java.props.remove(PLACEMENT).unwrap_or_default())?;
    config.java = JavaSettings { fields: JavaFields::V3(java), ..JavaSettings::of(Dialect::V3) };
    config.unknown = fields.0.into_lines();
    Ok(config)
}

fn take_catch_up(props: &mut BTreeMap<String, String>) -> Result<Option<CatchUp>, ConfigError> {
    let window = take_number(props, CATCH_UP_WINDOW)?;
    let max = take_number(props, CATCH_UP_MAX)?;
    if window.is_none() && max.is_none() {
        return Ok(None);
    }
    // The check of the configuration rejects 0.
    Ok(Some(CatchUp { window_seconds: window.unwrap_or(0), max: max.unwrap_or(0) }))
}

fn take_number(
    props: &mut BTreeMap<String, String>,
    field: &'static str,
) -> Result<Option<u32>, ConfigError> {
    let Some(text) = props.remove(field) else { return Ok(None) };
    let valid = "a whole number from 1";
    let error = ConfigError::Field { field, found: format!("{text:?}"), valid };
    text.parse().map(Some).map_err(|_| error)
}

/// The fields of a document that no reader has taken yet.
struct Fields(Document);

impl Fields {
    /// Takes a text; `None` if there is none or it is `null`.
    fn text(&mut self, field: &'static str) -> Result<Option<String>, ConfigError> {
        match self.0.take(field) {
            None => Ok(None),
            Some(value) if value.is_null() => Ok(None),
            Some(Value::Scalar { text, .. }) => Ok(Some(text)),
            Some(other) => Err(wrong(field, &other, "a text")),
        }
    }

    fn boolean(&mut self, field: &'static str) -> Result<bool, ConfigError> {
        let Some(value) = self.0.take(field) else { return Ok(false) };
        value.as_bool().ok_or_else(|| wrong(field, &value, "true or false"))
    }

    fn integer(&mut self, field: &'static str, default: i64) -> Result<i64, ConfigError> {
        let Some(value) = self.0.take(field) else { return Ok(default) };
        value.as_integer().ok_or_else(|| wrong(field, &value, "a whole number"))
    }

    fn list(&mut self, field: &'static str) -> Result<Vec<String>, ConfigError> {
        let Some(value) = self.0.take(field) else { return Ok(Vec::new()) };
        value.as_texts().ok_or_else(|| wrong(field, &value, "a list of texts"))
    }

    fn map(&mut self, field: &'static str) -> Result<BTreeMap<String, String>, ConfigError> {
        let Some(value) = self.0.take(field) else { return Ok(BTreeMap::new()) };
        value.as_map().ok_or_else(|| wrong(field, &value, "a mapping of texts to texts"))
    }

    /// Takes the lines of a list that this crate does not interpret; no lines if there is none.
    fn lines(&mut self, field: &'static str) -> Result<String, ConfigError> {
        if let Some(nothing) = self.0.get(field).filter(|value| value.is_null()) {
            return Err(wrong(field, nothing, "a list"));
        }
        Ok(self.0.take_lines(field).unwrap_or_default())
    }

    fn executor(&mut self) -> Result<Option<JavaExecutor>, ConfigError> {
        let (handler, provider) = (self.text(SERVICE_HANDLER)?, self.text(SIZE_PROVIDER)?);
        let of_provider = provider.map(JavaExecutor::ThreadPoolSizeProvider);
        Ok(handler.map(JavaExecutor::ServiceHandler).or(of_provider))
    }
}

fn wrong(field: &'static str, found: &Value, valid: &'static str) -> ConfigError {
    ConfigError::Field { field, found: found.to_string(), valid }
}

#[cfg(test)]
mod tests {
    use super::super::{decode_config, encode_config};
    use super::*;

    const MINIMAL: &str = "jobName: j\nshardingTotalCount: 3\n";

    #[test]
    fn unknown_fields_survive_a_round_trip() {
        let document = "jobExtraConfigurations:\n- !!org.apache.shardingsphere.elasticjob.X\n  type: RDB\njobName: j\nlater:\n  a: [1, null]\nshardingTotalCount: 3\nzzz: 7\n";
        let config = decode_config(document.as_bytes()).unwrap();
        let written = encode_config(&config);
        assert!(written.contains("\njobExtraConfigurations:\n- !!org.apache.shardingsphere.elasticjob.X\n  type: RDB\njobName: j\n"), "{written}");
        assert!(written.ends_with("\nlater:\n  a: [1, null]\nzzz: 7\n"), "{written}");
        assert_eq!(decode_config(written.as_bytes()).unwrap(), config);
    }

    #[test]
    fn values_that_depend_on_their_context_are_written_anew() {
        let rows = [
            (
                "braces",
                r#"{"jobName":"j","staticSharding":false,"shardingTotalCount":3,"a":{"b":[1,"x"]}}"#,
                "\"a\": {\"b\": [1, \"x\"]}\n",
            ),
            ("an alias", "jobName: &name j\nshardingTotalCount: 3\na: *name\n", "\"a\": j\n"),
            (
                "the end of a document",
                "jobName: j\nshardingTotalCount: 3\na: 7\n...\n",
                "\"a\": 7\n",
            ),
        ];
        for (case, document, expected) in rows {
            let config = decode_config(document.as_bytes()).unwrap();
            let written = encode_config(&config);
            assert!(written.ends_with(expected), "{case}: {written}");
            assert!(decode_config(written.as_bytes()).is_ok(), "{case}: {written}");
        }
    }

    #[test]
    fn lines_of_texts_survive_both_forms() {
        let times =
            "22:00..06:00 # \"backup\"\n\nBEGIN:VCALENDAR\r\nSUMMARY:节日: a\\, b\r\n END\n";
        for dialect in [Dialect::V2, Dialect::V3] {
            let mut config = JobConfig::new(JobName::new("j").unwrap(), 3);
            (config.java, config.misfire) = (JavaSettings::of(dialect), false);
            config.excluded_times = Some(times.to_owned());
            let rules = "require disk=ssd # fast\npin 0..2 zone=a|b; avoid spot=yes";
            config.placement = sharding::PlacementRules::parse(rules).unwrap();
            let written = encode_config(&config);
            let read = decode_config(written.as_bytes()).unwrap();
            assert_eq!(read.excluded_times.as_deref(), Some(times), "{written}");
            assert_eq!(read, config, "{written}");
        }
    }

    /// The same holds for a document of 2.1.5.
    #[test]
    fn empty_excluded_days_exclude_no_day() {
        let empty = format!("{MINIMAL}props:\n  elastic-job-rust.excluded-days: ''\n");
        let config = decode_config(empty.as_bytes()).unwrap();
        assert_eq!(config.excluded_days, None);
        assert_eq!(config, decode_config(MINIMAL.as_bytes()).unwrap());
    }

    #[test]
    fn settings_of_this_project_are_stored_in_props() {
        let mut config = decode_config(MINIMAL.as_bytes()).unwrap();
        config.catch_up = Some(CatchUp { window_seconds: 60, max: 5 });
        config.excluded_days = Some("SAT..SUN".into());
        config.jitter_ms = Some(500);
        config.max_time_diff = MaxTimeDiff::Off;
        let written = encode_config(&config);
        let expected = "\nprops:\n  elastic-job-rust.catch-up.max: '5'\n  elastic-job-rust.catch-up.window-seconds: '60'\n  elastic-job-rust.excluded-days: SAT..SUN\n  elastic-job-rust.jitter-milliseconds: '500'\n  elastic-job-rust.max-time-diff: 'off'\n";
        assert!(written.contains(expected), "{written}");
        assert_eq!(decode_config(written.as_bytes()).unwrap(), config);
    }
}
