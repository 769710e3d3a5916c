//! Alerts by HTTP: DingTalk, WeCom, Slack, and other webhooks.

mod channel;
mod kind;

use std::fmt;
use std::time::Duration;

use lite::InvalidConfig;
use outbound::{Limits, Permissions, SecretText, http_client};
use reqwest::Url;
use reqwest::header::HeaderValue;
use secrecy::ExposeSecret as _;

use crate::properties::not_permitted_for_host;
use crate::{AlertChannel, AlertHandler};
use channel::HttpChannel;
pub(crate) use kind::Kind;
use kind::Names;

/// Builder of an error handler that sends messages by HTTP.
///
/// | option | default | property of a stored configuration |
/// |---|---|---|
/// | the URL | required | `dingtalk.webhook`, `wechat.webhook`, `slack.webhook`, `webhook.url` |
/// | [`signing_secret`](Self::signing_secret) | none | `dingtalk.secret` |
/// | [`keyword`](Self::keyword) | none | `dingtalk.keyword` |
/// | [`authorization`](Self::authorization) | none | `webhook.authorization` |
/// | [`connect_timeout`](Self::connect_timeout) | 3 s | `….connectTimeoutMilliseconds` |
/// | [`read_timeout`](Self::read_timeout) | 5 s | `….readTimeoutMilliseconds` |
///
/// The URL of a webhook is a secret, because it is all that a sender needs. Only its scheme, host
/// and port are ever shown. References in it are resolved when the handler is made, so that a
/// missing secret is found early, and again for each alert. Redirects are not followed, and no
/// proxy is used.
///
/// # Examples
/// ```
/// use job_alerts::HttpAlert;
/// use outbound::SecretText;
///
/// let webhook = SecretText::literal("https://oapi.dingtalk.com/robot/send?access_token=x");
/// let handler = HttpAlert::ding_talk(webhook)
///     .signing_secret(SecretText::literal("SECx"))
///     .keyword("jobs")
///     .build()?;
/// assert!(!format!("{handler:?}").contains("access_token"));
/// # Ok::<(), lite::InvalidConfig>(())
/// ```
///
/// # Example: an invalid setting is reported by `build`
/// ```
/// use job_alerts::HttpAlert;
/// use outbound::SecretText;
///
/// let webhook = SecretText::parse("${env:NO_SUCH_WEBHOOK}").unwrap();
/// let error = HttpAlert::slack(webhook).build().unwrap_err();
/// assert_eq!(error.field, "slack.webhook");
/// assert!(error.value.starts_with("${env:NO_SUCH_WEBHOOK}"));
/// ```
#[derive(Clone)]
#[must_use = "`build` returns the handler"]
pub struct HttpAlert {
    kind: Kind,
    url: SecretText,
    secret: Option<SecretText>,
    /// Name of a setting that the caller set although this kind does not have it.
    unsupported_setting: Option<&'static str>,
    keyword: Option<String>,
    connect_timeout: Duration,
    read_timeout: Duration,
    /// Set only for a handler that a stored configuration chose.
    permitted: Option<Permitted>,
}

/// Permissions of the worker for a handler that a stored configuration chose, and the references
/// that it uses.
#[derive(Clone)]
pub(crate) struct Permitted {
    pub(crate) permissions: Permissions,
    /// Reference of the URL.
    pub(crate) url: String,
    /// Reference of the secret for the signature or the authorization.
    pub(crate) secret: Option<String>,
}

impl HttpAlert {
    pub(crate) fn new(kind: Kind, url: SecretText) -> Self {
        Self {
            kind,
            url,
            secret: None,
            unsupported_setting: None,
            keyword: None,
            connect_timeout: Duration::from_secs(3),
            read_timeout: Duration::from_secs(5),
            permitted: None,
        }
    }

    /// Sends text messages to a robot of a DingTalk group.
    pub fn ding_talk(webhook: SecretText) -> Self {
        Self::new(Kind::DingTalk, webhook)
    }

    /// Sends text messages to a robot of a WeCom group, of at most 2048 bytes.
    pub fn wecom(webhook: SecretText) -> Self {
        Self::new(Kind::WeCom, webhook)
    }

    /// Sends messages to an incoming webhook of Slack, or of a chat with the same format.
    pub fn slack(webhook: SecretText) -> Self {
        Self::new(Kind::Slack, webhook)
    }

    /// Posts JSON to a URL. A status from 200 to 299 is a success. The README of this crate
    /// describes the body.
    pub fn webhook(url: SecretText) -> Self {
        Self::new(Kind::Webhook, url)
    }

    /// Sets the signing secret of a DingTalk robot.
    pub fn signing_secret(mut self, secret: SecretText) -> Self {
        self.secret = Some(secret);
        self.unsupported_setting = (self.kind != Kind::DingTalk).then_some("signing_secret");
        self
    }

    /// Sets the value of the header `Authorization` for a [`webhook`](Self::webhook).
    pub fn authorization(mut self, value: SecretText) -> Self {
        self.secret = Some(value);
        self.unsupported_setting = (self.kind != Kind::Webhook).then_some("authorization");
        self
    }

    /// Sets the keyword that a DingTalk robot requires in each message.
    pub fn keyword(mut self, keyword: impl Into<String>) -> Self {
        self.keyword = Some(keyword.into());
        self
    }

    /// Sets the time limit for connecting, more than zero. Default 3 s.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the time that the server may stay silent, more than zero. Default 5 s.
    ///
    /// The time limit of a message as a whole is the sum of both times.
    pub fn read_timeout(mut self, timeout: Duration) -> Self {
        self.read_timeout = timeout;
        self
    }

    /// Restricts the handler to the hosts and secrets that the worker permits.
    pub(crate) fn restricted_to(mut self, permitted: Permitted) -> Self {
        self.permitted = Some(permitted);
        self
    }

    pub(crate) fn secret(mut self, secret: SecretText) -> Self {
        self.secret = Some(secret);
        self
    }

    /// Checks the settings, as far as possible without sending a message, and returns the handler.
    ///
    /// # Errors
    /// [`InvalidConfig`] names the property of the first invalid setting, and the valid values.
    pub fn build(self) -> Result<AlertHandler, InvalidConfig> {
        self.checked().map(AlertHandler::new)
    }

    /// Checks the settings as [`build`](Self::build) does, and returns the channel alone, for
    /// messages of a program.
    ///
    /// # Errors
    /// [`InvalidConfig`] names the property of the first invalid setting, and the valid values.
    pub fn channel(self) -> Result<AlertChannel, InvalidConfig> {
        self.checked().map(AlertChannel::new)
    }

    fn checked(self) -> Result<HttpChannel, InvalidConfig> {
        let names = self.kind.names();
        if let Some(field) = self.unsupported_setting {
            let valid = format!("nothing: {} has no such setting", names.channel);
            return Err(InvalidConfig::new(field, "set", valid));
        }
        let keyword = names.keyword.unwrap_or("keyword");
        if self.keyword.is_some() && names.keyword.is_none() {
            let valid = format!("nothing: {} has no such setting", names.channel);
            return Err(InvalidConfig::new(keyword, "set", valid));
        }
        if self.keyword.as_deref().is_some_and(|word| word.trim().is_empty()) {
            return Err(InvalidConfig::new(keyword, "blank", "a word, or no keyword at all"));
        }
        for (field, timeout) in
            [(names.connect_timeout, self.connect_timeout), (names.read_timeout, self.read_timeout)]
        {
            if timeout.is_zero() {
                return Err(InvalidConfig::new(field, "0s", "more than zero"));
            }
        }
        let url = self.checked_url()?;
        self.check_secret()?;
        let limits = Limits {
            connect_timeout: self.connect_timeout,
            read_timeout: self.read_timeout,
            max_redirects: 0,
        };
        let client = http_client(&url, limits)
            .map_err(|error| InvalidConfig::new(names.url, error.value, error.valid))?;
        Ok(HttpChannel { client, settings: self })
    }

    fn checked_url(&self) -> Result<Url, InvalidConfig> {
        let field = self.kind.names().url;
        let found = match self.resolved_url() {
            Ok(url) => return Ok(url),
            Err(UrlFault::Unresolved(error)) => error.to_string(),
            Err(UrlFault::Invalid(found)) => found,
            Err(UrlFault::NotPermittedForHost { field, reference, origin }) => {
                return Err(not_permitted_for_host(field, &reference, &origin));
            }
        };
        Err(InvalidConfig::new(field, found, self.valid_url()))
    }

    fn valid_url(&self) -> String {
        match self.permitted {
            None => "a URL such as https://host/path".to_owned(),
            Some(_) => {
                "a URL of a host that this worker's own list permits to definitions from the registry"
                    .to_owned()
            }
        }
    }

    /// Resolves and parses the URL. Faults show only its origin.
    fn resolved_url(&self) -> Result<Url, UrlFault> {
        let text = self.url.resolve().map_err(UrlFault::Unresolved)?;
        let url = Url::parse(text.expose_secret().trim());
        let url =
            url.map_err(|error| UrlFault::Invalid(format!("a text that is no URL ({error})")))?;
        if !matches!(url.scheme(), "http" | "https") {
            // The scheme is not shown: a password with a colon parses as a URL, too.
            return Err(UrlFault::Invalid("a URL that is neither http nor https".to_owned()));
        }
        let origin = origin(&url);
        if let Some(permitted) = &self.permitted {
            permitted.check(&origin, self.kind.names())?;
        }
        Ok(url)
    }

    fn check_secret(&self) -> Result<(), InvalidConfig> {
        let (Some(secret), Some(field)) = (&self.secret, self.kind.names().secret) else {
            return Ok(());
        };
        let valid = "${env:NAME} or ${file:/absolute/path} of an existing secret";
        let secret = secret
            .resolve()
            .map_err(|error| InvalidConfig::new(field, error.to_string(), valid))?;
        let secret = secret.expose_secret();
        if secret.trim().is_empty() {
            return Err(InvalidConfig::new(field, "blank", "a secret that is not blank"));
        }
        if self.kind == Kind::Webhook && HeaderValue::from_str(secret).is_err() {
            let found = "a text that cannot be a header value";
            return Err(InvalidConfig::new(field, found, "the value of a header"));
        }
        Ok(())
    }
}

impl Permitted {
    /// Checks that the worker permits the host, and all used secrets for it.
    fn check(&self, origin: &str, names: &'static Names) -> Result<(), UrlFault> {
        if !self.permissions.permits_origin(origin) {
            return Err(UrlFault::Invalid(format!("a URL of {origin}")));
        }
        let secret = names.secret.zip(self.secret.as_ref());
        for (field, reference) in std::iter::once((names.url, &self.url)).chain(secret) {
            if !self.permissions.permits_secret_at(reference, origin) {
                let (reference, origin) = (reference.clone(), origin.to_owned());
                return Err(UrlFault::NotPermittedForHost { field, reference, origin });
            }
        }
        Ok(())
    }
}

/// Reason why a URL cannot be used.
enum UrlFault {
    Unresolved(outbound::SecretError),
    Invalid(String),
    /// A secret is permitted for other hosts only.
    NotPermittedForHost {
        field: &'static str,
        reference: String,
        origin: String,
    },
}

impl fmt::Debug for HttpAlert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpAlert").field("kind", &self.kind).finish_non_exhaustive()
    }
}

fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}
