//! The configuration as ElasticJob 3.x writes and reads it: YAML, fields in alphabetical order.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::config::ConfigError;
use super::yaml::{Document, Value, Writer};
use crate::{
    CatchUp, Dialect, JavaExecutor, JavaFields, JavaFields3, JavaSettings, JobConfig, JobName,
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
/// What is ours stands among the free properties: a field that Java does not know makes all its instances fail.
const CATCH_UP_WINDOW: &str = "elastic-job-rust.catch-up.window-seconds";
const CATCH_UP_MAX: &str = "elastic-job-rust.catch-up.max";

/// Writes the document. Fields that it had before and nobody here knows follow at the end.
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
    yaml.plain("maxTimeDiffSeconds", config.max_time_diff_seconds.map_or(-1, i64::from));
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

fn all_props<'a>(config: &JobConfig, java: &'a JavaFields3) -> BTreeMap<&'a str, Cow<'a, str>> {
    let given = java.props.iter().map(|(key, value)| (key.as_str(), Cow::from(value)));
    let ours = config.catch_up.into_iter().flat_map(|catch_up| {
        [(CATCH_UP_WINDOW, catch_up.window_seconds), (CATCH_UP_MAX, catch_up.max)]
    });
    given.chain(ours.map(|(key, value)| (key, Cow::from(value.to_string())))).collect()
}

/// Reads a document that ElasticJob 3.x, its console, or [`encode`] wrote.
///
/// Missing fields take the values that the Java reader gives them: texts are empty, truth values false,
/// `maxTimeDiffSeconds` is −1, `reconcileIntervalMinutes` 0.
pub(super) fn decode(bytes: &[u8]) -> Result<JobConfig, ConfigError> {
    let syntax = |reason| ConfigError::Syntax { form: "YAML mapping", reason };
    let text = std::str::from_utf8(bytes).map_err(|error| syntax(error.to_string()))?;
    let mut fields = Fields(Document::read(text).map_err(syntax)?);
    let job_name = JobName::new(&fields.text("jobName")?.unwrap_or_default())?;
    let total = u32::try_from(fields.integer("shardingTotalCount", 0)?).unwrap_or(0);
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
    config.max_time_diff_seconds = u32::try_from(fields.integer("maxTimeDiffSeconds", -1)?).ok();
    let reconcile = fields.integer("reconcileIntervalMinutes", 0)?;
    config.reconcile_interval_minutes = u32::try_from(reconcile).unwrap_or(0);
    config.strategy = fields.text("jobShardingStrategyType")?.unwrap_or_default();
    java.error_handler = fields.text("jobErrorHandlerType")?;
    java.executor = fields.executor()?;
    java.listeners = fields.list("jobListenerTypes")?;
    java.label = fields.text("label")?;
    java.props = fields.map("props")?;
    java.extra_configurations = fields.0.take_lines("jobExtraConfigurations").unwrap_or_default();
    config.catch_up = take_catch_up(&mut java.props)?;
    config.java = JavaSettings { fields: JavaFields::V3(java), ..JavaSettings::of(Dialect::V3) };
    config.unknown = fields.0.into_lines();
    Ok(config)
}

fn take_catch_up(props: &mut BTreeMap<String, String>) -> Result<Option<CatchUp>, ConfigError> {
    let mut number = |field: &'static str| {
        let Some(text) = props.remove(field) else { return Ok(None) };
        let valid = "a whole number from 1";
        let error = ConfigError::Field { field, found: format!("{text:?}"), valid };
        text.parse().map(Some).map_err(|_| error)
    };
    let (window_seconds, max) = (number(CATCH_UP_WINDOW)?, number(CATCH_UP_MAX)?);
    Ok(match (window_seconds, max) {
        (None, None) => None,
        (window, max) => {
            Some(CatchUp { window_seconds: window.unwrap_or(0), max: max.unwrap_or(0) })
        }
    })
}

/// The fields of a document that nobody has asked for yet.
struct Fields(Document);

impl Fields {
    /// Returns a text; `None` if there is none, or it is `null`.
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

    fn executor(&mut self) -> Result<Option<JavaExecutor>, ConfigError> {
        let (handler, provider) = (self.text(SERVICE_HANDLER)?, self.text(SIZE_PROVIDER)?);
        let provider = provider.map(JavaExecutor::ThreadPoolSizeProvider);
        Ok(handler.map(JavaExecutor::ServiceHandler).or(provider))
    }
}

fn wrong(field: &'static str, found: &Value, valid: &'static str) -> ConfigError {
    ConfigError::Field { field, found: found.to_string(), valid }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{decode_config, encode_config};
    use super::*;

    /// Documents that the released Java class of 3.0.4 wrote, with what they were made of.
    fn golden() -> Vec<(serde_json::Value, String)> {
        let rows = include_str!("../../testdata/yaml-configs.jsonl").lines();
        let row = |row: &str| {
            let row: serde_json::Value = serde_json::from_str(row).unwrap();
            (row["fields"].clone(), row["yaml"].as_str().unwrap().to_owned())
        };
        rows.map(row).collect()
    }

    fn of_3(config: &JobConfig) -> &JavaFields3 {
        let JavaFields::V3(java) = &config.java.fields else { panic!("it is YAML: {config:?}") };
        java
    }

    #[test]
    fn documents_are_read_as_they_were_meant_and_written_as_java_writes_them() {
        let golden = golden();
        assert!(golden.len() >= 100, "{} documents", golden.len());
        for (fields, document) in golden {
            let config = decode_config(document.as_bytes()).unwrap();
            let java = of_3(&config);
            let found = json!({
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
                "maxTimeDiffSeconds": config.max_time_diff_seconds.map_or(-1, i64::from),
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
            });
            assert_eq!(found, fields, "{document}");
            assert_eq!(encode_config(&config), document);
        }
    }

    /// With the fields that a job of this project always writes.
    const MINIMAL: &str = "jobName: j\nshardingTotalCount: 3\n";

    #[test]
    fn fields_are_read_by_their_type_and_not_by_their_look() {
        type Read = fn(&JobConfig) -> String;
        let rows: [(&str, &str, Read, &str); 10] = [
            ("missing truth value", "", |c| c.monitor_execution.to_string(), "false"),
            ("missing interval", "", |c| c.reconcile_interval_minutes.to_string(), "0"),
            ("missing difference", "", |c| format!("{:?}", c.max_time_diff_seconds), "None"),
            ("number for a text", "jobParameter: 0123", |c| c.job_parameter.clone(), "0123"),
            (
                "quoted number",
                "maxTimeDiffSeconds: '60'",
                |c| format!("{:?}", c.max_time_diff_seconds),
                "Some(60)",
            ),
            ("quoted truth value", "failover: 'true'", |c| c.failover.to_string(), "true"),
            ("yes", "failover: yes", |c| c.failover.to_string(), "true"),
            ("nothing for a text", "description:", |c| c.description.clone(), ""),
            (
                "numbers in props",
                "props: {a: 1, b: true}",
                |c| format!("{:?}", of_3(c).props),
                r#"{"a": "1", "b": "true"}"#,
            ),
            ("folded", "jobParameter: a\n  b", |c| c.job_parameter.clone(), "a b"),
        ];
        for (case, line, read, expected) in rows {
            let config = decode_config(format!("{MINIMAL}{line}\n").as_bytes()).unwrap();
            assert_eq!(read(&config), expected, "{case}");
        }
    }

    #[test]
    fn what_nobody_here_knows_survives_a_round_trip() {
        let document = "jobExtraConfigurations:\n- !!org.apache.shardingsphere.elasticjob.X\n  type: RDB\njobName: j\nlater:\n  a: [1, null]\nshardingTotalCount: 3\nzzz: 7\n";
        let config = decode_config(document.as_bytes()).unwrap();
        let written = encode_config(&config);
        assert!(written.contains("\njobExtraConfigurations:\n- !!org.apache.shardingsphere.elasticjob.X\n  type: RDB\njobName: j\n"), "{written}");
        assert!(written.ends_with("\nlater:\n  a: [1, null]\nzzz: 7\n"), "{written}");
        assert_eq!(decode_config(written.as_bytes()).unwrap(), config);
    }

    #[test]
    fn what_means_something_only_where_it_stood_is_written_anew() {
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
    fn the_key_of_3_0_5_stays_what_it_was() {
        let document = format!("{MINIMAL}{SIZE_PROVIDER}: CPU\n");
        let config = decode_config(document.as_bytes()).unwrap();
        assert!(
            encode_config(&config)
                .contains("\njobExecutorThreadPoolSizeProviderType: CPU\njobName: j\n")
        );
    }

    #[test]
    fn what_is_ours_stands_among_the_properties() {
        let mut config = decode_config(MINIMAL.as_bytes()).unwrap();
        config.catch_up = Some(CatchUp { window_seconds: 60, max: 5 });
        let written = encode_config(&config);
        let ours = "\nprops:\n  elastic-job-rust.catch-up.max: '5'\n  elastic-job-rust.catch-up.window-seconds: '60'\n";
        assert!(written.contains(ours), "{written}");
        assert_eq!(decode_config(written.as_bytes()).unwrap(), config);
    }

    #[test]
    fn documents_that_cannot_be_used_are_refused_with_the_field() {
        let rows = [
            ("no mapping", "- a\n", "the document is no YAML mapping: it is something else"),
            ("no YAML", "a: [\n", "the document is no YAML mapping"),
            ("no name", "cron: x\n", "job name \"\" is not valid"),
            ("no items", "jobName: j\n", "sharding_total_count is 0"),
            ("list for a text", "jobName: [j]\n", "field jobName is a list; valid is a text"),
            (
                "nothing for a list",
                "jobName: j\njobListenerTypes: null\n",
                "field jobListenerTypes is null",
            ),
            (
                "text for a number",
                "jobName: j\nshardingTotalCount: x\n",
                "field shardingTotalCount is x",
            ),
            ("text for a truth value", "jobName: j\nfailover: maybe\n", "field failover is maybe"),
            ("twice", "jobName: j\njobName: k\n", "the document is no YAML mapping"),
        ];
        for (case, document, message) in rows {
            let error = decode_config(document.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(message), "{case}: {error}");
        }
    }
}
