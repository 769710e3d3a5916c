//! Probe of TLS connections: the client does not report why a connection fails.

use std::io;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use rustls::ProtocolVersion;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::ConnectError;
use crate::options::{OptionsError, ZookeeperOptions, host_and_port, server_name};

/// Time limit for all servers together. The client handles servers that answer later.
const LIMIT: Duration = Duration::from_secs(5);
/// A request that every server answers, even if only with a rejection.
const REQUEST: &[u8] = b"srvr";

/// The reason why TLS fails with every server that answers.
#[derive(Debug)]
pub(crate) struct Obstacle {
    /// True if a retry cannot succeed.
    pub(crate) is_certain: bool,
    address: String,
    cause: String,
}

impl From<Obstacle> for ConnectError {
    fn from(Obstacle { address, cause, .. }: Obstacle) -> Self {
        Self::Tls { address, cause }
    }
}

/// Returns the obstacle to TLS; `None` if TLS works with one of the servers, or if no server
/// answers.
pub(crate) async fn obstacle(options: &ZookeeperOptions) -> Result<Option<Obstacle>, OptionsError> {
    let Some(tls) = options.load_tls()? else { return Ok(None) };
    let connector = TlsConnector::from(tls.config);
    let attempts = options.addresses().map(|address| attempt(&connector, address));
    let mut attempts: FuturesUnordered<_> = attempts.collect();
    let mut obstacles = Vec::new();
    while let Some(answer) = attempts.next().await {
        match answer {
            // One working server is enough, so unreachable servers cause no delay.
            Some(Ok(())) => return Ok(None),
            Some(Err(obstacle)) => obstacles.push(obstacle),
            None => {}
        }
    }
    let is_certain = obstacles.iter().all(|obstacle| obstacle.is_certain);
    Ok(obstacles.pop().map(|obstacle| Obstacle { is_certain, ..obstacle }))
}

/// Connects to one server; `None` if it does not answer in time.
async fn attempt(connector: &TlsConnector, address: &str) -> Option<Result<(), Obstacle>> {
    let (host, port) = host_and_port(address).ok()?;
    let name = server_name(host)?;
    let attempt = async {
        let stream = TcpStream::connect((host, port)).await.ok()?;
        let handshake = async { exchange(connector.connect(name, stream).await?).await };
        Some(handshake.await)
    };
    let result = timeout(LIMIT, attempt).await.ok()??;
    Some(result.map_err(|error| obstacle_of(address, &error)))
}

/// Sends a request if needed for the result: in TLS 1.3 a server rejects the client's certificate
/// only after the client has finished the handshake.
async fn exchange(mut stream: TlsStream<TcpStream>) -> io::Result<()> {
    if stream.get_ref().1.protocol_version() == Some(ProtocolVersion::TLSv1_3) {
        stream.write_all(REQUEST).await?;
        stream.read_u8().await?;
    }
    Ok(())
}

fn obstacle_of(address: &str, error: &io::Error) -> Obstacle {
    let is_certain = error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>());
    let has_ended = [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset];
    let cause = if has_ended.contains(&error.kind()) {
        "the server ended the connection; the port may not support TLS".to_owned()
    } else {
        error.to_string()
    };
    Obstacle { is_certain, address: address.to_owned(), cause }
}
