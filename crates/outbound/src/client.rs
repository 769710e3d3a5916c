//! A client for the requests of one job or handler: timeouts, redirects within one origin, and TLS by the certificates of the operating system.

use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, Url};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use rustls_platform_verifier::BuilderVerifierExt as _;

use crate::Invalid;

/// How long a client waits, and how far it follows.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How long a connection may take to be made, more than zero.
    pub connect_timeout: Duration,
    /// How long the server may be silent, more than zero.
    pub read_timeout: Duration,
    /// How many redirects are followed. One to another scheme, host or port never is.
    pub max_redirects: usize,
}

/// Makes a client for requests to the host of a URL.
///
/// # Errors
/// [`Invalid`] with the field `http.url` if there are no certificates, or the client cannot be made.
pub fn http_client(url: &Url, limits: Limits) -> Result<Client, Invalid> {
    let Limits { connect_timeout, read_timeout, max_redirects } = limits;
    let unusable = |error: &dyn std::fmt::Display| {
        Invalid::new("http.url", "a URL for which no client can be made", error.to_string())
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

/// Without TLS no certificates are needed, and a host that has none is none the worse.
fn tls(url: &Url) -> Result<ClientConfig, rustls::Error> {
    match url.scheme() {
        "https" => Ok(builder()?.with_platform_verifier()?.with_no_client_auth()),
        _ => Ok(builder()?.with_root_certificates(RootCertStore::empty()).with_no_client_auth()),
    }
}
