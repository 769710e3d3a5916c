//! Watchers on a registry in memory, in paused time, with a channel that records its messages.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use coordination::JobName;
use jiff::Timestamp;
use job_alerts::{AlertChannel, AlertError, Message, MessageChannel};
use job_watch::{ConditionKind, Silence, Silences, WatchError, WatchFile, WatchView, Watcher};
use parking_lot::Mutex;
use reg_center::{Lifetime, MemoryCenter, MemoryRegistry, NodePath, RegistryCenter, Txn};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Job, at};

/// Longer than any test takes, in paused time.
const DEADLINE: Duration = Duration::from_secs(48 * 3_600);

pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what} did not happen within {DEADLINE:?}"),
    }
}

/// Behaviour of the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Accept,
    /// The message arrives, and no answer comes.
    Hang,
    /// The message arrives, and the answer does not show it, as 502 of a gateway.
    Unclear,
    /// The message is refused.
    Refuse,
    /// The message arrives, and the channel panics.
    Panic,
}

/// A message with the time at which it arrived, in seconds after noon.
#[derive(Clone, Debug)]
pub(crate) struct Arrived {
    pub(crate) seconds: u64,
    pub(crate) message: Message,
}

#[derive(Clone)]
pub(crate) struct World {
    pub(crate) registry: MemoryRegistry,
    writer: Arc<MemoryCenter>,
    began: Instant,
    arrived: Arc<Mutex<Vec<Arrived>>>,
    mode: Arc<Mutex<Mode>>,
    attempts: Arc<Mutex<usize>>,
    changed: Arc<Notify>,
}

#[async_trait]
impl MessageChannel for World {
    fn name(&self) -> &'static str {
        "RECORDING"
    }

    async fn send(&self, message: &Message) -> Result<(), AlertError> {
        *self.attempts.lock() += 1;
        let mode = *self.mode.lock();
        if mode == Mode::Refuse {
            let (channel, host, answer) = ("RECORDING", "test".to_owned(), "503".to_owned());
            self.changed.notify_waiters();
            return Err(AlertError::Rejected { channel, host, answer });
        }
        let seconds = self.began.elapsed().as_secs();
        self.arrived.lock().push(Arrived { seconds, message: message.clone() });
        self.changed.notify_waiters();
        match mode {
            Mode::Hang => std::future::pending().await,
            Mode::Unclear => {
                let (channel, host, answer) = ("RECORDING", "test".to_owned(), "502".to_owned());
                Err(AlertError::Unclear { channel, host, answer })
            }
            Mode::Panic => panic!("the channel panics"),
            Mode::Accept | Mode::Refuse => Ok(()),
        }
    }
}

/// A running watcher with its session.
pub(crate) struct Running<C = MemoryCenter> {
    pub(crate) center: Arc<C>,
    pub(crate) view: WatchView,
    stop: CancellationToken,
    task: JoinHandle<Result<(), WatchError>>,
}

impl<C: RegistryCenter> Running<C> {
    /// Stops the watcher as SIGTERM does.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        within("the end of the watcher", self.task).await.unwrap().unwrap();
        self.center.close().await.unwrap();
    }

    /// Ends the watcher as SIGKILL does. The registry notices it at once.
    pub(crate) async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
        self.center.close().await.unwrap();
    }

    /// Returns the error that ended the watcher.
    pub(crate) async fn error(self) -> WatchError {
        within("the end of the watcher", self.task).await.unwrap().unwrap_err()
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let registry = MemoryRegistry::new();
        Self {
            writer: Arc::new(registry.connect()),
            registry,
            began: Instant::now(),
            arrived: Arc::default(),
            mode: Arc::new(Mutex::new(Mode::Accept)),
            attempts: Arc::default(),
            changed: Arc::default(),
        }
    }

    /// Starts a watcher with this file, whose channel `ops` is the recording one.
    pub(crate) fn watch(&self, expectations: &str) -> Running {
        self.watch_with(expectations, Arc::new(self.registry.connect()))
    }

    pub(crate) fn watch_with<C: RegistryCenter>(
        &self,
        expectations: &str,
        center: Arc<C>,
    ) -> Running<C> {
        const CHANNEL: &str = "[channels.ops]\nkind = \"webhook\"\nurl = \"http://127.0.0.1:1/\"\n";
        let file = WatchFile::parse(&format!("{expectations}\n{CHANNEL}")).unwrap();
        let file = file.channel("ops", AlertChannel::custom(self.clone())).unwrap();
        let began = self.began;
        let clock = move || -> Timestamp { at(0) + began.elapsed() };
        let watcher = Watcher::new(file, Arc::clone(&center) as Arc<dyn RegistryCenter>, "test@1");
        let watcher = watcher.wall_clock(clock);
        let (view, stop) = (watcher.view(), CancellationToken::new());
        let task = tokio::spawn(watcher.run(stop.clone()));
        Running { center, view, stop, task }
    }

    pub(crate) fn set_mode(&self, mode: Mode) {
        *self.mode.lock() = mode;
    }

    pub(crate) fn attempts(&self) -> usize {
        *self.attempts.lock()
    }

    /// Writes all nodes of a job, in place of its former ones.
    pub(crate) async fn put(&self, job: &Job) {
        let model = self.registry.snapshot();
        let snapshot = job.snapshot();
        let root = NodePath::parse(&format!("/{}", snapshot.job())).unwrap();
        let mut txn = Txn::new();
        for node in snapshot.nodes() {
            let life =
                if node.stat.owner.is_some() { Lifetime::Ephemeral } else { Lifetime::Persistent };
            txn = match model.read(&node.path) {
                Some(known) if known.data == node.data => txn,
                Some(_) => txn.put(node.path.clone(), node.data.clone()),
                None => txn.create(node.path.clone(), node.data.clone(), life),
            };
        }
        // The folders of the job stay.
        let is_folder = |path: &NodePath| path.as_str().matches('/').count() < 3;
        let known = model.subtree(&root).filter(|node| {
            let is_kept = snapshot.nodes().any(|kept| kept.path == node.path);
            let has_children = model.children(&node.path).is_some_and(|all| !all.is_empty());
            !is_kept && !has_children && !is_folder(&node.path)
        });
        for node in known {
            txn = txn.delete(node.path.clone());
        }
        let outcome = self.writer.commit(txn).await.unwrap();
        assert!(outcome.is_committed(), "{outcome:?}");
    }

    pub(crate) fn arrived(&self) -> Vec<Arrived> {
        self.arrived.lock().clone()
    }

    /// Waits until this number of messages has arrived, and returns all.
    pub(crate) async fn until_arrived(&self, n: usize) -> Vec<Arrived> {
        self.until(&format!("{n} messages"), || self.arrived.lock().len() >= n).await;
        self.arrived()
    }

    pub(crate) async fn until(&self, what: &str, wanted: impl Fn() -> bool) {
        within(what, async {
            loop {
                let changed = self.changed.notified();
                if wanted() {
                    return;
                }
                changed.await;
            }
        })
        .await;
    }

    /// Waits until a document below the state of watchers has this text.
    pub(crate) async fn until_stored(&self, path: &str, part: &str) {
        let path = NodePath::parse(&format!("/watch@-@state/{path}")).unwrap();
        let mut feed = self.writer.watch(&path);
        within(part, async {
            loop {
                let text = self.stored(&path);
                if text.is_some_and(|text| text.contains(part)) {
                    return;
                }
                feed.next().await.unwrap();
            }
        })
        .await;
    }

    fn stored(&self, path: &NodePath) -> Option<String> {
        let node = self.registry.snapshot().read(path).cloned()?;
        Some(String::from_utf8(node.data.to_vec()).unwrap())
    }

    /// Lets time pass.
    pub(crate) async fn pass(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    /// Returns the time in seconds after noon.
    pub(crate) fn now(&self) -> i64 {
        i64::try_from(self.began.elapsed().as_secs()).unwrap()
    }

    pub(crate) async fn silence(&self, kind: ConditionKind, until: i64) {
        let silences = Silences::new(Arc::clone(&self.writer) as Arc<dyn RegistryCenter>);
        let silence = Silence {
            expectation: kind,
            until: at(until).as_millisecond(),
            by: "anna".to_owned(),
            why: "release 12".to_owned(),
        };
        let job = JobName::new("report").unwrap();
        silences.set(&job, silence, at(self.now())).await.unwrap();
    }
}
