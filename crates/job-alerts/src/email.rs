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
use outbound::SecretText;
use secrecy::{ExposeSecret as _, SecretString};

use crate::alert::{Alert, cut};
use crate::channel::Channel;
use crate::handler::with_causes;
use crate::{AlertError, AlertHandler};

const CHANNEL: &str = "EMAIL";
/// How much text a mail has.
const MAX_TEXT_BYTES: usize = 64 * 1024;

/// How the connection to a mail server is protected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MailTls {
    /// By TLS from the first byte on, as at port 465.
    #[default]
    Wrapper,
    /// By TLS after `STARTTLS`, as at port 587. A server that does not offer it gets no mail and no password.
    StartTls,
    /// Not at all: for relays on the same host. Not with a password.
    None,
}

/// Describes an error handler that sends mails.
///
/// | option | default | property of a stored configuration |
/// |---|---|---|
/// | host and port | required | `email.host`, `email.port` |
/// | from and to | required | `email.from`, `email.to`: addresses, separated by commas |
/// | [`credentials`](Self::credentials) | none | `email.username`, `email.password` |
/// | [`cc`](Self::cc), [`bcc`](Self::bcc) | none | `email.cc`, `email.bcc` |
/// | [`subject`](Self::subject) | what has failed | `email.subject` |
/// | [`tls`](Self::tls) | from the first byte on | `email.tls`: `wrapper`, `starttls` or `none`; `email.useSsl`: `true` is `wrapper`, `false` is `starttls` |
/// | [`timeout`](Self::timeout) | 20 s | `email.timeoutMilliseconds` |
///
/// Certificates are those of the operating system, and are always checked.
///
/// # Examples
/// ```
/// use job_alerts::Email;
/// use outbound::SecretText;
///
/// let handler = Email::new("mail.example.com", 465, "Jobs <jobs@example.com>", "anna@example.com, ops@example.com")
///     .credentials("jobs", SecretText::literal("s3cret"))
///     .build()?;
/// assert!(!format!("{handler:?}").contains("s3cret"));
/// # Ok::<(), lite::InvalidConfig>(())
/// ```
#[derive(Clone)]
#[must_use = "a handler is made by `build`"]
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
    /// Begins the description of a handler: by which server, from whom, and to whom, separated by commas.
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

    /// Sets as whom to log in, and the password.
    pub fn credentials(mut self, username: impl Into<String>, password: SecretText) -> Self {
        self.credentials = Some((username.into(), password));
        self
    }

    /// Adds those who get a copy, separated by commas.
    pub fn cc(mut self, addresses: impl Into<String>) -> Self {
        self.cc = addresses.into();
        self
    }

    /// Adds those who get a copy that nobody else is told of, separated by commas.
    pub fn bcc(mut self, addresses: impl Into<String>) -> Self {
        self.bcc = addresses.into();
        self
    }

    /// Sets the subject of all mails. Without it, it says what has failed.
    pub fn subject(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    /// Sets how the connection is protected. Default from the first byte on.
    pub fn tls(mut self, tls: MailTls) -> Self {
        self.tls = tls;
        self
    }

    /// Sets how long a mail may take from the connection to the server's last word, more than zero. Default 20 s.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Checks everything that can be checked without a mail, and makes the handler.
    ///
    /// # Errors
    /// [`InvalidConfig`] names the first setting that cannot be used, by the name of its property, and what would be valid.
    pub fn build(self) -> Result<AlertHandler, InvalidConfig> {
        self.check_server()?;
        let envelope = self.envelope()?;
        self.check_credentials()?;
        let (host, port) = (self.host.to_ascii_lowercase(), self.port);
        let transport = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(host)
            .port(port)
            .timeout(Some(self.timeout))
            .tls(self.tls_of_transport()?);
        Ok(AlertHandler::new(MailChannel { transport, envelope, settings: self }))
    }

    fn check_server(&self) -> Result<(), InvalidConfig> {
        let host = &self.host;
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '_');
        if host.is_empty() || !host.chars().all(fits) {
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
            let valid = "one address or more, separated by commas";
            return Err(InvalidConfig::new("email.to", format!("{:?}", self.to), valid));
        }
        let (cc, bcc) = (mailboxes("email.cc", &self.cc)?, mailboxes("email.bcc", &self.bcc)?);
        Ok(Envelope { from, to, cc, bcc })
    }

    fn check_credentials(&self) -> Result<(), InvalidConfig> {
        let Some((username, password)) = &self.credentials else { return Ok(()) };
        if username.trim().is_empty() {
            let valid = "a name, or neither name nor password";
            return Err(InvalidConfig::new("email.username", "blank", valid));
        }
        if self.tls == MailTls::None {
            let valid = "wrapper or starttls: a password is not sent without TLS";
            return Err(InvalidConfig::new("email.tls", "none, with a password", valid));
        }
        let password = password.resolve().map_err(|error| {
            let valid = "${env:NAME} or ${file:/absolute/path} of a secret that is there";
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

/// Reads addresses that are separated by commas; none if there are none.
fn mailboxes(field: &'static str, text: &str) -> Result<Vec<Mailbox>, InvalidConfig> {
    let addresses = text.split(',').map(str::trim).filter(|address| !address.is_empty());
    let read = addresses.map(|address| {
        address.parse().map_err(|_| {
            let valid = "addresses such as anna@example.com, separated by commas";
            InvalidConfig::new(field, format!("{address:?}"), valid)
        })
    });
    read.collect()
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

    async fn send(&self, alert: &Alert) -> Result<(), AlertError> {
        let mut transport = self.transport.clone();
        let mut secrets = Vec::new();
        if let Some((username, password)) = &self.settings.credentials {
            let password = password.resolve().map_err(|source| AlertError::Setting {
                channel: CHANNEL,
                what: "email.password leads nowhere".to_owned(),
                source: Some(source),
            })?;
            let text = password.expose_secret().to_owned();
            secrets = said_to_log_in(username, &text);
            // Others show the password to whoever is in between, or need a list of what the server has.
            transport = transport
                .credentials(Credentials::new(username.clone(), text))
                .authentication(vec![Mechanism::Plain, Mechanism::Login]);
        }
        let message = self.message(alert).map_err(|error| AlertError::Setting {
            channel: CHANNEL,
            what: format!("no mail can be made of it ({error})"),
            source: None,
        })?;
        let transport = transport.build::<Tokio1Executor>();
        let sending = transport.send(message);
        let Ok(sent) = tokio::time::timeout(self.settings.timeout, sending).await else {
            return Err(self.too_late());
        };
        sent.map(drop).map_err(|error| self.failed(&error, &secrets))
    }
}

impl MailChannel {
    fn message(&self, alert: &Alert) -> Result<Message, lettre::error::Error> {
        let Envelope { from, to, cc, bcc } = &self.envelope;
        let subject = self.settings.subject.clone().unwrap_or_else(|| cut(&alert.subject(), 200));
        let message = Message::builder().from(from.clone()).subject(subject);
        let message = to.iter().cloned().fold(message, lettre::message::MessageBuilder::to);
        let message = cc.iter().cloned().fold(message, lettre::message::MessageBuilder::cc);
        let message = bcc.iter().cloned().fold(message, lettre::message::MessageBuilder::bcc);
        message.header(ContentType::TEXT_PLAIN).body(alert.text(MAX_TEXT_BYTES))
    }

    fn too_late(&self) -> AlertError {
        let source = format!("it has not taken the mail within {:?}", self.settings.timeout);
        AlertError::Unreachable { channel: CHANNEL, host: self.server(), source: source.into() }
    }

    fn server(&self) -> String {
        format!("smtp://{}:{}", self.settings.host, self.settings.port)
    }

    /// A server may repeat what it was sent.
    fn failed(
        &self,
        error: &lettre::transport::smtp::Error,
        secrets: &[SecretString],
    ) -> AlertError {
        let (channel, host) = (CHANNEL, self.server());
        let said = masked(with_causes(error), secrets);
        let said = cut(&said.replace(char::is_control, " "), 300);
        if error.is_permanent() || error.is_transient() {
            return AlertError::Refused { channel, host, answer: said };
        }
        AlertError::Unreachable { channel, host, source: said.into() }
    }
}

/// Returns all that is said to a server to log in, the longest first: the password, and what the mechanisms make of it and of the
/// user name.
fn said_to_log_in(username: &str, password: &str) -> Vec<SecretString> {
    let encoded = |text: &str| STANDARD.encode(text);
    let mut said = vec![
        password.to_owned(),
        encoded(&format!("\0{username}\0{password}")),
        encoded(password),
        encoded(username),
    ];
    said.sort_by_key(|text| std::cmp::Reverse(text.len()));
    said.into_iter().map(SecretString::from).collect()
}

fn masked(said: String, secrets: &[SecretString]) -> String {
    let secrets = secrets.iter().map(SecretString::expose_secret).filter(|s| !s.is_empty());
    secrets.fold(said, |said, secret| said.replace(secret, "***"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encoded by `printf '\0jobs\0t0ps3cret' | base64`, and so on.
    #[test]
    fn nothing_that_is_said_to_log_in_is_shown_when_a_server_repeats_it() {
        let secrets = said_to_log_in("jobs", "t0ps3cret");
        let rows = [
            ("the password", "535 wrong: t0ps3cret", "535 wrong: ***"),
            ("PLAIN", "500 AUTH PLAIN AGpvYnMAdDBwczNjcmV0 what?", "500 AUTH PLAIN *** what?"),
            ("LOGIN", "535 dDBwczNjcmV0 of am9icw==", "535 *** of ***"),
            ("nothing of it", "550 no such user: anna", "550 no such user: anna"),
        ];
        for (case, said, expected) in rows {
            assert_eq!(masked(said.to_owned(), &secrets), expected, "{case}");
        }
    }
}
