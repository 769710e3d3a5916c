//! The TLS port of a server.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use server_fixture::{Authority, ClientCertificate, Identity};

use crate::{Error, SharedError};

/// TLS settings of a server, which uses TLS on a second port.
///
/// The server's certificate is issued for its own address when it starts.
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
    /// Returns settings in which `authority` issues the server's certificate and those of its
    /// clients.
    #[must_use]
    pub fn new(authority: &Authority) -> Self {
        Self { authority: authority.clone(), hosts: None, clients: ClientCertificate::default() }
    }

    /// Sets the host names and addresses of the server's certificate. The default is its own
    /// address.
    #[must_use]
    pub fn hosts(mut self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.hosts = Some(hosts.into_iter().map(Into::into).collect());
        self
    }

    /// Sets whether clients need a certificate. The default is yes.
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

    /// Issues the server's certificate, and writes it, its key, and the authority of client
    /// certificates.
    pub(crate) fn write(&self, ip: Ipv4Addr, folder: &Path) -> Result<(), Error> {
        let hosts = self.hosts.clone().unwrap_or_else(|| vec![ip.to_string()]);
        let identity: Identity = self.authority.issue("zookeeper", hosts);
        let both = format!("{}{}", identity.key_pem(), identity.certificate_pem());
        let files = [(KEY_STORE, both.as_str()), (TRUST_STORE, self.authority.pem())];
        for (name, text) in files {
            let path = folder.join(name);
            fs::write(&path, text).map_err(SharedError::file("write", &path))?;
        }
        Ok(())
    }
}

/// The port for TLS, the same on every address.
pub(crate) const SECURE_PORT: u16 = 2281;
const KEY_STORE: &str = "server.pem";
const TRUST_STORE: &str = "trusted.pem";
