//! Where the store is: a file, or the URL of a server whose password is never shown.

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

/// What a URL may say after its question mark. Anything else is refused: a misspelled name would otherwise be ignored,
/// and its value, which may be a secret, logged.
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

/// Where a store is.
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
        // What cannot be read may hold a password anywhere, and is not repeated.
        let invalid = |value: &str| Error::InvalidOption {
            option: "url",
            value: value.to_owned(),
            expected: EXPECTED,
        };
        let url = Url::parse(text).map_err(|_| invalid("what was given"))?;
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
                expected: "one of those that docs/history.md lists; a password belongs before the @, or in `password`",
            }),
            None => Ok(Self::Server { kind, url }),
        }
    }

    pub(crate) fn file(path: PathBuf) -> Result<Self> {
        if path.as_os_str().is_empty() || path.ends_with(":memory:") {
            return Err(Error::InvalidOption {
                option: "path",
                value: format!("{path:?}"),
                expected: "the path of a file; it is created if it is not there",
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

    /// Puts a password in the place of the one of the URL.
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

    /// Returns the texts that must not be shown: the password as it is written in the URL, and as it is meant.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let Self::Server { url, .. } = self else { return Vec::new() };
        let Some(written) = url.password().filter(|password| !password.is_empty()) else {
            return Vec::new();
        };
        // The form of a query is the only decoder of this library; there a plus sign would be a space.
        let query = format!("p={}", written.replace('+', "%2B"));
        let meant = url::form_urlencoded::parse(query.as_bytes()).next();
        let meant = meant.map(|(_, meant)| meant.into_owned());
        meant.into_iter().chain([written.to_owned()]).collect()
    }
}

/// Without user, password and parameters.
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
    fn a_url_is_shown_without_what_is_secret() {
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
    fn a_url_that_cannot_be_used_is_refused_and_not_repeated() {
        let rows = [
            ("", "what was given"),
            ("hunter2", "what was given"),
            ("postgres://me:hunter2@:80:80/x", "what was given"),
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
