//! Opening one connection to one server.

use std::time::Duration;

use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
#[cfg(feature = "tls")]
use tonic::transport::ClientTlsConfig;
use tonic::transport::{Channel, Endpoint};

/// Flow control windows of HTTP/2, in bytes. The protocol's 64 KiB would make a large snapshot wait
/// for the network several times.
const STREAM_WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 16 << 20;

/// A server and the way to it.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// The host, without the brackets of an IPv6 address.
    pub(crate) host: String,
    pub(crate) port: u16,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<ClientTlsConfig>,
}

/// A connection that could not be opened. Nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DialError {
    /// The server cannot be reached.
    Network(String),
    /// The server was reached, but one side rejects the other's certificate, or the port does not
    /// use TLS.
    Tls(String),
}

impl Target {
    /// Returns the address for messages.
    pub(crate) fn address(&self) -> String {
        if self.host.contains(':') {
            return format!("[{}]:{}", self.host, self.port);
        }
        format!("{}:{}", self.host, self.port)
    }

    fn uses_tls(&self) -> bool {
        #[cfg(feature = "tls")]
        return self.tls.is_some();
        #[cfg(not(feature = "tls"))]
        false
    }

    /// Opens a connection within a time limit.
    pub(crate) async fn dial(&self, limit: Duration) -> Result<Channel, DialError> {
        let late = |_| DialError::Network(format!("no connection within {limit:?}"));
        tokio::time::timeout(limit, self.connect()).await.map_err(late)?
    }

    async fn connect(&self) -> Result<Channel, DialError> {
        let connected = TcpStream::connect((self.host.as_str(), self.port)).await;
        let stream = connected.map_err(|error| DialError::Network(error.to_string()))?;
        let nodelay = stream.set_nodelay(true);
        nodelay.map_err(|error| DialError::Network(error.to_string()))?;
        let endpoint = self.endpoint().map_err(|error| DialError::Tls(causes(&error)))?;
        // The channel would connect again by itself. This connector gives it one stream only, so
        // that no request moves to another connection unnoticed.
        let mut only = Some(TokioIo::new(stream));
        let connector = tower::service_fn(move |_: Uri| {
            let broken = || std::io::Error::other("the connection is broken");
            std::future::ready(only.take().ok_or_else(broken))
        });
        endpoint.connect_with_connector(connector).await.map_err(|error| match self.uses_tls() {
            true => DialError::Tls(causes(&error)),
            false => DialError::Network(causes(&error)),
        })
    }

    fn endpoint(&self) -> Result<Endpoint, tonic::transport::Error> {
        let scheme = if self.uses_tls() { "https" } else { "http" };
        let endpoint = Endpoint::from_shared(format!("{scheme}://{}", self.address()))?
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW);
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            return endpoint.tls_config(tls.clone().domain_name(self.host.clone()));
        }
        Ok(endpoint)
    }
}

/// Returns the messages of an error and of its causes.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
