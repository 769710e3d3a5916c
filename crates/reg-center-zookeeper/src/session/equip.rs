//! What a client is given to show, and to hold servers against, before it connects.

use std::fmt;

use reg_center::Error;
use zookeeper_client as zk;

use crate::ConnectError;
use crate::options::{OptionsError, ZookeeperOptions};

/// A client that knows who it is and is not connected yet.
pub(super) struct Equipped {
    connector: zk::Connector,
    cluster: String,
    renewal: Renewal,
}

impl Equipped {
    /// Looks up everything that files and variables hold, without keeping the runtime from its work.
    pub(super) async fn of(options: &ZookeeperOptions) -> Result<Self, ConnectError> {
        let options = options.clone();
        let looked_up = tokio::task::spawn_blocking(move || Self::look_up(&options)).await;
        // The runtime is shutting down.
        let gone = |_| ConnectError::Registry(Error::Unavailable { act: super::connect::ACT });
        Ok(looked_up.map_err(gone)??)
    }

    fn look_up(options: &ZookeeperOptions) -> Result<Self, OptionsError> {
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

    /// Lets the client resume a session instead of opening one.
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

/// The certificates that a client goes by, which can be replaced while it lives.
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

    /// Looks the certificates up again, for the next attempt to connect.
    pub(super) fn renew(&self, options: &ZookeeperOptions) {
        let Some(certificates) = self.certificates.clone() else { return };
        let options = options.clone();
        tokio::task::spawn_blocking(move || match options.load_tls() {
            Ok(loaded) => loaded.into_iter().for_each(|tls| certificates.update(tls.certificates)),
            Err(error) => tracing::warn!(%error, "certificates cannot be renewed"),
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
