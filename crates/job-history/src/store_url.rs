//! Location of the store: a file, or the URL of a server whose password is never shown.

use std::fmt;
use std::path::PathBuf;

use url::Url;

use crate::{Error, Result};

/// A kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
    MySql,
}

const EXPECTED: &str = "sqlite:PATH, postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE";

/// Accepted parameters of a URL. Others are rejected: the driver would ignore a misspelt name and
/// log its value, which may be a secret.
const PARAMETERS: [&str; 12] = [
    "application_name",
    "charset",
    "collation",
    "host",
    "socket",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "ssl-mode",
    "sslcert",
    "sslmode",
    "sslrootcert",
];

/// Location of a store.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum StoreUrl {
    File(PathBuf),
    Server { kind: Kind, url: Url },
}

impl StoreUrl {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        if let Some(path) = text.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return Self::file(PathBuf::from(path));
        }
        // An unparsable text is not repeated: it may have a password anywhere.
        let invalid = |value: &str| Error::InvalidOption {
            option: "url",
            value: value.to_owned(),
            expected: EXPECTED,
        };
        let url = Url::parse(text).map_err(|_| invalid("the given text"))?;
        let kind = match url.scheme() {
            "postgres" | "postgresql" => Kind::Postgres,
            "mysql" | "mariadb" => Kind::MySql,
            _ => return Err(invalid("its scheme")),
        };
        if url.host_str().is_none_or(str::is_empty) {
            return Err(invalid("an empty host"));
        }
        if url.path().trim_matches('/').is_empty() {
            return Err(invalid("an empty name of the database"));
        }
        match url.query_pairs().find(|(name, _)| !PARAMETERS.contains(&&**name)) {
            Some((name, _)) => Err(Error::InvalidOption {
                option: "url",
                value: format!("the parameter {name:?}"),
                expected: "one of the parameters that docs/history.md lists; \
                           a password belongs before the @, or in `password`",
            }),
            None => Ok(Self::Server { kind, url }),
        }
    }

    pub(crate) fn file(path: PathBuf) -> Result<Self> {
        if path.as_os_str().is_empty() || path.ends_with(":memory:") {
            return Err(Error::InvalidOption {
                option: "path",
                value: format!("{path:?}"),
                expected: "the path of a file; a missing file is created",
            });
        }
        Ok(Self::File(path))
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::File(_) => Kind::Sqlite,
            Self::Server { kind, .. } => *kind,
        }
    }

    /// Replaces the password of the URL.
    pub(crate) fn set_password(&mut self, password: &str) -> Result<()> {
        let Self::Server { url, .. } = self else {
            return Err(Error::InvalidOption {
                option: "password",
                value: "one for a file".to_owned(),
                expected: "left out: a file has no password",
            });
        };
        let set = url.set_password(Some(password));
        set.map_err(|()| Error::InvalidOption {
            option: "password",
            value: "one without a user".to_owned(),
            expected: "used with a URL that names a user: postgres://USER@HOST/DATABASE",
        })
    }

    /// Returns the texts to mask: the password, decoded and as it is encoded in the URL.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let Self::Server { url, .. } = self else { return Vec::new() };
        let Some(encoded) = url.password().filter(|password| !password.is_empty()) else {
            return Vec::new();
        };
        // `url` decodes only form data, where a plus sign stands for a space.
        let query = format!("p={}", encoded.replace('+', "%2B"));
        let decoded = url::form_urlencoded::parse(query.as_bytes()).next();
        let decoded = decoded.map(|(_, decoded)| decoded.into_owned());
        decoded.into_iter().chain([encoded.to_owned()]).collect()
    }
}

/// Shows the location without user, password and parameters.
impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "sqlite:{}", path.display()),
            Self::Server { url, .. } => {
                write!(f, "{}://{}", url.scheme(), url.host_str().unwrap_or_default())?;
                if let Some(port) = url.port() {
                    write!(f, ":{port}")?;
                }
                f.write_str(url.path())
            }
        }
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_is_shown_without_secrets() {
        let url = StoreUrl::parse("postgres://me:p%40ss+1@db:5433/jobs?sslmode=require").unwrap();
        assert_eq!(url.to_string(), "postgres://db:5433/jobs");
        assert_eq!(format!("{url:?}"), "postgres://db:5433/jobs");
        assert_eq!(url.secrets(), ["p@ss+1", "p%40ss+1"]);
        let mut url = StoreUrl::parse("mysql://me@db/jobs").unwrap();
        assert_eq!(url.secrets(), Vec::<String>::new());
        url.set_password("a b/ü").unwrap();
        assert!(url.secrets().contains(&"a b/ü".to_owned()), "{:?}", url.secrets().len());
    }

    #[test]
    fn invalid_url_is_rejected_without_repeating_it() {
        let rows = [
            ("", "the given text"),
            ("hunter2", "the given text"),
            ("postgres://me:hunter2@:80:80/x", "the given text"),
            ("oracle://me:hunter2@db/jobs", "its scheme"),
            ("postgres://me:hunter2@db", "an empty name of the database"),
            ("postgres://me:hunter2@db/", "an empty name of the database"),
            ("postgres:///jobs", "an empty host"),
            ("postgres://db/jobs?passwrd=hunter2", "the parameter \"passwrd\""),
            ("mysql://db/jobs?password=hunter2", "the parameter \"password\""),
            ("sqlite:", "\"\""),
            ("sqlite::memory:", "\":memory:\""),
        ];
        for (text, expected) in rows {
            let error = StoreUrl::parse(text).unwrap_err();
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("hunter2"), "{shown}");
            assert!(error.to_string().contains(expected), "{text}: {error}");
        }
    }
}
