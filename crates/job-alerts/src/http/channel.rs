//! Sends a message and judges the answer of the server.

use async_trait::async_trait;
use jiff::Timestamp;
use outbound::SecretText;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Response, Url};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{HttpAlert, Kind, UrlFault, origin};
use crate::alert::cut;
use crate::channel::{Channel, Content};
use crate::{AlertError, sign};

/// Maximum length of an answer that is read, in bytes.
const MAX_ANSWER_BYTES: usize = 4 * 1024;
/// Maximum length of an answer in an error, in bytes.
const MAX_SHOWN_BYTES: usize = 200;

/// Channel to one URL.
pub(super) struct HttpChannel {
    pub(super) client: Client,
    pub(super) settings: HttpAlert,
}

#[async_trait]
impl Channel for HttpChannel {
    fn name(&self) -> &'static str {
        self.settings.kind.names().channel
    }

    async fn send(&self, alert: &dyn Content) -> Result<(), AlertError> {
        let mut url = self.url()?;
        let host = origin(&url);
        let mut secrets: Vec<SecretString> = parts_to_mask(&url);
        let mut request = self.client.post(url.clone());
        if let Some(secret) = self.secret()? {
            if self.settings.kind == Kind::DingTalk {
                self.sign(&mut url, secret.expose_secret());
                request = self.client.post(url);
            } else {
                let value = HeaderValue::from_str(secret.expose_secret());
                let mut value = value
                    .map_err(|_| self.unusable("the authorization is not a valid header value"))?;
                value.set_sensitive(true);
                request = request.header(AUTHORIZATION, value);
            }
            secrets.push(secret);
        }
        let timeout = self.settings.connect_timeout.saturating_add(self.settings.read_timeout);
        let request = request
            .timeout(timeout)
            .header(CONTENT_TYPE, "application/json; charset=utf-8")
            .body(self.body(alert).to_string());
        let answer = request.send().await.map_err(|error| self.unreachable(&host, error))?;
        self.check_answer(answer, host, &secrets).await
    }
}

impl HttpChannel {
    fn url(&self) -> Result<Url, AlertError> {
        self.settings.resolved_url().map_err(|fault| match fault {
            UrlFault::Unresolved(source) => self.unresolved(self.settings.kind.names().url, source),
            UrlFault::Invalid(found) => self.unusable(format!("{found} cannot be used")),
            UrlFault::NotPermittedForHost { field, reference, origin } => {
                self.unusable(format!("{field}, {reference}, is not permitted for {origin}"))
            }
        })
    }

    fn secret(&self) -> Result<Option<SecretString>, AlertError> {
        let names = self.settings.kind.names();
        let secret = self.settings.secret.as_ref().map(SecretText::resolve).transpose();
        secret.map_err(|source| self.unresolved(names.secret.unwrap_or("secret"), source))
    }

    fn unresolved(&self, setting: &str, source: outbound::SecretError) -> AlertError {
        let (channel, what) = (self.name(), format!("{setting} cannot be resolved"));
        AlertError::Setting { channel, what, source: Some(source) }
    }

    fn unreachable(&self, host: &str, error: reqwest::Error) -> AlertError {
        let (channel, host) = (self.name(), host.to_owned());
        AlertError::Unreachable { channel, host, source: error.without_url().into() }
    }

    fn unusable(&self, what: impl Into<String>) -> AlertError {
        AlertError::Setting { channel: self.name(), what: what.into(), source: None }
    }

    fn sign(&self, url: &mut Url, secret: &str) {
        // DingTalk accepts a time that differs from its own clock by at most one hour.
        let at_ms = Timestamp::now().as_millisecond();
        let signature = sign::ding_talk(secret, at_ms);
        url.query_pairs_mut()
            .append_pair("timestamp", &at_ms.to_string())
            .append_pair("sign", &signature);
    }

    fn body(&self, alert: &dyn Content) -> Value {
        let max_bytes = self.settings.kind.max_text_bytes();
        let text = |reserved: usize| alert.text(max_bytes.saturating_sub(reserved));
        match self.settings.kind {
            Kind::DingTalk => {
                let text = match &self.settings.keyword {
                    Some(keyword) => format!("{keyword}\n{}", text(keyword.len() + 1)),
                    None => text(0),
                };
                json!({ "msgtype": "text", "text": { "content": text } })
            }
            Kind::WeCom => json!({ "msgtype": "text", "text": { "content": text(0) } }),
            Kind::Slack => json!({ "text": escaped(&text(0)) }),
            Kind::Webhook => alert.body(),
        }
    }

    async fn check_answer(
        &self,
        mut answer: Response,
        host: String,
        secrets: &[SecretString],
    ) -> Result<(), AlertError> {
        let status = answer.status().as_u16();
        let body = read_beginning(&mut answer).await;
        let verdict = match (self.settings.kind, body) {
            // The server of a gateway may have got the alert before the gateway gave up.
            (_, body) if matches!(status, 502 | 504) => Verdict::Unclear(body.unwrap_or_default()),
            (Kind::DingTalk | Kind::WeCom, Ok(body)) if status == 200 => check_robot_answer(&body),
            (Kind::DingTalk | Kind::WeCom, Err(error)) if status == 200 => {
                return Err(self.unreachable(&host, error));
            }
            (Kind::DingTalk | Kind::WeCom, _) => Verdict::Rejected(String::new()),
            (Kind::Slack | Kind::Webhook, _) if (200..300).contains(&status) => Verdict::Accepted,
            (Kind::Slack | Kind::Webhook, body) => Verdict::Rejected(body.unwrap_or_default()),
        };
        let channel = self.name();
        let answer = |reason: &str| format!("{status}{}", shown(reason, secrets));
        match verdict {
            Verdict::Accepted => Ok(()),
            Verdict::Rejected(reason) => {
                Err(AlertError::Rejected { channel, host, answer: answer(&reason) })
            }
            Verdict::Unclear(reason) => {
                Err(AlertError::Unclear { channel, host, answer: answer(&reason) })
            }
        }
    }
}

/// Meaning of an answer, with the reason for anything but success.
enum Verdict {
    Accepted,
    Rejected(String),
    /// The service may have got the alert.
    Unclear(String),
}

/// Answer of a DingTalk or WeCom robot.
#[derive(Deserialize)]
struct RobotAnswer {
    errcode: i64,
    #[serde(default)]
    errmsg: String,
}

fn check_robot_answer(body: &str) -> Verdict {
    match serde_json::from_str::<RobotAnswer>(body) {
        Ok(RobotAnswer { errcode: 0, .. }) => Verdict::Accepted,
        Ok(RobotAnswer { errcode, errmsg }) => {
            Verdict::Rejected(format!("errcode {errcode}, {errmsg}"))
        }
        Err(_) => Verdict::Unclear("no errcode".to_owned()),
    }
}

/// Escapes the three characters that begin mentions and links in Slack.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Returns the parts of a URL to mask in the answer of a server, because the answer may repeat
/// them.
fn parts_to_mask(url: &Url) -> Vec<SecretString> {
    let whole = std::iter::once(url.as_str().to_owned());
    let segments = url.path_segments().into_iter().flatten().map(str::to_owned);
    let values = url.query_pairs().map(|(_, value)| value.into_owned());
    let user = [url.username(), url.password().unwrap_or_default()].map(str::to_owned);
    let parts = whole.chain(segments).chain(values).chain(user);
    // Shorter parts are no secrets, and masking them would make the answer unreadable.
    let mut parts: Vec<String> = parts.filter(|part| part.len() >= 6).collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
    parts.into_iter().map(SecretString::from).collect()
}

/// Formats the answer of a server for an error: one line, bounded, with secrets masked.
fn shown(answer: &str, secrets: &[SecretString]) -> String {
    let secrets = secrets.iter().map(SecretString::expose_secret).filter(|s| !s.is_empty());
    let masked = secrets.fold(answer.to_owned(), |text, secret| text.replace(secret, "***"));
    let line: String = masked.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.trim() {
        "" => String::new(),
        line => format!(": {}", cut(line, MAX_SHOWN_BYTES)),
    }
}

async fn read_beginning(answer: &mut Response) -> Result<String, reqwest::Error> {
    let mut bytes = Vec::new();
    while bytes.len() < MAX_ANSWER_BYTES
        && let Some(chunk) = answer.chunk().await?
    {
        bytes.extend_from_slice(&chunk);
    }
    bytes.truncate(MAX_ANSWER_BYTES);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
