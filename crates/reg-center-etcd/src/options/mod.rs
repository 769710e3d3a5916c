//! Options of a connection: servers, namespace, timeouts, user and certificates.

mod error;
mod source;
#[cfg(feature = "tls")]
mod tls;
mod url;

use std::ops::RangeInclusive;
use std::time::Duration;

use reg_center::NodePath;

use crate::client::{Credentials, Target};
pub use error::OptionsError;
pub use source::TextSource;
#[cfg(feature = "tls")]
pub use tls::TlsOptions;

/// The port of an address without a port.
const DEFAULT_PORT: u16 = 2379;
const MAX_NAMESPACE_BYTES: usize = 100;
/// A server with default settings grants no shorter lease than 2 s.
const SESSION_TIMEOUTS: RangeInclusive<Duration> = Duration::from_secs(2)..=Duration::from_hours(1);
const CONNECT_TIMEOUTS: RangeInclusive<Duration> =
    Duration::from_millis(1)..=Duration::from_hours(1);

/// Options of a connection to etcd.
///
/// | option | default | valid |
/// |---|---|---|
/// | addresses | – | `host[:port]`, comma separated; port 2379 if none is named |
/// | namespace | – | a node path below the root, of at most 100 bytes, such as `/jobs` |
/// | [`session_timeout`](Self::session_timeout) | 10 s | 2 s to 1 h |
/// | [`connect_timeout`](Self::connect_timeout) | 15 s | 1 ms to 1 h |
/// | [`user`](Self::user) | none | a name and the source of its password, both not empty |
/// | `tls`, with the feature `tls` | none | authorities, optionally a certificate with its key |
///
/// Nothing is checked before [`EtcdCenter::connect`](crate::EtcdCenter::connect) or
/// [`validate`](Self::validate) is called.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use reg_center_etcd::{EtcdOptions, TextSource};
///
/// let options = EtcdOptions::new("etcd-1:2379,etcd-2:2379", "/jobs")
///     .session_timeout(Duration::from_secs(5))
///     .user("worker", TextSource::Text("s3cret".into()));
/// options.validate()?;
/// assert!(!format!("{options:?}").contains("s3cret"));
/// # Ok::<(), reg_center_etcd::OptionsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdOptions {
    addresses: String,
    namespace: String,
    session_timeout: Duration,
    connect_timeout: Duration,
    user: Option<(String, TextSource)>,
    #[cfg(feature = "tls")]
    tls: Option<TlsOptions>,
}

impl EtcdOptions {
    /// Returns options for the servers at `addresses`, such as `etcd-1:2379,etcd-2:2379`, and for
    /// the keys below `namespace`, such as `/jobs`.
    ///
    /// All servers must belong to the same cluster. The center uses one at a time, the first one by
    /// chance.
    #[must_use]
    pub fn new(addresses: impl Into<String>, namespace: impl Into<String>) -> Self {
        Self {
            addresses: addresses.into(),
            namespace: namespace.into(),
            session_timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(15),
            user: None,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// Parses `etcd://[user@]host[:port][,host[:port]…]/namespace[?name=value[&name=value…]]`.
    ///
    /// | name | value |
    /// |---|---|
    /// | `password_file`, `password_env` | file or variable with the password of the user |
    /// | `ca_file` | trusted authorities in PEM: servers are connected by TLS (feature `tls`) |
    /// | `certificate_file`, `key_file` | the client's certificate and its key, with `ca_file` |
    ///
    /// Without a parameter for it, the password is in the variable `ETCD_PASSWORD`.
    ///
    /// A password must not be part of a URL, because URLs end up in logs and process lists.
    ///
    /// # Errors
    /// [`OptionsError`] names the invalid part and what would be valid. Text that may be part of a
    /// password is not shown.
    ///
    /// # Examples
    /// ```
    /// use reg_center_etcd::EtcdOptions;
    ///
    /// let options = EtcdOptions::parse_url("etcd://etcd-1:2379,etcd-2:2379/jobs")?;
    /// assert_eq!(options, EtcdOptions::new("etcd-1:2379,etcd-2:2379", "/jobs"));
    /// # Ok::<(), reg_center_etcd::OptionsError>(())
    /// ```
    pub fn parse_url(url: &str) -> Result<Self, OptionsError> {
        url::parse(url)
    }

    /// Sets the time for which the registry keeps the session without any request. Default: 10 s.
    ///
    /// It is rounded up to whole seconds, and the server may grant more:
    /// [`SessionChange::Connected`](reg_center::SessionChange::Connected) has the granted time. A
    /// short timeout detects a dead process sooner, but a shorter pause already loses the session.
    /// The center abandons a connection without answers after half of the timeout.
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

    /// Sets the user and the source of its password. Default: none.
    ///
    /// The user needs the permission to read and write all keys with the namespace as prefix
    /// (`etcdctl role grant-permission ROLE --prefix=true readwrite /jobs`). Without TLS the
    /// password is sent unencrypted.
    #[must_use]
    pub fn user(mut self, name: impl Into<String>, password: TextSource) -> Self {
        self.user = Some((name.into(), password));
        self
    }

    /// Sets that all servers are connected by TLS. Default: plain connections.
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
        self.check_values()?;
        self.credentials()?;
        self.targets().map(drop)
    }

    fn check_values(&self) -> Result<(), OptionsError> {
        for address in self.addresses.split(',') {
            host_and_port(address)?;
        }
        self.root()?;
        let rows = [
            ("session_timeout", self.session_timeout, SESSION_TIMEOUTS, "2 s to 1 h"),
            ("connect_timeout", self.connect_timeout, CONNECT_TIMEOUTS, "1 ms to 1 h"),
        ];
        for (option, value, range, valid) in rows {
            if !range.contains(&value) {
                return Err(OptionsError::new(option, &format!("{value:?}"), valid));
            }
        }
        match &self.user {
            Some((name, _)) if name.is_empty() => {
                Err(OptionsError::new("user", name, "a name that is not empty"))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Returns the namespace as a path.
    pub(crate) fn root(&self) -> Result<NodePath, OptionsError> {
        let valid = "a node path below the root, such as /jobs, of at most 100 bytes";
        match NodePath::parse(&self.namespace) {
            Ok(path) if !path.is_root() && path.as_str().len() <= MAX_NAMESPACE_BYTES => Ok(path),
            Ok(_) | Err(_) => Err(OptionsError::new("namespace", &self.namespace, valid)),
        }
    }

    /// Returns the user and the password, read from its source.
    pub(crate) fn credentials(&self) -> Result<Option<Credentials>, OptionsError> {
        const VALID: &str = "a password that is not empty";
        let Some((user, source)) = &self.user else { return Ok(None) };
        let password = source.read("password", VALID)?;
        if password.is_empty() {
            return Err(OptionsError::new("password", "", VALID));
        }
        Ok(Some(Credentials { user: user.clone(), password }))
    }

    /// Returns the servers, with the certificates read from their sources.
    pub(crate) fn targets(&self) -> Result<Vec<Target>, OptionsError> {
        #[cfg(feature = "tls")]
        let tls = self.tls.as_ref().map(TlsOptions::load).transpose()?;
        let target = |address: &str| {
            let (host, port) = host_and_port(address)?;
            Ok(Target {
                host: host.to_owned(),
                port,
                #[cfg(feature = "tls")]
                tls: tls.clone(),
            })
        };
        self.addresses.split(',').map(target).collect()
    }

    pub(crate) fn wanted_connect_timeout(&self) -> Duration {
        self.connect_timeout
    }

    /// Returns the time to live to ask for, in whole seconds.
    pub(crate) fn ttl(&self) -> i64 {
        let seconds = self.session_timeout.as_millis().div_ceil(1000);
        i64::try_from(seconds).unwrap_or(i64::MAX)
    }
}

/// Returns the host and the port; an IPv6 address is returned without its brackets.
fn host_and_port(address: &str) -> Result<(&str, u16), OptionsError> {
    let (host, port) = match address.rsplit_once(':') {
        // The colons of an IPv6 address are inside its brackets.
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().unwrap_or(0)),
        Some(_) | None => (address, DEFAULT_PORT),
    };
    let in_brackets = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_valid = match in_brackets {
        Some(host) => host.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            let valid = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
            !host.is_empty() && host.chars().all(valid)
        }
    };
    if !is_valid || port == 0 {
        let valid = "host or host:port, comma separated, IPv6 in brackets";
        return Err(OptionsError::new("address", address, valid));
    }
    Ok((in_brackets.unwrap_or(host), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_option_is_reported_with_valid_values() {
        let base = || EtcdOptions::new("e-1:2379", "/jobs");
        let text = |text: &str| TextSource::Text(text.to_owned());
        let rows = [
            ("one host", base(), None),
            ("IPv4 and IPv6", EtcdOptions::new("127.0.0.1:1,[::1]:2,[::1]", "/jobs"), None),
            ("a user", base().user("u", text("p")), None),
            ("no address", EtcdOptions::new("", "/jobs"), Some("address is \"\"; valid: host or")),
            ("a port too large", EtcdOptions::new("e:65536", "/jobs"), Some("address is \"e:6553")),
            (
                "a URL as address",
                EtcdOptions::new("http://e:1", "/jobs"),
                Some("address is \"http"),
            ),
            ("IPv6 without brackets", EtcdOptions::new("::1:2379", "/j"), Some("address is \"::1")),
            (
                "the root",
                EtcdOptions::new("e", "/"),
                Some("namespace is \"/\"; valid: a node path"),
            ),
            ("no slash", EtcdOptions::new("e", "jobs"), Some("namespace is \"jobs\"; valid: a no")),
            (
                "too short",
                base().session_timeout(Duration::from_millis(1999)),
                Some("session_timeout is \"1.999s\"; valid: 2 s to 1 h"),
            ),
            (
                "no time",
                base().connect_timeout(Duration::ZERO),
                Some("connect_timeout is \"0ns\"; valid: 1 ms to 1 h"),
            ),
            ("no user", base().user("", text("p")), Some("user is \"\"; valid: a name that")),
            ("no password", base().user("u", text("")), Some("password is \"\"; valid: a pass")),
            (
                "no variable",
                base().user("u", TextSource::Environment("NO_SUCH_PASSWORD".into())),
                Some("password is the variable NO_SUCH_PASSWORD, which cannot be read: "),
            ),
        ];
        for (case, options, expected) in rows {
            let error = options.validate().err().map(|error| error.to_string());
            assert_eq!(error.is_some(), expected.is_some(), "{case}: {error:?}");
            let (error, expected) = (error.unwrap_or_default(), expected.unwrap_or_default());
            assert!(error.starts_with(expected), "{case}: {error}");
        }
    }

    #[test]
    fn the_timeout_is_rounded_up_to_whole_seconds() {
        for (ms, ttl) in [(2_000, 2), (2_001, 3), (10_000, 10)] {
            let options = EtcdOptions::new("e", "/j").session_timeout(Duration::from_millis(ms));
            assert_eq!(options.ttl(), ttl, "{ms}");
        }
    }
}
