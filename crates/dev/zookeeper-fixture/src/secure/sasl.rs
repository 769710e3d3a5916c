//! Users with passwords for SASL (DIGEST-MD5).

use std::fmt::{self, Write as _};
use std::fs;
use std::path::Path;

use crate::{Error, SharedError};

/// Users of a server with their passwords.
///
/// Names and passwords must not contain quotation marks or backslashes, because Java's file has no
/// escapes.
///
/// # Examples
/// ```
/// use zookeeper_fixture::{SaslUsers, ServerOptions};
///
/// let users = SaslUsers::new().user("worker", "s3cret").required();
/// let options = ServerOptions::default().sasl(users);
/// assert!(!format!("{options:?}").contains("s3cret"));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SaslUsers {
    users: Vec<(String, String)>,
    required: bool,
}

impl SaslUsers {
    /// Returns an empty set of users.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a user.
    ///
    /// # Panics
    /// If the name or the password contains a quotation mark or a backslash.
    #[must_use]
    pub fn user(mut self, name: &str, password: &str) -> Self {
        let is_plain = |text: &str| !text.contains(['"', '\\']);
        assert!(
            is_plain(name) && is_plain(password),
            "user {name}: quotation marks and backslashes are not allowed"
        );
        self.users.push((name.to_owned(), password.to_owned()));
        self
    }

    /// Rejects clients that do not authenticate. By default they are accepted as anonymous.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Returns the lines of `zoo.cfg`.
    pub(crate) fn zoo_cfg(&self) -> String {
        let provider =
            "authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider\n";
        let required = if self.required { "sessionRequireClientSASLAuth=true\n" } else { "" };
        format!("{provider}{required}")
    }

    /// Writes the file that the server's `java.security.auth.login.config` names.
    pub(crate) fn write(&self, jaas: &Path) -> Result<(), Error> {
        let mut text =
            "Server {\n  org.apache.zookeeper.server.auth.DigestLoginModule required".to_owned();
        for (name, password) in &self.users {
            write!(text, "\n  user_{name}=\"{password}\"")
                .expect("writing to a string cannot fail");
        }
        text.push_str(";\n};\n");
        Ok(fs::write(jaas, text).map_err(SharedError::file("write", jaas))?)
    }
}

impl fmt::Debug for SaslUsers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.users.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("SaslUsers")
            .field("users", &names)
            .field("required", &self.required)
            .finish()
    }
}
