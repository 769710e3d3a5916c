//! Options of a connection: addresses, namespace, timeouts and credentials.

mod check;
mod error;
#[cfg(feature = "sasl")]
mod sasl;
#[cfg(any(feature = "sasl", feature = "tls"))]
mod source;
#[cfg(feature = "tls")]
mod tls;

use std::fmt;
use std::time::Duration;

use reg_center::NodePath;

pub(crate) use check::host_and_port;
pub use error::OptionsError;
#[cfg(feature = "sasl")]
pub use sasl::SaslDigest;
#[cfg(any(feature = "sasl", feature = "tls"))]
pub use source::TextSource;
#[cfg(feature = "tls")]
pub use tls::TlsOptions;
#[cfg(feature = "tls")]
pub(crate) use tls::{LoadedTls, server_name};

/// After each round through its addresses the client waits, twice as long every time, without a
/// limit. A long list of repeated addresses keeps those delays short for about a minute.
const ADDRESSES_IN_A_ROUND: usize = 32;
const MAX_NAMESPACE_BYTES: usize = 200;
const SESSION_TIMEOUTS: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(100)..=Duration::from_hours(1);
const CONNECT_TIMEOUTS: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(1)..=Duration::from_hours(1);

/// Options of a connection to ZooKeeper: servers, credentials and namespace.
///
/// | option | default | valid |
/// |---|---|---|
/// | addresses | – | `host[:port]`, comma separated; port 2181 if none is named |
/// | [`namespace`](Self::namespace) | `/` | a node path of at most 200 bytes |
/// | [`session_timeout`](Self::session_timeout) | 10 s | 100 ms to 1 h |
/// | [`connect_timeout`](Self::connect_timeout) | 15 s | 1 ms to 1 h |
/// | [`digest`](Self::digest) | none | `user:password`, both not empty |
/// | `sasl`, with the feature `sasl` | none | a user and a password, printable ASCII |
/// | `tls`, with the feature `tls` | none | authorities, optionally a certificate with its key |
///
/// Nothing is checked before [`ZookeeperCenter::connect`](crate::ZookeeperCenter::connect) or
/// [`validate`](Self::validate) is called.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use reg_center_zookeeper::ZookeeperOptions;
///
/// let options = ZookeeperOptions::new("zk-1:2181,zk-2:2181")
///     .namespace("/jobs")
///     .session_timeout(Duration::from_secs(10))
///     .digest("scheduler:secret");
/// options.validate()?;
/// assert!(!format!("{options:?}").contains("secret"));
/// # Ok::<(), reg_center_zookeeper::OptionsError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ZookeeperOptions {
    addresses: String,
    namespace: String,
    session_timeout: Duration,
    connect_timeout: Duration,
    digest: Option<String>,
    #[cfg(feature = "sasl")]
    sasl: Option<SaslDigest>,
    #[cfg(feature = "tls")]
    tls: Option<TlsOptions>,
}

impl ZookeeperOptions {
    /// Returns options for the servers at `addresses`, such as `zk-1:2181,zk-2:2181`.
    ///
    /// All servers must belong to the same ensemble. The client tries them in random order.
    #[must_use]
    pub fn new(addresses: impl Into<String>) -> Self {
        Self {
            addresses: addresses.into(),
            namespace: "/".to_owned(),
            session_timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(15),
            digest: None,
            #[cfg(feature = "sasl")]
            sasl: None,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// Parses `zk://host[:port][,host[:port]…][/namespace]`.
    ///
    /// Credentials must not be part of a URL, because URLs end up in logs and process lists; see
    /// [`digest`](Self::digest).
    ///
    /// # Errors
    /// [`OptionsError`] names the invalid part and what would be valid.
    ///
    /// # Examples
    /// ```
    /// use reg_center_zookeeper::ZookeeperOptions;
    ///
    /// let options = ZookeeperOptions::parse_url("zk://zk-1:2181,zk-2:2181/jobs")?;
    /// assert_eq!(options, ZookeeperOptions::new("zk-1:2181,zk-2:2181").namespace("/jobs"));
    /// # Ok::<(), reg_center_zookeeper::OptionsError>(())
    /// ```
    pub fn parse_url(url: &str) -> Result<Self, OptionsError> {
        const VALID: &str = "zk://host[:port][,host[:port]…][/namespace]";
        if url.contains('@') {
            return Err(OptionsError::hidden("url", "no credentials in a URL, use `digest`"));
        }
        // Other registries have parameters. Here they would become part of the namespace, together
        // with a secret among them.
        if url.contains(['?', '#']) {
            const METHODS: &str = "no parameters in a URL, use the methods such as `digest`";
            return Err(OptionsError::hidden("url", METHODS));
        }
        let rest = url.strip_prefix("zk://");
        let rest = rest.ok_or_else(|| OptionsError::new("url", url, VALID))?;
        let (addresses, namespace) = match rest.find('/') {
            Some(slash) => rest.split_at(slash),
            None => (rest, "/"),
        };
        let options = Self::new(addresses).namespace(namespace);
        options.validate()?;
        Ok(options)
    }

    /// Sets the namespace: the node that is the root of all paths of the center.
    ///
    /// It is created with its parents if it is missing. Default: the root of the registry.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// Sets the time for which the registry keeps the session without any request. Default: 10 s.
    ///
    /// The value is a proposal: a server with default settings grants 2 to 20 of its ticks of 2 s.
    /// A short timeout detects a dead process sooner, but a shorter pause already loses the
    /// session. The client abandons its connection after two fifths of the timeout without any
    /// answer.
    #[must_use]
    pub fn session_timeout(mut self, timeout: Duration) -> Self {
        self.session_timeout = timeout;
        self
    }

    /// Sets the time limit of `connect`. Default: 15 s. Once connected, a center retries without
    /// limit.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets `user:password` for ZooKeeper's digest authentication. Default: none.
    ///
    /// New nodes are accessible to this user alone; without a digest, to every client. The server
    /// checks the password only when it evaluates a node's access control list. A wrong password
    /// therefore shows as [`Error::NotAuthorized`](reg_center::Error::NotAuthorized). The password
    /// is sent unencrypted.
    #[must_use]
    pub fn digest(mut self, credentials: impl Into<String>) -> Self {
        self.digest = Some(credentials.into());
        self
    }

    /// Sets the SASL user. Default: none.
    ///
    /// New nodes are accessible only to the identities of this connection, as with
    /// [`digest`](Self::digest). These are the SASL user, the digest user if one is set, and the
    /// subject of the client certificate if there is one.
    ///
    /// Servers check the password on connect:
    /// [`ConnectError::Credentials`](crate::ConnectError::Credentials). Servers without SASL accept
    /// the connection without a user, which then cannot create nodes:
    /// [`Error::NotAuthorized`](reg_center::Error::NotAuthorized).
    #[cfg(feature = "sasl")]
    #[must_use]
    pub fn sasl(mut self, user: SaslDigest) -> Self {
        self.sasl = Some(user);
        self
    }

    /// Sets that all servers are connected by TLS. Default: plain connections.
    ///
    /// Servers have a separate port for TLS, which the addresses must name.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, tls: TlsOptions) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Checks all options. Reads the files and variables that they name.
    ///
    /// # Errors
    /// [`OptionsError`] names the first invalid option and what would be valid.
    pub fn validate(&self) -> Result<(), OptionsError> {
        self.addresses.split(',').try_for_each(|address| self.check_address(address))?;
        self.root()?;
        check::check_duration(
            "session_timeout",
            self.session_timeout,
            &SESSION_TIMEOUTS,
            "100 ms to 1 h",
        )?;
        check::check_duration(
            "connect_timeout",
            self.connect_timeout,
            &CONNECT_TIMEOUTS,
            "1 ms to 1 h",
        )?;
        self.check_identity()?;
        match self.digest.as_deref().map(|digest| digest.split_once(':')) {
            None => Ok(()),
            Some(Some((user, password))) if !user.is_empty() && !password.is_empty() => Ok(()),
            Some(_) => Err(OptionsError::hidden("digest", "user:password")),
        }
    }

    fn check_address(&self, address: &str) -> Result<(), OptionsError> {
        let (host, _) = check::host_and_port(address)?;
        #[cfg(feature = "tls")]
        if self.tls.is_some() && server_name(host).is_none() {
            const VALID: &str = "a host name or an IP address that a certificate can be for";
            return Err(OptionsError::new("address", address, VALID));
        }
        let _ = host;
        Ok(())
    }

    fn check_identity(&self) -> Result<(), OptionsError> {
        #[cfg(feature = "sasl")]
        self.load_sasl()?;
        #[cfg(feature = "tls")]
        self.load_tls()?;
        Ok(())
    }

    /// Returns user and password for SASL, read from their sources.
    #[cfg(feature = "sasl")]
    pub(crate) fn load_sasl(&self) -> Result<Option<(String, String)>, OptionsError> {
        self.sasl.as_ref().map(SaslDigest::load).transpose()
    }

    /// Returns certificates and keys, read from their sources.
    #[cfg(feature = "tls")]
    pub(crate) fn load_tls(&self) -> Result<Option<LoadedTls>, OptionsError> {
        self.tls.as_ref().map(TlsOptions::load).transpose()
    }

    /// Returns true if the center authenticates as a user, who then owns the created nodes.
    pub(crate) fn has_user(&self) -> bool {
        #[cfg(feature = "sasl")]
        if self.sasl.is_some() {
            return true;
        }
        self.digest.is_some()
    }

    /// Returns the namespace as a path.
    pub(crate) fn root(&self) -> Result<NodePath, OptionsError> {
        const VALID: &str = "a node path such as /jobs, of at most 200 bytes";
        let invalid = || OptionsError::new("namespace", &self.namespace, VALID);
        match NodePath::parse(&self.namespace) {
            Ok(path) if path.as_str().len() <= MAX_NAMESPACE_BYTES => Ok(path),
            Ok(_) | Err(_) => Err(invalid()),
        }
    }

    /// Returns the connect string for the client: all addresses, repeated.
    pub(crate) fn cluster(&self) -> String {
        repeat(&self.addresses)
    }

    /// Returns the addresses, each once.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = &str> {
        self.addresses.split(',')
    }

    pub(crate) fn wanted_session_timeout(&self) -> Duration {
        self.session_timeout
    }

    pub(crate) fn wanted_connect_timeout(&self) -> Duration {
        self.connect_timeout
    }

    pub(crate) fn credentials(&self) -> Option<&[u8]> {
        self.digest.as_deref().map(str::as_bytes)
    }

    /// Returns the same options for other addresses.
    pub(crate) fn at(&self, addresses: &str) -> Self {
        Self { addresses: addresses.to_owned(), ..self.clone() }
    }
}

fn repeat(addresses: &str) -> String {
    let n_addresses = addresses.split(',').count();
    let copies = (ADDRESSES_IN_A_ROUND / n_addresses).max(1);
    vec![addresses; copies].join(",")
}

impl fmt::Debug for ZookeeperOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ZookeeperOptions");
        shown
            .field("addresses", &self.addresses)
            .field("namespace", &self.namespace)
            .field("session_timeout", &self.session_timeout)
            .field("connect_timeout", &self.connect_timeout)
            .field("digest", &self.digest.as_ref().map(|_| "(hidden)"));
        #[cfg(feature = "sasl")]
        shown.field("sasl", &self.sasl);
        #[cfg(feature = "tls")]
        shown.field("tls", &self.tls);
        shown.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_with_parameters_is_rejected_without_its_secrets() {
        for url in ["zk://zk-1/jobs?digest=u:secret", "zk://zk-1?secret", "zk://zk-1/jobs#secret"] {
            let error = ZookeeperOptions::parse_url(url).unwrap_err();
            assert_eq!(error.option(), "url", "{url}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn an_invalid_option_is_reported_with_valid_values() {
        let base = || ZookeeperOptions::new("zk-1:2181");
        let rows = [
            ("one host", base(), None),
            ("no port", ZookeeperOptions::new("zk-1"), None),
            ("IPv4 and IPv6", ZookeeperOptions::new("127.0.0.1:1,[::1]:2,[::1]"), None),
            ("namespace", base().namespace("/a/b"), None),
            ("digest", base().digest("u:p:q"), None),
            ("no address", ZookeeperOptions::new(""), Some("address")),
            ("empty between commas", ZookeeperOptions::new("a,,b"), Some("address")),
            ("port 0", ZookeeperOptions::new("a:0"), Some("address")),
            ("port too large", ZookeeperOptions::new("a:65536"), Some("address")),
            ("no host", ZookeeperOptions::new(":2181"), Some("address")),
            ("bare IPv6", ZookeeperOptions::new("::1"), Some("address")),
            ("a path in the address", ZookeeperOptions::new("a:1/jobs"), Some("address")),
            ("spaces", ZookeeperOptions::new("a, b"), Some("address")),
            ("relative namespace", base().namespace("jobs"), Some("namespace")),
            ("slash at the end", base().namespace("/jobs/"), Some("namespace")),
            (
                "long namespace",
                base().namespace(format!("/{}", "x".repeat(200))),
                Some("namespace"),
            ),
            (
                "short session",
                base().session_timeout(Duration::from_millis(99)),
                Some("session_timeout"),
            ),
            ("long session", base().session_timeout(Duration::MAX), Some("session_timeout")),
            ("no time to connect", base().connect_timeout(Duration::ZERO), Some("connect_timeout")),
            ("no password", base().digest("secret"), Some("digest")),
            ("empty user", base().digest(":secret"), Some("digest")),
        ];
        for (case, options, expected) in rows {
            let error = options.validate().err();
            assert_eq!(error.as_ref().map(OptionsError::option), expected, "{case}: {error:?}");
            assert!(!format!("{error:?} {options:?}").contains("secret"), "{case}");
        }
    }

    #[test]
    fn a_url_has_addresses_and_an_optional_namespace() {
        let rows = [
            ("zk://a", Ok(ZookeeperOptions::new("a"))),
            ("zk://a:1,b:2", Ok(ZookeeperOptions::new("a:1,b:2"))),
            ("zk://a:1/", Ok(ZookeeperOptions::new("a:1"))),
            ("zk://a:1,b/x/y", Ok(ZookeeperOptions::new("a:1,b").namespace("/x/y"))),
            ("a:1", Err("url")),
            ("http://a:1", Err("url")),
            ("zk://", Err("address")),
            ("zk:///x", Err("address")),
            ("zk://a:1/x/", Err("namespace")),
            ("zk://a:1/x//y", Err("namespace")),
            ("zk://user:secret@a:1", Err("url")),
        ];
        for (url, expected) in rows {
            let found = ZookeeperOptions::parse_url(url);
            assert!(!format!("{found:?}").contains("secret"), "{url}");
            assert_eq!(found.map_err(|error| error.option()), expected, "{url}");
        }
    }

    #[test]
    fn addresses_are_repeated_for_the_client() {
        assert_eq!(repeat("a:1").split(',').count(), 32);
        assert_eq!(repeat("a:1,b:1,c:1").split(',').count(), 30);
        let many = vec!["a"; 40].join(",");
        assert_eq!(repeat(&many), many);
    }
}
