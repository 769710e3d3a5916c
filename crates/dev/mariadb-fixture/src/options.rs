//! Options of a server.

use std::time::Duration;

use server_fixture::Authority;

/// Options of a server.
///
/// | option | default |
/// |---|---|
/// | [`tls`](Self::tls) | no TLS |
/// | [`password`](Self::password) | none: every user is trusted |
/// | [`setting`](Self::setting) | MariaDB's, with little memory and 200 connections |
/// | [`ready_within`](Self::ready_within) | 60 s |
#[derive(Clone)]
pub struct ServerOptions {
    pub(crate) authority: Option<Authority>,
    pub(crate) password: Option<String>,
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) ready_within: Duration,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            authority: None,
            password: None,
            settings: Vec::new(),
            ready_within: Duration::from_secs(60),
        }
    }
}

impl ServerOptions {
    /// Accepts connections with TLS only. The server's certificate is issued for its own address.
    #[must_use]
    pub fn tls(mut self, authority: &Authority) -> Self {
        self.authority = Some(authority.clone());
        self
    }

    /// Sets the password of the user `root`, who is the only one.
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self
    }

    /// Sets a variable of the server, such as `max_connections`.
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

impl std::fmt::Debug for ServerOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerOptions")
            .field("has_tls", &self.authority.is_some())
            .field("has_password", &self.password.is_some())
            .field("settings", &self.settings)
            .field("ready_within", &self.ready_within)
            .finish()
    }
}
