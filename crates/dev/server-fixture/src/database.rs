//! Options that the servers of databases have in common.

use std::fmt;
use std::time::Duration;

use crate::Authority;

/// Options of a database server.
///
/// | option | default |
/// |---|---|
/// | [`durable`](Self::durable) | no: the data survive SIGKILL, but not the loss of power |
/// | [`tls`](Self::tls) | no TLS |
/// | [`password`](Self::password) | none: every user is trusted |
/// | [`setting`](Self::setting) | those of the server, with little memory and 200 connections |
/// | [`ready_within`](Self::ready_within) | 60 s |
#[derive(Clone)]
#[non_exhaustive]
pub struct DatabaseOptions {
    /// Whether each commit waits for the disk.
    pub is_durable: bool,
    /// The authority that issues the server's certificate; `None` without TLS.
    pub authority: Option<Authority>,
    /// The password of the superuser.
    pub password: Option<String>,
    /// Names and values of the server's parameters.
    pub settings: Vec<(String, String)>,
    /// The longest wait for the server to serve.
    pub ready_within: Duration,
}

impl Default for DatabaseOptions {
    fn default() -> Self {
        Self {
            is_durable: false,
            authority: None,
            password: None,
            settings: Vec::new(),
            ready_within: Duration::from_secs(60),
        }
    }
}

impl DatabaseOptions {
    /// Makes each commit wait for the disk, as on a real server. For measurements.
    #[must_use]
    pub fn durable(mut self) -> Self {
        self.is_durable = true;
        self
    }

    /// Accepts connections with TLS only. The server's certificate is issued for its own address.
    #[must_use]
    pub fn tls(mut self, authority: &Authority) -> Self {
        self.authority = Some(authority.clone());
        self
    }

    /// Sets the password of the superuser, and requires passwords of all users.
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self
    }

    /// Sets a parameter of the server, such as `max_connections`.
    #[must_use]
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the longest wait for the server to serve.
    #[must_use]
    pub fn ready_within(mut self, limit: Duration) -> Self {
        self.ready_within = limit;
        self
    }
}

impl fmt::Debug for DatabaseOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatabaseOptions")
            .field("is_durable", &self.is_durable)
            .field("has_tls", &self.authority.is_some())
            .field("has_password", &self.password.is_some())
            .field("settings", &self.settings)
            .field("ready_within", &self.ready_within)
            .finish()
    }
}
