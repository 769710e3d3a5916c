//! Workers of both languages at the same tasks, on a server of their own: for whoever measures them side by side.
//!
//! All are processes that are told and tell the same (`protocol`), so that one stopwatch serves for both: the times that
//! workers put into what they say, in milliseconds. Only one of them is at work at a time.

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

/// The release that is measured.
const RELEASE: JavaVersion = JavaVersion::V3_0_4;
/// How long the registry waits for a silent worker.
const SESSION: Duration = Duration::from_secs(4);
/// A virtual machine as anybody would start it.
const JVM: [&str; 2] = ["-Xmx512m", "-Djava.net.preferIPv4Stack=true"];

/// Why workers could not be measured.
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
    n_companies: AtomicU32,
}

impl Peers {
    /// Starts the server. The Java worker, as Maven has built it, is in a folder with `classes` and `lib`; the Rust worker is
    /// beside this process's own program.
    ///
    /// # Errors
    /// Returns an error if a program is missing or the server does not start.
    pub fn open(java: &Path) -> Result<Self, PeersError> {
        let server = ServerOptions::default().fsync(true).tick(Duration::from_millis(500));
        let own = std::env::current_exe().map_err(Failure::system("find this program itself"))?;
        let rust = own.with_file_name("ejob-interop-worker");
        for needed in [&java.join("classes"), &java.join("lib"), &rust] {
            let act = format!(
                "find {}: `cargo xtask bench --java target/interop/java-{RELEASE}` builds it",
                needed.display()
            );
            needed.metadata().map_err(Failure::system(act))?;
        }
        Ok(Self {
            server: Server::start_with(&server).map_err(Failure::from)?,
            folder: TempDir::new().map_err(Failure::system("make a folder for logs"))?,
            class_path: format!("{}/classes:{}/lib/*", java.display(), java.display()),
            rust,
            n_companies: AtomicU32::new(0),
        })
    }

    /// Returns the Java release that is measured.
    #[must_use]
    pub fn release(&self) -> String {
        RELEASE.to_string()
    }

    /// Begins something in a namespace of its own.
    fn company(&self, kind: Kind) -> Company<'_> {
        let number = self.n_companies.fetch_add(1, Ordering::Relaxed);
        Company { peers: self, kind, namespace: format!("company{number}"), log: Log::new() }
    }

    fn request_count(&self) -> Result<u64, Failure> {
        Ok(self.server.request_count()?)
    }
}

/// Workers of one language that share a namespace.
struct Company<'a> {
    peers: &'a Peers,
    kind: Kind,
    namespace: String,
    log: Log,
}

impl Company<'_> {
    /// Starts a worker. It is not ready yet.
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
    async fn hire(&self, name: &str) -> Result<Worker, Failure> {
        let worker = self.start(name)?;
        worker.ready().await?;
        Ok(worker)
    }
}

/// Waits for the next thing that a worker says.
async fn next(heard: &mut mpsc::UnboundedReceiver<Entry>, what: &str) -> Result<Entry, Failure> {
    let said = async {
        heard.recv().await.ok_or_else(|| Failure::unreadable("nobody is there to say anything"))
    };
    let entry = within(PATIENCE, what, said).await?;
    match entry.error() {
        Some(text) => Err(Failure::unreadable(format!("{} cannot go on: {text}", entry.who))),
        None => Ok(entry),
    }
}

/// Waits for something that is made of many things that workers say, but not for ever.
async fn within<T>(
    limit: Duration,
    expected: &str,
    heard: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let heard = tokio::time::timeout(limit, heard).await;
    heard.map_err(|_| Failure::Deadline {
        expected: expected.to_owned(),
        found: "less than that".to_owned(),
        after: limit,
    })?
}

/// Returns how long after another moment something was, both in milliseconds since 1970 UTC; nothing if it was before.
fn since(earlier: i64, at: i64) -> Duration {
    Duration::from_millis(u64::try_from(at - earlier).unwrap_or(0))
}
