//! Environment of one check: its namespace, its workers, its records.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use zookeeper_fixture::{Server, ServerOptions};

use super::log::Log;
use super::process::Start;
use super::tree::Tree;
use super::{Failure, Host, Kind, Nodes, Worker};
use crate::protocol::Registry;
use crate::suite::JavaVersion;

/// Session timeout of the workers.
///
/// The session of a killed worker ends after it. A worker that only waits for a processor keeps its
/// session.
const SESSION: Duration = Duration::from_secs(8);
/// Number of hosts.
const N_HOSTS: u8 = 4;
/// ZooKeeper's usual port.
const PORT: u16 = 2181;

/// Hosts, registry and programs that all checks share.
#[derive(Debug)]
pub(crate) struct TestBed {
    // Fields are dropped in this order.
    server: Server,
    hosts: Vec<Host>,
    folder: TempDir,
    release: JavaVersion,
    /// If set, Java workers replace the Rust workers.
    control: bool,
    java: PathBuf,
    class_path: String,
    rust: PathBuf,
}

impl TestBed {
    /// Creates the hosts and starts the registry for a release. `java` is the folder of its Maven
    /// build.
    pub(crate) fn open(release: JavaVersion, java: &Path, control: bool) -> Result<Self, Failure> {
        let hosts = (1..=N_HOSTS).map(Host::make).collect::<Result<_, _>>()?;
        // Only the hosts can connect: the suite's namespace has no other devices than theirs and
        // its loopback.
        let options = ServerOptions::default().line("clientPortAddress=0.0.0.0");
        let server = Server::start_with(&options)?;
        let folder = TempDir::new().map_err(Failure::system("make a folder for logs"))?;
        let rust = std::env::current_exe()
            .map_err(Failure::system("find the suite's own program"))?
            .with_file_name("ejob-interop-worker");
        let class_path = format!("{}/classes:{}/lib/*", java.display(), java.display());
        Ok(Self { server, hosts, folder, release, control, java: "java".into(), class_path, rust })
    }

    /// Copies the logs and records of a check to a folder that outlives the suite.
    pub(crate) fn keep_logs(&self, namespace: &str, to: &Path) -> std::io::Result<()> {
        std::fs::create_dir_all(to)?;
        for file in std::fs::read_dir(self.folder.path().join(namespace))? {
            let file = file?;
            std::fs::copy(file.path(), to.join(file.file_name()))?;
        }
        Ok(())
    }

    /// Begins a check in a namespace of its own. The events of its workers are added to `log`.
    pub(crate) async fn begin_check(
        &self,
        namespace: &str,
        log: Log,
    ) -> Result<CheckEnv<'_>, Failure> {
        let folder = self.folder.path().join(namespace);
        std::fs::create_dir_all(&folder).map_err(Failure::system("make a folder for logs"))?;
        let tree = Tree::watch(&self.server.connect_string(), namespace).await?;
        Ok(CheckEnv { test_bed: self, namespace: namespace.to_owned(), folder, log, tree })
    }
}

/// Namespace, workers and records of one check.
#[derive(Debug)]
pub(crate) struct CheckEnv<'a> {
    test_bed: &'a TestBed,
    namespace: String,
    folder: PathBuf,
    pub(crate) log: Log,
    pub(crate) tree: Tree,
}

impl CheckEnv<'_> {
    /// Starts a worker on a host, numbered from 1, without waiting until it is ready.
    pub(crate) fn start(&self, kind: Kind, name: &str, host: usize) -> Result<Worker, Failure> {
        self.start_with(kind, name, host, WorkerOptions::default())
    }

    /// Starts a worker with its own options.
    pub(crate) fn start_with(
        &self,
        kind: Kind,
        name: &str,
        host: usize,
        options: WorkerOptions,
    ) -> Result<Worker, Failure> {
        let WorkerOptions { dump_port, time_zone } = options;
        let test_bed = self.test_bed;
        let kind = if test_bed.control { Kind::Java } else { kind };
        let host = &test_bed.hosts[host - 1];
        let mut command = host.inside("setpriv");
        command.args(["--pdeathsig", "KILL"]);
        match kind {
            Kind::Rust => command.arg(&test_bed.rust),
            Kind::Java => command
                .arg(&test_bed.java)
                .args(JVM)
                .arg(format!("-Duser.timezone={time_zone}"))
                .args(["-cp", &test_bed.class_path, "ejob.interop.Main"]),
        };
        let registry = Registry {
            release: test_bed.release.to_string(),
            addresses: format!("{}:{PORT}", host.outer()),
            namespace: self.namespace.clone(),
            session_ms: u64::try_from(SESSION.as_millis()).unwrap_or(u64::MAX),
            dump_port,
            time_zone: time_zone.to_owned(),
        };
        let (ip, folder, log) = (host.ip(), &self.folder, &self.log);
        Worker::start(Start { name, kind, ip, command, registry, folder, log })
    }

    /// Starts several workers at the same time and waits until all are ready.
    pub(crate) async fn all<const N: usize>(
        &self,
        workers: [(Kind, &str, usize); N],
    ) -> Result<[Worker; N], Failure> {
        let mut started = Vec::with_capacity(N);
        for (kind, name, host) in workers {
            started.push(self.start(kind, name, host)?);
        }
        for worker in &started {
            worker.ready().await?;
        }
        Ok(started.try_into().expect("one worker was started for each"))
    }

    /// Returns the Java release of the suite.
    pub(crate) fn release(&self) -> JavaVersion {
        self.test_bed.release
    }

    pub(crate) fn nodes(&self) -> Nodes {
        self.tree.now()
    }

    /// Writes the events of the workers and the final nodes to files.
    fn write_down(&self) -> std::io::Result<()> {
        let entries = self.log.entries();
        let lines = entries.iter().map(|entry| format!("{} {:?}\n", entry.who, entry.fact));
        std::fs::write(self.folder.join("said"), lines.collect::<String>())?;
        std::fs::write(self.folder.join("nodes"), self.nodes().draw(""))
    }
}

impl Drop for CheckEnv<'_> {
    fn drop(&mut self) {
        // The check's verdict does not depend on these files.
        let _ = self.write_down();
    }
}

/// Options of a single worker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkerOptions {
    /// The port on which the worker answers dumps; −1 is none.
    pub(crate) dump_port: i32,
    /// The zone of cron expressions whose configuration names none.
    pub(crate) time_zone: &'static str,
}

impl Default for WorkerOptions {
    /// No dumps, and UTC.
    fn default() -> Self {
        Self { dump_port: -1, time_zone: "UTC" }
    }
}

/// Options of a virtual machine that starts fast and uses one address family.
const JVM: [&str; 6] = [
    "-Xmx128m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Djava.net.preferIPv4Stack=true",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
];
