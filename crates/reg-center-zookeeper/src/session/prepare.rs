//! Preparation of a client with its credentials and certificates.

use std::fmt;

use reg_center::Error;
use zookeeper_client as zk;

use crate::ConnectError;
use crate::options::{OptionsError, ZookeeperOptions};

/// A client with its credentials, not connected yet.
pub(super) struct PreparedClient {
    connector: zk::Connector,
    cluster: String,
    renewal: Renewal,
}

impl PreparedClient {
    /// Reads all files and variables, on a blocking thread.
    pub(super) async fn of(options: &ZookeeperOptions) -> Result<Self, ConnectError> {
        let options = options.clone();
        let prepared = tokio::task::spawn_blocking(move || Self::prepare(&options)).await;
        // The task is cancelled only if the runtime shuts down.
        let gone = |_| ConnectError::Registry(Error::Unavailable { call: super::connect::CALL });
        Ok(prepared.map_err(gone)??)
    }

    fn prepare(options: &ZookeeperOptions) -> Result<Self, OptionsError> {
        let timeout = options.wanted_session_timeout();
        let mut connector = zk::Client::connector().with_session_timeout(timeout);
        if let Some(credentials) = options.credentials() {
            connector = connector.with_auth("digest", credentials);
        }
        #[cfg(feature = "sasl")]
        if let Some((user, password)) = options.load_sasl()? {
            connector = connector.with_sasl(zk::SaslOptions::digest_md5(user, password));
        }
        let renewal = Renewal::of(options)?;
        #[cfg(feature = "tls")]
        if let Some(certificates) = renewal.certificates.clone() {
            let tls = zk::TlsOptions::new().with_certs(certificates);
            connector = connector.with_tls(tls);
        }
        Ok(Self { connector, cluster: options.cluster(), renewal })
    }

    /// Makes the client resume a session instead of opening a new one.
    pub(super) fn resuming(self, session: zk::SessionInfo) -> Self {
        Self { connector: self.connector.with_session(session), ..self }
    }

    pub(super) async fn connect(self) -> Result<(zk::Client, Renewal), zk::Error> {
        let Self { connector, cluster, renewal } = self;
        #[cfg(feature = "tls")]
        if renewal.certificates.is_some() {
            return Ok((connector.secure_connect(&cluster).await?, renewal));
        }
        Ok((connector.connect(&cluster).await?, renewal))
    }
}

/// The certificates of a connected client, which can be replaced while it is in use.
#[derive(Clone, Default)]
pub(crate) struct Renewal {
    #[cfg(feature = "tls")]
    certificates: Option<zk::TlsDynamicCerts>,
}

#[cfg(feature = "tls")]
impl Renewal {
    fn of(options: &ZookeeperOptions) -> Result<Self, OptionsError> {
        let loaded = options.load_tls()?;
        let certificates = loaded.map(|tls| zk::TlsDynamicCerts::new(tls.certificates));
        Ok(Self { certificates })
    }

    /// Reads the certificates again, for the next attempt to connect.
    pub(super) fn renew(&self, options: &ZookeeperOptions) {
        let Some(certificates) = self.certificates.clone() else { return };
        let options = options.clone();
        tokio::task::spawn_blocking(move || match options.load_tls() {
            Ok(loaded) => loaded.into_iter().for_each(|tls| certificates.update(tls.certificates)),
            Err(error) => {
                tracing::warn!(%error, "certificates cannot be renewed, the former ones stay in use")
            }
        });
    }
}

#[cfg(not(feature = "tls"))]
impl Renewal {
    fn of(_: &ZookeeperOptions) -> Result<Self, OptionsError> {
        Ok(Self {})
    }

    pub(super) fn renew(&self, _: &ZookeeperOptions) {}
}

impl fmt::Debug for Renewal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Renewal").finish_non_exhaustive()
    }
}
