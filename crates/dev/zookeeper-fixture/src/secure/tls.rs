//! A second port of a server, which speaks TLS.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use super::{Authority, Identity};
use crate::Error;

/// Whether a client has to show a certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientCertificate {
    /// One that the server's authority has issued. ZooKeeper's default.
    #[default]
    Required,
    /// None is asked for.
    NotAsked,
}

/// How a server speaks TLS: on a port of its own, beside the plain one.
///
/// Its certificate is issued when it is started, for its own address.
///
/// # Examples
/// ```
/// use zookeeper_fixture::{Authority, ServerOptions, TlsServer};
///
/// let authority = Authority::new("the test's own");
/// let options = ServerOptions::default().tls(TlsServer::new(&authority));
/// # let _ = options;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsServer {
    authority: Authority,
    hosts: Option<Vec<String>>,
    clients: ClientCertificate,
}

impl TlsServer {
    /// A server whose certificate is of `authority`, and which wants one of the same authority from its clients.
    #[must_use]
    pub fn new(authority: &Authority) -> Self {
        Self { authority: authority.clone(), hosts: None, clients: ClientCertificate::default() }
    }

    /// Sets for which host names and addresses the server's certificate is. Default: its own address.
    #[must_use]
    pub fn hosts(mut self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.hosts = Some(hosts.into_iter().map(Into::into).collect());
        self
    }

    /// Sets whether a client has to show a certificate. Default: yes.
    #[must_use]
    pub fn clients(mut self, clients: ClientCertificate) -> Self {
        self.clients = clients;
        self
    }

    /// Returns the lines of `zoo.cfg` for a server on `ip` with its files in `folder`.
    pub(crate) fn zoo_cfg(&self, ip: Ipv4Addr, folder: &Path) -> String {
        let clients = match self.clients {
            ClientCertificate::Required => "need",
            ClientCertificate::NotAsked => "none",
        };
        format!(
            "secureClientPort={port}\nsecureClientPortAddress={ip}\n\
             serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory\n\
             ssl.keyStore.type=PEM\nssl.keyStore.location={key}\n\
             ssl.trustStore.type=PEM\nssl.trustStore.location={trust}\n\
             ssl.clientAuth={clients}\n",
            port = SECURE_PORT,
            key = folder.join(KEY_STORE).display(),
            trust = folder.join(TRUST_STORE).display(),
        )
    }

    /// Issues the server's certificate and writes it, its key, and the authority that clients are known by.
    pub(crate) fn write(&self, ip: Ipv4Addr, folder: &Path) -> Result<(), Error> {
        let hosts = self.hosts.clone().unwrap_or_else(|| vec![ip.to_string()]);
        let identity: Identity = self.authority.issue("zookeeper", hosts);
        let both = format!("{}{}", identity.key_pem(), identity.certificate_pem());
        let files = [(KEY_STORE, both.as_str()), (TRUST_STORE, self.authority.pem())];
        files.into_iter().try_for_each(|(name, text)| {
            let path = folder.join(name);
            fs::write(&path, text).map_err(Error::file("write", &path))
        })
    }
}

/// The port for TLS; each server has its own address.
pub(crate) const SECURE_PORT: u16 = 2281;
const KEY_STORE: &str = "server.pem";
const TRUST_STORE: &str = "trusted.pem";
