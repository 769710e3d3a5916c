//! Hosts and secrets that definitions from the registry may use on a worker. By default there are
//! none: the worker's own file or program lists them.

use std::collections::{BTreeMap, BTreeSet};

use url::Url;

use crate::{Invalid, SecretText};

/// The hosts and secrets that a definition from the registry may use on this worker.
///
/// Every user with write access to the registry can write definitions. Without this list, a
/// definition could make the worker send any of its secrets to any host. The default permits
/// nothing.
///
/// A secret can be limited to a host, so that no other permitted host can receive it.
///
/// # Examples
/// ```
/// use outbound::Permissions;
///
/// let mail = "smtp://mail.example.com:465";
/// let permissions = Permissions::nothing()
///     .host(mail)?
///     .host("https://hooks.example.com")?
///     .secret("${file:/run/secrets/mail} for smtp://mail.example.com:465")?;
/// assert!(permissions.permits_origin(mail));
/// assert!(permissions.permits_secret_at("${file:/run/secrets/mail}", mail));
/// let hooks = "https://hooks.example.com";
/// assert!(!permissions.permits_secret_at("${file:/run/secrets/mail}", hooks));
/// # Ok::<(), outbound::Invalid>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    origins: BTreeSet<String>,
    /// Permitted hosts by the reference of the secret; `None` is all of `origins`.
    secrets: BTreeMap<String, Option<BTreeSet<String>>>,
}

impl Permissions {
    /// Returns the list that permits nothing.
    #[must_use]
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Permits connections to a host, given as an origin: `https://api.example.com`,
    /// `http://127.0.0.1:8080`.
    ///
    /// For mail the scheme is `smtp`, and the port is required: `smtp://mail.example.com:465`.
    ///
    /// # Errors
    /// [`Invalid`] if `origin` is not an origin of the scheme `http`, `https` or `smtp`.
    pub fn host(mut self, origin: &str) -> Result<Self, Invalid> {
        self.origins.insert(read_origin("allow.hosts", origin)?);
        Ok(self)
    }

    /// Permits the use of a secret, given by its reference: `${env:NAME}` or
    /// `${file:/absolute/path}`.
    ///
    /// If ` for ` and an origin follow, as in [`host`](Self::host), the secret is permitted for
    /// that host alone. Several such entries permit several hosts. Without an origin the secret is
    /// permitted for all permitted hosts. In any case the host itself must be permitted as well.
    ///
    /// # Errors
    /// [`Invalid`] if `entry` is not a single reference, with or without a host.
    pub fn secret(mut self, entry: &str) -> Result<Self, Invalid> {
        let (reference, host) = match entry.split_once(" for ") {
            Some((reference, host)) => (reference, Some(host)),
            None => (entry, None),
        };
        if !SecretText::is_reference(reference) {
            let valid = "one reference, ${env:NAME} or ${file:/absolute/path}, or one for a host: \
                ${env:NAME} for https://api.example.com";
            return Err(Invalid::new("allow.secrets", "something else", valid));
        }
        let host = host.map(|host| read_origin("allow.secrets", host)).transpose()?;
        let known = self.secrets.entry(reference.to_owned()).or_insert(Some(BTreeSet::new()));
        match (known.as_mut(), host) {
            (Some(hosts), Some(host)) => drop(hosts.insert(host)),
            (Some(_), None) => *known = None,
            (None, _) => {}
        }
        Ok(self)
    }

    /// Returns true if a definition from the registry may make this worker connect to a host.
    #[must_use]
    pub fn permits_origin(&self, origin: &str) -> bool {
        self.origins.contains(origin)
    }

    /// Returns true if a definition from the registry may send a secret to a host.
    ///
    /// It does not check the host itself: see [`permits_origin`](Self::permits_origin).
    #[must_use]
    pub fn permits_secret_at(&self, reference: &str, origin: &str) -> bool {
        match self.secrets.get(reference) {
            None => false,
            Some(None) => true,
            Some(Some(hosts)) => hosts.contains(origin),
        }
    }

    /// Returns true if a definition from the registry may send a secret to at least one host.
    #[must_use]
    pub fn permits_secret(&self, reference: &str) -> bool {
        self.secrets.contains_key(reference)
    }

    /// Returns the references that definitions from the registry may use, in ascending order.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.secrets.keys().map(String::as_str)
    }
}

/// Parses the origin of a list entry.
fn read_origin(field: &str, origin: &str) -> Result<String, Invalid> {
    let known = Url::parse(origin).ok().and_then(|url| origin_of(&url));
    known.ok_or_else(|| {
        let valid = "a scheme, a host, and a port if need be: https://api.example.com";
        let found = if origin.contains('@') {
            "a URL with a user".to_owned()
        } else {
            format!("{origin:?}")
        };
        Invalid::new(field, found, valid)
    })
}

/// Returns the origin of a URL that has no user, path, query or fragment; otherwise `None`.
fn origin_of(url: &Url) -> Option<String> {
    let is_bare =
        matches!(url.path(), "/" | "") && url.query().is_none() && url.fragment().is_none();
    let without_user = url.username().is_empty() && url.password().is_none();
    match url.scheme() {
        _ if !(is_bare && without_user) => None,
        "http" | "https" => Some(url.origin().ascii_serialization()),
        "smtp" => Some(format!("smtp://{}:{}", url.host_str()?.to_ascii_lowercase(), url.port()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ambiguous_entries_are_rejected() {
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
        let secrets = [
            "hunter2",
            "x${env:A}",
            "${env:A}${env:B}",
            "${env:}",
            "",
            "$${env:A}",
            "hunter2 for https://h",
            "${env:A} for ",
            "${env:A} for h",
            "${env:A} for https://u:hunter2@h",
            "${env:A} for https://h for https://i",
        ];
        for secret in secrets {
            let error = Permissions::nothing().secret(secret).unwrap_err();
            assert_eq!(error.field, "allow.secrets", "{secret}");
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn only_listed_hosts_and_secrets_are_permitted() {
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
            assert_eq!(list.permits_secret_at(secret, "https://h"), expected, "{secret}");
            assert_eq!(list.permits_secret(secret), expected, "{secret}");
        }
        assert_eq!(list.secrets().collect::<Vec<_>>(), ["${env:A}", "${file:/b}"]);
    }

    #[test]
    fn secret_for_a_host_is_permitted_for_that_host_alone() {
        let one = ["${env:A} for https://One.example.com"];
        let two = ["${env:A} for https://one.example.com", "${env:A} for smtp://two:25"];
        let all = ["${env:A} for https://one.example.com", "${env:A}"];
        let all_first = ["${env:A}", "${env:A} for https://one.example.com"];
        let rows: [(&[&str], [bool; 3]); 5] = [
            (&[], [false, false, false]),
            (&one, [true, false, false]),
            (&two, [true, true, false]),
            (&all, [true, true, true]),
            (&all_first, [true, true, true]),
        ];
        for (entries, expected) in rows {
            let list = Permissions::nothing();
            let list = entries.iter().try_fold(list, |list, entry| list.secret(entry)).unwrap();
            let hosts = ["https://one.example.com", "smtp://two:25", "https://three"];
            let found = hosts.map(|host| list.permits_secret_at("${env:A}", host));
            assert_eq!(found, expected, "{entries:?}");
            assert_eq!(list.permits_secret("${env:A}"), !entries.is_empty(), "{entries:?}");
            assert!(
                !list.permits_origin("https://one.example.com"),
                "a secret must not permit its host"
            );
        }
    }
}
