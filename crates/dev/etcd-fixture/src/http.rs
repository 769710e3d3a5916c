//! The few administrative requests that the fixture sends, by plain HTTP.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::Error;

/// Longest wait for one answer. The server answers a health check only if it has a leader.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    status: String,
    body: String,
}

/// Returns the text at `path`. Fails unless the server answers with status 200.
pub(crate) fn get(address: SocketAddr, path: &str) -> Result<String, Error> {
    succeed(address, "GET", path, "")
}

/// Sends a document in JSON. Fails unless the server answers with status 200.
pub(crate) fn post(address: SocketAddr, path: &str, json: &str) -> Result<String, Error> {
    succeed(address, "POST", path, json)
}

fn succeed(address: SocketAddr, method: &str, path: &str, body: &str) -> Result<String, Error> {
    let request = format!("{method} {path}");
    let answer = exchange(address, method, path, body);
    let answer =
        answer.map_err(|source| Error::NoAnswer { address, request: request.clone(), source })?;
    if answer.status.contains(" 200 ") {
        return Ok(answer.body);
    }
    Err(Error::Rejected { address, request, status: answer.status, body: answer.body })
}

fn exchange(address: SocketAddr, method: &str, path: &str, body: &str) -> io::Result<Answer> {
    let mut stream = TcpStream::connect_timeout(&address, ANSWER_LIMIT)?;
    stream.set_read_timeout(Some(ANSWER_LIMIT))?;
    // HTTP/1.0: the server ends the connection after its answer.
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.0\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )?;
    let mut text = Vec::new();
    stream.read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let no_http = || io::Error::new(io::ErrorKind::InvalidData, format!("no HTTP: {text:?}"));
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(no_http)?;
    let status = head.lines().next().unwrap_or_default().to_owned();
    Ok(Answer { status, body: body.to_owned() })
}
