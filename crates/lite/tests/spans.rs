//! The span of a run has the identity and the outcome of the run.

use crate::support;

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use lite::{JobError, Outcome, ShardingContext, job_fn};
use parking_lot::Mutex;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::FmtSpan;

use support::{Cluster, every_ten_seconds, settled};

/// Log lines about closed spans.
#[derive(Clone, Default)]
struct Ended(Arc<Mutex<Vec<u8>>>);

impl Write for Ended {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Ended {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Ended {
    /// Returns the lines about closed spans of runs.
    fn runs(&self) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().clone()).unwrap();
        let is_of_run = |line: &&str| line.contains(" item{") && line.contains(": close ");
        text.lines().filter(is_of_run).map(str::to_owned).collect()
    }
}

async fn by_item(context: ShardingContext) -> Result<(), JobError> {
    match context.item().index() {
        0 => Ok(()),
        1 => Err("the disk is full".into()),
        _ => std::future::pending().await,
    }
}

#[tokio::test(start_paused = true)]
async fn the_span_of_a_run_has_the_run_and_its_outcome() {
    let ended = Ended::default();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_span_events(FmtSpan::CLOSE)
        .with_writer(ended.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let config = every_ten_seconds().build().unwrap();
    let registration = member.scheduler.schedule(config, job_fn(by_item));
    let handle = registration.timeout(Duration::from_secs(2)).await.unwrap();
    let mut events = handle.events();
    settled(&mut events, Outcome::TimedOut).await;

    let runs = ended.runs();
    assert_eq!(runs.len(), 3, "{runs:#?}");
    let fire = "fire_time=2024-02-29T12:00:10Z source=NORMAL";
    for (item, ending) in [
        (0, "outcome=\"succeeded\"}"),
        (1, "outcome=\"failed\" cause=\"the disk is full\"}"),
        (2, "outcome=\"timed_out\" cause=\"not finished after 2s: it ignored its cancellation"),
    ] {
        let known = format!(" item{{job=job instance=10.0.0.1@-@1 item={item} {fire}");
        let run = runs.iter().find(|run| run.contains(&known));
        let run = run.unwrap_or_else(|| panic!("{known} is not in {runs:#?}"));
        assert!(run.contains(ending), "{run}");
    }
}
