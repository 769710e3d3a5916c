//! The request itself, and what comes of it.

use std::error::Error;
use std::fmt;

use async_trait::async_trait;
use lite::{Job, JobError, ShardingContext};
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue, LOCATION};
use reqwest::{Client, Method, Request, Response, StatusCode, Url};
use secrecy::{ExposeSecret as _, SecretString};

use super::CONTEXT_HEADER;
use crate::{SecretError, SecretText};

/// Longest part of a redirect's target in the error, in characters.
const MAX_LOCATION_CHARS: usize = 200;
/// How much of an answer is in the error.
const MAX_BODY_BYTES: usize = 4 * 1024;

/// A job that makes an HTTP request: once per item and fire.
///
/// The header `shardingContext` holds [`ShardingContext::to_java_json`], UTF-8 as it is, as ElasticJob 3.x sends it; only
/// the character U+007F, which no header may hold, is sent as `\u007f`. A status from 400 on is a failure with the status and the
/// first 4 KiB of the answer, and so are a redirect that is not followed and a request that gets no answer. (ElasticJob takes a status from 400 on for a success if
/// the answer has a body.) No proxy is used. A run that is cancelled closes its connection.
#[derive(Clone)]
pub struct HttpJob {
    pub(super) client: Client,
    pub(super) target: String,
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) body: Option<SecretText>,
    pub(super) content_type: Option<HeaderValue>,
    pub(super) headers: Vec<(HeaderName, SecretText)>,
}

/// Why a request did not succeed. Neither credentials nor the query of the URL are in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The server says that it did not succeed.
    #[error("{target} answered {status}{}", Answer(.body))]
    Status {
        /// What was asked for.
        target: String,
        /// The status, 400 or more.
        status: u16,
        /// The first 4 KiB of the answer.
        body: String,
    },
    /// The server redirects to what no request can be made to, such as `file:///tmp`.
    #[error(
        "{target} answered {status} with Location {location:?}, which is not followed; valid is http or https on the same origin"
    )]
    Redirect {
        /// Method and URL of the request.
        target: String,
        /// The status, 300 to 399.
        status: u16,
        /// The beginning of the header `Location`.
        location: String,
    },
    /// There was no answer, or none in time.
    #[error("{target} got no answer")]
    NoAnswer {
        /// What was asked for.
        target: String,
        /// Why.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// Something of the request could not be looked up, or cannot be sent.
    #[error("{target} was not asked: {what}")]
    Request {
        /// What was asked for.
        target: String,
        /// What is wrong.
        what: String,
        /// The reference that leads nowhere, if that is it.
        #[source]
        source: Option<SecretError>,
    },
    /// The run was cancelled or its time was over.
    #[error("{target} was given up: the run was cancelled or its time was over")]
    GivenUp {
        /// What was asked for.
        target: String,
    },
}

impl HttpJob {
    /// Returns what is asked for, as logs and errors show it: without credentials and query.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Returns where the requests go: scheme, host, and the port if it is not the usual one.
    #[must_use]
    pub fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// Returns true if the URL names a user.
    #[cfg(unix)]
    pub(crate) fn has_user(&self) -> bool {
        !self.url.username().is_empty() || self.url.password().is_some()
    }

    /// Looks up everything that headers and body refer to, to find what leads nowhere before a run does.
    ///
    /// # Errors
    /// [`HttpError::Request`] names the reference.
    pub fn check_secrets(&self) -> Result<(), HttpError> {
        self.headers
            .iter()
            .map(|(_, value)| value)
            .chain(&self.body)
            .try_for_each(|text| self.resolved(text).map(drop))
    }

    fn resolved(&self, text: &SecretText) -> Result<SecretString, HttpError> {
        text.resolve().map_err(|source| HttpError::Request {
            target: self.target.clone(),
            what: "a secret is not there".to_owned(),
            source: Some(source),
        })
    }

    fn unsendable(&self, what: String) -> HttpError {
        HttpError::Request { target: self.target.clone(), what, source: None }
    }

    /// Returns the request, and what of it must not be shown even if the server does.
    fn request(
        &self,
        context: &ShardingContext,
    ) -> Result<(Request, Vec<SecretString>), HttpError> {
        let mut secrets = Vec::new();
        let mut request = self.client.request(self.method.clone(), self.url.clone());
        let json = context.to_java_json().replace('\u{7f}', "\\u007f");
        let json = HeaderValue::from_bytes(json.as_bytes());
        let json = json.map_err(|_| self.unsendable("the context fits no header".to_owned()))?;
        request = request.header(CONTEXT_HEADER, json);
        if let Some(kind) = &self.content_type {
            request = request.header(CONTENT_TYPE, kind);
        } else if self.method == Method::POST && self.body.is_some() {
            request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        }
        for (name, text) in &self.headers {
            let value = self.resolved(text)?;
            let header = HeaderValue::from_bytes(value.expose_secret().as_bytes());
            let mut header = header
                .map_err(|_| self.unsendable(format!("the value of {name} fits no header")))?;
            header.set_sensitive(true);
            request = request.header(name, header);
            secrets.push(value);
        }
        if let Some(body) = &self.body {
            request = request.body(self.resolved(body)?.expose_secret().to_owned());
        }
        secrets.extend(self.url.password().map(|password| password.to_owned().into()));
        let built = request.build();
        Ok((built.map_err(|error| self.unsendable(error.without_url().to_string()))?, secrets))
    }

    async fn ask(&self, context: &ShardingContext) -> Result<(), HttpError> {
        let (request, secrets) = self.request(context)?;
        let answer = self.client.execute(request).await;
        let mut answer = answer.map_err(|error| HttpError::NoAnswer {
            target: self.target.clone(),
            source: error.without_url().into(),
        })?;
        let status = answer.status();
        tracing::debug!(target = self.target, status = status.as_u16(), "HTTP answer");
        // The client hands back a redirect that it cannot follow, such as one to `file:///`.
        if let Some(location) = answer.headers().get(LOCATION).filter(|_| status.is_redirection()) {
            let location = String::from_utf8_lossy(location.as_bytes()).into_owned();
            let location = masked(location, &secrets).chars().take(MAX_LOCATION_CHARS).collect();
            let (target, status) = (self.target.clone(), status.as_u16());
            return Err(HttpError::Redirect { target, status, location });
        }
        if is_success(status) {
            return Ok(());
        }
        let body = masked(beginning(&mut answer).await, &secrets);
        Err(HttpError::Status { target: self.target.clone(), status: status.as_u16(), body })
    }
}

#[async_trait]
impl Job for HttpJob {
    async fn execute(&self, context: ShardingContext) -> Result<(), JobError> {
        tokio::select! {
            biased;
            () = context.cancelled() => {
                Err(HttpError::GivenUp { target: self.target.clone() }.into())
            }
            answer = self.ask(&context) => Ok(answer?),
        }
    }
}

impl fmt::Debug for HttpJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpJob").field("target", &self.target).finish_non_exhaustive()
    }
}

fn is_success(status: StatusCode) -> bool {
    status.as_u16() < 400
}

/// Reads the beginning of an answer, as far as it comes.
async fn beginning(answer: &mut Response) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < MAX_BODY_BYTES {
        match answer.chunk().await {
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) | Err(_) => break,
        }
    }
    bytes.truncate(MAX_BODY_BYTES);
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

fn masked(text: String, secrets: &[SecretString]) -> String {
    let secrets = secrets.iter().map(SecretString::expose_secret);
    secrets
        .filter(|secret| !secret.is_empty())
        .fold(text, |text, secret| text.replace(secret, "***"))
}

struct Answer<'a>(&'a str);

impl fmt::Display for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => f.write_str(" and nothing else"),
            body => write!(f, ": {body}"),
        }
    }
}
