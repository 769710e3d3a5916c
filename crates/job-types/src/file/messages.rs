//! Handlers that send messages, by the crate `job-alerts`.

use std::sync::Arc;

use job_alerts::{AlertHandler, Email, HttpAlert, MailTls};
use lite::{ErrorHandler, InvalidConfig};

use super::check::{duration, plain_credential, positive};
use super::model::{HandlerDoc, TextDoc};
use crate::{Invalid, SecretText};

const KINDS: &str = "log, ignore, throw, email, dingtalk, wecom, slack or webhook";
const MAIL: [&str; 12] = [
    "host",
    "port",
    "username",
    "password",
    "from",
    "to",
    "cc",
    "bcc",
    "subject",
    "tls",
    "timeout",
    "merge_window",
];

pub(super) fn handler(doc: HandlerDoc) -> Result<Arc<dyn ErrorHandler>, Invalid> {
    const COMMON: [&str; 4] = ["url", "connect_timeout", "read_timeout", "merge_window"];
    let common_and = |more: &[&'static str]| [&COMMON, more].concat();
    let (known, begin): (_, fn(SecretText) -> HttpAlert) = match doc.kind.as_str() {
        "email" => {
            doc.allow_only(&MAIL)?;
            return with_merge_window(email(&doc)?.build().map_err(renamed)?, &doc);
        }
        "dingtalk" => (common_and(&["secret", "keyword"]), HttpAlert::ding_talk),
        "wecom" => (common_and(&[]), HttpAlert::wecom),
        "slack" => (common_and(&[]), HttpAlert::slack),
        "webhook" => (common_and(&["authorization"]), HttpAlert::webhook),
        other => return Err(invalid("kind", format!("{other:?}"), KINDS)),
    };
    doc.allow_only(&known)?;
    with_merge_window(http(&doc, begin)?.build().map_err(renamed)?, &doc)
}

fn with_merge_window(
    handler: AlertHandler,
    doc: &HandlerDoc,
) -> Result<Arc<dyn ErrorHandler>, Invalid> {
    let window = doc.merge_window.as_deref().map(|text| duration("merge_window", text));
    Ok(match window.transpose()? {
        Some(window) => Arc::new(handler.merge_window(window)),
        None => Arc::new(handler),
    })
}

fn http(doc: &HandlerDoc, begin: fn(SecretText) -> HttpAlert) -> Result<HttpAlert, Invalid> {
    let url = required("url", &doc.url)?;
    // The URL of a group's robot is a credential: it is all that a sender needs.
    let is_secret = doc.kind != "webhook" || url.0.is_url_with_plain_user();
    if is_secret && !url.0.has_references() {
        return Err(plain_credential("url"));
    }
    let mut alert = begin(url.0.clone());
    if let Some(secret) = secret("secret", &doc.secret)? {
        alert = alert.signing_secret(secret);
    }
    if let Some(value) = secret("authorization", &doc.authorization)? {
        alert = alert.authorization(value);
    }
    if let Some(keyword) = &doc.keyword {
        alert = alert.keyword(keyword);
    }
    if let Some(time) = &doc.connect_timeout {
        alert = alert.connect_timeout(positive("connect_timeout", time)?);
    }
    if let Some(time) = &doc.read_timeout {
        alert = alert.read_timeout(positive("read_timeout", time)?);
    }
    Ok(alert)
}

fn email(doc: &HandlerDoc) -> Result<Email, Invalid> {
    let (host, port) = (required("host", &doc.host)?, *required("port", &doc.port)?);
    let (from, to) = (required("from", &doc.from)?, required("to", &doc.to)?);
    let mut email = Email::new(host, port, from, to).tls(tls(doc)?);
    match (&doc.username, secret("password", &doc.password)?) {
        (Some(username), Some(password)) => email = email.credentials(username, password),
        (None, None) => {}
        (None, Some(_)) => {
            return Err(invalid("username", "missing", "set, or no password either"));
        }
        (Some(_), None) => {
            return Err(invalid("password", "missing", "set, or no username either"));
        }
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
    if let Some(time) = &doc.timeout {
        email = email.timeout(positive("timeout", time)?);
    }
    Ok(email)
}

fn tls(doc: &HandlerDoc) -> Result<MailTls, Invalid> {
    match doc.tls.as_deref() {
        None => Ok(MailTls::default()),
        Some("wrapper") => Ok(MailTls::Wrapper),
        Some("starttls") => Ok(MailTls::StartTls),
        Some("none") => Ok(MailTls::None),
        Some(other) => Err(invalid("tls", format!("{other:?}"), "wrapper, starttls or none")),
    }
}

fn required<'a, T>(field: &str, value: &'a Option<T>) -> Result<&'a T, Invalid> {
    value.as_ref().ok_or_else(|| invalid(field, "missing", "set"))
}

fn secret(field: &str, value: &Option<TextDoc>) -> Result<Option<SecretText>, Invalid> {
    match value {
        None => Ok(None),
        Some(TextDoc(text)) if text.has_references() => Ok(Some(text.clone())),
        Some(_) => Err(plain_credential(field)),
    }
}

/// Renames the setting of an error to its key in the file: the error has the name that stored
/// configurations use.
fn renamed(error: InvalidConfig) -> Invalid {
    let name = error.field.split_once('.').map_or(error.field, |(_, name)| name);
    let field = match name {
        "webhook" => "url",
        "connectTimeoutMilliseconds" => "connect_timeout",
        "readTimeoutMilliseconds" => "read_timeout",
        "timeoutMilliseconds" => "timeout",
        other => other,
    };
    invalid(field, error.value, &error.valid)
}

fn invalid(field: &str, found: impl ToString, valid: &str) -> Invalid {
    Invalid::new(field, found.to_string(), valid)
}
