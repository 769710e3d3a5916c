//! The ways to sign in to a console.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::http::uri::Authority;
use tokio::sync::Semaphore;

use super::file::{WatchedFile, check_name};
use super::limit::SignInLimit;
use super::log::AccessLog;
use super::proxy::Proxy;
use super::sessions::{Holder, SessionBounds, Sessions};
use super::tokens::Tokens;
use super::users::Users;

/// Most passwords that are checked at the same time. Each check uses a core and 19 MiB of memory.
const MAX_CHECKS: usize = 2;

/// Why the access to a console cannot be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AccessError {
    /// A users file or a tokens file cannot be used.
    #[error("{} {reason}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Place and description of the error.
        reason: String,
    },
    /// A text is no name of a header.
    #[error("header is {name:?}; valid is a header name such as \"x-forwarded-user\"")]
    Header {
        /// The given name.
        name: String,
    },
    /// The name of a caller, or of a group or its job pattern, is not valid.
    #[error("{0}")]
    Grant(String),
    /// A setting of the identity provider is not valid.
    #[error("oidc: {field} is {value:?}; valid is {valid}")]
    #[cfg(feature = "oidc")]
    Provider {
        /// Name of the setting.
        field: &'static str,
        /// The given value. Never a secret.
        value: String,
        /// Description of the valid values.
        valid: &'static str,
    },
    /// A host name is not valid.
    #[error("host is {name:?}; valid is a name or an address without port")]
    Host {
        /// The given name.
        name: String,
    },
    /// A console without sign-in would be reachable from other machines.
    #[error(
        "listen address is {address}, and the console has no sign-in; valid are loopback addresses \
         such as 127.0.0.1, or a users file, a tokens file, a proxy or an identity provider that \
         signs users in"
    )]
    OpenAddress {
        /// The given address.
        address: SocketAddr,
    },
    /// A console with sign-in has no way to sign in.
    #[error(
        "the console has no way to sign in; give a users file, a tokens file, a proxy or an \
         identity provider"
    )]
    NoSignIn,
}

/// The ways to sign in to a console.
///
/// Users with passwords, bearer tokens and users of a proxy can be combined. A program that mounts
/// the console can also identify callers itself: it adds a [`Caller`](crate::Caller) to the
/// extensions of a request.
///
/// The server has to pass on the address of the peer, as
/// [`into_make_service_with_connect_info`](axum::Router::into_make_service_with_connect_info) does.
/// Without it, no proxy is recognised, and an open console refuses each request.
///
/// # Examples
/// ```no_run
/// use job_console::Access;
///
/// let access = Access::sign_in().users("/etc/ejob/users.toml")?.tokens("/etc/ejob/tokens.toml")?;
/// access.check_bind("0.0.0.0:8080".parse()?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Access {
    /// Name of the caller of each request, if there is no sign-in.
    pub(super) open: Option<String>,
    pub(super) users: Option<Arc<WatchedFile<Users>>>,
    pub(super) tokens: Option<Arc<WatchedFile<Tokens>>>,
    pub(super) proxy: Option<Proxy>,
    #[cfg(feature = "oidc")]
    pub(super) oidc: Option<Arc<super::oidc::Provider>>,
    /// Host names by which clients may reach the console.
    pub(super) hosts: BTreeSet<String>,
    /// Peers whose `X-Forwarded-For` names the client.
    pub(super) reverse_proxies: BTreeSet<IpAddr>,
    pub(super) sessions: Sessions<Holder>,
    pub(super) limit: SignInLimit,
    pub(super) checks: Arc<Semaphore>,
    pub(super) log: AccessLog,
}

impl Access {
    /// Lets each request of this machine act as an admin with the given name, without sign-in.
    ///
    /// A request is refused if its peer is not known or has no loopback address, if it names
    /// another host, or if a proxy has forwarded it and no [`host`](Self::host) is listed.
    ///
    /// # Errors
    /// [`AccessError::Grant`] if the name is not valid.
    pub fn open(name: &str) -> Result<Self, AccessError> {
        check_name(name).map_err(AccessError::Grant)?;
        Ok(Self { open: Some(name.to_owned()), ..Self::sign_in() })
    }

    /// Returns true if requests of this machine need no sign-in.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Demands a sign-in. Without further methods, only callers that the mounting program has
    /// identified are accepted.
    #[must_use]
    pub fn sign_in() -> Self {
        Self {
            open: None,
            users: None,
            tokens: None,
            proxy: None,
            #[cfg(feature = "oidc")]
            oidc: None,
            hosts: BTreeSet::new(),
            reverse_proxies: BTreeSet::new(),
            sessions: Sessions::new(SessionBounds::default()),
            limit: SignInLimit::default(),
            checks: Arc::new(Semaphore::new(MAX_CHECKS)),
            log: AccessLog::default(),
        }
    }

    /// Accepts users with passwords from a file, which is read again when it changes.
    ///
    /// # Errors
    /// [`AccessError::File`] if the file cannot be read, is readable by other users of the machine,
    /// or has an error.
    pub fn users(mut self, path: impl AsRef<Path>) -> Result<Self, AccessError> {
        self.users = Some(open_file(path.as_ref(), Users::parse)?);
        self.open = None;
        Ok(self)
    }

    /// Accepts bearer tokens from a file, which is read again when it changes.
    ///
    /// # Errors
    /// [`AccessError::File`] if the file cannot be read, is readable by other users of the machine,
    /// or has an error.
    pub fn tokens(mut self, path: impl AsRef<Path>) -> Result<Self, AccessError> {
        self.tokens = Some(open_file(path.as_ref(), Tokens::parse)?);
        self.open = None;
        Ok(self)
    }

    /// Accepts the users of a proxy.
    #[must_use]
    pub fn proxy(mut self, proxy: Proxy) -> Self {
        self.reverse_proxies.extend(proxy.peers());
        self.proxy = Some(proxy);
        self.open = None;
        self
    }

    /// Accepts the users of an identity provider.
    ///
    /// # Errors
    /// [`AccessError::Provider`] if this machine has no certificates for the provider's address, or
    /// if the client secret cannot be read.
    #[cfg(feature = "oidc")]
    pub fn oidc(mut self, oidc: super::oidc::Oidc) -> Result<Self, AccessError> {
        self.oidc = Some(Arc::new(super::oidc::Provider::new(oidc)?));
        self.open = None;
        Ok(self)
    }

    /// Lists a host name by which clients reach the console. As soon as one is listed, requests
    /// that name another host are refused, but for loopback hosts and, behind a sign-in, addresses.
    ///
    /// # Errors
    /// [`AccessError::Host`] if it is no host name or has a port.
    pub fn host(mut self, name: &str) -> Result<Self, AccessError> {
        let authority: Option<Authority> = name.parse().ok();
        let host = authority.filter(|authority| authority.host() == name);
        let host = host.ok_or_else(|| AccessError::Host { name: name.to_owned() })?;
        self.hosts.insert(host.host().to_ascii_lowercase());
        Ok(self)
    }

    /// Names the address of a reverse proxy, whose `X-Forwarded-For` header names the client for
    /// the limit of sign-ins and for the log.
    #[must_use]
    pub fn reverse_proxy(mut self, address: IpAddr) -> Self {
        self.reverse_proxies.insert(address.to_canonical());
        self
    }

    /// Sets how long a session lives between two requests, and how long since the sign-in.
    ///
    /// The default is 8 and 24 hours: a working day, and the next one begins with a sign-in.
    #[must_use]
    pub fn session_age(mut self, idle: Duration, absolute: Duration) -> Self {
        self.sessions = Sessions::new(SessionBounds { idle, absolute, ..SessionBounds::default() });
        self
    }

    /// Checks whether a server may listen on an address.
    ///
    /// # Errors
    /// [`AccessError::OpenAddress`] if there is no sign-in and other machines reach the address,
    /// and [`AccessError::NoSignIn`] if no way to sign in is set up.
    pub fn check_bind(&self, address: SocketAddr) -> Result<(), AccessError> {
        if self.open.is_some() {
            let is_loopback = address.ip().to_canonical().is_loopback();
            return if is_loopback { Ok(()) } else { Err(AccessError::OpenAddress { address }) };
        }
        let has_sign_in = self.has_sign_in_page() || self.tokens.is_some() || self.proxy.is_some();
        if has_sign_in { Ok(()) } else { Err(AccessError::NoSignIn) }
    }

    /// Returns true if users sign in at a page of the console.
    pub(super) fn has_sign_in_page(&self) -> bool {
        #[cfg(feature = "oidc")]
        if self.oidc.is_some() {
            return true;
        }
        self.users.is_some()
    }
}

/// Open, with the name `console`.
impl Default for Access {
    fn default() -> Self {
        Self { open: Some("console".to_owned()), ..Self::sign_in() }
    }
}

fn open_file<T: Send + Sync + 'static>(
    path: &Path,
    parse: fn(&str) -> Result<T, String>,
) -> Result<Arc<WatchedFile<T>>, AccessError> {
    let refused = |reason| AccessError::File { path: path.to_owned(), reason };
    Ok(Arc::new(WatchedFile::open(path, parse).map_err(refused)?))
}

/// One line that says who may sign in.
impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.open {
            return write!(f, "none; requests of this machine act as admin, under the name {name}");
        }
        let mut ways = Vec::new();
        if let Some(users) = &self.users {
            ways.push(format!("users of {}", users.path().display()));
        }
        if let Some(tokens) = &self.tokens {
            ways.push(format!("tokens of {}", tokens.path().display()));
        }
        if let Some(proxy) = &self.proxy {
            let peers: Vec<String> = proxy.peers().map(|peer| peer.to_string()).collect();
            ways.push(format!("users that {} names in {}", peers.join(", "), proxy.user_header()));
        }
        #[cfg(feature = "oidc")]
        if let Some(provider) = &self.oidc {
            ways.push(format!("users of {}", provider.issuer()));
        }
        if ways.is_empty() {
            return f.write_str("callers that the mounting program identifies");
        }
        f.write_str(&ways.join("; "))
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("ways", &self.to_string())
            .field("hosts", &self.hosts)
            .field("reverse_proxies", &self.reverse_proxies)
            .field("sessions", &self.sessions)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_console_listens_on_loopback_only() {
        let access = Access::open("anna").unwrap();
        for (address, is_valid) in [
            ("127.0.0.1:8080", true),
            ("[::1]:8080", true),
            ("[::ffff:127.0.0.1]:8080", true),
            ("0.0.0.0:8080", false),
            ("[::]:8080", false),
            ("10.0.0.1:8080", false),
        ] {
            let address = address.parse().unwrap();
            let expected =
                if is_valid { Ok(()) } else { Err(AccessError::OpenAddress { address }) };
            assert_eq!(access.check_bind(address), expected, "{address}");
        }
        let proxy = Proxy::new("x-user", ["10.0.0.7".parse().unwrap()]).unwrap();
        let any = "0.0.0.0:8080".parse().unwrap();
        assert_eq!(Access::sign_in().check_bind(any), Err(AccessError::NoSignIn));
        assert_eq!(access.proxy(proxy).check_bind(any), Ok(()));
    }

    #[test]
    fn access_describes_itself() {
        let proxy = Proxy::new("x-user", ["10.0.0.7".parse().unwrap()]).unwrap();
        for (access, expected) in [
            (
                Access::open("anna").unwrap(),
                "none; requests of this machine act as admin, under the name anna",
            ),
            (Access::sign_in().proxy(proxy), "users that 10.0.0.7 names in x-user"),
        ] {
            assert_eq!(access.to_string(), expected);
        }
    }

    #[test]
    fn host_is_a_name_without_port() {
        for (name, is_valid) in [
            ("jobs.example", true),
            ("[2001:db8::1]", true),
            ("jobs.example:80", false),
            ("", false),
        ] {
            assert_eq!(Access::sign_in().host(name).is_ok(), is_valid, "{name}");
        }
    }
}
