//! Addresses of registries.

use std::fmt;
use std::time::Duration;

#[cfg(feature = "etcd")]
use reg_center_etcd::EtcdOptions;
#[cfg(feature = "postgres")]
use reg_center_postgres::PostgresOptions;
#[cfg(feature = "sqlite")]
use reg_center_sqlite::SqliteOptions;
#[cfg(feature = "zookeeper")]
use reg_center_zookeeper::ZookeeperOptions;

/// Forms of an address, for errors.
const FORMS: &str = "memory:, sqlite:PATH, zk://HOST[:PORT][,HOST[:PORT]…]/NAMESPACE, \
    postgres://[USER@]HOST[:PORT]/DATABASE?namespace=NAME or \
    etcd://[USER@]HOST[:PORT][,HOST[:PORT]…]/NAMESPACE[?NAME=VALUE…]";

/// The address of a registry.
///
/// Its text form is the address again; it never has credentials.
///
/// # Examples
/// ```
/// use registry::Address;
///
/// assert_eq!(Address::parse("memory:")?, Address::Memory);
/// assert_eq!(Address::parse("sqlite:/var/lib/ejob/registry.db")?.to_string(),
///     "sqlite:/var/lib/ejob/registry.db");
/// let error = Address::parse("redis://127.0.0.1").unwrap_err();
/// assert_eq!(error.to_string(), "registry address \"redis://127.0.0.1\": unknown kind; \
///     valid: memory:, sqlite:PATH, zk://HOST[:PORT][,HOST[:PORT]…]/NAMESPACE, \
///     postgres://[USER@]HOST[:PORT]/DATABASE?namespace=NAME or \
///     etcd://[USER@]HOST[:PORT][,HOST[:PORT]…]/NAMESPACE[?NAME=VALUE…]");
/// # Ok::<(), registry::AddressError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Address {
    /// `memory:`: in this process.
    Memory,
    /// `sqlite:PATH`: a file of this host.
    #[cfg(feature = "sqlite")]
    Sqlite(SqliteOptions),
    /// `zk://…`: ZooKeeper.
    #[cfg(feature = "zookeeper")]
    Zookeeper {
        /// The address as it was given.
        text: String,
        /// The options that it stands for.
        options: ZookeeperOptions,
    },
    /// `postgres://…`: a PostgreSQL database.
    #[cfg(feature = "postgres")]
    Postgres {
        /// The address as it was given, without a password.
        text: String,
        /// The options that it stands for.
        options: PostgresOptions,
    },
    /// `etcd://…`: etcd.
    #[cfg(feature = "etcd")]
    Etcd {
        /// The address as it was given. It may name a user, never a password.
        text: String,
        /// The options that it stands for.
        options: EtcdOptions,
    },
}

impl Address {
    /// Parses an address.
    ///
    /// # Errors
    /// [`AddressError`] with the address and what would be valid. An address with credentials is
    /// not shown.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let invalid = |reason: &str| {
            let question = similar(text).map(|similar| format!("did you mean {similar}? "));
            let question = question.unwrap_or_default();
            AddressError::new(text, format!("{reason}; {question}valid: {FORMS}"))
        };
        let (kind, rest) = text.split_once(':').ok_or_else(|| invalid("it names no kind"))?;
        match kind {
            "memory" if rest.is_empty() => Ok(Self::Memory),
            "memory" => Err(invalid("nothing follows memory:")),
            "sqlite" => sqlite(text, rest),
            "zk" => zookeeper(text),
            "postgres" => postgres(text),
            "etcd" => etcd(text),
            _ => Err(invalid("unknown kind")),
        }
    }

    /// Sets the time without contact after which the registry ends a session. `memory:` has no such
    /// time.
    ///
    /// The defaults, and the ranges that opening checks, are those of the options of each registry.
    #[must_use]
    pub fn session_timeout(self, timeout: Duration) -> Self {
        match self {
            Self::Memory => Self::Memory,
            #[cfg(feature = "sqlite")]
            Self::Sqlite(options) => Self::Sqlite(options.session_timeout(timeout)),
            #[cfg(feature = "zookeeper")]
            Self::Zookeeper { text, options } => {
                Self::Zookeeper { text, options: options.session_timeout(timeout) }
            }
            #[cfg(feature = "postgres")]
            Self::Postgres { text, options } => {
                Self::Postgres { text, options: options.session_timeout(timeout) }
            }
            #[cfg(feature = "etcd")]
            Self::Etcd { text, options } => {
                Self::Etcd { text, options: options.session_timeout(timeout) }
            }
        }
    }
}

/// Returns the address that a text without a known kind stands for, as far as it can be guessed.
fn similar(text: &str) -> Option<String> {
    let may_have_secret = may_have_secret(text);
    let (kind, rest) = text.split_once("://").unwrap_or(("", text));
    let kind = kind.to_ascii_lowercase();
    let known = match kind.as_str() {
        "zk" | "zookeeper" => Some("zk"),
        "postgres" | "postgresql" => Some("postgres"),
        "etcd" => Some("etcd"),
        _ => None,
    };
    if let Some(known) = known {
        return Some(format!("{known}://{}", if may_have_secret { "…" } else { rest }));
    }
    if may_have_secret || !matches!(kind.as_str(), "" | "http" | "https") {
        return None;
    }
    let text = rest;
    let (hosts, path) = text.split_once('/').unwrap_or((text, ""));
    let port = hosts.split(',').find_map(|host| host.rsplit_once(':')?.1.parse::<u16>().ok());
    let path_or = |placeholder| if path.is_empty() { placeholder } else { path };
    match port {
        Some(2379) => Some(format!("etcd://{hosts}/{}", path_or("NAMESPACE"))),
        Some(5432) => Some(format!("postgres://{hosts}/{}?namespace=NAME", path_or("DATABASE"))),
        Some(_) => Some(format!("zk://{hosts}/{}", path_or("NAMESPACE"))),
        None => {
            let is_path = text.starts_with(['/', '.']) || text.ends_with(".db");
            is_path.then(|| format!("sqlite:{text}"))
        }
    }
}

/// Returns true for a text with an `@`, before which a password may stand, or with parameters.
fn may_have_secret(text: &str) -> bool {
    text.contains(['@', '?'])
}

#[cfg(feature = "sqlite")]
fn sqlite(text: &str, path: &str) -> Result<Address, AddressError> {
    if path.is_empty() {
        return Err(AddressError::new(text, "the path of the file is missing".to_owned()));
    }
    Ok(Address::Sqlite(SqliteOptions::new(path)))
}

#[cfg(not(feature = "sqlite"))]
fn sqlite(text: &str, _: &str) -> Result<Address, AddressError> {
    Err(AddressError::without_feature(text, "sqlite"))
}

#[cfg(feature = "zookeeper")]
fn zookeeper(text: &str) -> Result<Address, AddressError> {
    let options = ZookeeperOptions::parse_url(text)
        .map_err(|error| AddressError::new(text, error.to_string()))?;
    Ok(Address::Zookeeper { text: text.to_owned(), options })
}

#[cfg(not(feature = "zookeeper"))]
fn zookeeper(text: &str) -> Result<Address, AddressError> {
    Err(AddressError::without_feature(text, "zookeeper"))
}

#[cfg(feature = "postgres")]
fn postgres(text: &str) -> Result<Address, AddressError> {
    let options = PostgresOptions::parse_url(text).map_err(|error| AddressError {
        // Even a valid address may have a password in an invalid place.
        shown: "(hidden)".to_owned(),
        reason: error.to_string(),
        missing_feature: None,
    })?;
    Ok(Address::Postgres { text: text.to_owned(), options })
}

#[cfg(not(feature = "postgres"))]
fn postgres(text: &str) -> Result<Address, AddressError> {
    Err(AddressError::without_feature(text, "postgres"))
}

#[cfg(feature = "etcd")]
fn etcd(text: &str) -> Result<Address, AddressError> {
    let options =
        EtcdOptions::parse_url(text).map_err(|error| AddressError::new(text, error.to_string()))?;
    Ok(Address::Etcd { text: text.to_owned(), options })
}

#[cfg(not(feature = "etcd"))]
fn etcd(text: &str) -> Result<Address, AddressError> {
    Err(AddressError::without_feature(text, "etcd"))
}

impl std::str::FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        Self::parse(text)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory:"),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(options) => write!(f, "sqlite:{}", options.path().display()),
            #[cfg(feature = "zookeeper")]
            Self::Zookeeper { text, .. } => f.write_str(text),
            #[cfg(feature = "postgres")]
            Self::Postgres { text, .. } => f.write_str(text),
            #[cfg(feature = "etcd")]
            Self::Etcd { text, .. } => f.write_str(text),
        }
    }
}

/// An invalid address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("registry address {shown}: {reason}")]
pub struct AddressError {
    shown: String,
    reason: String,
    missing_feature: Option<&'static str>,
}

impl AddressError {
    fn new(text: &str, reason: String) -> Self {
        let shown = match may_have_secret(text) {
            true => "(hidden)".to_owned(),
            false => format!("{text:?}"),
        };
        Self { shown, reason, missing_feature: None }
    }

    /// Returns the feature of this crate that the address needs, if the program was built without
    /// it.
    #[must_use]
    pub fn missing_feature(&self) -> Option<&'static str> {
        self.missing_feature
    }

    #[cfg(not(all(
        feature = "sqlite",
        feature = "zookeeper",
        feature = "postgres",
        feature = "etcd"
    )))]
    fn without_feature(text: &str, feature: &'static str) -> Self {
        let reason = format!("this program was built without the feature `{feature}`");
        Self { missing_feature: Some(feature), ..Self::new(text, reason) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_print_as_they_were_parsed() {
        let addresses = ["memory:", "sqlite:registry.db", "sqlite:/var/lib/ejob/registry.db"];
        for address in addresses {
            assert_eq!(Address::parse(address).unwrap().to_string(), address);
        }
    }

    #[test]
    fn invalid_addresses_are_refused_with_the_valid_forms() {
        let rows = [
            ("", "registry address \"\": it names no kind; valid: memory:, "),
            ("jobs", "registry address \"jobs\": it names no kind; valid: memory:, "),
            ("memory:x", "registry address \"memory:x\": nothing follows memory:; valid: "),
            ("sqlite:", "registry address \"sqlite:\": the path of the file is missing"),
            ("redis://u:secret@h", "registry address (hidden): unknown kind; valid: memory:, "),
        ];
        for (address, expected) in rows {
            let error = Address::parse(address).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn an_address_without_its_kind_is_refused_with_the_likely_one() {
        let rows = [
            ("zk-1:2181/jobs", "zk://zk-1:2181/jobs"),
            ("zk-1:2181,zk-2:2181/jobs", "zk://zk-1:2181,zk-2:2181/jobs"),
            ("127.0.0.1:41234/jobs", "zk://127.0.0.1:41234/jobs"),
            ("zk-1:2181", "zk://zk-1:2181/NAMESPACE"),
            ("zookeeper://zk-1:2181/jobs", "zk://zk-1:2181/jobs"),
            ("ZK://zk-1:2181/jobs", "zk://zk-1:2181/jobs"),
            ("http://etcd-1:2379/jobs", "etcd://etcd-1:2379/jobs"),
            ("etcd-1:2379/jobs", "etcd://etcd-1:2379/jobs"),
            ("db:5432/jobs", "postgres://db:5432/jobs?namespace=NAME"),
            ("postgresql://u:secret@db/jobs", "postgres://…"),
            ("registry.db", "sqlite:registry.db"),
            ("/var/lib/ejob/registry", "sqlite:/var/lib/ejob/registry"),
        ];
        for (address, similar) in rows {
            let error = Address::parse(address).unwrap_err().to_string();
            let question = format!("; did you mean {similar}? valid: memory:, ");
            assert!(error.contains(&question), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
        for address in ["redis://127.0.0.1:6379", "u:secret@zk-1:2181/jobs", "jobs", ""] {
            let error = Address::parse(address).unwrap_err().to_string();
            assert!(!error.contains("did you mean"), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn a_password_in_the_address_of_a_database_is_refused_and_hidden() {
        let address = "postgres://worker@db:5432/jobs?namespace=reports";
        assert_eq!(Address::parse(address).unwrap().to_string(), address);
        let rows = [
            ("postgres://worker:hunter2@db/jobs", "password: \"(hidden)\" is invalid"),
            ("postgres://db/jobs?password=hunter2", "parameter: \"password\" is invalid"),
            ("postgres://worker:1?hunter2@db/jobs", "address: \"(hidden)\" is invalid"),
            ("postgres://worker:1/hunter2@db/jobs", "address: \"(hidden)\" is invalid"),
            ("postgres://db", "database: \"\" is invalid, valid is the name of a database"),
        ];
        for (address, expected) in rows {
            let error = Address::parse(address).unwrap_err();
            let expected = format!("registry address (hidden): {expected}");
            assert!(error.to_string().starts_with(&expected), "{error}");
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
        }
    }

    #[cfg(feature = "etcd")]
    #[test]
    fn an_address_of_etcd_prints_as_it_was_parsed_and_hides_a_password() {
        for address in [
            "etcd://etcd-1:2379,etcd-2:2379/jobs",
            "etcd://worker@etcd-1/jobs?password_file=/run/secrets/etcd",
        ] {
            assert_eq!(Address::parse(address).unwrap().to_string(), address);
        }
        let rows = [
            ("etcd://worker:secret@etcd-1/jobs", "registry address (hidden): url is (hidden); "),
            ("etcd://etcd-1", "registry address \"etcd://etcd-1\": url is \"etcd://etcd-1\"; "),
            ("etcd://etcd-1/jobs?password=secret", "registry address (hidden): parameter of the"),
            ("etcd://worker:secret?@etcd-1/jobs", "registry address (hidden): url is (hidden); "),
            ("etcd://worker:a?secret@etcd-1/jobs", "registry address (hidden): url is (hidden); "),
            ("etcd://worker:a/b?secret@etcd-1/jobs", "registry address (hidden): url is (hidden)"),
        ];
        for (address, expected) in rows {
            let error = Address::parse(address).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[cfg(not(feature = "etcd"))]
    #[test]
    fn an_address_without_its_feature_is_refused_with_the_feature() {
        let error = Address::parse("etcd://etcd-1/jobs").unwrap_err();
        assert_eq!(error.missing_feature(), Some("etcd"));
        let error = error.to_string();
        assert!(error.ends_with("this program was built without the feature `etcd`"), "{error}");
    }

    #[cfg(feature = "zookeeper")]
    #[test]
    fn credentials_in_an_address_are_refused_and_hidden() {
        let error = Address::parse("zk://user:secret@zk-1:2181/jobs").unwrap_err().to_string();
        assert!(error.starts_with("registry address (hidden): "), "{error}");
        assert!(!error.contains("secret"), "{error}");
        let address = "zk://zk-1:2181,zk-2:2181/jobs";
        assert_eq!(Address::parse(address).unwrap().to_string(), address);
    }
}
