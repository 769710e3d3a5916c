//! What a test may choose about its server, and the configuration file made from it.

use std::fmt::Write as _;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Error, SaslUsers, TlsServer};

/// Below the server's folder, beside its data.
const DATA: &str = "data";
const JAAS: &str = "jaas.conf";

/// The choices a test has for its servers; [`ServerOptions::default`] suits most.
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
    /// A session lasts at least two ticks and ends on a tick. The longest session is one minute
    /// whatever the tick, unless a [line](Self::line) sets `maxSessionTimeout`.
    #[must_use]
    pub fn tick(mut self, tick: Duration) -> Self {
        self.tick = tick.max(Duration::from_millis(1));
        self
    }

    /// Sets whether each transaction is forced to the disk before it is answered; the default is no.
    ///
    /// Without it the data still survive the death of the process, only not that of the machine.
    #[must_use]
    pub fn fsync(mut self, fsync: bool) -> Self {
        self.fsync = fsync;
        self
    }

    /// Sets how much memory the server has for its data, in MiB; the default is 128.
    ///
    /// A node takes some hundred bytes beside its own, and the latest transactions are kept in memory as well. With too little
    /// the server is busy looking for free memory, and answers later and later; what Java does not take as the size of a heap,
    /// as 0 or 1, lets the start fail.
    #[must_use]
    pub fn heap_mib(mut self, heap: u32) -> Self {
        self.heap_mib = heap;
        self
    }

    /// Sets how long a start may take; the default is 60 s, enough for a busy machine.
    #[must_use]
    pub fn ready_within(mut self, limit: Duration) -> Self {
        self.ready_within = limit;
        self
    }

    /// Adds a port that speaks TLS, beside the plain one. The default is none.
    #[must_use]
    pub fn tls(mut self, tls: TlsServer) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Lets users say by SASL (DIGEST-MD5) who they are, on all ports. The default is nobody.
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

    /// Creates what the configuration refers to: the folder of the data, keys, and users.
    pub(crate) fn write_files(&self, ip: Ipv4Addr, folder: &Path) -> Result<(), Error> {
        let data = data_folder(folder);
        fs::create_dir_all(&data).map_err(Error::file("create", &data))?;
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
            // A small machine that starts fast: one collector thread, one compiler tier.
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-XX:-UsePerfData",
            "-Djava.net.preferIPv4Stack=true",
            "-Dzookeeper.jmx.log4j.disable=true",
            // KiB; the default reserves 64 MiB of log for each server.
            "-Dzookeeper.preAllocSize=64",
            "-Dzookeeper.extendedTypesEnabled=true",
            // Milliseconds; empty containers and expired nodes would stay for a minute.
            "-Dznode.container.checkIntervalMs=500",
            "-Dorg.slf4j.simpleLogger.showDateTime=true",
        ]
        .into_iter()
        .map(str::to_owned)
        .chain([format!("-Xmx{}m", self.heap_mib), format!("-Dzookeeper.forceSync={force_sync}")])
        .chain(self.sasl.as_ref().map(|_| jaas()))
        .collect()
    }

    /// Returns the text of `zoo.cfg` for a server on `ip` with its files in `folder`, among `peers`,
    /// which are in the order of their ids and empty for a server that stands alone.
    pub(crate) fn zoo_cfg(&self, ip: Ipv4Addr, folder: &Path, peers: &[Ipv4Addr]) -> String {
        let mut text = format!(
            "tickTime={tick}\ninitLimit={init}\nsyncLimit={sync}\ndataDir={data}\n\
             clientPort=2181\nclientPortAddress={ip}\n\
             maxSessionTimeout=60000\nmaxClientCnxns=0\nadmin.enableServer=false\n\
             4lw.commands.whitelist=*\n",
            tick = self.tick.as_millis(),
            // Both are counted in ticks; short ticks need many, or a busy machine loses its quorum.
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

/// Returns where a server with its files in `folder` keeps its data.
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
    fn every_choice_appears_where_the_server_reads_it() {
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
            ("its port", tls(ClientCertificate::Required), "secureClientPortAddress=127.1.2.3\n"),
            ("its key", tls(ClientCertificate::Required), "keyStore.location=/tmp/zk/server.pem\n"),
            ("users", users.clone(), "auth.SASLAuthenticationProvider\n"),
            ("users alone", users, "sessionRequireClientSASLAuth=true\n"),
            ("second peer", ServerOptions::default(), "server.2=127.1.2.4:2888:3888\n"),
        ];
        for (case, options, expected) in rows {
            let text = zoo_cfg(&options, &peers);
            assert!(text.contains(expected), "{case}: {expected:?} is not in:\n{text}");
        }
    }

    #[test]
    fn lines_come_last_so_that_they_override() {
        let text = zoo_cfg(&ServerOptions::default().line("maxClientCnxns=7").line("a=b"), &[]);
        assert!(text.ends_with("maxClientCnxns=7\na=b\n"), "{text}");
        assert!(!text.contains("server."), "a server that stands alone has no peers: {text}");
    }

    #[test]
    fn fsync_is_off_unless_wanted() {
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
