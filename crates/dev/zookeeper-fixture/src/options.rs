//! Options of a server, and the configuration file made from them.

use std::fmt::Write as _;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Error, SaslUsers, SharedError, TlsServer};

/// Name of the data folder in the server's folder.
const DATA: &str = "data";
/// Name of the login configuration in the server's folder.
const JAAS: &str = "jaas.conf";

/// Options of a server. [`ServerOptions::default`] suits most tests.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use zookeeper_fixture::ServerOptions;
///
/// let options = ServerOptions::default()
///     .tick(Duration::from_millis(50))
///     .fsync(true)
///     .line("maxSessionTimeout=5000");
/// assert_eq!(options, options.clone());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerOptions {
    tick: Duration,
    fsync: bool,
    heap_mib: u32,
    ready_within: Duration,
    tls: Option<TlsServer>,
    sasl: Option<SaslUsers>,
    lines: Vec<String>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        ServerOptions {
            tick: Duration::from_millis(100),
            fsync: false,
            heap_mib: 128,
            ready_within: Duration::from_secs(60),
            tls: None,
            sasl: None,
            lines: Vec::new(),
        }
    }
}

impl ServerOptions {
    /// Sets ZooKeeper's `tickTime`; the default is 100 ms, the least is 1 ms.
    ///
    /// The session timeout is at least two ticks, and sessions end on a tick. The maximum timeout
    /// is one minute for every tick, unless a [line](Self::line) sets `maxSessionTimeout`.
    #[must_use]
    pub fn tick(mut self, tick: Duration) -> Self {
        self.tick = tick.max(Duration::from_millis(1));
        self
    }

    /// Sets whether each transaction is forced to the disk before it is answered. The default is
    /// no.
    ///
    /// Without it the data survive a crash of the process, but not a crash of the machine.
    #[must_use]
    pub fn fsync(mut self, fsync: bool) -> Self {
        self.fsync = fsync;
        self
    }

    /// Sets the size of the server's heap, in MiB. The default is 128.
    ///
    /// A node takes some hundred bytes in addition to its data, and the latest transactions are
    /// kept in memory as well. A server with too little memory collects garbage most of the time
    /// and answers later and later. The start fails for sizes that Java rejects, such as 0 or 1.
    #[must_use]
    pub fn heap_mib(mut self, heap: u32) -> Self {
        self.heap_mib = heap;
        self
    }

    /// Sets the limit of a start. The default is 60 s, enough for a busy machine.
    #[must_use]
    pub fn ready_within(mut self, limit: Duration) -> Self {
        self.ready_within = limit;
        self
    }

    /// Adds a port for TLS to the plain one. The default is none.
    #[must_use]
    pub fn tls(mut self, tls: TlsServer) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Sets the users that can authenticate by SASL (DIGEST-MD5), on all ports. The default is
    /// none.
    #[must_use]
    pub fn sasl(mut self, users: SaslUsers) -> Self {
        self.sasl = Some(users);
        self
    }

    /// Adds a line to the end of `zoo.cfg`, where it overrides the line of the same name above it.
    #[must_use]
    pub fn line(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }

    pub(crate) fn start_limit(&self) -> Duration {
        self.ready_within
    }

    pub(crate) fn speaks_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Creates the files that the configuration refers to: the data folder, keys, and users.
    pub(crate) fn write_files(&self, ip: Ipv4Addr, folder: &Path) -> Result<(), Error> {
        let data = data_folder(folder);
        fs::create_dir_all(&data).map_err(SharedError::file("create", &data))?;
        if let Some(tls) = &self.tls {
            tls.write(ip, folder)?;
        }
        self.sasl.as_ref().map_or(Ok(()), |users| users.write(&folder.join(JAAS)))
    }

    /// Returns the options of the Java virtual machine for a server with its files in `folder`.
    pub(crate) fn jvm_arguments(&self, folder: &Path) -> Vec<String> {
        let force_sync = if self.fsync { "yes" } else { "no" };
        let jaas = || format!("-Djava.security.auth.login.config={}", folder.join(JAAS).display());
        [
            // For a fast start: one collector thread, one compiler tier.
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-XX:-UsePerfData",
            "-Djava.net.preferIPv4Stack=true",
            "-Dzookeeper.jmx.log4j.disable=true",
            // In KiB. The default reserves 64 MiB of log for each server.
            "-Dzookeeper.preAllocSize=64",
            "-Dzookeeper.extendedTypesEnabled=true",
            // In milliseconds. By default empty containers and expired nodes stay for a minute.
            "-Dznode.container.checkIntervalMs=500",
            "-Dorg.slf4j.simpleLogger.showDateTime=true",
        ]
        .into_iter()
        .map(str::to_owned)
        .chain([format!("-Xmx{}m", self.heap_mib), format!("-Dzookeeper.forceSync={force_sync}")])
        .chain(self.sasl.as_ref().map(|_| jaas()))
        .collect()
    }

    /// Returns the text of `zoo.cfg` for a server on `ip` with its files in `folder`.
    ///
    /// `peers` are the members of its ensemble in the order of their ids. They are empty for a
    /// standalone server.
    pub(crate) fn zoo_cfg(&self, ip: Ipv4Addr, folder: &Path, peers: &[Ipv4Addr]) -> String {
        let mut text = format!(
            "tickTime={tick}\ninitLimit={init}\nsyncLimit={sync}\ndataDir={data}\n\
             clientPort=2181\nclientPortAddress={ip}\n\
             maxSessionTimeout=60000\nmaxClientCnxns=0\nadmin.enableServer=false\n\
             4lw.commands.whitelist=*\n",
            tick = self.tick.as_millis(),
            // Counted in ticks. With short ticks and few of them, a busy machine loses its quorum.
            init = self.ticks_in(Duration::from_secs(20)),
            sync = self.ticks_in(Duration::from_secs(4)),
            data = data_folder(folder).display(),
        );
        for (peer, id) in peers.iter().zip(1..) {
            writeln!(text, "server.{id}={peer}:2888:3888")
                .expect("writing to a string cannot fail");
        }
        text.extend(self.tls.as_ref().map(|tls| tls.zoo_cfg(ip, folder)));
        text.extend(self.sasl.as_ref().map(SaslUsers::zoo_cfg));
        for line in &self.lines {
            writeln!(text, "{line}").expect("writing to a string cannot fail");
        }
        text
    }

    fn ticks_in(&self, limit: Duration) -> u128 {
        (limit.as_millis() / self.tick.as_millis()).max(2)
    }
}

/// Returns the data folder of a server with its files in `folder`.
pub(crate) fn data_folder(folder: &Path) -> PathBuf {
    folder.join(DATA)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Authority, ClientCertificate};

    fn zoo_cfg(options: &ServerOptions, peers: &[Ipv4Addr]) -> String {
        options.zoo_cfg(Ipv4Addr::new(127, 1, 2, 3), Path::new("/tmp/zk"), peers)
    }

    #[test]
    fn every_option_appears_in_zoo_cfg() {
        let slow = ServerOptions::default().tick(Duration::from_secs(20));
        let authority = Authority::new("test");
        let tls =
            |clients| ServerOptions::default().tls(TlsServer::new(&authority).clients(clients));
        let users = ServerOptions::default().sasl(SaslUsers::new().user("a", "b").required());
        let peers = [Ipv4Addr::new(127, 1, 2, 3), Ipv4Addr::new(127, 1, 2, 4)];
        let rows = [
            ("tick", ServerOptions::default(), "tickTime=100\n"),
            ("limits in ticks", ServerOptions::default(), "initLimit=200\nsyncLimit=40\n"),
            ("limits of slow ticks", slow, "tickTime=20000\ninitLimit=2\nsyncLimit=2\n"),
            ("zero tick", ServerOptions::default().tick(Duration::ZERO), "tickTime=1\n"),
            ("loopback only", ServerOptions::default(), "clientPortAddress=127.1.2.3\n"),
            ("data", ServerOptions::default(), "dataDir=/tmp/zk/data\n"),
            (
                "no certificate of clients",
                tls(ClientCertificate::NotAsked),
                "ssl.clientAuth=none\n",
            ),
            ("certificates of clients", tls(ClientCertificate::Required), "ssl.clientAuth=need\n"),
            (
                "port for TLS",
                tls(ClientCertificate::Required),
                "secureClientPortAddress=127.1.2.3\n",
            ),
            (
                "key for TLS",
                tls(ClientCertificate::Required),
                "keyStore.location=/tmp/zk/server.pem\n",
            ),
            ("users", users.clone(), "auth.SASLAuthenticationProvider\n"),
            ("users required", users, "sessionRequireClientSASLAuth=true\n"),
            ("second peer", ServerOptions::default(), "server.2=127.1.2.4:2888:3888\n"),
        ];
        for (case, options, expected) in rows {
            let text = zoo_cfg(&options, &peers);
            assert!(text.contains(expected), "{case}: {expected:?} is not in:\n{text}");
        }
    }

    #[test]
    fn added_lines_come_last_and_override() {
        let text = zoo_cfg(&ServerOptions::default().line("maxClientCnxns=7").line("a=b"), &[]);
        assert!(text.ends_with("maxClientCnxns=7\na=b\n"), "{text}");
        assert!(!text.contains("server."), "a standalone server has no peers: {text}");
    }

    #[test]
    fn fsync_is_off_by_default() {
        let rows = [
            (ServerOptions::default(), "-Dzookeeper.forceSync=no"),
            (ServerOptions::default().fsync(true), "-Dzookeeper.forceSync=yes"),
        ];
        for (options, expected) in rows {
            let arguments = options.jvm_arguments(Path::new("/tmp/zk"));
            assert!(!arguments.iter().any(|argument| argument.contains("login")), "{arguments:?}");
            assert!(arguments.iter().any(|argument| argument == expected), "{arguments:?}");
        }
    }
}
