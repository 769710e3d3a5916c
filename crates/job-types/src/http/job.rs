//! Sends a request and judges the answer.

use std::error::Error;
use std::fmt;

use async_trait::async_trait;
use lite::{Job, JobError, Masks, OutputStream, ShardingContext};
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue, LOCATION};
use reqwest::{Client, Method, Request, Response, StatusCode, Url};
use secrecy::{ExposeSecret as _, SecretString};

use super::CONTEXT_HEADER;
use crate::{SecretError, SecretText};

/// Maximum length of a redirect's location in the error, in characters.
const MAX_LOCATION_CHARS: usize = 200;
/// Maximum length of an answer in the error, in bytes.
const MAX_BODY_BYTES: usize = 4 * 1024;

/// A job that sends an HTTP request for each item and fire.
///
/// The header `shardingContext` holds [`ShardingContext::to_java_json`] in UTF-8, as ElasticJob 3.x
/// sends it. Only the character U+007F, which no header may hold, is sent as `\u007f`.
///
/// A status of 400 or more is a failure, with the status and the first 4 KiB of the answer. So are
/// a redirect that is not followed, and a request without an answer. (ElasticJob takes a status of
/// 400 or more for a success if the answer has a body.) No proxy is used. A history keeps the
/// status and the first 4 KiB of the answer as the output of the run. A cancelled run closes
/// its connection.
#[derive(Clone)]
pub struct HttpJob {
    pub(super) client: Client,
    pub(super) target: String,
    pub(super) method: Method,
    pub(super) url: Url,
    /// Secrets of the URL.
    pub(super) url_masks: Masks,
    pub(super) body: Option<SecretText>,
    pub(super) content_type: Option<HeaderValue>,
    pub(super) headers: Vec<(HeaderName, SecretText)>,
}

/// Reason why a request did not succeed. It holds neither credentials nor the query of the URL.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The server answered with an error status.
    #[error("{target} answered {status}{}", Answer(.body))]
    Status {
        /// Method and URL of the request.
        target: String,
        /// Status, 400 or more.
        status: u16,
        /// First 4 KiB of the answer.
        body: String,
    },
    /// The server redirects to a location that is no HTTP URL, such as `file:///tmp`.
    #[error(
        "{target} answered {status} with Location {location:?}, which is not followed; \
         valid is http or https on the same origin"
    )]
    Redirect {
        /// Method and URL of the request.
        target: String,
        /// Status, 300 to 399.
        status: u16,
        /// Beginning of the header `Location`.
        location: String,
    },
    /// The server did not answer, or not in time.
    #[error("{target} got no answer")]
    NoAnswer {
        /// Method and URL of the request.
        target: String,
        /// Error of the connection.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The request could not be built: a reference cannot be resolved, or a value cannot be sent.
    #[error("{target} was not sent: {what}")]
    Request {
        /// Method and URL of the request.
        target: String,
        /// Reason why it could not be built.
        what: String,
        /// The reference that cannot be resolved, if that is the reason.
        #[source]
        source: Option<SecretError>,
    },
    /// The run was cancelled or timed out.
    #[error("{target} was aborted: the run was cancelled or timed out")]
    Aborted {
        /// Method and URL of the request.
        target: String,
    },
}

impl HttpJob {
    /// Returns method and URL in the form that logs and errors show: without credentials and query.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Returns the origin of the URL: scheme, host, and the port if it is not the default one.
    #[must_use]
    pub fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// Checks that all references of headers and body can be resolved, before a run needs them.
    ///
    /// # Errors
    /// [`HttpError::Request`] names the reference that cannot be resolved.
    pub fn check_secrets(&self) -> Result<(), HttpError> {
        self.headers
            .iter()
            .map(|(_, value)| value)
            .chain(&self.body)
            .try_for_each(|text| self.resolve(text).map(drop))
    }

    /// Returns the text, and the values of the references in it.
    fn resolve(&self, text: &SecretText) -> Result<(SecretString, Vec<SecretString>), HttpError> {
        text.resolve_with_values().map_err(|source| HttpError::Request {
            target: self.target.clone(),
            what: "a secret cannot be resolved".to_owned(),
            source: Some(source),
        })
    }

    fn unsendable(&self, what: String) -> HttpError {
        HttpError::Request { target: self.target.clone(), what, source: None }
    }

    /// Returns the request, and the masks of its secrets for the answer.
    fn request(&self, context: &ShardingContext) -> Result<(Request, Masks), HttpError> {
        let mut masks = self.url_masks.clone();
        let mut request = self.client.request(self.method.clone(), self.url.clone());
        let json = context.to_java_json().replace('\u{7f}', "\\u007f");
        let json = HeaderValue::from_bytes(json.as_bytes());
        let json =
            json.map_err(|_| self.unsendable("the context cannot be a header value".to_owned()))?;
        request = request.header(CONTEXT_HEADER, json);
        if let Some(kind) = &self.content_type {
            request = request.header(CONTENT_TYPE, kind);
        } else if self.method == Method::POST && self.body.is_some() {
            request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        }
        for (name, text) in &self.headers {
            let (value, secrets) = self.resolve(text)?;
            let header = HeaderValue::from_bytes(value.expose_secret().as_bytes());
            let mut header = header.map_err(|_| {
                self.unsendable(format!("the value of {name} cannot be a header value"))
            })?;
            header.set_sensitive(true);
            request = request.header(name, header);
            // A header without a reference may be a secret that a program has from elsewhere.
            if secrets.is_empty() {
                masks.add(value.expose_secret());
            }
            secrets.iter().for_each(|secret| masks.add(secret.expose_secret()));
        }
        if let Some(body) = &self.body {
            let (body, secrets) = self.resolve(body)?;
            secrets.iter().for_each(|secret| masks.add(secret.expose_secret()));
            request = request.body(body.expose_secret().to_owned());
        }
        let built = request.build();
        Ok((built.map_err(|error| self.unsendable(error.without_url().to_string()))?, masks))
    }

    async fn send(&self, context: &ShardingContext) -> Result<(), HttpError> {
        let (request, masks) = self.request(context)?;
        let answer = self.client.execute(request).await;
        let mut answer = answer.map_err(|error| HttpError::NoAnswer {
            target: self.target.clone(),
            source: error.without_url().into(),
        })?;
        let status = answer.status();
        tracing::debug!(target = self.target, status = status.as_u16(), "HTTP answer");
        // The client returns a redirect that it cannot follow, such as one to `file:///`.
        if status.is_redirection()
            && let Some(location) = answer.headers().get(LOCATION)
        {
            let location = String::from_utf8_lossy(location.as_bytes()).into_owned();
            let location = masks.apply(&location).chars().take(MAX_LOCATION_CHARS).collect();
            let (target, status) = (self.target.clone(), status.as_u16());
            return Err(HttpError::Redirect { target, status, location });
        }
        let log = context.log().of_stream(OutputStream::Http);
        log.line(format!("{} answered {status}", self.target));
        if is_success(status) && !log.is_kept() {
            return Ok(());
        }
        // A secret at the end of the answer is masked before the answer is cut.
        let body = read_beginning(&mut answer, MAX_BODY_BYTES + masks.longest()).await;
        let body = masks.apply_to_beginning(&body, MAX_BODY_BYTES);
        if !body.is_empty() {
            log.line(&body);
        }
        if is_success(status) {
            return Ok(());
        }
        Err(HttpError::Status { target: self.target.clone(), status: status.as_u16(), body })
    }
}

#[async_trait]
impl Job for HttpJob {
    async fn execute(&self, context: ShardingContext) -> Result<(), JobError> {
        tokio::select! {
            biased;
            () = context.cancelled() => {
                Err(HttpError::Aborted { target: self.target.clone() }.into())
            }
            answer = self.send(&context) => Ok(answer?),
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

/// Reads the beginning of an answer, up to the limit or an error.
async fn read_beginning(answer: &mut Response, max_bytes: usize) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < max_bytes {
        match answer.chunk().await {
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) | Err(_) => break,
        }
    }
    bytes.truncate(max_bytes);
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

struct Answer<'a>(&'a str);

impl fmt::Display for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => f.write_str(" without a body"),
            body => write!(f, ": {body}"),
        }
    }
}
