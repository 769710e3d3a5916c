//! Checks of the values, with errors that name the field, the value, and the valid values.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::SignedDuration;
use outbound::SecretText;
use reqwest::Url;
use secrecy::ExposeSecret as _;

use super::model::{HeartbeatDoc, RuleDoc};
use super::{Heartbeat, Rule, WatchFileError, with_existence};
use crate::{Condition, Expectation, JobPattern, Severity};

/// Maximum number of failed runs that an expectation may tolerate.
const MAX_FAILURES: u32 = 100;
/// Maximum number of instances that an expectation may require.
const MAX_INSTANCES: u32 = 10_000;
/// Maximum number of labels of an expectation.
const MAX_LABELS: usize = 16;
/// Maximum length of names and label values, in bytes.
const MAX_TEXT_BYTES: usize = 128;
const MAX_DURATION: Duration = Duration::from_secs(366 * 86_400);

pub(super) fn duration(field: &str, text: &str) -> Result<Duration, WatchFileError> {
    let parsed = text.parse::<SignedDuration>().ok().and_then(|time| time.try_into().ok());
    let is_valid = |time: &Duration| (Duration::from_secs(1)..=MAX_DURATION).contains(time);
    parsed.filter(is_valid).ok_or_else(|| {
        let valid = "a duration from 1s to 366 days with its unit, such as 30s, 5m or 1h 30m";
        WatchFileError::invalid(field, format!("{text:?}"), valid)
    })
}

/// Checks that a text is short and has no control characters.
fn short(field: &str, text: &str) -> Result<(), WatchFileError> {
    let is_short = !text.trim().is_empty() && text.len() <= MAX_TEXT_BYTES;
    if is_short && !text.chars().any(char::is_control) {
        return Ok(());
    }
    let valid = format!("one line of at most {MAX_TEXT_BYTES} bytes that is not blank");
    Err(WatchFileError::invalid(field, format!("{text:?}"), valid))
}

pub(super) fn name(name: Option<String>) -> Result<String, WatchFileError> {
    let name = name.unwrap_or_else(|| "jobs".to_owned());
    short("name", &name).map(|()| name)
}

pub(super) fn channel_name(name: &str) -> Result<(), WatchFileError> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if (1..=64).contains(&name.len()) && name.chars().all(is_allowed) {
        return Ok(());
    }
    let valid = "1 to 64 letters, digits, - and _";
    Err(WatchFileError::invalid("channels", format!("{name:?}"), valid))
}

pub(super) fn heartbeat(doc: HeartbeatDoc) -> Result<Heartbeat, WatchFileError> {
    let every = match doc.every {
        Some(text) => duration("heartbeat.every", &text)?,
        None => Duration::from_secs(60),
    };
    let field = "heartbeat.url";
    let url = secret(field, &doc.url)?;
    let resolved = url.resolve().map_err(|error| {
        let valid = "${env:NAME} or ${file:/absolute/path} of an existing secret";
        WatchFileError::invalid(field, error, valid)
    })?;
    // The URL of a check is a credential, so no error shows it.
    let parsed = Url::parse(resolved.expose_secret().trim()).ok();
    if parsed.is_none_or(|url| !matches!(url.scheme(), "http" | "https")) {
        let valid = "a URL such as https://host/path";
        return Err(WatchFileError::invalid(field, "a text that is no HTTP URL", valid));
    }
    Ok(Heartbeat { url, every })
}

pub(super) fn secret(field: &str, text: &str) -> Result<SecretText, WatchFileError> {
    SecretText::parse(text)
        .map_err(|error| WatchFileError::invalid(field, error.value, error.valid))
}

pub(super) fn rule(
    table: &str,
    doc: RuleDoc,
    known_channels: &[&str],
) -> Result<Rule, WatchFileError> {
    let at = |key: &str| format!("{table}.{key}");
    let pattern = JobPattern::parse(&doc.job).map_err(|reason| {
        let valid = format!("a job name, or a pattern such as report-* ({reason})");
        WatchFileError::invalid(at("job"), format!("{:?}", doc.job), valid)
    })?;
    let channels = channels(&at("channels"), doc.channels.as_deref(), known_channels)?;
    labels(&at("labels"), &doc.labels)?;
    let severity = severity(&at("severity"), doc.severity.as_deref())?;
    let tolerated = match &doc.tolerated {
        None => Duration::ZERO,
        Some(text) => duration(&at("for"), text)?,
    };
    let conditions = conditions(table, &doc)?;
    if conditions.is_empty() {
        let valid = "at least one of late_after, must_succeed_within, at_most, failures, \
                     instances_at_least";
        return Err(WatchFileError::invalid(table, "a table without a condition", valid));
    }
    let expectation = |condition| Expectation {
        condition,
        tolerated,
        severity,
        channels: channels.clone(),
        labels: doc.labels.clone(),
    };
    let expectations = conditions.into_iter().map(expectation).collect();
    let expectations = with_existence(&pattern, expectations);
    Ok(Rule { pattern, expectations })
}

fn conditions(table: &str, doc: &RuleDoc) -> Result<Vec<Condition>, WatchFileError> {
    type Timed = (&'static str, fn(Duration) -> Condition);
    let timed: [(Timed, &Option<String>); 3] = [
        (("late_after", Condition::LateAfter), &doc.late_after),
        (("must_succeed_within", Condition::MustSucceedWithin), &doc.must_succeed_within),
        (("at_most", Condition::AtMost), &doc.at_most),
    ];
    let mut conditions = Vec::new();
    for ((key, condition), text) in timed {
        if let Some(text) = text {
            conditions.push(condition(duration(&format!("{table}.{key}"), text)?));
        }
    }
    type Counted = (&'static str, u32, fn(u32) -> Condition);
    let counted: [(Counted, Option<u32>); 2] = [
        (("failures", MAX_FAILURES, Condition::Failures), doc.failures),
        (
            ("instances_at_least", MAX_INSTANCES, Condition::InstancesAtLeast),
            doc.instances_at_least,
        ),
    ];
    for ((key, max, condition), n) in counted {
        let Some(n) = n else { continue };
        if !(1..=max).contains(&n) {
            let field = format!("{table}.{key}");
            return Err(WatchFileError::invalid(field, n, format!("1 to {max}")));
        }
        conditions.push(condition(n));
    }
    Ok(conditions)
}

fn channels(
    field: &str,
    named: Option<&[String]>,
    known: &[&str],
) -> Result<BTreeSet<String>, WatchFileError> {
    let Some(named) = named else {
        return Ok(known.iter().map(|name| (*name).to_owned()).collect());
    };
    match named.iter().find(|name| !known.contains(&name.as_str())) {
        None => Ok(named.iter().cloned().collect()),
        Some(name) => {
            let valid = match known {
                [] => "no channel: the file has no table [channels.NAME]".to_owned(),
                _ => format!("one of {}", known.join(", ")),
            };
            Err(WatchFileError::invalid(field, format!("{name:?}"), valid))
        }
    }
}

fn labels(field: &str, labels: &BTreeMap<String, String>) -> Result<(), WatchFileError> {
    if labels.len() > MAX_LABELS {
        let valid = format!("at most {MAX_LABELS} labels");
        return Err(WatchFileError::invalid(field, labels.len(), valid));
    }
    let is_name = |name: &str| {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
        name.len() <= MAX_TEXT_BYTES
            && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(is_allowed)
    };
    for (name, value) in labels {
        if !is_name(name) {
            let valid = "letters, digits and _, beginning with a letter or _";
            return Err(WatchFileError::invalid(field, format!("{name:?}"), valid));
        }
        short(&format!("{field}.{name}"), value)?;
    }
    Ok(())
}

fn severity(field: &str, text: Option<&str>) -> Result<Severity, WatchFileError> {
    let all = [Severity::Info, Severity::Warning, Severity::Critical];
    let Some(text) = text else { return Ok(Severity::default()) };
    let found = all.into_iter().find(|severity| severity.as_str() == text);
    found.ok_or_else(|| {
        let valid = "info, warning or critical";
        WatchFileError::invalid(field, format!("{text:?}"), valid)
    })
}
