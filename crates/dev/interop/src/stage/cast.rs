//! All that one check has: its namespace, its workers, its records.

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

/// How long the registry waits for a silent worker. A killed one is missed after that; one that merely waits for a
/// processor is not.
const SESSION: Duration = Duration::from_secs(8);
/// How many hosts there are.
const N_HOSTS: u8 = 4;
/// ZooKeeper's usual port.
const PORT: u16 = 2181;

/// What all checks share: the hosts, the registry, and the programs.
#[derive(Debug)]
pub(crate) struct Theatre {
    // Fields are dropped in this order.
    server: Server,
    hosts: Vec<Host>,
    folder: TempDir,
    release: JavaVersion,
    /// Whether Java workers play the Rust workers' parts.
    control: bool,
    java: PathBuf,
    class_path: String,
    rust: PathBuf,
}

impl Theatre {
    /// Makes the hosts and starts the registry for a release, whose Maven build is in a folder.
    pub(crate) fn open(release: JavaVersion, java: &Path, control: bool) -> Result<Self, Failure> {
        let hosts = (1..=N_HOSTS).map(Host::make).collect::<Result<_, _>>()?;
        // The suite's namespace has nothing but the hosts beside its loopback device.
        let options = ServerOptions::default().line("clientPortAddress=0.0.0.0");
        let server = Server::start_with(&options)?;
        let folder = TempDir::new().map_err(Failure::system("make a folder for logs"))?;
        let rust = std::env::current_exe()
            .map_err(Failure::system("find the suite's own program"))?
            .with_file_name("ejob-interop-worker");
        let class_path = format!("{}/classes:{}/lib/*", java.display(), java.display());
        Ok(Self { server, hosts, folder, release, control, java: "java".into(), class_path, rust })
    }

    /// Copies what the workers of a check wrote to a folder that stays.
    pub(crate) fn keep_logs(&self, namespace: &str, to: &Path) -> std::io::Result<()> {
        std::fs::create_dir_all(to)?;
        for file in std::fs::read_dir(self.folder.path().join(namespace))? {
            let file = file?;
            std::fs::copy(file.path(), to.join(file.file_name()))?;
        }
        Ok(())
    }

    /// Begins a check in a namespace of its own. What its workers say is added to a log.
    pub(crate) async fn cast(&self, namespace: &str, log: Log) -> Result<Cast<'_>, Failure> {
        let folder = self.folder.path().join(namespace);
        std::fs::create_dir_all(&folder).map_err(Failure::system("make a folder for logs"))?;
        let tree = Tree::watch(&self.server.connect_string(), namespace).await?;
        Ok(Cast { theatre: self, namespace: namespace.to_owned(), folder, log, tree })
    }
}

/// One check's namespace, workers and records.
#[derive(Debug)]
pub(crate) struct Cast<'a> {
    theatre: &'a Theatre,
    namespace: String,
    folder: PathBuf,
    pub(crate) log: Log,
    pub(crate) tree: Tree,
}

impl Cast<'_> {
    /// Starts a worker on a host, from 1. It is not ready yet.
    pub(crate) fn start(&self, kind: Kind, name: &str, host: usize) -> Result<Worker, Failure> {
        self.start_with(kind, name, host, Habits::default())
    }

    /// Starts a worker that differs from others.
    pub(crate) fn start_with(
        &self,
        kind: Kind,
        name: &str,
        host: usize,
        habits: Habits,
    ) -> Result<Worker, Failure> {
        let Habits { dump_port, time_zone } = habits;
        let theatre = self.theatre;
        let kind = if theatre.control { Kind::Java } else { kind };
        let host = &theatre.hosts[host - 1];
        let mut command = host.inside("setpriv");
        command.args(["--pdeathsig", "KILL"]);
        match kind {
            Kind::Rust => command.arg(&theatre.rust),
            Kind::Java => command
                .arg(&theatre.java)
                .args(JVM)
                .arg(format!("-Duser.timezone={time_zone}"))
                .args(["-cp", &theatre.class_path, "ejob.interop.Main"]),
        };
        let registry = Registry {
            release: theatre.release.to_string(),
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

    /// Returns the Java release that is played with.
    pub(crate) fn release(&self) -> JavaVersion {
        self.theatre.release
    }

    pub(crate) fn nodes(&self) -> Nodes {
        self.tree.now()
    }

    /// Writes down what was said and what the registry had in the end, for people to look at.
    fn write_down(&self) -> std::io::Result<()> {
        let said = self.log.entries();
        let lines = said.iter().map(|entry| format!("{} {:?}\n", entry.who, entry.fact));
        std::fs::write(self.folder.join("said"), lines.collect::<String>())?;
        std::fs::write(self.folder.join("nodes"), self.nodes().draw(""))
    }
}

impl Drop for Cast<'_> {
    fn drop(&mut self) {
        // The check's verdict does not depend on it.
        let _ = self.write_down();
    }
}

/// In what a worker can differ from others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habits {
    /// The port that it answers dumps at; −1 is none.
    pub(crate) dump_port: i32,
    /// The zone of cron expressions whose configuration names none.
    pub(crate) time_zone: &'static str,
}

impl Default for Habits {
    /// No dumps, and UTC.
    fn default() -> Self {
        Self { dump_port: -1, time_zone: "UTC" }
    }
}

/// A virtual machine that starts fast and has one address family.
const JVM: [&str; 6] = [
    "-Xmx128m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Djava.net.preferIPv4Stack=true",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
];
