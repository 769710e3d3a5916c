//! The metrics port: HTTP within the bounds of `inbound`.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use inbound::{Bounds, Exchange, Listener};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::fault::Fault;

/// Upper bounds of the buckets of histograms, in seconds.
const BUCKETS: [f64; 7] = [0.005, 0.05, 0.5, 5.0, 50.0, 500.0, 5_000.0];
/// Interval at which the recorder merges samples, so that they do not pile up between scrapes.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);
/// Longest request line with its headers, in bytes; hyper takes no less.
const MAX_REQUEST_BYTES: usize = 8 * 1024;

/// A served metrics port; dropping it closes the port.
#[derive(Debug)]
pub(super) struct MetricsPort {
    address: SocketAddr,
    serving: JoinHandle<()>,
}

impl MetricsPort {
    /// Binds the port on the loopback address and installs the recorder of the process.
    ///
    /// # Errors
    /// [`Fault`]: the port cannot be bound.
    pub(super) async fn open(port: u16) -> Result<Self, Fault> {
        let refused = |error: &dyn std::fmt::Display| {
            Fault::usage(format!(
                "--metrics-port {port}: cannot listen on this port: {error}; name a free port"
            ))
        };
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listener = Listener::bind(address, "metrics port", Bounds::default()).await;
        let listener = listener.map_err(|error| refused(&error))?;
        let address = listener.local_addr();
        let builder = PrometheusBuilder::new().set_buckets(&BUCKETS);
        let recorder = builder.and_then(PrometheusBuilder::install_recorder);
        let handle = recorder.map_err(|error| refused(&error))?;
        Ok(Self { address, serving: tokio::spawn(serve(listener, handle)) })
    }

    /// Returns the bound address, with the chosen port.
    pub(super) fn local_addr(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsPort {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: Listener, handle: PrometheusHandle) {
    let upkeep = async {
        let mut interval = tokio::time::interval(UPKEEP_INTERVAL);
        loop {
            interval.tick().await;
            handle.run_upkeep();
        }
    };
    tokio::select! {
        () = upkeep => {}
        () = listener.serve(|stream, exchange| answer(stream, exchange, &handle)) => {}
    }
}

/// Answers one request and closes the connection; the deadlines are those of the listener.
async fn answer(
    stream: TcpStream,
    exchange: Exchange,
    handle: &PrometheusHandle,
) -> io::Result<()> {
    let service = service_fn(async |request: Request<Incoming>| {
        exchange.begin_answer();
        Ok::<_, Infallible>(page(&request, handle))
    });
    let served = http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(MAX_REQUEST_BYTES)
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    served.map_err(io::Error::other)
}

fn page(request: &Request<Incoming>, handle: &PrometheusHandle) -> Response<Full<Bytes>> {
    let text = |status, text: String| {
        let mut response = Response::new(Full::new(Bytes::from(text)));
        *response.status_mut() = status;
        let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, kind);
        response
    };
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        let mut refused = text(StatusCode::METHOD_NOT_ALLOWED, "GET or HEAD only\n".to_owned());
        refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refused;
    }
    match request.uri().path() {
        "/" | "/metrics" => text(StatusCode::OK, handle.render()),
        "/health" => text(StatusCode::OK, "OK".to_owned()),
        _ => text(StatusCode::NOT_FOUND, "the metrics are at /metrics\n".to_owned()),
    }
}
