//! The configuration as ElasticJob 2.1.5 writes and reads it: one line of JSON, fields in a fixed order, Gson's escapes.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::config::ConfigError;
use crate::{CatchUp, JavaFields, JavaFields2, JavaJobType, JavaSettings, JobConfig, JobName};

/// Writes the document. What is ours is appended: `timeZone`, `staticSharding` and `catchUp` where they are set. Fields
/// that the document had before and nobody here knows follow at the end. Java instances skip both.
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
    });
    match &java.job_type {
        JavaJobType::Simple | JavaJobType::Script { command_line: None } => {}
        JavaJobType::Dataflow { streaming } => json.raw("streamingProcess", streaming),
        JavaJobType::Script { command_line: Some(line) } => json.string("scriptCommandLine", line),
    }
    json.raw("monitorExecution", config.monitor_execution);
    json.raw("maxTimeDiffSeconds", config.max_time_diff_seconds.map_or(-1, i64::from));
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
    for (name, value) in &config.unknown {
        json.raw(name, value);
    }
    json.finish()
}

/// Reads a document that ElasticJob 2.1.5, its console, or [`encode`] wrote.
///
/// Missing fields take the values that the Java reader gives them: strings are empty, `misfire`, `failover`,
/// `disabled` and `overwrite` are false, `monitorExecution` is true, `maxTimeDiffSeconds` and `monitorPort` are −1,
/// `reconcileIntervalMinutes` is 10. Numbers may be quoted. Unknown fields are kept.
pub(super) fn decode(bytes: &[u8]) -> Result<JobConfig, ConfigError> {
    let document: Map<String, Value> = serde_json::from_slice(bytes)
        .map_err(|error| ConfigError::Syntax { form: "JSON object", reason: error.to_string() })?;
    let mut fields = Fields(document);
    let job_name = JobName::new(&fields.string("jobName")?)?;
    let total = u32::try_from(fields.integer("shardingTotalCount", 0)?).unwrap_or(0);
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
    config.max_time_diff_seconds = u32::try_from(fields.integer("maxTimeDiffSeconds", -1)?).ok();
    config.strategy = fields.string("jobShardingStrategyClass")?;
    let reconcile = fields.integer("reconcileIntervalMinutes", 10)?;
    config.reconcile_interval_minutes = u32::try_from(reconcile).unwrap_or(0);
    config.disabled = fields.boolean("disabled", false)?;
    config.overwrite = fields.boolean("overwrite", false)?;
    config.static_sharding = fields.boolean("staticSharding", false)?;
    config.catch_up = decode_catch_up(&mut fields)?;
    config.unknown = fields.rest();
    Ok(config)
}

fn decode_catch_up(fields: &mut Fields) -> Result<Option<CatchUp>, ConfigError> {
    let mut catch_up = Fields(fields.object("catchUp")?);
    if catch_up.0.is_empty() {
        return Ok(None);
    }
    let number = |value: i64| u32::try_from(value).unwrap_or(0);
    let window_seconds = number(catch_up.integer("windowSeconds", 0)?);
    Ok(Some(CatchUp { window_seconds, max: number(catch_up.integer("max", 0)?) }))
}

fn decode_java(fields: &mut Fields) -> Result<JavaSettings, ConfigError> {
    let defaults = JavaFields2::default();
    let streaming = fields.boolean("streamingProcess", false)?;
    let command_line = non_empty(fields.string("scriptCommandLine")?);
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
    let mut properties = Fields(fields.object("jobProperties")?);
    let handler = |given: String, default| if given.is_empty() { default } else { given };
    let exception = properties.string("job_exception_handler")?;
    let executor = properties.string("executor_service_handler")?;
    let port = fields.integer("monitorPort", -1)?;
    let of_2 = JavaFields2 {
        job_type,
        exception_handler: handler(exception, defaults.exception_handler),
        executor_handler: handler(executor, defaults.executor_handler),
        monitor_port: i32::try_from(port).unwrap_or(-1),
    };
    Ok(JavaSettings { job_class: fields.string("jobClass")?, fields: JavaFields::V2(of_2) })
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

/// The fields of an object that nobody has asked for yet.
struct Fields(Map<String, Value>);

impl Fields {
    fn string(&mut self, field: &'static str) -> Result<String, ConfigError> {
        match self.0.remove(field) {
            None => Ok(String::new()),
            Some(Value::String(text)) => Ok(text),
            Some(Value::Number(number)) => Ok(number.to_string()),
            Some(other @ (Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_))) => {
                Err(ConfigError::Field { field, found: other.to_string(), valid: "a string" })
            }
        }
    }

    fn boolean(&mut self, field: &'static str, default: bool) -> Result<bool, ConfigError> {
        let valid = "true or false";
        match self.0.remove(field) {
            None => Ok(default),
            Some(value) => value.as_bool().ok_or_else(|| ConfigError::Field {
                field,
                found: value.to_string(),
                valid,
            }),
        }
    }

    fn integer(&mut self, field: &'static str, default: i64) -> Result<i64, ConfigError> {
        let Some(value) = self.0.remove(field) else { return Ok(default) };
        let number = value.as_i64().or_else(|| value.as_str()?.trim().parse().ok());
        number.ok_or_else(|| ConfigError::Field {
            field,
            found: value.to_string(),
            valid: "a whole number",
        })
    }

    fn object(&mut self, field: &'static str) -> Result<Map<String, Value>, ConfigError> {
        match self.0.remove(field) {
            None => Ok(Map::new()),
            Some(Value::Object(object)) => Ok(object),
            Some(
                other @ (Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::String(_)
                | Value::Array(_)),
            ) => Err(ConfigError::Field { field, found: other.to_string(), valid: "an object" }),
        }
    }

    fn rest(self) -> Vec<(String, String)> {
        self.0.into_iter().map(|(name, value)| (name, value.to_string())).collect()
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
        push_escaped(&mut self.out, name);
        self.out.push(':');
    }

    fn string(&mut self, name: &str, value: &str) {
        self.name(name);
        push_escaped(&mut self.out, value);
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

/// Writes a string with the escapes of Gson's default, HTML-safe mode.
fn push_escaped(out: &mut String, text: &str) {
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

    const PROPERTIES: &str = r#""jobProperties":{"job_exception_handler":"com.dangdang.ddframe.job.executor.handler.impl.DefaultJobExceptionHandler","executor_service_handler":"com.dangdang.ddframe.job.executor.handler.impl.DefaultExecutorServiceHandler"}"#;

    fn of_2(class: &str, fields: JavaFields2) -> JavaSettings {
        JavaSettings { job_class: class.to_owned(), fields: JavaFields::V2(fields) }
    }

    /// Documents written by the released Java class of 2.1.5.
    fn golden() -> [(&'static str, JobConfig, String); 3] {
        let config = |name: &str| {
            let mut config = JobConfig::new(JobName::new(name).unwrap(), 3);
            config.cron = Some("0/1 * * * * ?".into());
            config.java.job_class = "a.b.C".into();
            config
        };
        let simple = config("j");
        let dataflow = JobConfig {
            sharding_item_parameters: "0=A,1=B".into(),
            failover: true,
            misfire: false,
            monitor_execution: false,
            max_time_diff_seconds: Some(10),
            strategy: "x.Y".into(),
            reconcile_interval_minutes: 15,
            disabled: true,
            overwrite: true,
            java: of_2(
                "a.b.C",
                JavaFields2 {
                    job_type: JavaJobType::Dataflow { streaming: true },
                    monitor_port: 9888,
                    ..JavaFields2::default()
                },
            ),
            ..config("j")
        };
        let line = Some("test.sh -x 'a b'".into());
        let mut script = config("作业");
        script.java = of_2(
            "com.dangdang.ddframe.job.api.script.ScriptJob",
            JavaFields2 {
                job_type: JavaJobType::Script { command_line: line },
                ..JavaFields2::default()
            },
        );
        [
            (
                "simple",
                simple,
                r#"{"jobName":"j","jobClass":"a.b.C","jobType":"SIMPLE","cron":"0/1 * * * * ?","shardingTotalCount":3,"shardingItemParameters":"","jobParameter":"","failover":false,"misfire":true,"description":"",PROPERTIES,"monitorExecution":true,"maxTimeDiffSeconds":-1,"monitorPort":-1,"jobShardingStrategyClass":"","reconcileIntervalMinutes":10,"disabled":false,"overwrite":false}"#.replace("PROPERTIES", PROPERTIES),
            ),
            (
                "dataflow",
                dataflow,
                r#"{"jobName":"j","jobClass":"a.b.C","jobType":"DATAFLOW","cron":"0/1 * * * * ?","shardingTotalCount":3,"shardingItemParameters":"0\u003dA,1\u003dB","jobParameter":"","failover":true,"misfire":false,"description":"",PROPERTIES,"streamingProcess":true,"monitorExecution":false,"maxTimeDiffSeconds":10,"monitorPort":9888,"jobShardingStrategyClass":"x.Y","reconcileIntervalMinutes":15,"disabled":true,"overwrite":true}"#.replace("PROPERTIES", PROPERTIES),
            ),
            (
                "script",
                script,
                r#"{"jobName":"作业","jobClass":"com.dangdang.ddframe.job.api.script.ScriptJob","jobType":"SCRIPT","cron":"0/1 * * * * ?","shardingTotalCount":3,"shardingItemParameters":"","jobParameter":"","failover":false,"misfire":true,"description":"",PROPERTIES,"scriptCommandLine":"test.sh -x \u0027a b\u0027","monitorExecution":true,"maxTimeDiffSeconds":-1,"monitorPort":-1,"jobShardingStrategyClass":"","reconcileIntervalMinutes":10,"disabled":false,"overwrite":false}"#.replace("PROPERTIES", PROPERTIES),
            ),
        ]
    }

    #[test]
    fn documents_are_the_bytes_that_java_writes() {
        for (case, config, expected) in golden() {
            assert_eq!(encode_config(&config), expected, "{case}");
        }
    }

    #[test]
    fn what_was_written_is_read_back() {
        for (case, config, document) in golden() {
            assert_eq!(decode_config(document.as_bytes()).unwrap(), config, "{case}");
        }
    }

    #[test]
    fn the_console_s_document_is_read() {
        let document = r#"{"jobName":"j","jobType":"SIMPLE","jobClass":"a.b.C","cron":"0/1 * * * * ?","shardingTotalCount":3,"shardingItemParameters":"0\u003dA","jobParameter":"","monitorExecution":true,"streamingProcess":false,"maxTimeDiffSeconds":-1,"monitorPort":-1,"failover":true,"misfire":true,"jobShardingStrategyClass":"","description":"","jobProperties":{"executor_service_handler":"E","job_exception_handler":"H"},"reconcileIntervalMinutes":10}"#;
        let config = decode_config(document.as_bytes()).unwrap();
        let JavaFields::V2(java) = &config.java.fields else { panic!("it is JSON: {config:?}") };
        assert_eq!(java.exception_handler, "H");
        assert_eq!((config.failover, config.disabled, config.unknown.len()), (true, false, 0));
    }

    #[test]
    fn fields_that_nobody_knows_survive_a_round_trip() {
        let document = r#"{"jobName":"j","jobType":"SIMPLE","shardingTotalCount":"3","later":{"a":[1,null]},"alsoLater":"x"}"#;
        let config = decode_config(document.as_bytes()).unwrap();
        assert_eq!((config.sharding_total_count, config.misfire), (3, false), "as Java reads it");
        let again = decode_config(encode_config(&config).as_bytes()).unwrap();
        assert_eq!(again.unknown, config.unknown);
        assert_eq!(again.unknown.len(), 2);
    }

    #[test]
    fn documents_that_cannot_be_used_are_refused_with_the_field() {
        let rows = [
            ("cut off", r#"{"jobName":"j""#, "the document is no JSON object"),
            ("empty", "", "the document is empty"),
            ("null for a string", r#"{"jobName":null}"#, "field jobName is null"),
            ("type missing", r#"{"jobName":"j","shardingTotalCount":1}"#, "field jobType is \"\""),
            (
                "type in lower case",
                r#"{"jobName":"j","shardingTotalCount":1,"jobType":"simple"}"#,
                "field jobType is \"simple\"",
            ),
            (
                "quoted boolean",
                r#"{"jobName":"j","shardingTotalCount":1,"jobType":"SIMPLE","failover":"true"}"#,
                "field failover is \"true\"",
            ),
            ("no items", r#"{"jobName":"j","jobType":"SIMPLE"}"#, "sharding_total_count is 0"),
            ("name", r#"{"jobName":"a/b"}"#, "job name \"a/b\" is not valid"),
        ];
        for (case, document, message) in rows {
            let error = decode_config(document.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(message), "{case}: {error}");
        }
    }
}
