#![doc = include_str!("../README.md")]

use std::sync::Arc;
use std::time::Duration;

use lite::{JobBuilder, JobError, JobEvent, RetryPolicy, Scheduler, ShardingContext, job_fn};
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, SpanProcessor};
use reg_center::MemoryRegistry;
use tracing::Subscriber;
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::registry::LookupSpan;

/// Returns a provider that hands finished spans to a processor.
///
/// Shut it down before the program ends; otherwise the last spans are lost.
#[must_use]
pub fn provider(processor: impl SpanProcessor + 'static) -> SdkTracerProvider {
    let resource = Resource::builder().with_service_name("reports").build();
    SdkTracerProvider::builder().with_resource(resource).with_span_processor(processor).build()
}

/// Returns an exporter that sends spans to a collector by OTLP over HTTP. An example of an endpoint
/// is `http://127.0.0.1:4318`.
///
/// # Errors
/// Returns the error of the exporter if it cannot use the endpoint.
pub fn exporter(endpoint: &str) -> Result<SpanExporter, ExporterBuildError> {
    // The HTTP client needs a default TLS provider. If the program has installed one, this call
    // fails and the installed one stays.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let endpoint = format!("{}/v1/traces", endpoint.trim_end_matches('/'));
    SpanExporter::builder().with_http().with_endpoint(endpoint).build()
}

/// Returns a layer that converts the spans of this program, including those of its scheduler, to
/// OpenTelemetry spans.
#[must_use]
pub fn layer<S>(provider: &SdkTracerProvider) -> OpenTelemetryLayer<S, SdkTracer>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    tracing_opentelemetry::layer().with_tracer(provider.tracer("elastic-job"))
}

/// Runs a job of three items once.
///
/// Item 0 succeeds, item 1 succeeds at its second attempt, and item 2 fails.
///
/// # Errors
/// Returns the error of the scheduler.
pub async fn play() -> Result<(), Box<dyn std::error::Error>> {
    let registry = MemoryRegistry::new();
    let scheduler = Scheduler::builder(Arc::new(registry.connect())).build()?;
    let config = JobBuilder::new("report", 3)
        .sharding_item_parameters("0=Beijing,1=Shanghai,2=Shenzhen")
        .build()?;
    let retry = RetryPolicy::new(2).first_delay(Duration::from_millis(10));
    let job = scheduler.schedule(config, job_fn(report)).retry(retry).await?;
    let mut events = job.events();
    job.trigger().await?;
    let mut unsettled = 3;
    while let Some(record) = events.next().await {
        unsettled -= i32::from(matches!(record.event, JobEvent::Settled { .. }));
        if unsettled == 0 {
            break;
        }
    }
    scheduler.shutdown(Duration::from_secs(5)).await;
    Ok(())
}

/// Code of an item. The spans that it opens are children of the span of its run.
#[tracing::instrument(skip_all, fields(region = run.parameter()))]
async fn report(run: ShardingContext) -> Result<(), JobError> {
    match run.item().index() {
        0 => Ok(()),
        1 if run.attempt() == 1 => Err("the store was busy".into()),
        1 => Ok(()),
        _ => Err("there is no such region".into()),
    }
}
