//! The metrics port: HTTP within the bounds of `inbound`.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
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

use super::readiness::Readiness;
use crate::fault::Fault;

/// Upper bounds of the buckets of histograms, in seconds.
const BUCKETS: [f64; 7] = [0.005, 0.05, 0.5, 5.0, 50.0, 500.0, 5_000.0];
/// Interval at which the recorder merges samples, so that they do not pile up between scrapes.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);
/// Longest request line with its headers, in bytes; hyper takes no less.
const MAX_REQUEST_BYTES: usize = 8 * 1024;

/// A served metrics port; dropping it closes the port.
#[derive(Debug)]
pub(crate) struct MetricsPort {
    address: SocketAddr,
    serving: JoinHandle<()>,
}

impl MetricsPort {
    /// Binds the port on the loopback address and installs the recorder of the process, a worker.
    ///
    /// # Errors
    /// [`Fault`]: the port cannot be bound.
    pub(crate) async fn open(port: u16, readiness: Arc<Readiness>) -> Result<Self, Fault> {
        let listener = bind(port).await?;
        let builder = PrometheusBuilder::new().set_buckets(&BUCKETS);
        let recorder = builder.and_then(PrometheusBuilder::install_recorder);
        let handle = recorder.map_err(|error| unusable(port, &error))?;
        let address = listener.local_addr();
        let metrics = handle.clone();
        let pages =
            Pages { metrics: Box::new(move || metrics.render()), readiness: Some(readiness) };
        let serving = async move {
            tokio::select! {
                () = run_upkeep(&handle) => {}
                () = serve(listener, pages) => {}
            }
        };
        Ok(Self { address, serving: tokio::spawn(serving) })
    }

    /// Binds the port on the loopback address and serves the metrics of a function. The process is
    /// ready as soon as it answers.
    ///
    /// # Errors
    /// [`Fault`]: the port cannot be bound.
    pub(crate) async fn open_for(
        port: u16,
        metrics: impl Fn() -> String + Send + Sync + 'static,
    ) -> Result<Self, Fault> {
        let listener = bind(port).await?;
        let address = listener.local_addr();
        let pages = Pages { metrics: Box::new(metrics), readiness: None };
        Ok(Self { address, serving: tokio::spawn(serve(listener, pages)) })
    }

    /// Returns the bound address, with the chosen port.
    pub(crate) fn local_addr(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsPort {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn bind(port: u16) -> Result<Listener, Fault> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let listener = Listener::bind(address, "metrics port", Bounds::default()).await;
    listener.map_err(|error| unusable(port, &error))
}

fn unusable(port: u16, error: &dyn std::fmt::Display) -> Fault {
    Fault::usage(format!(
        "--metrics-port {port}: cannot listen on this port: {error}; name a free port"
    ))
}

async fn run_upkeep(handle: &PrometheusHandle) {
    let mut interval = tokio::time::interval(UPKEEP_INTERVAL);
    loop {
        interval.tick().await;
        handle.run_upkeep();
    }
}

async fn serve(listener: Listener, pages: Pages) {
    listener.serve(|stream, exchange| answer(stream, exchange, &pages)).await;
}

/// Answers one request and closes the connection; the deadlines are those of the listener.
async fn answer(stream: TcpStream, exchange: Exchange, pages: &Pages) -> io::Result<()> {
    let service = service_fn(async |request: Request<Incoming>| {
        exchange.begin_answer();
        Ok::<_, Infallible>(pages.page(&request).await)
    });
    let served = http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(MAX_REQUEST_BYTES)
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    served.map_err(io::Error::other)
}

/// The pages of a process.
struct Pages {
    metrics: Box<dyn Fn() -> String + Send + Sync>,
    readiness: Option<Arc<Readiness>>,
}

impl Pages {
    async fn page(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            let mut refused = text(StatusCode::METHOD_NOT_ALLOWED, "GET or HEAD only\n".to_owned());
            refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return refused;
        }
        match request.uri().path() {
            "/" | "/metrics" => text(StatusCode::OK, (self.metrics)()),
            "/health" => text(StatusCode::OK, "OK".to_owned()),
            "/ready" => match self.obstacle().await {
                None => text(StatusCode::OK, "ready\n".to_owned()),
                Some(why) => text(StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
            },
            _ => text(StatusCode::NOT_FOUND, "the metrics are at /metrics\n".to_owned()),
        }
    }

    async fn obstacle(&self) -> Option<String> {
        self.readiness.as_ref()?.obstacle().await
    }
}

fn text(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
