//! Runs a job once and exports the spans of its runs to standard output or to a collector.

use clap::Parser;
use opentelemetry_sdk::trace::BatchSpanProcessor;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use example_opentelemetry::{exporter, layer, play, provider};

/// Exports the runs of a job as OpenTelemetry traces.
#[derive(Debug, Parser)]
struct Options {
    /// Address of a collector for OTLP over HTTP, `http://127.0.0.1:4318`. Without it spans are
    /// printed.
    #[arg(long)]
    otlp: Option<String>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::parse();
    // The batch processor exports on its own thread, so that no run waits for a collector.
    let provider = match options.otlp {
        None => provider(
            BatchSpanProcessor::builder(opentelemetry_stdout::SpanExporter::default()).build(),
        ),
        Some(endpoint) => provider(BatchSpanProcessor::builder(exporter(&endpoint)?).build()),
    };
    tracing_subscriber::registry().with(LevelFilter::INFO).with(layer(&provider)).init();
    let runtime = tokio::runtime::Runtime::new()?;
    let played = runtime.block_on(play());
    provider.shutdown()?;
    played
}
