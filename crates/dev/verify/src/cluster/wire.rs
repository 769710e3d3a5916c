//! Ends the session of another process, by ZooKeeper's protocol.
//!
//! The client library does not give out the password of a session, and a stopped process cannot
//! answer. A proxy sees the server's first reply, which has session and password. With them the
//! harness resumes the session and closes it.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Limit of a server's answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);
/// Length of a password.
const PASSWORD_BYTES: usize = 16;
/// Length of the first reply: length, protocol version, timeout, session, password with its length.
/// A read-only flag follows.
const FIRST_REPLY_BYTES: usize = 4 + 4 + 4 + 8 + 4 + PASSWORD_BYTES;
/// Code of the operation that closes a session.
const CLOSE: i32 = -11;
/// Maximum length of a reply here.
const MAX_REPLY_BYTES: usize = 4096;

/// A session with its password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Credentials {
    pub(super) session: i64,
    password: [u8; PASSWORD_BYTES],
}

impl Credentials {
    /// Parses the server's first reply with its length; `None` if it has no session.
    pub(super) fn of_reply(reply: &[u8]) -> Option<Self> {
        let reply = reply.get(..FIRST_REPLY_BYTES)?;
        let session = i64::from_be_bytes(reply[12..20].try_into().ok()?);
        let password = reply[24..].try_into().ok()?;
        (session != 0).then_some(Self { session, password })
    }

    /// Returns the request that resumes the session.
    fn request(&self, session_timeout: Duration) -> Vec<u8> {
        let timeout_ms = i32::try_from(session_timeout.as_millis()).unwrap_or(i32::MAX);
        let n_bytes = i32::try_from(PASSWORD_BYTES).unwrap_or(i32::MAX);
        framed(&[
            &0_i32.to_be_bytes(),
            &0_i64.to_be_bytes(),
            &timeout_ms.to_be_bytes(),
            &self.session.to_be_bytes(),
            &n_bytes.to_be_bytes(),
            &self.password,
            &[0],
        ])
    }
}

fn framed(parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    let length = i32::try_from(body.len()).unwrap_or(i32::MAX);
    [&length.to_be_bytes()[..], &body].concat()
}

/// Ends a session through one of the servers. Its ephemeral nodes are gone when this returns.
///
/// # Errors
/// Returns the error of the last server if all servers fail.
pub(super) async fn end_session(
    servers: &[SocketAddr],
    credentials: &Credentials,
    session_timeout: Duration,
) -> io::Result<()> {
    let mut last = io::Error::other("no server is known");
    for server in servers {
        match timeout(ANSWER_LIMIT, end_through(*server, credentials, session_timeout)).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => last = error,
            Err(_) => last = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(last)
}

async fn end_through(
    server: SocketAddr,
    credentials: &Credentials,
    session_timeout: Duration,
) -> io::Result<()> {
    let mut stream = TcpStream::connect(server).await?;
    stream.write_all(&credentials.request(session_timeout)).await?;
    // The server answers with session 0 if the session has ended already.
    if Credentials::of_reply(&reply(&mut stream).await?).is_none() {
        return Ok(());
    }
    stream.write_all(&framed(&[&1_i32.to_be_bytes(), &CLOSE.to_be_bytes()])).await?;
    reply(&mut stream).await.map(drop)
}

/// Reads one reply with its length.
async fn reply(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).await?;
    let n_bytes = usize::try_from(i32::from_be_bytes(length)).unwrap_or(usize::MAX);
    if n_bytes > MAX_REPLY_BYTES {
        return Err(io::Error::other(format!(
            "the reply has {n_bytes} bytes; valid are at most {MAX_REPLY_BYTES}"
        )));
    }
    let mut body = vec![0; n_bytes];
    stream.read_exact(&mut body).await?;
    Ok([&length[..], &body].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_reply_has_the_session_and_its_password() {
        let reply = |session: i64| {
            framed(&[
                &0_i32.to_be_bytes(),
                &1000_i32.to_be_bytes(),
                &session.to_be_bytes(),
                &16_i32.to_be_bytes(),
                b"0123456789abcdef",
                &[0],
            ])
        };
        let expected = Credentials { session: 77, password: *b"0123456789abcdef" };
        assert_eq!(Credentials::of_reply(&reply(77)), Some(expected));
        assert_eq!(Credentials::of_reply(&reply(0)), None, "the session has ended");
        assert_eq!(Credentials::of_reply(&reply(77)[..30]), None, "cut short");
    }
}
