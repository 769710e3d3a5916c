//! Channels of the file, by the crate `job-alerts`.

use job_alerts::{AlertChannel, Email, HttpAlert, MailTls};
use outbound::SecretText;

use super::WatchFileError;
use super::check::{duration, secret};
use super::model::ChannelDoc;

const KINDS: &str = "email, dingtalk, wecom, slack or webhook";
const MAIL: [&str; 11] = [
    "host", "port", "username", "password", "from", "to", "cc", "bcc", "subject", "tls", "timeout",
];

/// Checks the settings of a channel, and makes it. `table` is its name in errors.
pub(super) fn channel(table: &str, doc: &ChannelDoc) -> Result<AlertChannel, WatchFileError> {
    const HTTP: [&str; 3] = ["url", "connect_timeout", "read_timeout"];
    let (own, begin): (&[&str], fn(SecretText) -> HttpAlert) = match doc.kind.as_str() {
        "email" => {
            allow_only(table, doc, &MAIL)?;
            return email(table, doc)?.channel().map_err(|error| renamed(table, error));
        }
        "dingtalk" => (&["secret", "keyword"], HttpAlert::ding_talk),
        "wecom" => (&[], HttpAlert::wecom),
        "slack" => (&[], HttpAlert::slack),
        "webhook" => (&["authorization"], HttpAlert::webhook),
        other => {
            let field = format!("{table}.kind");
            return Err(WatchFileError::invalid(field, format!("{other:?}"), KINDS));
        }
    };
    allow_only(table, doc, &[&HTTP, own].concat())?;
    http(table, doc, begin)?.channel().map_err(|error| renamed(table, error))
}

/// Refuses settings that the kind does not have: they would have no effect.
fn allow_only(table: &str, doc: &ChannelDoc, known: &[&str]) -> Result<(), WatchFileError> {
    match doc.settings().into_iter().find(|name| !known.contains(name)) {
        None => Ok(()),
        Some(name) => {
            let valid = format!("nothing: {} has {}", doc.kind, known.join(", "));
            Err(WatchFileError::invalid(format!("{table}.{name}"), "set", valid))
        }
    }
}

fn http(
    table: &str,
    doc: &ChannelDoc,
    begin: fn(SecretText) -> HttpAlert,
) -> Result<HttpAlert, WatchFileError> {
    let at = |key: &str| format!("{table}.{key}");
    let url = secret(&at("url"), required(table, "url", doc.url.as_deref())?)?;
    // The URL of a group's robot is a credential: it is all that a sender needs.
    if doc.kind != "webhook" || url.is_url_with_plain_user() {
        needs_reference(&at("url"), &url)?;
    }
    let mut alert = begin(url);
    if let Some(text) = &doc.secret {
        alert = alert.signing_secret(referred(&at("secret"), text)?);
    }
    if let Some(text) = &doc.authorization {
        alert = alert.authorization(referred(&at("authorization"), text)?);
    }
    if let Some(keyword) = &doc.keyword {
        alert = alert.keyword(keyword);
    }
    if let Some(text) = &doc.connect_timeout {
        alert = alert.connect_timeout(duration(&at("connect_timeout"), text)?);
    }
    if let Some(text) = &doc.read_timeout {
        alert = alert.read_timeout(duration(&at("read_timeout"), text)?);
    }
    Ok(alert)
}

fn email(table: &str, doc: &ChannelDoc) -> Result<Email, WatchFileError> {
    let at = |key: &str| format!("{table}.{key}");
    let text =
        |key, value: &Option<String>| required(table, key, value.as_deref()).map(str::to_owned);
    let port = doc.port.ok_or_else(|| missing(table, "port"))?;
    let (host, from, to) =
        (text("host", &doc.host)?, text("from", &doc.from)?, text("to", &doc.to)?);
    let mut email = Email::new(host, port, from, to).tls(tls(&at("tls"), doc.tls.as_deref())?);
    match (&doc.username, &doc.password) {
        (Some(username), Some(password)) => {
            email = email.credentials(username, referred(&at("password"), password)?);
        }
        (None, None) => {}
        (None, Some(_)) => return Err(missing(table, "username")),
        (Some(_), None) => return Err(missing(table, "password")),
    }
    if let Some(addresses) = &doc.cc {
        email = email.cc(addresses);
    }
    if let Some(addresses) = &doc.bcc {
        email = email.bcc(addresses);
    }
    if let Some(subject) = &doc.subject {
        email = email.subject(subject);
    }
    if let Some(text) = &doc.timeout {
        email = email.timeout(duration(&at("timeout"), text)?);
    }
    Ok(email)
}

fn tls(field: &str, text: Option<&str>) -> Result<MailTls, WatchFileError> {
    match text {
        None | Some("wrapper") => Ok(MailTls::Wrapper),
        Some("starttls") => Ok(MailTls::StartTls),
        Some("none") => Ok(MailTls::None),
        Some(other) => {
            let valid = "wrapper, starttls or none";
            Err(WatchFileError::invalid(field, format!("{other:?}"), valid))
        }
    }
}

fn required<'a>(table: &str, key: &str, value: Option<&'a str>) -> Result<&'a str, WatchFileError> {
    value.filter(|text| !text.trim().is_empty()).ok_or_else(|| missing(table, key))
}

fn missing(table: &str, key: &str) -> WatchFileError {
    WatchFileError::invalid(format!("{table}.{key}"), "missing", "set")
}

/// Parses a secret, which must be a reference.
fn referred(field: &str, text: &str) -> Result<SecretText, WatchFileError> {
    let parsed = secret(field, text)?;
    needs_reference(field, &parsed).map(|()| parsed)
}

fn needs_reference(field: &str, text: &SecretText) -> Result<(), WatchFileError> {
    if text.has_references() {
        return Ok(());
    }
    let valid = "${env:NAME} or ${file:/absolute/path}, alone or within the text";
    Err(WatchFileError::invalid(field, "a plain credential", valid))
}

/// Names the field of an error as the file does: its property is `slack.webhook`, for example.
fn renamed(table: &str, error: coordination::InvalidConfig) -> WatchFileError {
    let key = match error.field.rsplit('.').next().unwrap_or(error.field) {
        "webhook" => "url",
        "connectTimeoutMilliseconds" => "connect_timeout",
        "readTimeoutMilliseconds" => "read_timeout",
        "timeoutMilliseconds" => "timeout",
        other => other,
    };
    WatchFileError::invalid(format!("{table}.{key}"), error.value, error.valid)
}
