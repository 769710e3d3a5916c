//! The HTTP job: one request for each item and fire.

mod job;

use std::time::Duration;

use lite::Masks;
use outbound::Limits;
use percent_encoding::percent_decode_str;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Method, Url};
use secrecy::ExposeSecret as _;

use crate::{Invalid, SecretText};
pub use job::{HttpError, HttpJob};

/// Header with the context, as in ElasticJob 3.x.
const CONTEXT_HEADER: HeaderName = HeaderName::from_static("shardingcontext");
const METHODS: [Method; 7] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::OPTIONS,
];

/// Builder of an [`HttpJob`].
///
/// | option | default | property of ElasticJob 3.x |
/// |---|---|---|
/// | [`body`](Self::body) | none | `http.data` |
/// | [`content_type`](Self::content_type) | see the method | `http.content.type` |
/// | [`header`](Self::header) | none | — |
/// | [`connect_timeout`](Self::connect_timeout) | 3 s | `http.connect.timeout.milliseconds` |
/// | [`read_timeout`](Self::read_timeout) | 5 s | `http.read.timeout.milliseconds` |
/// | [`max_redirects`](Self::max_redirects) | 5, within the origin | none; the JDK decides |
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
/// # Example: an invalid field is reported by `build`
/// ```
/// let http = job_types::Http::new("post", "https://reports.example.com/run");
/// let error = http.build().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "http.method is \"post\"; \
///      valid is one of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
/// );
/// ```
#[derive(Clone, Debug)]
#[must_use = "`build` returns the job"]
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
    /// Creates a builder. The method is in capitals, and the URL begins with `http://` or
    /// `https://`.
    ///
    /// A user and a password in the URL are sent as basic authentication. Errors and logs show the
    /// URL without user, password and query.
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

    /// Replaces the URL by one that refers to secrets.
    ///
    /// References are resolved when the job is made. If there are any, errors and logs show only
    /// scheme, host and port of the URL.
    pub fn secret_url(self, url: SecretText) -> Self {
        Self { hides_path: url.has_references(), url, ..self }
    }

    /// Sets the body, for `POST`, `PUT`, `PATCH` and `DELETE`.
    pub fn body(self, body: SecretText) -> Self {
        Self { body: Some(body), ..self }
    }

    /// Sets the media type of the body.
    ///
    /// Default for `POST` is `application/x-www-form-urlencoded`, as in ElasticJob; otherwise none.
    pub fn content_type(self, content_type: impl Into<String>) -> Self {
        Self { content_type: Some(content_type.into()), ..self }
    }

    /// Adds a header.
    pub fn header(mut self, name: impl Into<String>, value: SecretText) -> Self {
        self.headers.push((name.into(), value));
        self
    }

    /// Sets the time limit for connecting, more than zero. Default 3 s.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.limits.connect_timeout = timeout;
        self
    }

    /// Sets the time that the server may stay silent, more than zero. Default 5 s.
    ///
    /// [`Registration::timeout`](lite::Registration::timeout) limits the request as a whole.
    pub fn read_timeout(mut self, timeout: Duration) -> Self {
        self.limits.read_timeout = timeout;
        self
    }

    /// Sets the maximum number of redirects, 0 to 20. Default 5.
    ///
    /// A redirect to another scheme, host or port is never followed: the request may carry
    /// credentials, and the job may be allowed for its host alone.
    pub fn max_redirects(mut self, max: usize) -> Self {
        self.limits.max_redirects = max;
        self
    }

    /// Checks the fields, as far as possible without a request, and returns the job.
    ///
    /// # Errors
    /// [`Invalid`] has the first invalid field, its value and the valid values.
    pub fn build(self) -> Result<HttpJob, Invalid> {
        let method = self.checked_method()?;
        let (url, url_masks) = self.checked_url()?;
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
            client: outbound::http_client(&url, self.limits)?,
            target: target(&method, &url, self.hides_path),
            content_type: content_type.transpose()?,
            headers: headers.collect::<Result<_, Invalid>>()?,
            body: self.body,
            method,
            url,
            url_masks,
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

    /// Returns the URL and the masks of its secrets.
    fn checked_url(&self) -> Result<(Url, Masks), Invalid> {
        let valid = "a URL such as https://host/path";
        // The error does not show the URL, which may hold credentials.
        let invalid = |found: String| Invalid::new("http.url", found, valid);
        let resolved = self.url.resolve_with_values();
        let (text, secrets) = resolved.map_err(|error| invalid(error.to_string()))?;
        let url = Url::parse(text.expose_secret());
        let url = url.map_err(|error| invalid(format!("a text that is no URL ({error})")))?;
        match url.scheme() {
            "http" | "https" => {
                let mut masks = Masks::default();
                secrets.iter().for_each(|secret| masks.add(secret.expose_secret()));
                if let Some(password) = url.password() {
                    masks.add(password);
                    masks.add(&percent_decode_str(password).decode_utf8_lossy());
                }
                Ok((url, masks))
            }
            _ if self.url.has_references() => Err(invalid("a URL with another scheme".to_owned())),
            other => Err(invalid(format!("a URL with the scheme {other:?}"))),
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

/// Returns the request in the form that errors and logs show.
fn target(method: &Method, url: &Url, hides_path: bool) -> String {
    let path = if hides_path { "" } else { url.path() };
    format!("{method} {}{path}", url.origin().ascii_serialization())
}
