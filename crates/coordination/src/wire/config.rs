//! The stored configuration in either dialect.

use super::config_error::ConfigError;
use super::json::Fields;
use super::{config_json, config_yaml};
use sharding::PlacementRules;

use crate::{
    Dialect, GroupName, InvalidConfig, JavaFields, JobConfig, Overlap, ServerTtl, StartRate,
};

/// Encodes a configuration in the dialect of its [`JavaFields`], byte for byte like ElasticJob
/// 2.1.5 or 3.x.
///
/// # Examples
/// ```
/// use coordination::{Dialect, JavaSettings, JobConfig, JobName, encode_config};
///
/// let mut config = JobConfig::new(JobName::new("j")?, 3);
/// let json = r#"{"jobName":"j","jobClass":"ejob.RustJob","jobType":"SIMPLE","cron":"""#;
/// assert!(encode_config(&config).starts_with(json));
/// config.java = JavaSettings::of(Dialect::V3);
/// let yaml = "description: ''\ndisabled: false\nfailover: false\njobName: j\n";
/// assert!(encode_config(&config).starts_with(yaml));
/// # Ok::<(), coordination::InvalidName>(())
/// ```
#[must_use]
pub fn encode_config(config: &JobConfig) -> String {
    match &config.java.fields {
        JavaFields::V2(java) => config_json::encode(config, java),
        JavaFields::V3(java) => config_yaml::encode(config, java),
    }
}

/// Decodes a document of ElasticJob 2.1.5 or 3.x, of their consoles, or of [`encode_config`].
///
/// Missing fields have the defaults of the Java reader of the dialect. Unknown fields are kept.
///
/// # Errors
/// [`ConfigError`] names the field, what was found and what would be valid.
pub fn decode_config(bytes: &[u8]) -> Result<JobConfig, ConfigError> {
    let config = match dialect_of_config(bytes).ok_or(ConfigError::Empty)? {
        Dialect::V2 => config_json::decode(bytes),
        Dialect::V3 => config_yaml::decode(bytes),
    }?;
    config.check_stored()?;
    Ok(config)
}

/// Returns the dialect of a document, even if [`decode_config`] cannot read it. `None` if it is
/// empty.
///
/// JSON is valid YAML, so a JSON object can be of 3.x: it then has fields that only 3.x has, and
/// none of those that 2.1.5 requires. A damaged document is of 2.1.5 if it starts like a JSON
/// object.
///
/// # Examples
/// ```
/// use coordination::{Dialect, dialect_of_config};
///
/// assert_eq!(dialect_of_config(br#"{"jobName":"j","jobT"#), Some(Dialect::V2));
/// assert_eq!(dialect_of_config(b"cron: 0/5 * * * * ?\n\tjobName"), Some(Dialect::V3));
/// assert_eq!(dialect_of_config(b"\n"), None);
/// ```
#[must_use]
pub fn dialect_of_config(bytes: &[u8]) -> Option<Dialect> {
    if *bytes.trim_ascii_start().first()? != b'{' {
        return Some(Dialect::V3);
    }
    let fields = Fields::read(bytes).unwrap_or_default();
    let has = |names: &[&str]| names.iter().any(|name| fields.has(name));
    let is_3 = has(config_yaml::ONLY_3) && !has(&["jobType", "jobClass", "jobProperties"]);
    Some(if is_3 { Dialect::V3 } else { Dialect::V2 })
}

/// Converts the number of items. [`JobConfig::check_stored`] checks its range later.
pub(super) fn total_of(number: i64) -> Result<u32, ConfigError> {
    u32::try_from(number).map_err(|_| ConfigError::Field {
        field: "shardingTotalCount",
        found: number.to_string(),
        valid: "1 to 100000",
    })
}

/// Value of a field that switches a feature off.
pub(super) const OFF: &str = "off";

/// Returns true if a field is `off`, false if it is absent.
pub(super) fn off(field: &'static str, value: Option<String>) -> Result<bool, ConfigError> {
    match value {
        None => Ok(false),
        Some(value) if value == OFF => Ok(true),
        Some(value) => Err(ConfigError::Field {
            field,
            found: format!("{value:?}"),
            valid: "off, or no such field",
        }),
    }
}

/// Parses the name of the job's group; `None` if the field is absent.
pub(super) fn group(
    field: &'static str,
    value: Option<String>,
) -> Result<Option<GroupName>, ConfigError> {
    let Some(value) = value else { return Ok(None) };
    GroupName::new(&value).map(Some).map_err(|_| ConfigError::Field {
        field,
        found: format!("{value:?}"),
        valid: GroupName::VALID,
    })
}

/// Parses the time to live of servers; the default if the field is absent.
pub(super) fn server_ttl(
    field: &'static str,
    value: Option<String>,
) -> Result<ServerTtl, ConfigError> {
    let Some(value) = value else { return Ok(ServerTtl::default()) };
    ServerTtl::parse(&value).ok_or_else(|| ConfigError::Field {
        field,
        found: format!("{value:?}"),
        valid: ServerTtl::VALID,
    })
}

/// Parses the handling of overlaps; `None` if the field is absent.
pub(super) fn overlap(
    field: &'static str,
    value: Option<String>,
) -> Result<Option<Overlap>, ConfigError> {
    let Some(value) = value else { return Ok(None) };
    Overlap::parse(&value).map(Some).ok_or_else(|| ConfigError::Field {
        field,
        found: format!("{value:?}"),
        valid: Overlap::VALID,
    })
}

/// Parses the start rate; `None` if the field is absent.
pub(super) fn start_rate(
    field: &'static str,
    value: Option<String>,
) -> Result<Option<StartRate>, ConfigError> {
    let Some(value) = value else { return Ok(None) };
    StartRate::parse(&value).map(Some).ok_or_else(|| ConfigError::Field {
        field,
        found: format!("{value:?}"),
        valid: StartRate::VALID,
    })
}

/// Parses the placement rules.
pub(super) fn placement(text: String) -> Result<PlacementRules, InvalidConfig> {
    PlacementRules::parse(&text).map_err(|error| InvalidConfig::placement(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_shows_its_dialect() {
        const V2: Option<Dialect> = Some(Dialect::V2);
        const V3: Option<Dialect> = Some(Dialect::V3);
        let rows = [
            ("2.1.5", r#"{"jobName":"j","jobType":"SIMPLE","shardingTotalCount":1}"#, V2),
            (
                "2.1.5 with a field of this project",
                r#"{"jobType":"SIMPLE","staticSharding":true}"#,
                V2,
            ),
            ("3.x", "cron: 0/1 * * * * ?\njobName: j\n", V3),
            ("3.x in braces", r#"{"jobName":"j","staticSharding":false}"#, V3),
            ("damaged JSON", r#"{"jobName":"j""#, V2),
            ("damaged YAML", "cron: [\njobName", V3),
            ("empty", "", None),
            ("blank", " \n", None),
        ];
        for (case, document, expected) in rows {
            assert_eq!(dialect_of_config(document.as_bytes()), expected, "{case}");
        }
    }
}
