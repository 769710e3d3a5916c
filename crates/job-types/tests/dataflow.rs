//! Dataflows: number of fetches, concurrency of batches, and the end of a run.

use crate::support;

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use coordination::{ProgressRecord, encode_config};
use job_types::{Dataflow, DataflowJob, Streaming};
use lite::{
    Dialect, JavaFields, JavaJobType, JavaSettings, JobBuilder, JobConfig, JobError, JobHandle,
    Outcome, ShardingContext,
};
use parking_lot::Mutex;
use reg_center::{NodePath, RegistryCenter, Txn};
use tokio::sync::{Barrier, Semaphore, mpsc};

use support::{Stage, one_item, run_once, within};

/// Returns prepared records, and fails a batch with the record [`BAD`].
#[derive(Clone, Default)]
struct Flow {
    prepared: Arc<Mutex<VecDeque<Vec<u32>>>>,
    /// If set, each fetch after the prepared records returns one record.
    endless: bool,
    batches: Arc<Mutex<Vec<Vec<u32>>>>,
    /// If set, each batch waits for a permit.
    gate: Option<Arc<Semaphore>>,
    begun: Option<mpsc::UnboundedSender<Vec<u32>>>,
}

/// Record whose batch fails.
const BAD: u32 = 13;

impl Flow {
    fn of(prepared: &[&[u32]]) -> Self {
        let prepared = prepared.iter().map(|records| records.to_vec()).collect();
        Self { prepared: Arc::new(Mutex::new(prepared)), ..Self::default() }
    }

    /// Returns the flow with a gate for its batches, and a receiver of the batches that begin.
    fn gated(self) -> (Self, Arc<Semaphore>, mpsc::UnboundedReceiver<Vec<u32>>) {
        let gate = Arc::new(Semaphore::new(0));
        let (begun, begins) = mpsc::unbounded_channel();
        (Self { gate: Some(Arc::clone(&gate)), begun: Some(begun), ..self }, gate, begins)
    }
}

#[async_trait]
impl Dataflow for Flow {
    type Record = u32;

    async fn fetch(&self, _: &ShardingContext) -> Result<Vec<u32>, JobError> {
        let prepared = self.prepared.lock().pop_front();
        Ok(prepared.unwrap_or_else(|| if self.endless { vec![0] } else { Vec::new() }))
    }

    async fn process(&self, context: &ShardingContext, batch: Vec<u32>) -> Result<(), JobError> {
        if let Some(begun) = &self.begun {
            begun.send(batch.clone()).unwrap();
        }
        if let Some(gate) = &self.gate {
            tokio::select! {
                permit = gate.acquire() => permit?.forget(),
                () = context.cancelled() => return Err("cancelled".into()),
            }
        }
        let is_bad = batch.contains(&BAD);
        self.batches.lock().push(batch);
        if is_bad { Err("the record is bad".into()) } else { Ok(()) }
    }
}

fn many(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).unwrap()
}

/// Returns the fetches, the fetched, the processed and the failed records of a stored progress.
fn counts(stored: Option<&ProgressRecord>) -> [u64; 4] {
    let progress = &stored.unwrap().progress;
    let numbers = progress.message().split(|c: char| !c.is_ascii_digit());
    let numbers: Vec<u64> = numbers.filter_map(|number| number.parse().ok()).collect();
    let [n_fetched, n_fetches, n_failed] = numbers[..] else { panic!("{progress}") };
    [n_fetches, n_fetched, progress.done(), n_failed]
}

/// Returns a configuration with streaming turned on or off, as Java instances store it.
fn configured(dialect: Dialect, streams: bool) -> JobConfig {
    let mut settings = JavaSettings::of(dialect);
    match &mut settings.fields {
        JavaFields::V2(java) => java.job_type = JavaJobType::Dataflow { streaming: streams },
        JavaFields::V3(java) => {
            java.props.insert("streaming.process".into(), streams.to_string());
        }
    }
    JobBuilder::new("sj", 1).java_settings(settings).build().unwrap()
}

/// Case, configuration, streaming, batch size, prepared records, and the expected counts.
type Row = (&'static str, JobConfig, Streaming, usize, &'static [&'static [u32]], [u64; 4]);

#[tokio::test]
async fn fetches_and_batches_follow_the_options() {
    let plain = one_item;
    let rows: [Row; 7] = [
        ("once", plain(), Streaming::Never, 9, &[&[1, 2, 3], &[4]], [1, 3, 3, 0]),
        ("once, in batches", plain(), Streaming::Never, 2, &[&[1, 2, 3]], [1, 3, 3, 0]),
        ("nothing", plain(), Streaming::Always, 9, &[], [1, 0, 0, 0]),
        ("streaming", plain(), Streaming::Always, 9, &[&[1, 2, 3], &[4]], [3, 4, 4, 0]),
        ("not configured", plain(), Streaming::AsConfigured, 9, &[&[1], &[2]], [1, 1, 1, 0]),
        (
            "configured, 2.1.5",
            configured(Dialect::V2, true),
            Streaming::AsConfigured,
            9,
            &[&[1], &[2]],
            [3, 2, 2, 0],
        ),
        (
            "configured, 3.x",
            configured(Dialect::V3, true),
            Streaming::AsConfigured,
            9,
            &[&[1], &[2]],
            [3, 2, 2, 0],
        ),
    ];
    for (case, config, streaming, batch_size, prepared, expected) in rows {
        let flow = Flow::of(prepared);
        let job = DataflowJob::new(flow.clone()).streaming(streaming).batch_size(many(batch_size));
        let (outcome, log, stored) = Stage::run_reporting(config, job, |it| it).await;
        assert_eq!(outcome, Outcome::Succeeded, "{case}: {log}");
        assert_eq!(counts(stored.as_ref()), expected, "{case}");
        // More records may follow while it streams, so the total is unknown.
        let total = stored.unwrap().progress.total();
        assert_eq!(total, (expected[0] == 1 && case != "nothing").then_some(expected[1]), "{case}");
        let batches = flow.batches.lock();
        assert!(batches.iter().all(|batch| (1..=batch_size).contains(&batch.len())), "{case}");
    }
}

#[tokio::test]
async fn failed_batch_lets_running_batches_finish_and_begins_no_more() {
    let flow = Flow::of(&[&[1, BAD, 2, 3, 4, 5], &[6]]);
    let job = DataflowJob::new(flow.clone()).streaming(Streaming::Always);
    let job = job.batch_size(many(1)).concurrency(many(3));
    let (outcome, log, stored) = Stage::run_reporting(one_item(), job, |it| it).await;
    assert_eq!(outcome, Outcome::Failed);
    assert!(log.contains("the record is bad"), "{log}");
    let batches = flow.batches.lock();
    assert!(batches.contains(&vec![2]), "the running batch must finish: {batches:?}");
    assert!(!batches.contains(&vec![5]) && !batches.contains(&vec![6]), "{batches:?}");
    let [n_fetches, n_fetched, n_processed, n_failed] = counts(stored.as_ref());
    assert_eq!((n_fetches, n_fetched, n_failed), (1, 6, 1));
    assert_eq!(n_processed, batches.len() as u64 - 1);
}

/// Counts the concurrent batches. Its barrier opens only for the expected number of them.
struct ConcurrencyProbe {
    gate: Barrier,
    now: AtomicUsize,
    most: Arc<AtomicUsize>,
}

#[async_trait]
impl Dataflow for ConcurrencyProbe {
    type Record = u32;

    async fn fetch(&self, _: &ShardingContext) -> Result<Vec<u32>, JobError> {
        Ok((0..9).collect())
    }

    async fn process(&self, _: &ShardingContext, _: Vec<u32>) -> Result<(), JobError> {
        self.most.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        self.gate.wait().await;
        self.now.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }
}

#[tokio::test]
async fn batches_are_processed_with_the_configured_concurrency() {
    let most = Arc::new(AtomicUsize::new(0));
    // With fewer than three concurrent batches the test would hang.
    let flow = ConcurrencyProbe {
        gate: Barrier::new(3),
        now: AtomicUsize::new(0),
        most: Arc::clone(&most),
    };
    let job = DataflowJob::new(flow).batch_size(many(1)).concurrency(many(3));
    let (outcome, log) = Stage::run(job).await;
    assert_eq!(outcome, Outcome::Succeeded, "{log}");
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

/// A running endless stream, within its first batch.
struct RunningStream {
    stage: Stage,
    handle: JobHandle,
    gate: Arc<Semaphore>,
    begins: mpsc::UnboundedReceiver<Vec<u32>>,
    flow: Flow,
}

async fn start_stream(config: JobConfig) -> RunningStream {
    let flow = Flow { endless: true, ..Flow::of(&[&[1, 2]]) };
    let (flow, gate, mut begins) = flow.gated();
    let stage = Stage::new();
    let job = DataflowJob::new(flow.clone()).batch_size(many(1));
    let handle = stage.join(stage.scheduler.schedule(config, job)).await;
    handle.trigger().await.unwrap();
    assert_eq!(within("the first batch", begins.recv()).await, Some(vec![1]));
    RunningStream { stage, handle, gate, begins, flow }
}

/// Opens the gate, and waits until the run is completed.
async fn end_of_run(stream: &RunningStream) -> Outcome {
    let mut events = stream.handle.events();
    stream.gate.add_permits(1_000);
    within("the end of the run", async {
        while let Some(record) = events.next().await {
            if let lite::JobEvent::Settled { outcome, .. } = record.event {
                return outcome;
            }
        }
        panic!("the job ended before its run was completed");
    })
    .await
}

#[tokio::test]
async fn stream_ends_before_the_next_fetch_if_the_instance_is_paused() {
    let mut stream = start_stream(configured(Dialect::V2, true)).await;
    stream.handle.pause().await.unwrap();
    assert_eq!(end_of_run(&stream).await, Outcome::Succeeded);
    assert_eq!(
        *stream.flow.batches.lock(),
        [vec![1], vec![2]],
        "all fetched records must be processed"
    );
    assert_eq!(stream.begins.recv().await, Some(vec![2]));
}

#[tokio::test]
async fn stream_ends_if_the_configuration_turns_streaming_off() {
    for dialect in [Dialect::V2, Dialect::V3] {
        let stream = start_stream(configured(dialect, true)).await;
        let off = configured(dialect, false);
        let path = NodePath::parse("/sj/config").unwrap();
        let operator = stream.stage.registry.connect();
        let txn = Txn::new().put(path, encode_config(&off));
        assert!(operator.commit(txn).await.unwrap().is_committed());
        let changed = async {
            while stream.handle.status().await.unwrap().config.as_deref() != Some(&off) {
                tokio::task::yield_now().await;
            }
        };
        within("the change", changed).await;
        assert_eq!(end_of_run(&stream).await, Outcome::Succeeded);
        assert_eq!(*stream.flow.batches.lock(), [vec![1], vec![2]], "{dialect}");
    }
}

#[tokio::test]
async fn stream_ends_in_order_within_the_shutdown_deadline() {
    let stream = start_stream(configured(Dialect::V2, true)).await;
    let handle = stream.handle.clone();
    let leaving = tokio::spawn(async move { handle.shutdown(Duration::from_secs(3600)).await });
    let winds_down = async {
        while stream.handle.status().await.unwrap().phase != lite::Phase::Draining {
            tokio::task::yield_now().await;
        }
    };
    within("the beginning of the shutdown", winds_down).await;
    stream.gate.add_permits(1_000);
    let report = within("the shutdown", leaving).await.unwrap().unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(*stream.flow.batches.lock(), [vec![1], vec![2]]);
}

#[tokio::test]
async fn cancelled_run_begins_no_more_batches_and_is_interrupted() {
    let stream = start_stream(configured(Dialect::V2, true)).await;
    let report = within("the shutdown", stream.handle.shutdown(Duration::ZERO)).await.unwrap();
    let endings: Vec<_> = report.items.iter().map(|item| item.ending).collect();
    assert_eq!(endings, [lite::ItemEnding::Cancelled(Outcome::Interrupted)]);
    assert_eq!(*stream.flow.batches.lock(), Vec::<Vec<u32>>::new());
}

#[tokio::test]
async fn progress_of_a_run_replaces_that_of_the_previous_run_and_counts_add_up() {
    let flow = Flow::of(&[&[1, 2], &[3, BAD], &[4]]);
    let stage = Stage::new();
    let job = DataflowJob::new(flow).batch_size(many(1));
    let handle = stage.join(stage.scheduler.schedule(one_item(), job)).await;
    let rows =
        [(Outcome::Succeeded, 2, 2, 0), (Outcome::Failed, 2, 3, 1), (Outcome::Succeeded, 1, 4, 1)];
    for (token, (outcome, n_fetched, succeeded, failed)) in (1..).zip(rows) {
        assert_eq!(run_once(&handle).await, outcome);
        let stored = stage.progress().await.unwrap();
        assert_eq!((stored.token.0, counts(Some(&stored))[1]), (token, n_fetched));
        assert_eq!((stored.counts.succeeded, stored.counts.failed), (succeeded, failed));
    }
}
