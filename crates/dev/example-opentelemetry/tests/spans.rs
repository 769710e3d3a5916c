//! Spans of runs, as a collector receives them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::time::Duration;

use example_opentelemetry::{exporter, layer, play, provider};
use opentelemetry::trace::{SpanId, Status};
use opentelemetry_sdk::trace::{
    BatchSpanProcessor, InMemorySpanExporter, SdkTracerProvider, SimpleSpanProcessor, SpanData,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;

const DEADLINE: Duration = Duration::from_secs(60);

/// Runs the example on this thread and sends its spans to a provider.
async fn play_with(provider: &SdkTracerProvider) {
    let subscriber = tracing_subscriber::registry().with(LevelFilter::INFO).with(layer(provider));
    let guard = tracing::subscriber::set_default(subscriber);
    tokio::time::timeout(DEADLINE, play()).await.expect("the job did not end in time").unwrap();
    drop(guard);
}

fn attributes(span: &SpanData) -> BTreeMap<&str, String> {
    span.attributes.iter().map(|kv| (kv.key.as_str(), kv.value.to_string())).collect()
}

#[tokio::test]
async fn each_run_is_a_trace_with_the_attributes_of_the_run() {
    let exporter = InMemorySpanExporter::default();
    let provider = provider(SimpleSpanProcessor::new(exporter.clone()));
    play_with(&provider).await;
    provider.force_flush().unwrap();
    let spans = exporter.get_finished_spans().unwrap();
    let mut runs: Vec<&SpanData> = spans.iter().filter(|span| span.name == "item").collect();
    runs.sort_by_key(|run| attributes(run)["item"].clone());
    assert_eq!(runs.len(), 3, "{spans:#?}");

    for (index, run) in runs.iter().enumerate() {
        let attributes = attributes(run);
        assert_eq!(attributes["job"], "report", "{attributes:?}");
        assert_eq!(attributes["item"], index.to_string());
        assert_eq!(attributes["source"], "MANUAL");
        assert_eq!(attributes["token"], "1");
        assert!(attributes["instance"].contains("@-@"), "{attributes:?}");
        assert!(attributes["fire_time"].ends_with('Z'), "{attributes:?}");
        assert!(attributes["task_id"].starts_with("report@-@"), "{attributes:?}");
        let succeeded = index != 2;
        assert_eq!(attributes["outcome"], if succeeded { "succeeded" } else { "failed" });
        let cause = attributes.get("cause").map(String::as_str);
        assert_eq!(cause, (!succeeded).then_some("there is no such region"));
        let is_error = matches!(run.status, Status::Error { .. });
        assert_eq!(is_error, !succeeded, "{:?}", run.status);

        assert_eq!(
            run.parent_span_id,
            SpanId::INVALID,
            "the span of a run must be the root of its trace"
        );
        let code: Vec<&SpanData> =
            spans.iter().filter(|span| span.parent_span_id == run.span_context.span_id()).collect();
        let attempts = if index == 0 { 1 } else { 2 };
        assert_eq!(code.len(), attempts, "each attempt of the job's code must be a child span");
        assert!(code.iter().all(|span| span.name == "report"), "{code:?}");
    }
    let traces: Vec<_> = runs.iter().map(|run| run.span_context.trace_id()).collect();
    assert!(traces[0] != traces[1] && traces[1] != traces[2], "{traces:?}");
}

/// Reads one request, answers with status 200, and returns the request line and the body.
async fn answer(mut connection: TcpStream) -> (String, Vec<u8>) {
    let mut read = Vec::new();
    let head = loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        assert!(
            connection.read_buf(&mut read).await.unwrap() > 0,
            "the request ended within its header"
        );
    };
    let text = String::from_utf8(read[..head].to_vec()).unwrap();
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().unwrap())
    });
    let length = length.expect("the request has no content-length");
    while read.len() < head + length {
        assert!(
            connection.read_buf(&mut read).await.unwrap() > 0,
            "the request ended within its body"
        );
    }
    connection
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        .await
        .unwrap();
    (text.lines().next().unwrap().to_owned(), read[head..].to_vec())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn collector_receives_spans_by_otlp() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let collector = tokio::spawn(async move { answer(listener.accept().await.unwrap().0).await });
    // The blocking HTTP client must be built and used outside of the runtime's threads.
    let exported = tokio::task::spawn_blocking(move || {
        let exporter = exporter(&endpoint).unwrap();
        let provider = provider(BatchSpanProcessor::builder(exporter).build());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(play_with(&provider));
        provider.shutdown()
    });
    exported.await.unwrap().unwrap();
    let collected = tokio::time::timeout(DEADLINE, collector).await;
    let (request, body) = collected.expect("the collector received no request in time").unwrap();
    assert_eq!(request, "POST /v1/traces HTTP/1.1");
    let has = |text: &str| body.windows(text.len()).any(|window| window == text.as_bytes());
    for text in ["reports", "item", "outcome", "succeeded", "failed", "there is no such region"] {
        assert!(has(text), "the request of {} bytes does not contain {text}", body.len());
    }
}
