//! Requests to the provider, within a deadline and a bound of bytes.

use std::error::Error;
use std::time::Duration;

use futures_util::future::BoxFuture;
use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};
use outbound::{Limits, http_client, with_causes};
use reqwest::Client;
use url::Url;

use super::is_secure;

/// Bounds of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct HttpBounds {
    /// Time from the request to the end of its answer.
    pub(super) deadline: Duration,
    /// Maximum size of an answer's body, in bytes.
    pub(super) max_bytes: usize,
}

impl Default for HttpBounds {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(10), max_bytes: 512 * 1024 }
    }
}

/// Why a request has no usable answer.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct HttpFault(String);

/// Client for the addresses of one provider.
#[derive(Debug)]
pub(super) struct Http {
    client: Client,
    /// Scheme of the issuer, which all of its addresses have.
    scheme: String,
    bounds: HttpBounds,
}

impl Http {
    pub(super) fn new(issuer: &Url, bounds: HttpBounds) -> Result<Self, String> {
        // Endpoints of a provider do not redirect, and a code must not follow one.
        let limits = Limits {
            connect_timeout: bounds.deadline,
            read_timeout: bounds.deadline,
            max_redirects: 0,
        };
        let client = http_client(issuer, limits).map_err(|invalid| invalid.valid)?;
        Ok(Self { client, scheme: issuer.scheme().to_owned(), bounds })
    }

    /// Checks an address that the provider has named, also one that a browser opens.
    pub(super) fn check(&self, url: &Url) -> Result<(), HttpFault> {
        if url.scheme() == self.scheme && is_secure(url) {
            return Ok(());
        }
        let valid = format!("valid is an {} address as the issuer's", self.scheme);
        Err(HttpFault(format!("the provider names the address {url}; {valid}")))
    }

    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpFault> {
        let (parts, body) = request.into_parts();
        let url: Url = parts.uri.to_string().parse().map_err(|error| fault(&error))?;
        self.check(&url)?;
        let sending = async {
            let request = self.client.request(parts.method, url.clone());
            let sent = request.headers(parts.headers).body(body).send().await;
            let mut response = sent.map_err(|error| fault(&error.without_url()))?;
            let mut bytes = Vec::new();
            while let Some(chunk) =
                response.chunk().await.map_err(|error| fault(&error.without_url()))?
            {
                if bytes.len() + chunk.len() > self.bounds.max_bytes {
                    let max = self.bounds.max_bytes;
                    return Err(HttpFault(format!("the answer has more than {max} bytes")));
                }
                bytes.extend_from_slice(&chunk);
            }
            let mut answer = HttpResponse::new(bytes);
            *answer.status_mut() = response.status();
            *answer.headers_mut() = std::mem::take(response.headers_mut());
            Ok(answer)
        };
        let late = |_| HttpFault(format!("no answer within {:?}", self.bounds.deadline));
        let answer = tokio::time::timeout(self.bounds.deadline, sending).await;
        let answer = answer.map_err(late).and_then(|answer| answer);
        answer.map_err(|HttpFault(reason)| HttpFault(format!("{url}: {reason}")))
    }
}

impl<'c> AsyncHttpClient<'c> for Http {
    type Error = HttpFault;
    type Future = BoxFuture<'c, Result<HttpResponse, HttpFault>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.send(request))
    }
}

fn fault(error: &(dyn Error + 'static)) -> HttpFault {
    HttpFault(with_causes(error))
}
