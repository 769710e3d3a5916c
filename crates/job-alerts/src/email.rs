//! Alerts by mail.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lettre::message::{Mailbox, header::ContentType};
use lettre::transport::smtp::AsyncSmtpTransportBuilder;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};
use lite::InvalidConfig;
use outbound::{SecretText, with_causes};
use secrecy::{ExposeSecret as _, SecretString};

use crate::alert::cut;
use crate::channel::{Channel, Content};
use crate::error::NotConnected;
use crate::{AlertChannel, AlertError, AlertHandler};

const CHANNEL: &str = "EMAIL";
/// Maximum length of the text of a mail, in bytes.
const MAX_TEXT_BYTES: usize = 64 * 1024;

/// Protection of the connection to a mail server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MailTls {
    /// TLS from the first byte on, as usual at port 465.
    #[default]
    Wrapper,
    /// TLS after `STARTTLS`, as usual at port 587. If the server does not offer it, neither the
    /// mail nor the password is sent.
    StartTls,
    /// No protection, for relays on the same host. It cannot be combined with a password.
    None,
}

/// Builder of an error handler that sends mails.
///
/// | option | default | property of a stored configuration |
/// |---|---|---|
/// | host and port | required | `email.host`, `email.port` |
/// | sender and recipients | required | `email.from`, `email.to` |
/// | [`credentials`](Self::credentials) | none | `email.username`, `email.password` |
/// | [`cc`](Self::cc), [`bcc`](Self::bcc) | none | `email.cc`, `email.bcc` |
/// | [`subject`](Self::subject) | summary of the failure | `email.subject` |
/// | [`tls`](Self::tls) | [`MailTls::Wrapper`] | `email.tls` or `email.useSsl` |
/// | [`timeout`](Self::timeout) | 20 s | `email.timeoutMilliseconds` |
///
/// Addresses are separated by commas. `email.tls` is `wrapper`, `starttls` or `none`;
/// `email.useSsl` is `true` for `wrapper` or `false` for `starttls`. The certificate of the server
/// is always checked, against the certificates of the operating system.
///
/// # Examples
/// ```
/// use job_alerts::Email;
/// use outbound::SecretText;
///
/// let recipients = "anna@example.com, ops@example.com";
/// let handler = Email::new("mail.example.com", 465, "Jobs <jobs@example.com>", recipients)
///     .credentials("jobs", SecretText::literal("s3cret"))
///     .build()?;
/// assert!(!format!("{handler:?}").contains("s3cret"));
/// # Ok::<(), lite::InvalidConfig>(())
/// ```
#[derive(Clone)]
#[must_use = "`build` returns the handler"]
pub struct Email {
    host: String,
    port: u16,
    from: String,
    to: String,
    cc: String,
    bcc: String,
    subject: Option<String>,
    credentials: Option<(String, SecretText)>,
    tls: MailTls,
    timeout: Duration,
}

impl Email {
    /// Creates a builder with the mail server, the sender and the recipients, separated by commas.
    pub fn new(
        host: impl Into<String>,
        port: u16,
        from: impl Into<String>,
        to: impl Into<String>,
    ) -> Self {
        Self {
            host: host.into(),
            port,
            from: from.into(),
            to: to.into(),
            cc: String::new(),
            bcc: String::new(),
            subject: None,
            credentials: None,
            tls: MailTls::default(),
            timeout: Duration::from_secs(20),
        }
    }

    /// Sets the user name and the password for logging in.
    pub fn credentials(mut self, username: impl Into<String>, password: SecretText) -> Self {
        self.credentials = Some((username.into(), password));
        self
    }

    /// Sets the recipients of copies, separated by commas.
    pub fn cc(mut self, addresses: impl Into<String>) -> Self {
        self.cc = addresses.into();
        self
    }

    /// Sets the recipients of blind copies, separated by commas. Other recipients do not see them.
    pub fn bcc(mut self, addresses: impl Into<String>) -> Self {
        self.bcc = addresses.into();
        self
    }

    /// Sets the subject of all mails. Default is a summary of the failure.
    pub fn subject(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    /// Sets the protection of the connection. Default [`MailTls::Wrapper`].
    pub fn tls(mut self, tls: MailTls) -> Self {
        self.tls = tls;
        self
    }

    /// Sets the time limit of a mail, from connecting to the last answer of the server, more than
    /// zero. Default 20 s.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Checks the settings, as far as possible without sending a mail, and returns the handler.
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

    fn checked(self) -> Result<MailChannel, InvalidConfig> {
        self.check_server()?;
        let envelope = self.envelope()?;
        self.check_credentials()?;
        let (host, port) = (self.host.to_ascii_lowercase(), self.port);
        let transport = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(host)
            .port(port)
            .timeout(Some(self.timeout))
            .tls(self.tls_of_transport()?);
        Ok(MailChannel { transport, envelope, settings: self })
    }

    fn check_server(&self) -> Result<(), InvalidConfig> {
        let host = &self.host;
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '_');
        if host.is_empty() || !host.chars().all(is_allowed) {
            let valid = "the name or the address of a mail server";
            return Err(InvalidConfig::new("email.host", format!("{host:?}"), valid));
        }
        if self.port == 0 {
            return Err(InvalidConfig::new("email.port", 0, "1 to 65535"));
        }
        if self.timeout.is_zero() {
            let field = "email.timeoutMilliseconds";
            return Err(InvalidConfig::new(field, "0s", "more than zero"));
        }
        let subject = self.subject.as_deref().unwrap_or("unset");
        if subject.trim().is_empty() || subject.chars().any(char::is_control) {
            let valid = "one line of text, or no subject at all";
            return Err(InvalidConfig::new("email.subject", format!("{subject:?}"), valid));
        }
        Ok(())
    }

    fn envelope(&self) -> Result<Envelope, InvalidConfig> {
        let from = mailboxes("email.from", &self.from)?;
        let Ok([from]) = <[Mailbox; 1]>::try_from(from) else {
            let found = format!("{:?}", self.from);
            return Err(InvalidConfig::new("email.from", found, "one address, jobs@example.com"));
        };
        let to = mailboxes("email.to", &self.to)?;
        if to.is_empty() {
            let valid = "one or more addresses, separated by commas";
            return Err(InvalidConfig::new("email.to", format!("{:?}", self.to), valid));
        }
        let (cc, bcc) = (mailboxes("email.cc", &self.cc)?, mailboxes("email.bcc", &self.bcc)?);
        Ok(Envelope { from, to, cc, bcc })
    }

    fn check_credentials(&self) -> Result<(), InvalidConfig> {
        let Some((username, password)) = &self.credentials else { return Ok(()) };
        if username.trim().is_empty() {
            let valid = "a user name, or neither user name nor password";
            return Err(InvalidConfig::new("email.username", "blank", valid));
        }
        if self.tls == MailTls::None {
            let valid = "wrapper or starttls: a password is not sent without TLS";
            return Err(InvalidConfig::new("email.tls", "none, with a password", valid));
        }
        let password = password.resolve().map_err(|error| {
            let valid = "${env:NAME} or ${file:/absolute/path} of an existing secret";
            InvalidConfig::new("email.password", error.to_string(), valid)
        })?;
        if password.expose_secret().is_empty() {
            return Err(InvalidConfig::new("email.password", "empty", "a password"));
        }
        Ok(())
    }

    fn tls_of_transport(&self) -> Result<Tls, InvalidConfig> {
        let parameters = || {
            TlsParameters::new(self.host.clone()).map_err(|error| {
                let valid = "a host whose certificate can be checked";
                InvalidConfig::new("email.host", format!("{:?} ({error})", self.host), valid)
            })
        };
        Ok(match self.tls {
            MailTls::Wrapper => Tls::Wrapper(parameters()?),
            MailTls::StartTls => Tls::Required(parameters()?),
            MailTls::None => Tls::None,
        })
    }
}

impl fmt::Debug for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, from, to, .. } = self;
        let mut shown = f.debug_struct("Email");
        shown.field("host", host).field("port", port).field("from", from).field("to", to);
        shown.finish_non_exhaustive()
    }
}

/// Parses addresses that are separated by commas. The list may be empty.
fn mailboxes(field: &'static str, text: &str) -> Result<Vec<Mailbox>, InvalidConfig> {
    let addresses = text.split(',').map(str::trim).filter(|address| !address.is_empty());
    let parsed = addresses.map(|address| {
        address.parse().map_err(|_| {
            let valid = "addresses such as anna@example.com, separated by commas";
            InvalidConfig::new(field, format!("{address:?}"), valid)
        })
    });
    parsed.collect()
}

struct Envelope {
    from: Mailbox,
    to: Vec<Mailbox>,
    cc: Vec<Mailbox>,
    bcc: Vec<Mailbox>,
}

struct MailChannel {
    transport: AsyncSmtpTransportBuilder,
    envelope: Envelope,
    settings: Email,
}

#[async_trait]
impl Channel for MailChannel {
    fn name(&self) -> &'static str {
        CHANNEL
    }

    async fn send(&self, alert: &dyn Content) -> Result<(), AlertError> {
        let mut transport = self.transport.clone();
        let mut secrets = Vec::new();
        if let Some((username, password)) = &self.settings.credentials {
            let password = password.resolve().map_err(|source| AlertError::Setting {
                channel: CHANNEL,
                what: "email.password cannot be resolved".to_owned(),
                source: Some(source),
            })?;
            let text = password.expose_secret().to_owned();
            secrets = login_secrets(username, &text);
            // Only mechanisms whose login data `login_secrets` masks.
            transport = transport
                .credentials(Credentials::new(username.clone(), text))
                .authentication(vec![Mechanism::Plain, Mechanism::Login]);
        }
        let message = self.message(alert).map_err(|error| AlertError::Setting {
            channel: CHANNEL,
            what: format!("the mail cannot be built ({error})"),
            source: None,
        })?;
        let transport = transport.build::<Tokio1Executor>();
        let sending = transport.send(message);
        let Ok(sent) = tokio::time::timeout(self.settings.timeout, sending).await else {
            return Err(self.timed_out());
        };
        sent.map(drop).map_err(|error| self.send_error(&error, &secrets))
    }
}

impl MailChannel {
    fn message(&self, alert: &dyn Content) -> Result<Message, lettre::error::Error> {
        let Envelope { from, to, cc, bcc } = &self.envelope;
        let subject = self.settings.subject.clone().unwrap_or_else(|| cut(&alert.subject(), 200));
        let message = Message::builder().from(from.clone()).subject(subject);
        let message = to.iter().cloned().fold(message, lettre::message::MessageBuilder::to);
        let message = cc.iter().cloned().fold(message, lettre::message::MessageBuilder::cc);
        let message = bcc.iter().cloned().fold(message, lettre::message::MessageBuilder::bcc);
        message.header(ContentType::TEXT_PLAIN).body(alert.text(MAX_TEXT_BYTES))
    }

    fn timed_out(&self) -> AlertError {
        let source = format!("it has not accepted the mail within {:?}", self.settings.timeout);
        AlertError::Unreachable { channel: CHANNEL, host: self.server(), source: source.into() }
    }

    fn server(&self) -> String {
        format!("smtp://{}:{}", self.settings.host, self.settings.port)
    }

    /// Converts the error. The answer is masked, because a server may repeat the login data.
    fn send_error(
        &self,
        error: &lettre::transport::smtp::Error,
        secrets: &[SecretString],
    ) -> AlertError {
        let (channel, host) = (CHANNEL, self.server());
        let text = masked(with_causes(error), secrets);
        let text = cut(&text.replace(char::is_control, " "), 300);
        if error.is_permanent() || error.is_transient() {
            return AlertError::Rejected { channel, host, answer: text };
        }
        // The library has no other way to tell this kind of error.
        let is_unconnected = text.starts_with("Connection error");
        let source = if is_unconnected { NotConnected(text).into() } else { text.into() };
        AlertError::Unreachable { channel, host, source }
    }
}

/// Returns all texts that a login sends: the password, and its encodings with the user name.
///
/// The longest comes first, so that masking replaces it before its own parts.
fn login_secrets(username: &str, password: &str) -> Vec<SecretString> {
    let encoded = |text: &str| STANDARD.encode(text);
    let mut secrets = vec![
        password.to_owned(),
        encoded(&format!("\0{username}\0{password}")),
        encoded(password),
        encoded(username),
    ];
    secrets.sort_by_key(|text| std::cmp::Reverse(text.len()));
    secrets.into_iter().map(SecretString::from).collect()
}

fn masked(text: String, secrets: &[SecretString]) -> String {
    let secrets = secrets.iter().map(SecretString::expose_secret).filter(|s| !s.is_empty());
    secrets.fold(text, |text, secret| text.replace(secret, "***"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The encoded texts are outputs of commands such as `printf '\0jobs\0t0ps3cret' | base64`.
    #[test]
    fn login_data_is_masked_in_server_answers() {
        let secrets = login_secrets("jobs", "t0ps3cret");
        let rows = [
            ("the password", "535 wrong: t0ps3cret", "535 wrong: ***"),
            ("PLAIN", "500 AUTH PLAIN AGpvYnMAdDBwczNjcmV0 what?", "500 AUTH PLAIN *** what?"),
            ("LOGIN", "535 dDBwczNjcmV0 of am9icw==", "535 *** of ***"),
            ("no login data", "550 no such user: anna", "550 no such user: anna"),
        ];
        for (case, answer, expected) in rows {
            assert_eq!(masked(answer.to_owned(), &secrets), expected, "{case}");
        }
    }
}
