//! Looks into TLS connections: the client tells only that there is none.

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

/// How long all servers together may take; who answers later is left to the client.
const LIMIT: Duration = Duration::from_secs(5);
/// A question that every server answers, if only by saying that it does not answer it.
const QUESTION: &[u8] = b"srvr";

/// What stands in the way of all servers that answer.
#[derive(Debug)]
pub(crate) struct Obstacle {
    /// Trying again does not help.
    pub(crate) is_certain: bool,
    address: String,
    cause: String,
}

impl From<Obstacle> for ConnectError {
    fn from(Obstacle { address, cause, .. }: Obstacle) -> Self {
        Self::Tls { address, cause }
    }
}

/// Returns what stands in the way of TLS, unless one of the servers can be spoken to, or none answers.
pub(crate) async fn obstacle(options: &ZookeeperOptions) -> Result<Option<Obstacle>, OptionsError> {
    let Some(tls) = options.load_tls()? else { return Ok(None) };
    let connector = TlsConnector::from(tls.config);
    let attempts = options.addresses().map(|address| attempt(&connector, address));
    let mut attempts: FuturesUnordered<_> = attempts.collect();
    let mut obstacles = Vec::new();
    while let Some(answer) = attempts.next().await {
        match answer {
            // One is enough, and a connection does not wait for those that are away.
            Some(Ok(())) => return Ok(None),
            Some(Err(obstacle)) => obstacles.push(obstacle),
            None => {}
        }
    }
    let is_certain = obstacles.iter().all(|obstacle| obstacle.is_certain);
    Ok(obstacles.pop().map(|obstacle| Obstacle { is_certain, ..obstacle }))
}

/// Speaks to one server; `None` if it does not answer in time.
async fn attempt(connector: &TlsConnector, address: &str) -> Option<Result<(), Obstacle>> {
    let (host, port) = host_and_port(address).ok()?;
    let name = server_name(host)?;
    let spoken = async {
        let stream = TcpStream::connect((host, port)).await.ok()?;
        let spoken = async { ask(connector.connect(name, stream).await?).await };
        Some(spoken.await)
    };
    let spoken = timeout(LIMIT, spoken).await.ok()??;
    Some(spoken.map_err(|error| obstacle_of(address, &error)))
}

/// In TLS 1.3 a server tells what it thinks of our certificate only when we believe to be connected.
async fn ask(mut stream: TlsStream<TcpStream>) -> io::Result<()> {
    if stream.get_ref().1.protocol_version() == Some(ProtocolVersion::TLSv1_3) {
        stream.write_all(QUESTION).await?;
        stream.read_u8().await?;
    }
    Ok(())
}

fn obstacle_of(address: &str, error: &io::Error) -> Obstacle {
    let is_certain = error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>());
    let has_ended = [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset];
    let cause = match has_ended.contains(&error.kind()) {
        true => "the server ends the connection; perhaps the port is none for TLS".to_owned(),
        false => error.to_string(),
    };
    Obstacle { is_certain, address: address.to_owned(), cause }
}
