//! Types of error handlers that stored configurations can choose.

use std::sync::Arc;

use lite::{ErrorHandler, ErrorHandlerType, ErrorHandlers, HandlerSettings, InvalidConfig};
use outbound::Permissions;

use crate::http::{Kind, Permitted};
use crate::properties::{ALERT, Properties};
use crate::{AlertHandler, Email, HttpAlert, MailTls};

/// Adds the types `EMAIL`, `DINGTALK`, `WECHAT`, `SLACK` and `WEBHOOK`, for jobs whose stored
/// configuration chooses one of them.
///
/// Their properties are those of ElasticJob 3.x where it has the type; [`Email`] and [`HttpAlert`]
/// have the tables. In addition, `alert.mergeSeconds` is the time that failures are collected after
/// an alert, in seconds: 300 by default, and 0 disables the collection.
///
/// All clients of the registry can read a stored configuration, and clients with write access can
/// change it. Therefore passwords, signing secrets and webhook URLs must be references,
/// `${env:NAME}` or `${file:/path}`. `permissions` must permit the host, and the reference for that
/// host. Any other value is an error that names the property without its value.
///
/// # Examples
/// ```
/// use std::sync::Arc;
///
/// use job_alerts::with_alerts;
/// use lite::{ErrorHandlers, Scheduler};
/// use outbound::Permissions;
///
/// let permissions = Permissions::nothing()
///     .host("https://oapi.dingtalk.com")?
///     .secret("${env:DINGTALK_WEBHOOK} for https://oapi.dingtalk.com")?
///     .secret("${file:/run/secrets/dingtalk} for https://oapi.dingtalk.com")?;
/// let types = with_alerts(ErrorHandlers::default(), &permissions);
/// let registry = Arc::new(reg_center::MemoryRegistry::new().connect());
/// let scheduler = Scheduler::builder(registry).error_handlers(types).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn with_alerts(types: ErrorHandlers, permissions: &Permissions) -> ErrorHandlers {
    let http = [Kind::DingTalk, Kind::WeCom, Kind::Slack, Kind::Webhook];
    let types = http
        .into_iter()
        .fold(types, |types, kind| types.with(HttpType { kind, permissions: permissions.clone() }));
    types.with(EmailType { permissions: permissions.clone() })
}

/// Applies the settings that all channels share, and returns the handler.
fn finish(
    handler: AlertHandler,
    properties: Properties<'_>,
) -> Result<Arc<dyn ErrorHandler>, InvalidConfig> {
    let handler = match properties.merge_window()? {
        Some(window) => handler.merge_window(window),
        None => handler,
    };
    Ok(Arc::new(handler))
}

struct HttpType {
    kind: Kind,
    permissions: Permissions,
}

impl HttpType {
    /// Returns the prefix of the properties of this type.
    fn prefix(&self) -> &'static str {
        self.kind.names().url.split_inclusive('.').next().unwrap_or_default()
    }
}

impl ErrorHandlerType for HttpType {
    fn name(&self) -> &str {
        self.kind.names().channel
    }

    fn reads(&self, property: &str) -> bool {
        property.starts_with(self.prefix()) || property.starts_with(ALERT)
    }

    fn make(&self, settings: &HandlerSettings<'_>) -> Result<Arc<dyn ErrorHandler>, InvalidConfig> {
        let names = self.kind.names();
        let all = settings.properties;
        let properties = Properties { all, permissions: &self.permissions };
        let required = [names.url, names.connect_timeout, names.read_timeout];
        let known: Vec<_> = required.into_iter().chain(names.secret).chain(names.keyword).collect();
        properties.check_names(self.prefix(), &known)?;
        let url = properties.required_secret(names.url)?;
        let secret = names.secret.map(|name| properties.secret(name)).transpose()?.flatten();
        let permitted = Permitted {
            permissions: self.permissions.clone(),
            url: url.reference.to_owned(),
            secret: secret.as_ref().map(|secret| secret.reference.to_owned()),
        };
        let mut alert = HttpAlert::new(self.kind, url.text).restricted_to(permitted);
        if let Some(secret) = secret {
            alert = alert.secret(secret.text);
        }
        if let Some(keyword) = names.keyword.and_then(|name| properties.text(name)) {
            alert = alert.keyword(keyword);
        }
        if let Some(timeout) = properties.millis(names.connect_timeout)? {
            alert = alert.connect_timeout(timeout);
        }
        if let Some(timeout) = properties.millis(names.read_timeout)? {
            alert = alert.read_timeout(timeout);
        }
        finish(alert.build()?, properties)
    }
}

struct EmailType {
    permissions: Permissions,
}

/// Prefix of the properties of mails.
const MAIL: &str = "email.";

/// Properties of mails. The last two are accepted because ElasticJob has them, and have no effect:
/// certificates are always checked, and the dialogue with the server is not printed.
const EMAIL: [&str; 14] = [
    "email.host",
    "email.port",
    "email.username",
    "email.password",
    "email.from",
    "email.to",
    "email.cc",
    "email.bcc",
    "email.subject",
    "email.useSsl",
    "email.tls",
    "email.timeoutMilliseconds",
    "email.ssl.trust",
    "email.debug",
];

impl ErrorHandlerType for EmailType {
    fn name(&self) -> &str {
        "EMAIL"
    }

    fn reads(&self, property: &str) -> bool {
        property.starts_with(MAIL) || property.starts_with(ALERT)
    }

    fn make(&self, settings: &HandlerSettings<'_>) -> Result<Arc<dyn ErrorHandler>, InvalidConfig> {
        let properties = Properties { all: settings.properties, permissions: &self.permissions };
        properties.check_names(MAIL, &EMAIL)?;
        let host = properties.required("email.host")?;
        properties.required("email.port")?;
        let port = properties.number::<u16>("email.port", "1 to 65535")?.unwrap_or_default();
        let address =
            if host.contains(':') { format!("[{host}]") } else { host.to_ascii_lowercase() };
        let origin = format!("smtp://{address}:{port}");
        properties.permit("email.host", &origin)?;
        let (from, to) = (properties.required("email.from")?, properties.required("email.to")?);
        let mut email = Email::new(host, port, from, to).tls(tls(properties)?);
        match (properties.text("email.username"), properties.secret("email.password")?) {
            (Some(username), Some(password)) => {
                properties.permit_secret("email.password", password.reference, &origin)?;
                email = email.credentials(username, password.text);
            }
            (None, None) => {}
            (None, Some(_)) => {
                let valid = "set, or no password either";
                return Err(InvalidConfig::new("email.username", "missing", valid));
            }
            (Some(_), None) => {
                let valid = "set, or no user name either";
                return Err(InvalidConfig::new("email.password", "missing", valid));
            }
        }
        if let Some(addresses) = properties.text("email.cc") {
            email = email.cc(addresses);
        }
        if let Some(addresses) = properties.text("email.bcc") {
            email = email.bcc(addresses);
        }
        if let Some(subject) = properties.text("email.subject") {
            email = email.subject(subject);
        }
        if let Some(timeout) = properties.millis("email.timeoutMilliseconds")? {
            email = email.timeout(timeout);
        }
        finish(email.build()?, properties)
    }
}

fn tls(properties: Properties<'_>) -> Result<MailTls, InvalidConfig> {
    properties.flag("email.debug")?;
    if properties.text("email.ssl.trust").is_some() {
        tracing::warn!("email.ssl.trust has no effect: certificates are always checked");
    }
    let by_name = match properties.text("email.tls") {
        None => None,
        Some("wrapper") => Some(MailTls::Wrapper),
        Some("starttls") => Some(MailTls::StartTls),
        Some("none") => Some(MailTls::None),
        Some(other) => {
            let valid = "wrapper, starttls or none";
            return Err(InvalidConfig::new("email.tls", format!("{other:?}"), valid));
        }
    };
    let by_flag = properties
        .flag("email.useSsl")?
        .map(|uses| if uses { MailTls::Wrapper } else { MailTls::StartTls });
    match (by_name, by_flag) {
        (Some(_), Some(_)) => {
            let valid = "one of them alone";
            Err(InvalidConfig::new("email.tls", "set beside email.useSsl", valid))
        }
        (by_name, by_flag) => Ok(by_name.or(by_flag).unwrap_or_default()),
    }
}
