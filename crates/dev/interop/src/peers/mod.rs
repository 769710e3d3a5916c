//! Measurements of workers of both languages at the same tasks, on a server of their own.
//!
//! All workers use the same protocol (`protocol`), so that both are measured in the same way: by
//! the times in their events, in milliseconds. Only one task runs at a time.

mod fires;
mod idle;
mod lateness;
mod loss;
mod resharding;
mod start_up;

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::mpsc;
use zookeeper_fixture::{Server, ServerOptions};

pub use fires::{Fire, FireTask, Fires};
pub use idle::{Idle, size_of};
pub use loss::Loss;
pub use start_up::StartUp;

use crate::protocol::Registry;
pub use crate::stage::Kind;
use crate::stage::{Entry, Failure, Log, PATIENCE, Start, Worker};
use crate::suite::JavaVersion;

/// The measured release.
const RELEASE: JavaVersion = JavaVersion::V3_0_4;
/// Session timeout of the workers.
const SESSION: Duration = Duration::from_secs(4);
/// Options of a virtual machine without tuning.
const JVM: [&str; 2] = ["-Xmx512m", "-Djava.net.preferIPv4Stack=true"];

/// Reason why workers could not be measured.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct PeersError(#[from] Failure);

/// A server with fsync, and the programs of the workers.
#[derive(Debug)]
pub struct Peers {
    // Fields are dropped in this order.
    server: Server,
    folder: TempDir,
    class_path: String,
    rust: PathBuf,
    n_groups: AtomicU32,
}

impl Peers {
    /// Starts the server.
    ///
    /// `java` is the folder of the Java worker, with `classes` and `lib` as built by Maven. The
    /// Rust worker is in the folder of this process's own program.
    ///
    /// # Errors
    /// Returns an error if a program is missing or the server does not start.
    pub fn open(java: &Path) -> Result<Self, PeersError> {
        let server = ServerOptions::default().fsync(true).tick(Duration::from_millis(500));
        let own = std::env::current_exe().map_err(Failure::system("find this program itself"))?;
        let rust = own.with_file_name("ejob-interop-worker");
        for needed in [&java.join("classes"), &java.join("lib"), &rust] {
            let action = format!(
                "find {}: `cargo xtask bench --java target/interop/java-{RELEASE}` builds it",
                needed.display()
            );
            needed.metadata().map_err(Failure::system(action))?;
        }
        Ok(Self {
            server: Server::start_with(&server).map_err(Failure::from)?,
            folder: TempDir::new().map_err(Failure::system("make a folder for logs"))?,
            class_path: format!("{}/classes:{}/lib/*", java.display(), java.display()),
            rust,
            n_groups: AtomicU32::new(0),
        })
    }

    /// Returns the measured Java release.
    #[must_use]
    pub fn release(&self) -> String {
        RELEASE.to_string()
    }

    /// Begins a task in a namespace of its own.
    fn group(&self, kind: Kind) -> WorkerGroup<'_> {
        let number = self.n_groups.fetch_add(1, Ordering::Relaxed);
        WorkerGroup { peers: self, kind, namespace: format!("group{number}"), log: Log::new() }
    }

    fn request_count(&self) -> Result<u64, Failure> {
        Ok(self.server.request_count()?)
    }
}

/// Workers of one language in one namespace.
struct WorkerGroup<'a> {
    peers: &'a Peers,
    kind: Kind,
    namespace: String,
    log: Log,
}

impl WorkerGroup<'_> {
    /// Starts a worker without waiting until it is ready.
    fn start(&self, name: &str) -> Result<Worker, Failure> {
        let peers = self.peers;
        let command = match self.kind {
            Kind::Rust => Command::new(&peers.rust),
            Kind::Java => {
                let mut java = Command::new("java");
                java.args(JVM).args(["-cp", &peers.class_path, "ejob.interop.Main"]);
                java
            }
        };
        let registry = Registry {
            release: RELEASE.to_string(),
            addresses: peers.server.connect_string(),
            namespace: self.namespace.clone(),
            session_ms: u64::try_from(SESSION.as_millis()).unwrap_or(u64::MAX),
            dump_port: -1,
            time_zone: "UTC".to_owned(),
        };
        let name = &format!("{}-{name}", self.namespace);
        let (folder, log) = (peers.folder.path(), &self.log);
        let ip = Ipv4Addr::LOCALHOST;
        Worker::start(Start { name, kind: self.kind, ip, command, registry, folder, log })
    }

    /// Starts a worker and waits until it is ready.
    async fn start_ready(&self, name: &str) -> Result<Worker, Failure> {
        let worker = self.start(name)?;
        worker.ready().await?;
        Ok(worker)
    }
}

/// Waits for the next event of a worker. An error event fails.
async fn next(events: &mut mpsc::UnboundedReceiver<Entry>, what: &str) -> Result<Entry, Failure> {
    let event = async {
        events.recv().await.ok_or_else(|| Failure::unreadable("the log of the workers is closed"))
    };
    let entry = within(PATIENCE, what, event).await?;
    match entry.error() {
        Some(text) => {
            Err(Failure::unreadable(format!("the worker {} has failed: {text}", entry.who)))
        }
        None => Ok(entry),
    }
}

/// Waits for a result of several events, for at most `limit`.
async fn within<T>(
    limit: Duration,
    expected: &str,
    result: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let ended = tokio::time::timeout(limit, result).await;
    ended.map_err(|_| Failure::Deadline {
        expected: expected.to_owned(),
        found: "not all of it".to_owned(),
        after: limit,
    })?
}

/// Returns the time from `earlier` to `at`, both in milliseconds since 1970 UTC. It is zero if `at`
/// is before.
fn since(earlier: i64, at: i64) -> Duration {
    Duration::from_millis(u64::try_from(at - earlier).unwrap_or(0))
}
