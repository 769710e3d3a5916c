//! HTTP client for the requests of one job or handler: timeouts, redirects within one origin, and
//! TLS with the certificates of the operating system.

use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, Url};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use rustls_platform_verifier::BuilderVerifierExt as _;

use crate::Invalid;

/// Limits of a client: timeouts and the number of redirects.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Time for establishing a connection, more than zero.
    pub connect_timeout: Duration,
    /// Time that the server may stay silent, more than zero.
    pub read_timeout: Duration,
    /// Maximum number of redirects. A redirect to another scheme, host or port is never followed.
    pub max_redirects: usize,
}

/// Builds a client for requests to the host of a URL.
///
/// # Errors
/// [`Invalid`] with the field `http.url` if the operating system has no certificates, or if the
/// client cannot be built.
pub fn http_client(url: &Url, limits: Limits) -> Result<Client, Invalid> {
    let Limits { connect_timeout, read_timeout, max_redirects } = limits;
    let unusable = |error: &dyn std::fmt::Display| {
        Invalid::new("http.url", "a URL for which no client can be built", error.to_string())
    };
    let tls = tls(url).map_err(|error| unusable(&error))?;
    Client::builder()
        .tls_backend_preconfigured(tls)
        .no_proxy()
        .user_agent(concat!("elastic-job-rust/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(connect_timeout)
        .read_timeout(read_timeout)
        .redirect(Policy::custom(move |attempt| follow(attempt, max_redirects)))
        .build()
        .map_err(|error| unusable(&error.without_url()))
}

fn follow(attempt: Attempt<'_>, max_redirects: usize) -> reqwest::redirect::Action {
    let from = attempt.previous().last().map(Url::origin);
    if from != Some(attempt.url().origin()) {
        let origin = attempt.url().origin();
        let to = if origin.is_tuple() {
            format!("redirected to another origin, {}", origin.ascii_serialization())
        } else {
            format!("redirected to the scheme {:?}, not http or https", attempt.url().scheme())
        };
        return attempt.error(to);
    }
    if attempt.previous().len() > max_redirects {
        return attempt.error(format!("redirected more than {max_redirects} times"));
    }
    attempt.follow()
}

fn builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()
}

/// Returns the TLS configuration for a URL. Plain HTTP gets no certificates, so that it also works
/// on a host without any.
fn tls(url: &Url) -> Result<ClientConfig, rustls::Error> {
    match url.scheme() {
        "https" => Ok(builder()?.with_platform_verifier()?.with_no_client_auth()),
        _ => Ok(builder()?.with_root_certificates(RootCertStore::empty()).with_no_client_auth()),
    }
}
