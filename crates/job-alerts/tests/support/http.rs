//! An HTTP server on loopback that answers every request in the same way.

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::within;

/// One request as the server received it.
#[derive(Debug)]
pub(crate) struct ReceivedRequest {
    pub(crate) line: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl ReceivedRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Returns a value of the query, without decoding it.
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        let target = self.line.split(' ').nth(1)?;
        let pairs = target.split_once('?')?.1.split('&');
        pairs.filter_map(|pair| pair.split_once('=')).find(|(found, _)| *found == name).map(|p| p.1)
    }
}

pub(crate) struct Server {
    pub(crate) origin: String,
    requests: mpsc::UnboundedReceiver<ReceivedRequest>,
}

impl Server {
    /// Starts a server that gives this answer to each request; it stays silent if `body` is `None`.
    pub(crate) async fn start(
        status: &'static str,
        headers: &'static str,
        body: Option<&str>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let (sender, requests) = mpsc::unbounded_channel();
        let body = body.map(str::to_owned);
        tokio::spawn(async move {
            let mut silent = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                let Some((request, mut stream)) = read(stream).await else { continue };
                // The receiver is gone if the test has ended.
                let _ = sender.send(request);
                let Some(body) = &body else {
                    silent.push(stream);
                    continue;
                };
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {status}\r\n{headers}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
                );
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        Self { origin, requests }
    }

    pub(crate) async fn next(&mut self) -> ReceivedRequest {
        within("a request", self.requests.recv()).await.unwrap()
    }

    pub(crate) fn has_no_further_request(&mut self) -> bool {
        self.requests.try_recv().is_err()
    }
}

async fn read(stream: TcpStream) -> Option<(ReceivedRequest, BufReader<TcpStream>)> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line).await.ok().filter(|n| *n > 0)?;
    let (mut headers, mut length) = (Vec::new(), 0);
    loop {
        let mut header = String::new();
        stream.read_line(&mut header).await.ok()?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    let body = serde_json::from_slice(&body).ok()?;
    Some((ReceivedRequest { line: line.trim_end().to_owned(), headers, body }, stream))
}
