//! The stored configuration, in whichever dialect it is.

use super::json::Fields;
use super::{config_json, config_yaml};
use crate::{Dialect, InvalidConfig, InvalidName, JavaFields, JobConfig};

/// A stored document that is no usable configuration.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// There is nothing in it.
    #[error("the document is empty")]
    Empty,
    /// It cannot be taken apart.
    #[error("the document is no {form}: {reason}")]
    Syntax {
        /// What it should be: a JSON object, or a YAML mapping.
        form: &'static str,
        /// What the parser says.
        reason: String,
    },
    /// A field has the wrong type or is missing.
    #[error("field {field} is {found}; valid is {valid}")]
    Field {
        /// Which field.
        field: &'static str,
        /// What was found, or `missing`.
        found: String,
        /// What would be valid.
        valid: &'static str,
    },
    /// It is of another dialect than the job's other nodes.
    #[error("the document is of ElasticJob {found}, and the job's nodes are of {expected}")]
    Dialect {
        /// The dialect of the document.
        found: Dialect,
        /// The dialect of the job.
        expected: Dialect,
    },
    /// The job's name cannot be used.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// The values do not make a configuration.
    #[error(transparent)]
    Config(#[from] InvalidConfig),
}

/// Writes the document in the dialect of its [`JavaFields`], byte for byte as ElasticJob 2.1.5 or 3.x does.
///
/// # Examples
/// ```
/// use coordination::{Dialect, JavaSettings, JobConfig, JobName, encode_config};
///
/// let mut config = JobConfig::new(JobName::new("j")?, 3);
/// assert!(encode_config(&config).starts_with(r#"{"jobName":"j","jobClass":"ejob.RustJob","jobType":"SIMPLE","cron":"""#));
/// config.java = JavaSettings::of(Dialect::V3);
/// assert!(encode_config(&config).starts_with("description: ''\ndisabled: false\nfailover: false\njobName: j\n"));
/// # Ok::<(), coordination::InvalidName>(())
/// ```
#[must_use]
pub fn encode_config(config: &JobConfig) -> String {
    match &config.java.fields {
        JavaFields::V2(java) => config_json::encode(config, java),
        JavaFields::V3(java) => config_yaml::encode(config, java),
    }
}

/// Reads a document that ElasticJob 2.1.5 or 3.x, a console of theirs, or [`encode_config`] wrote.
///
/// Missing fields take the values that the Java reader of the dialect gives them. Unknown fields are kept.
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

/// Tells in which dialect a document is, whether or not [`decode_config`] can read it; `None` if it is empty.
///
/// JSON is YAML as well: a JSON object is of 3.x if it has none of the fields that 2.1.5 cannot do without. What begins
/// like a JSON object and is none is taken for a damaged document of 2.1.5, and any other damaged one for one of 3.x.
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
    Some(match has(config_yaml::ONLY_3) && !has(&["jobType", "jobClass", "jobProperties"]) {
        true => Dialect::V3,
        false => Dialect::V2,
    })
}

/// Reads the number of items, as far as it is one; whether a job can have so many is checked with everything else.
pub(super) fn total_of(number: i64) -> Result<u32, ConfigError> {
    u32::try_from(number).map_err(|_| ConfigError::Field {
        field: "shardingTotalCount",
        found: number.to_string(),
        valid: "1 to 100000",
    })
}

/// The value that switches something off.
pub(super) const OFF: &str = "off";

/// Returns true if a field says `off`, false if it is not there.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_tells_which_dialect_it_is_in() {
        const V2: Option<Dialect> = Some(Dialect::V2);
        const V3: Option<Dialect> = Some(Dialect::V3);
        let rows = [
            ("2.1.5", r#"{"jobName":"j","jobType":"SIMPLE","shardingTotalCount":1}"#, V2),
            ("2.1.5 with a field of ours", r#"{"jobType":"SIMPLE","staticSharding":true}"#, V2),
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
