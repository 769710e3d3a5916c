//! The HTTP job: a request once per item.

mod client;

use std::error::Error;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use lite::{Job, JobError, ShardingContext};
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Client, Method, Request, Response, StatusCode, Url};
use secrecy::{ExposeSecret as _, SecretString};

use crate::{Invalid, SecretError, SecretText};
use client::Limits;

/// The header with the context, as in ElasticJob 3.x.
const CONTEXT_HEADER: HeaderName = HeaderName::from_static("shardingcontext");
/// How much of an answer is in the error.
const MAX_BODY_BYTES: usize = 4 * 1024;
const METHODS: [Method; 7] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::OPTIONS,
];

/// Describes an [`HttpJob`].
///
/// | option | default | of ElasticJob 3.x |
/// |---|---|---|
/// | [`body`](Self::body) | none | `http.data` |
/// | [`content_type`](Self::content_type) | that of a form for `POST`, else none | `http.content.type` |
/// | [`header`](Self::header) | none | — |
/// | [`connect_timeout`](Self::connect_timeout) | 3 s | `http.connect.timeout.milliseconds` |
/// | [`read_timeout`](Self::read_timeout) | 5 s | `http.read.timeout.milliseconds` |
/// | [`max_redirects`](Self::max_redirects) | 5, within the origin | what the JDK does |
///
/// # Examples
/// ```
/// use std::time::Duration;
///
/// use job_types::{Http, SecretText};
///
/// let job = Http::new("POST", "https://reports.example.com/run")
///     .body(SecretText::literal(r#"{"full":true}"#))
///     .content_type("application/json")
///     .header("authorization", SecretText::literal("Bearer s3cret"))
///     .read_timeout(Duration::from_secs(60))
///     .build()?;
/// assert_eq!(job.target(), "POST https://reports.example.com/run");
/// # Ok::<(), job_types::Invalid>(())
/// ```
///
/// # Example: a mistake is named when it is made
/// ```
/// let error = job_types::Http::new("post", "https://reports.example.com/run").build().unwrap_err();
/// assert_eq!(error.to_string(), r#"http.method is "post"; valid is one of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"#);
/// ```
#[derive(Clone, Debug)]
#[must_use = "a job is made by `build`"]
pub struct Http {
    method: String,
    url: SecretText,
    hides_path: bool,
    body: Option<SecretText>,
    content_type: Option<String>,
    headers: Vec<(String, SecretText)>,
    limits: Limits,
}

impl Http {
    /// Begins the description of a request. The method is in capitals, the URL begins with `http://` or `https://`.
    ///
    /// A user and a password in the URL are sent as basic authentication. Errors and logs show the URL without them, and
    /// without its query.
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            method: method.into(),
            url: SecretText::literal(url),
            hides_path: false,
            body: None,
            content_type: None,
            headers: Vec::new(),
            limits: Limits {
                connect_timeout: Duration::from_secs(3),
                read_timeout: Duration::from_secs(5),
                max_redirects: 5,
            },
        }
    }

    /// Replaces the URL by one that refers to secrets. They are looked up when the job is made. Errors and logs then show
    /// nothing of the URL but scheme, host and port.
    pub fn secret_url(self, url: SecretText) -> Self {
        Self { hides_path: url.refers(), url, ..self }
    }

    /// Sets what is sent with `POST`, `PUT`, `PATCH` and `DELETE`.
    pub fn body(self, body: SecretText) -> Self {
        Self { body: Some(body), ..self }
    }

    /// Sets the type of the body. A `POST` without it is sent as `application/x-www-form-urlencoded`, as by ElasticJob.
    pub fn content_type(self, content_type: impl Into<String>) -> Self {
        Self { content_type: Some(content_type.into()), ..self }
    }

    /// Adds a header.
    pub fn header(mut self, name: impl Into<String>, value: SecretText) -> Self {
        self.headers.push((name.into(), value));
        self
    }

    /// Sets how long a connection may take to be made, more than zero. Default 3 s.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.limits.connect_timeout = timeout;
        self
    }

    /// Sets how long the server may be silent, more than zero. Default 5 s. How long the whole request may take says
    /// [`Registration::timeout`](lite::Registration::timeout).
    pub fn read_timeout(mut self, timeout: Duration) -> Self {
        self.limits.read_timeout = timeout;
        self
    }

    /// Sets how many redirects are followed, 0 to 20. Default 5. One to another scheme, host or port is never followed:
    /// the request carries credentials, and the job may be allowed for that host alone.
    pub fn max_redirects(mut self, max: usize) -> Self {
        self.limits.max_redirects = max;
        self
    }

    /// Checks everything that can be checked without a request, and makes the job.
    ///
    /// # Errors
    /// [`Invalid`] names the first field that cannot be used, its value and what would be valid.
    pub fn build(self) -> Result<HttpJob, Invalid> {
        let method = self.checked_method()?;
        let url = self.checked_url()?;
        self.check_limits()?;
        let content_type = self.content_type.as_deref().map(|kind| {
            HeaderValue::from_str(kind).map_err(|_| {
                Invalid::new("http.content_type", format!("{kind:?}"), "the value of a header")
            })
        });
        let headers = self.headers.iter().map(|(name, value)| {
            let valid = "a name of letters, digits and hyphens";
            let known = HeaderName::try_from(name).ok();
            let known = known.filter(|name| *name != CONTEXT_HEADER);
            let known =
                known.ok_or_else(|| Invalid::new("http.headers", format!("{name:?}"), valid))?;
            Ok((known, value.clone()))
        });
        Ok(HttpJob {
            client: client::client(&url, self.limits)?,
            target: shown(&method, &url, self.hides_path),
            content_type: content_type.transpose()?,
            headers: headers.collect::<Result<_, Invalid>>()?,
            body: self.body,
            method,
            url,
        })
    }

    fn checked_method(&self) -> Result<Method, Invalid> {
        let method = METHODS.into_iter().find(|method| method.as_str() == self.method);
        let method = method.ok_or_else(|| {
            let all = METHODS.map(|method| method.to_string()).join(", ");
            Invalid::new("http.method", format!("{:?}", self.method), format!("one of {all}"))
        })?;
        let sends = [Method::POST, Method::PUT, Method::PATCH, Method::DELETE].contains(&method);
        if self.body.is_some() && !sends {
            let valid = "POST, PUT, PATCH or DELETE, or any without a body";
            return Err(Invalid::new("http.method", method, valid));
        }
        Ok(method)
    }

    fn checked_url(&self) -> Result<Url, Invalid> {
        let valid = "a URL such as https://host/path";
        // Not the text: it may hold credentials.
        let wrong = |found: String| Invalid::new("http.url", found, valid);
        let text = self.url.resolve().map_err(|error| wrong(error.to_string()))?;
        let url = Url::parse(text.expose_secret());
        let url = url.map_err(|error| wrong(format!("a text that is no URL ({error})")))?;
        match url.scheme() {
            "http" | "https" => Ok(url),
            other => Err(wrong(format!("a URL with the scheme {other:?}"))),
        }
    }

    fn check_limits(&self) -> Result<(), Invalid> {
        let Limits { connect_timeout, read_timeout, max_redirects } = self.limits;
        let rows = [("http.connect_timeout", connect_timeout), ("http.read_timeout", read_timeout)];
        for (field, timeout) in rows {
            if timeout.is_zero() {
                return Err(Invalid::new(field, "0s", "more than zero"));
            }
        }
        match max_redirects {
            0..=20 => Ok(()),
            _ => Err(Invalid::new("http.max_redirects", max_redirects, "0 to 20")),
        }
    }
}

/// A job that makes an HTTP request: once per item and fire.
///
/// The header `shardingContext` holds [`ShardingContext::to_java_json`], UTF-8 as it is, as ElasticJob 3.x sends it; only
/// the character U+007F, which no header may hold, is sent as `\u007f`. A status from 400 on is a failure with the status and the
/// first 4 KiB of the answer, and so is a request that gets no answer. (ElasticJob takes a status from 400 on for a success if
/// the answer has a body.) No proxy is used. A run that is cancelled closes its connection.
#[derive(Clone)]
pub struct HttpJob {
    client: Client,
    target: String,
    method: Method,
    url: Url,
    body: Option<SecretText>,
    content_type: Option<HeaderValue>,
    headers: Vec<(HeaderName, SecretText)>,
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

fn shown(method: &Method, url: &Url, hides_path: bool) -> String {
    let path = if hides_path { "" } else { url.path() };
    format!("{method} {}{path}", url.origin().ascii_serialization())
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
