//! The HTTP request of a job.

use super::check::{check_references, duration, plain_credential};
use super::model::{HttpDoc, TextDoc};
use crate::{Http, HttpJob, Invalid};

/// Headers that always hold credentials.
const CREDENTIALS: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];

pub(super) fn http(doc: HttpDoc) -> Result<HttpJob, Invalid> {
    let TextDoc(url) = doc.url;
    let method = doc.method.unwrap_or_else(|| "GET".to_owned());
    let mut http = Http::new(method, "").secret_url(url.clone());
    for (name, TextDoc(value)) in doc.headers {
        let names_credentials = CREDENTIALS.iter().any(|known| name.eq_ignore_ascii_case(known));
        if names_credentials && !value.has_references() {
            return Err(plain_credential(&format!("http.headers.{name}")));
        }
        check_references(&format!("http.headers.{name}"), &value)?;
        http = http.header(name, value);
    }
    if let Some(TextDoc(body)) = doc.body {
        check_references("http.body", &body)?;
        http = http.body(body);
    }
    if let Some(kind) = doc.content_type {
        http = http.content_type(kind);
    }
    if let Some(timeout) = doc.connect_timeout {
        http = http.connect_timeout(duration("http.connect_timeout", &timeout)?);
    }
    if let Some(timeout) = doc.read_timeout {
        http = http.read_timeout(duration("http.read_timeout", &timeout)?);
    }
    if let Some(max) = doc.max_redirects {
        http = http.max_redirects(max);
    }
    let job = http.build()?;
    if url.is_url_with_plain_user() {
        return Err(plain_credential("http.url"));
    }
    Ok(job)
}
