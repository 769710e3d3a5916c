//! `health`: asks a worker or a watcher of this host for its state, for probes of containers.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use clap::Args;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::HOST;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpStream;

use crate::fault::{Exit, Fault};
use crate::output::Page;
use crate::text::{clean, duration};

/// Longest answer that is read, in bytes.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

#[derive(Debug, Args)]
pub(crate) struct HealthArguments {
    /// Metrics port of the process
    #[arg(value_name = "PORT")]
    port: u16,
    /// Only ask whether the process answers, not whether it is ready
    #[arg(long)]
    live: bool,
    /// Time within which the process must answer
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = duration)]
    deadline: Duration,
}

impl HealthArguments {
    pub(crate) async fn run(self) -> Result<Page, Fault> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let path = if self.live { "/health" } else { "/ready" };
        let unreachable = |reason: String| {
            Fault::new(Exit::Unreachable, format!("http://{address}{path}: {}", clean(&reason)))
        };
        let late = |_| unreachable(format!("no answer within {:?}", self.deadline));
        let answered = tokio::time::timeout(self.deadline, ask(address, path)).await;
        let without_answer = |error: AnyError| {
            unreachable(format!(
                "{error}; check that a worker or watcher runs here with this --metrics-port"
            ))
        };
        let (status, text) = answered.map_err(late)?.map_err(without_answer)?;
        let text = clean(text.trim_end());
        if status != StatusCode::OK {
            return Err(unreachable(text));
        }
        Ok(Page::new(format!("{text}\n"), &json!({ "state": text })))
    }
}

type AnyError = Box<dyn std::error::Error + Send + Sync>;

async fn ask(address: SocketAddr, path: &str) -> Result<(StatusCode, String), AnyError> {
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let request = Request::get(path).header(HOST, address.to_string());
    let answer = async {
        let response = sender.send_request(request.body(Empty::<Bytes>::new())?).await?;
        let status = response.status();
        let body = Limited::new(response.into_body(), MAX_ANSWER_BYTES).collect().await?;
        Ok((status, String::from_utf8_lossy(&body.to_bytes()).into_owned()))
    };
    tokio::select! {
        answer = answer => answer,
        Err(error) = connection => Err(error.into()),
    }
}
