//! The HTTP request of a stored configuration.

use std::time::Duration;

use crate::{Http, HttpJob, Invalid, SecretText};

/// Returns the request that the properties of a configuration describe.
pub(super) fn request<'a>(
    uri: &str,
    property: impl Fn(&str) -> Option<&'a str>,
) -> Result<HttpJob, Invalid> {
    let method = property("http.method").unwrap_or_default();
    let mut http = Http::new(method, uri);
    // ElasticJob ignores a stored body for other methods.
    if let Some(body) = property("http.data").filter(|body| !body.is_empty())
        && ["POST", "PUT", "DELETE"].contains(&method)
    {
        http = http.body(SecretText::literal(body));
    }
    if let Some(kind) = property("http.content.type").filter(|kind| !kind.is_empty()) {
        http = http.content_type(kind);
    }
    let millis = |name: &'static str| {
        let Some(text) = property(name) else { return Ok(None) };
        let invalid = || Invalid::new(name, format!("{text:?}"), "whole milliseconds");
        text.trim().parse().map(Duration::from_millis).map(Some).map_err(|_| invalid())
    };
    if let Some(timeout) = millis("http.connect.timeout.milliseconds")? {
        http = http.connect_timeout(timeout);
    }
    if let Some(timeout) = millis("http.read.timeout.milliseconds")? {
        http = http.read_timeout(timeout);
    }
    http.build()
}
