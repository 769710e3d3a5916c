//! Whom a worker may talk to, and with which secrets, when a definition from the registry says so: nobody and none, unless its
//! own file or program does.

use std::collections::BTreeSet;

use reqwest::Url;

use crate::{Invalid, SecretText};

/// The hosts and secrets that a definition from the registry may use on this worker.
///
/// Whoever can write the registry can write definitions. Without this list every definition could have the worker send any of its
/// secrets to any host. The default permits nothing.
///
/// # Examples
/// ```
/// use outbound::Permissions;
///
/// let permissions = Permissions::nothing().host("smtp://mail.example.com:465")?.secret("${file:/run/secrets/mail}")?;
/// assert!(permissions.permits_origin("smtp://mail.example.com:465"));
/// assert!(permissions.permits_secret("${file:/run/secrets/mail}"));
/// # Ok::<(), outbound::Invalid>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    origins: BTreeSet<String>,
    secrets: BTreeSet<String>,
}

impl Permissions {
    /// Permits nothing.
    #[must_use]
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Permits to talk to a host, with its scheme, and its port unless that is the usual one: `https://api.example.com`,
    /// `http://127.0.0.1:8080`. For mail the scheme is `smtp`, and the port is always named: `smtp://mail.example.com:465`.
    ///
    /// # Errors
    /// [`Invalid`] if it is anything else.
    pub fn host(mut self, origin: &str) -> Result<Self, Invalid> {
        let known = Url::parse(origin).ok().and_then(|url| origin_of(&url));
        let known = known.ok_or_else(|| {
            let valid = "a scheme, a host, and a port if need be: https://api.example.com";
            let found = if origin.contains('@') {
                "a URL with a user".to_owned()
            } else {
                format!("{origin:?}")
            };
            Invalid::new("allow.hosts", found, valid)
        })?;
        self.origins.insert(known);
        Ok(self)
    }

    /// Permits the use of a secret, by its reference: `${env:NAME}` or `${file:/absolute/path}`.
    ///
    /// # Errors
    /// [`Invalid`] if it is anything but one reference.
    pub fn secret(mut self, reference: &str) -> Result<Self, Invalid> {
        if !SecretText::is_reference(reference) {
            let valid = "one reference, ${env:NAME} or ${file:/absolute/path}";
            return Err(Invalid::new("allow.secrets", "something else", valid));
        }
        self.secrets.insert(reference.to_owned());
        Ok(self)
    }

    /// Returns true if a definition from the registry may have this worker talk to a host.
    #[must_use]
    pub fn permits_origin(&self, origin: &str) -> bool {
        self.origins.contains(origin)
    }

    /// Returns true if a definition from the registry may use a secret.
    #[must_use]
    pub fn permits_secret(&self, reference: &str) -> bool {
        self.secrets.contains(reference)
    }

    /// Returns the references that definitions from the registry may use, in ascending order.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.secrets.iter().map(String::as_str)
    }
}

/// Returns the origin that a URL consists of, if there is nothing else in it.
fn origin_of(url: &Url) -> Option<String> {
    let bare = matches!(url.path(), "/" | "") && url.query().is_none() && url.fragment().is_none();
    let nobody = url.username().is_empty() && url.password().is_none();
    match url.scheme() {
        _ if !(bare && nobody) => None,
        "http" | "https" => Some(url.origin().ascii_serialization()),
        "smtp" => Some(format!("smtp://{}:{}", url.host_str()?.to_ascii_lowercase(), url.port()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_that_would_permit_something_else_are_refused() {
        let hosts = [
            "api.example.com",
            "https://h/path",
            "https://h?q",
            "ftp://h",
            "*",
            "https://u:p@h",
            "smtp://mail",
            "smtp://mail:25/x",
        ];
        for host in hosts {
            let error = Permissions::nothing().host(host).unwrap_err();
            assert_eq!(error.field, "allow.hosts", "{host}");
            assert!(!error.value.contains("u:p"), "{error}");
        }
        for secret in ["hunter2", "x${env:A}", "${env:A}${env:B}", "${env:}", "", "$${env:A}"] {
            let error = Permissions::nothing().secret(secret).unwrap_err();
            assert_eq!(error.field, "allow.secrets", "{secret}");
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn what_is_permitted_is_what_was_named() {
        let list = Permissions::nothing().host("https://API.example.com").unwrap();
        let list = list.host("smtp://Mail.example.com:25").unwrap();
        let list = list.secret("${env:A}").unwrap().secret("${file:/b}").unwrap();
        let rows = [
            ("https://api.example.com", true),
            ("http://api.example.com", false),
            ("https://api.example.com:444", false),
            ("smtp://mail.example.com:25", true),
            ("smtp://mail.example.com:465", false),
        ];
        for (origin, expected) in rows {
            assert_eq!(list.permits_origin(origin), expected, "{origin}");
            assert!(!Permissions::nothing().permits_origin(origin), "{origin}");
        }
        for (secret, expected) in [("${env:A}", true), ("${env:B}", false), ("${file:/b}", true)] {
            assert_eq!(list.permits_secret(secret), expected, "{secret}");
        }
        assert_eq!(list.secrets().collect::<Vec<_>>(), ["${env:A}", "${file:/b}"]);
    }
}
