//! Options of a server, and the flags made from them.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use server_fixture::{Authority, ClientCertificate, hand_over, write_private};

use crate::{Error, SharedError};

/// The port for clients, the same on every address.
pub(crate) const CLIENT_PORT: u16 = 2379;
/// The port for health checks and metrics, which uses no TLS.
pub(crate) const METRICS_PORT: u16 = 2381;
const PEER_PORT: u16 = 2380;
const CERTIFICATE: &str = "server.pem";
const KEY: &str = "server.key";
const TRUSTED: &str = "trusted.pem";

/// Options of a server. [`ServerOptions::default`] suits most tests.
///
/// # Examples
/// ```
/// use etcd_fixture::ServerOptions;
///
/// let options = ServerOptions::default().max_txn_ops(8192).flag("--quota-backend-bytes=16777216");
/// assert_eq!(options, options.clone());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerOptions {
    ready_within: Duration,
    max_txn_ops: Option<u32>,
    tls: Option<(Authority, ClientCertificate)>,
    flags: Vec<String>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            ready_within: Duration::from_secs(60),
            max_txn_ops: None,
            tls: None,
            flags: Vec::new(),
        }
    }
}

impl ServerOptions {
    /// Sets the limit of a start. The default is 60 s, enough for a busy machine.
    #[must_use]
    pub fn ready_within(mut self, limit: Duration) -> Self {
        self.ready_within = limit;
        self
    }

    /// Sets the maximum number of operations in a transaction. The default is the server's, 128.
    #[must_use]
    pub fn max_txn_ops(mut self, ops: u32) -> Self {
        self.max_txn_ops = Some(ops);
        self
    }

    /// Sets that clients use TLS. The authority issues the server's certificate for its own
    /// address, and those of its clients. The default is a plain port.
    #[must_use]
    pub fn tls(mut self, authority: &Authority, clients: ClientCertificate) -> Self {
        self.tls = Some((authority.clone(), clients));
        self
    }

    /// Adds a flag of the server, such as `--quota-backend-bytes=16777216`.
    #[must_use]
    pub fn flag(mut self, flag: impl Into<String>) -> Self {
        self.flags.push(flag.into());
        self
    }

    pub(crate) fn start_limit(&self) -> Duration {
        self.ready_within
    }

    /// Creates the files of the flags, readable by the user of the server alone.
    pub(crate) fn write_files(&self, ip: Ipv4Addr, folder: &Path) -> Result<(), Error> {
        let data = folder.join("data");
        fs::create_dir_all(&data).map_err(SharedError::file("create", &data))?;
        hand_over(&data)?;
        let Some((authority, _)) = &self.tls else { return Ok(()) };
        let identity = authority.issue("etcd", [ip.to_string()]);
        write_private(&folder.join(CERTIFICATE), identity.certificate_pem())?;
        write_private(&folder.join(KEY), identity.key_pem())?;
        Ok(write_private(&folder.join(TRUSTED), authority.pem())?)
    }

    /// Returns the flags of a server with its files in `folder`. `members` are all servers of its
    /// cluster.
    pub(crate) fn flags(&self, ip: Ipv4Addr, folder: &Path, members: &[Ipv4Addr]) -> Vec<String> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let client = format!("{scheme}://{ip}:{CLIENT_PORT}");
        let peer = format!("http://{ip}:{PEER_PORT}");
        let cluster: Vec<_> =
            members.iter().map(|ip| format!("{ip}=http://{ip}:{PEER_PORT}")).collect();
        let mut flags = vec![
            format!("--name={ip}"),
            format!("--data-dir={}", folder.join("data").display()),
            format!("--listen-client-urls={client}"),
            format!("--advertise-client-urls={client}"),
            format!("--listen-peer-urls={peer}"),
            format!("--initial-advertise-peer-urls={peer}"),
            format!("--initial-cluster={}", cluster.join(",")),
            format!("--listen-metrics-urls=http://{ip}:{METRICS_PORT}"),
            "--logger=zap".to_owned(),
        ];
        flags.extend(self.max_txn_ops.map(|ops| format!("--max-txn-ops={ops}")));
        if let Some((_, clients)) = &self.tls {
            let file = |name: &str| folder.join(name).display().to_string();
            flags.push(format!("--cert-file={}", file(CERTIFICATE)));
            flags.push(format!("--key-file={}", file(KEY)));
            if *clients == ClientCertificate::Required {
                flags.push("--client-cert-auth=true".to_owned());
                flags.push(format!("--trusted-ca-file={}", file(TRUSTED)));
            }
        }
        flags.extend(self.flags.iter().cloned());
        flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_appears_in_the_flags_and_added_flags_come_last() {
        let authority = Authority::new("test");
        let (ip, other) = (Ipv4Addr::new(127, 1, 2, 3), Ipv4Addr::new(127, 1, 2, 4));
        let flags = |options: ServerOptions| options.flags(ip, Path::new("/tmp/e"), &[ip, other]);
        let tls = |clients| ServerOptions::default().tls(&authority, clients);
        let rows = [
            ("plain", ServerOptions::default(), "--listen-client-urls=http://127.1.2.3:2379"),
            ("data", ServerOptions::default(), "--data-dir=/tmp/e/data"),
            (
                "members",
                ServerOptions::default(),
                "--initial-cluster=127.1.2.3=http://127.1.2.3:2380,127.1.2.4=http://127.1.2.4:2380",
            ),
            ("operations", ServerOptions::default().max_txn_ops(7), "--max-txn-ops=7"),
            (
                "TLS",
                tls(ClientCertificate::NotAsked),
                "--listen-client-urls=https://127.1.2.3:2379",
            ),
            ("client certificates", tls(ClientCertificate::Required), "--client-cert-auth=true"),
        ];
        for (case, options, expected) in rows {
            let flags = flags(options);
            assert!(flags.iter().any(|flag| flag == expected), "{case}: {flags:?}");
        }
        let last = flags(ServerOptions::default().flag("--max-request-bytes=9")).pop();
        assert_eq!(last.as_deref(), Some("--max-request-bytes=9"));
        let without = flags(tls(ClientCertificate::NotAsked));
        assert!(!without.iter().any(|flag| flag.contains("client-cert-auth")), "{without:?}");
    }
}
