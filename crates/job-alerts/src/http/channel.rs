//! The message itself, and what the server makes of it.

use async_trait::async_trait;
use jiff::Timestamp;
use outbound::SecretText;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Response, Url};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Fault, HttpAlert, Kind, origin};
use crate::alert::{Alert, cut};
use crate::channel::Channel;
use crate::{AlertError, sign};

/// How much of an answer is looked at.
const MAX_ANSWER_BYTES: usize = 4 * 1024;
/// How much of what a server says is in an error.
const MAX_SAID_BYTES: usize = 200;

/// The way to one URL.
pub(super) struct HttpChannel {
    pub(super) client: Client,
    pub(super) settings: HttpAlert,
}

#[async_trait]
impl Channel for HttpChannel {
    fn name(&self) -> &'static str {
        self.settings.kind.names().channel
    }

    async fn send(&self, alert: &Alert) -> Result<(), AlertError> {
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
                let mut value = value.map_err(|_| self.unusable("its secret fits no header"))?;
                value.set_sensitive(true);
                request = request.header(AUTHORIZATION, value);
            }
            secrets.push(secret);
        }
        let whole = self.settings.connect_timeout.saturating_add(self.settings.read_timeout);
        let request = request
            .timeout(whole)
            .header(CONTENT_TYPE, "application/json; charset=utf-8")
            .body(self.body(alert).to_string());
        let answer = request.send().await.map_err(|error| AlertError::Unreachable {
            channel: self.name(),
            host: host.clone(),
            source: error.without_url().into(),
        })?;
        self.judge(answer, host, &secrets).await
    }
}

impl HttpChannel {
    fn url(&self) -> Result<Url, AlertError> {
        self.settings.resolved_url().map_err(|fault| match fault {
            Fault::Missing(source) => self.missing(self.settings.kind.names().url, source),
            Fault::Wrong(what) => self.unusable(format!("{what} is not used")),
            Fault::ForOthers { field, reference, origin } => {
                self.unusable(format!("{field}, {reference}, is not permitted for {origin}"))
            }
        })
    }

    fn secret(&self) -> Result<Option<SecretString>, AlertError> {
        let names = self.settings.kind.names();
        let secret = self.settings.secret.as_ref().map(SecretText::resolve).transpose();
        secret.map_err(|source| self.missing(names.secret.unwrap_or("secret"), source))
    }

    fn missing(&self, setting: &str, source: outbound::SecretError) -> AlertError {
        let (channel, what) = (self.name(), format!("{setting} leads nowhere"));
        AlertError::Setting { channel, what, source: Some(source) }
    }

    fn unusable(&self, what: impl Into<String>) -> AlertError {
        AlertError::Setting { channel: self.name(), what: what.into(), source: None }
    }

    fn sign(&self, url: &mut Url, secret: &str) {
        // The service compares it with its own clock, and takes it for an hour.
        let at_ms = Timestamp::now().as_millisecond();
        let signature = sign::ding_talk(secret, at_ms);
        url.query_pairs_mut()
            .append_pair("timestamp", &at_ms.to_string())
            .append_pair("sign", &signature);
    }

    fn body(&self, alert: &Alert) -> Value {
        let text = |room: usize| alert.text(self.settings.kind.max_text().saturating_sub(room));
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
            Kind::Webhook => json!(alert.body()),
        }
    }

    async fn judge(
        &self,
        mut answer: Response,
        host: String,
        secrets: &[SecretString],
    ) -> Result<(), AlertError> {
        let status = answer.status().as_u16();
        let said = beginning(&mut answer).await;
        let verdict = match self.settings.kind {
            Kind::DingTalk | Kind::WeCom if status == 200 => verdict_of_robot(&said),
            Kind::DingTalk | Kind::WeCom => Err(String::new()),
            Kind::Slack | Kind::Webhook if (200..300).contains(&status) => Ok(()),
            Kind::Slack | Kind::Webhook => Err(said),
        };
        verdict.map_err(|said| {
            let (channel, said) = (self.name(), shown(&said, secrets));
            AlertError::Refused { channel, host, answer: format!("{status}{said}") }
        })
    }
}

/// What a robot of DingTalk or WeCom answers.
#[derive(Deserialize)]
struct RobotAnswer {
    errcode: i64,
    #[serde(default)]
    errmsg: String,
}

fn verdict_of_robot(said: &str) -> Result<(), String> {
    match serde_json::from_str::<RobotAnswer>(said) {
        Ok(RobotAnswer { errcode: 0, .. }) => Ok(()),
        Ok(RobotAnswer { errcode, errmsg }) => Err(format!("errcode {errcode}, {errmsg}")),
        Err(_) => Err("no errcode".to_owned()),
    }
}

/// Slack takes these three characters for the beginning of mentions and links.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Returns what of a URL a server must not get shown when it repeats it.
fn parts_to_mask(url: &Url) -> Vec<SecretString> {
    let whole = std::iter::once(url.as_str().to_owned());
    let segments = url.path_segments().into_iter().flatten().map(str::to_owned);
    let values = url.query_pairs().map(|(_, value)| value.into_owned());
    let user = [url.username(), url.password().unwrap_or_default()].map(str::to_owned);
    let parts = whole.chain(segments).chain(values).chain(user);
    // Shorter ones are no secrets, and would mask half of what is said.
    let mut parts: Vec<String> = parts.filter(|part| part.len() >= 6).collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
    parts.into_iter().map(SecretString::from).collect()
}

/// Returns what a server has said for an error: one line, bounded, without secrets.
fn shown(said: &str, secrets: &[SecretString]) -> String {
    let secrets = secrets.iter().map(SecretString::expose_secret).filter(|s| !s.is_empty());
    let masked = secrets.fold(said.to_owned(), |text, secret| text.replace(secret, "***"));
    let line: String = masked.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.trim() {
        "" => String::new(),
        line => format!(": {}", cut(line, MAX_SAID_BYTES)),
    }
}

async fn beginning(answer: &mut Response) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < MAX_ANSWER_BYTES {
        match answer.chunk().await {
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) | Err(_) => break,
        }
    }
    bytes.truncate(MAX_ANSWER_BYTES);
    String::from_utf8_lossy(&bytes).into_owned()
}
