//! The contract suite on a registry file, with faults between each center and the file.

mod faults;
mod sequences;

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use reg_center::contract::{Case, Client, Faults, Harness};
use reg_center::{Change, Lifetime, NodePath, RegistryCenter as _, SessionChange, Txn};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::store::{SqliteStore, Store as _};
use crate::{Durability, SqliteCenter, SqliteOptions};
use faults::{FaultyStore, Mode};

reg_center::contract_tests!(run);

fn run(case: &Case) {
    runtime().block_on(case.run(&FileHarness::new()));
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime starts")
}

/// A center that never polls sees a commit of another one, and the end of its session.
#[cfg(target_os = "linux")]
#[test]
fn signals_alone_deliver_the_changes_of_other_centers() {
    runtime().block_on(async {
        let harness = FileHarness::new();
        let mut options = harness.options();
        options.poll_interval = Duration::from_secs(3_600);
        let reader = SqliteCenter::connect_to(options, SqliteStore::open).await.unwrap();
        let path = NodePath::parse("/job").unwrap();
        let mut feed = reader.watch(&path);
        while feed.next().await != Some(Change::Ready) {}
        // The first poll is due at the start. It must not be the one that finds the change.
        reader.sync().await.unwrap();

        let writer = SqliteCenter::connect(harness.options()).await.unwrap();
        let create = Txn::new().create(path.clone(), "", Lifetime::Ephemeral);
        writer.commit(create).await.unwrap();
        let patience = Duration::from_secs(60);
        let change = tokio::time::timeout(patience, feed.next()).await.expect("a change arrives");
        assert!(matches!(change, Some(Change::Put(node)) if node.path == path));
        writer.close().await.unwrap();
        let change = tokio::time::timeout(patience, feed.next()).await.expect("a change arrives");
        assert!(matches!(change, Some(Change::Gone { .. })), "{change:?}");
    });
}

struct FileHarness {
    directory: TempDir,
    start: Instant,
}

impl FileHarness {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory is created");
        Self { directory, start: Instant::now() }
    }

    fn options(&self) -> SqliteOptions {
        SqliteOptions::new(self.directory.path().join("registry.db"))
            .session_timeout(Duration::from_secs(2))
            .durability(Durability::Normal)
    }
}

#[async_trait]
impl Harness for FileHarness {
    async fn connect(&self) -> Client {
        let mode = Arc::new(Mutex::new(Mode::Pass));
        let for_store = Arc::clone(&mode);
        let open = move |options| Ok(FaultyStore::new(SqliteStore::open(options)?, for_store));
        let center =
            SqliteCenter::connect_to(self.options(), open).await.expect("the file is opened");
        let faults = FileFaults { mode, center: Arc::clone(&center), options: self.options() };
        Client { center, faults: Arc::new(faults) }
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        tokio::time::sleep(duration).boxed()
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

struct FileFaults {
    mode: Arc<Mutex<Mode>>,
    center: Arc<SqliteCenter>,
    options: SqliteOptions,
}

impl FileFaults {
    fn set(&self, mode: Mode) {
        *self.mode.lock() = mode;
    }

    /// Ends the session through another connection.
    fn end_session(&self) {
        let session = match self.center.session() {
            Some(
                SessionChange::Connected { session, .. } | SessionChange::Suspended { session },
            ) => session,
            other => panic!("there is no session to expire: {other:?}"),
        };
        let mut store = SqliteStore::open(self.options.clone()).expect("the file is opened");
        store.end_session(session).expect("the session is ended through another connection");
    }
}

#[async_trait]
impl Faults for FileFaults {
    async fn cut(&self) {
        self.set(Mode::Fail);
    }

    async fn reset(&self) {
        self.set(Mode::FailOnce);
    }

    async fn slow_down(&self) {
        self.set(Mode::Delay(Duration::from_millis(5)));
    }

    async fn black_hole(&self) {
        self.set(Mode::FailAfter(Duration::from_millis(200)));
    }

    async fn silence(&self) {
        self.set(Mode::FailAfter(Duration::from_millis(200)));
    }

    async fn hold_replies(&self) {
        self.set(Mode::LoseReply);
    }

    async fn hold_requests(&self) {
        self.set(Mode::Fail);
    }

    async fn heal(&self) {
        self.set(Mode::Pass);
    }

    async fn expire(&self) {
        // Nothing fails, so that the center learns of the end by its next access to the file.
        self.end_session();
        self.set(Mode::Pass);
    }

    async fn expire_unnoticed(&self) {
        self.set(Mode::Fail);
        self.end_session();
    }
}
