//! Whom a worker may talk to, and with which secrets, when a definition from the registry says so: nobody and none, unless its
//! own file or program does.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Url;

use crate::{Invalid, SecretText};

/// The hosts and secrets that a definition from the registry may use on this worker.
///
/// Whoever can write the registry can write definitions. Without this list every definition could have the worker send any of its
/// secrets to any host. The default permits nothing.
///
/// A host that gets one secret need not be trusted with another: name the host with the secret.
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
/// assert!(!permissions.permits_secret_at("${file:/run/secrets/mail}", "https://hooks.example.com"));
/// # Ok::<(), outbound::Invalid>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    origins: BTreeSet<String>,
    /// By their references, with the hosts that they are for; `None` for all that are permitted.
    secrets: BTreeMap<String, Option<BTreeSet<String>>>,
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
        self.origins.insert(read_origin("allow.hosts", origin)?);
        Ok(self)
    }

    /// Permits the use of a secret, by its reference: `${env:NAME}` or `${file:/absolute/path}`. With ` for ` and a host behind it, in
    /// the words of [`host`](Self::host), it is for that host alone; several such entries are for several hosts. Without, it is for all
    /// hosts that are permitted. The host itself must be permitted in any case.
    ///
    /// # Errors
    /// [`Invalid`] if it is anything but one reference, with a host or without.
    pub fn secret(mut self, entry: &str) -> Result<Self, Invalid> {
        let (reference, host) = match entry.split_once(" for ") {
            Some((reference, host)) => (reference, Some(host)),
            None => (entry, None),
        };
        if !SecretText::is_reference(reference) {
            let valid = "one reference, ${env:NAME} or ${file:/absolute/path}, or one for a host: ${env:NAME} for https://api.example.com";
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

    /// Returns true if a definition from the registry may have this worker talk to a host.
    #[must_use]
    pub fn permits_origin(&self, origin: &str) -> bool {
        self.origins.contains(origin)
    }

    /// Returns true if a definition from the registry may use a secret in talking to a host, which may have to be permitted
    /// besides.
    #[must_use]
    pub fn permits_secret_at(&self, reference: &str, origin: &str) -> bool {
        match self.secrets.get(reference) {
            None => false,
            Some(None) => true,
            Some(Some(hosts)) => hosts.contains(origin),
        }
    }

    /// Returns true if a definition from the registry may use a secret in talking to any host at all.
    #[must_use]
    pub fn permits_secret(&self, reference: &str) -> bool {
        self.secrets.contains_key(reference)
    }

    /// Returns the references that definitions from the registry may use, in ascending order.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.secrets.keys().map(String::as_str)
    }
}

/// Reads a host with its scheme, as it stands in a list.
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
            assert_eq!(list.permits_secret_at(secret, "https://h"), expected, "{secret}");
            assert_eq!(list.permits_secret(secret), expected, "{secret}");
        }
        assert_eq!(list.secrets().collect::<Vec<_>>(), ["${env:A}", "${file:/b}"]);
    }

    #[test]
    fn a_secret_that_is_for_a_host_is_for_no_other() {
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
            assert!(!list.permits_origin("https://one.example.com"), "that is asked for besides");
        }
    }
}
