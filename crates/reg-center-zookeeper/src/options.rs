//! Where the registry is and how to talk to it.

use std::fmt;
use std::time::Duration;

use reg_center::NodePath;

/// The port of an address that names none.
const DEFAULT_PORT: u16 = 2181;
/// The client waits after each round through its addresses, twice as long every time, without a limit; a long
/// list of repeated addresses keeps those pauses short for about a minute.
const ADDRESSES_IN_A_ROUND: usize = 32;
const MAX_NAMESPACE_BYTES: usize = 200;
const SESSION_TIMEOUTS: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(100)..=Duration::from_hours(1);
const CONNECT_TIMEOUTS: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(1)..=Duration::from_hours(1);

/// How to reach a ZooKeeper, as whom, and where in its tree.
///
/// | option | default | valid |
/// |---|---|---|
/// | addresses | – | `host[:port]`, comma separated; port 2181 if none is named |
/// | [`namespace`](Self::namespace) | `/` | a node path of at most 200 bytes |
/// | [`session_timeout`](Self::session_timeout) | 10 s | 100 ms to 1 h |
/// | [`connect_timeout`](Self::connect_timeout) | 15 s | 1 ms to 1 h |
/// | [`digest`](Self::digest) | none | `user:password`, both not empty |
///
/// Nothing is checked before [`ZookeeperCenter::connect`](crate::ZookeeperCenter::connect), or before
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
}

impl ZookeeperOptions {
    /// Returns options for the servers at `addresses`, such as `zk-1:2181,zk-2:2181`.
    ///
    /// All of them must belong to the same ensemble. They are tried in random order.
    #[must_use]
    pub fn new(addresses: impl Into<String>) -> Self {
        Self {
            addresses: addresses.into(),
            namespace: "/".to_owned(),
            session_timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(15),
            digest: None,
        }
    }

    /// Reads `zk://host[:port][,host[:port]…][/namespace]`.
    ///
    /// Credentials do not belong into a URL, which ends in logs and process lists; see [`digest`](Self::digest).
    ///
    /// # Errors
    /// [`OptionsError`] names what is wrong and what would be valid.
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

    /// Sets the node below which everything happens: the root of all paths. It is created if it is missing, its
    /// parents too. Default: the root of the registry.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// Sets how long the registry keeps the session without hearing from us. Default: 10 s.
    ///
    /// It is a wish: a server with default settings gives 2 to 20 of its ticks of 2 s. A short session notices a
    /// dead process sooner, and is lost to a shorter pause; requests are given up after two fifths of it without
    /// any answer.
    #[must_use]
    pub fn session_timeout(mut self, timeout: Duration) -> Self {
        self.session_timeout = timeout;
        self
    }

    /// Sets how long `connect` tries. Default: 15 s. Once connected, a centre never gives up.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets `user:password` for ZooKeeper's digest authentication. Default: none.
    ///
    /// Nodes are then created for this user alone; without, for everybody. The server compares passwords only when
    /// it looks at a node's access list: a wrong one shows as
    /// [`Error::NotAuthorized`](reg_center::Error::NotAuthorized). It travels unencrypted.
    #[must_use]
    pub fn digest(mut self, credentials: impl Into<String>) -> Self {
        self.digest = Some(credentials.into());
        self
    }

    /// Checks all options.
    ///
    /// # Errors
    /// [`OptionsError`] names the first invalid option and what would be valid.
    pub fn validate(&self) -> Result<(), OptionsError> {
        for address in self.addresses.split(',') {
            check_address(address)?;
        }
        self.root()?;
        check_duration(
            "session_timeout",
            self.session_timeout,
            &SESSION_TIMEOUTS,
            "100 ms to 1 h",
        )?;
        check_duration("connect_timeout", self.connect_timeout, &CONNECT_TIMEOUTS, "1 ms to 1 h")?;
        match self.digest.as_deref().map(|digest| digest.split_once(':')) {
            None => Ok(()),
            Some(Some((user, password))) if !user.is_empty() && !password.is_empty() => Ok(()),
            Some(_) => Err(OptionsError::hidden("digest", "user:password")),
        }
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

    /// Returns the connect string for the client: all addresses, as often as it takes.
    pub(crate) fn cluster(&self) -> String {
        repeat(&self.addresses)
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
        f.debug_struct("ZookeeperOptions")
            .field("addresses", &self.addresses)
            .field("namespace", &self.namespace)
            .field("session_timeout", &self.session_timeout)
            .field("connect_timeout", &self.connect_timeout)
            .field("digest", &self.digest.as_ref().map(|_| "(hidden)"))
            .finish()
    }
}

fn check_address(address: &str) -> Result<(), OptionsError> {
    const VALID: &str = "host or host:port, comma separated, IPv6 in brackets";
    let invalid = || Err(OptionsError::new("address", address, VALID));
    let (host, port) = match address.rsplit_once(':') {
        // The colons of an IPv6 address are inside of its brackets.
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().unwrap_or(0)),
        Some(_) | None => (address, DEFAULT_PORT),
    };
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_host = |host: &str| {
        !host.is_empty() && host.chars().all(|c| c.is_alphanumeric() || "-._%".contains(c))
    };
    let is_ipv6 = |host: &str| host.parse::<std::net::Ipv6Addr>().is_ok();
    match bare.map_or_else(|| is_host(host), is_ipv6) {
        true if port != 0 => Ok(()),
        true | false => invalid(),
    }
}

fn check_duration(
    option: &'static str,
    value: Duration,
    range: &std::ops::RangeInclusive<Duration>,
    valid: &'static str,
) -> Result<(), OptionsError> {
    match range.contains(&value) {
        true => Ok(()),
        false => Err(OptionsError::new(option, &format!("{value:?}"), valid)),
    }
}

/// An option that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option} is {value}; valid: {valid}")]
pub struct OptionsError {
    option: &'static str,
    value: String,
    valid: &'static str,
}

impl OptionsError {
    fn new(option: &'static str, value: &str, valid: &'static str) -> Self {
        Self { option, value: format!("{value:?}"), valid }
    }

    /// An error that must not show its value.
    fn hidden(option: &'static str, valid: &'static str) -> Self {
        Self { option, value: "(hidden)".to_owned(), valid }
    }

    /// Returns the name of the option.
    #[must_use]
    pub fn option(&self) -> &'static str {
        self.option
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_option_is_named_with_what_would_be_valid() {
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
            ("a path in it", ZookeeperOptions::new("a:1/jobs"), Some("address")),
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
    fn a_url_has_addresses_and_perhaps_a_namespace() {
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
