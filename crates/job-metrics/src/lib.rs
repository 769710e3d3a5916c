#![doc = include_str!("../README.md")]

mod subscriber;
mod table;

pub use subscriber::MetricsSubscriber;
pub use table::{METRICS, Metric, MetricKind};
