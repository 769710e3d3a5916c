//! Secrets by reference, as job files have them: `${env:NAME}` and `${file:/path}`.

use std::fmt;
use std::path::PathBuf;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::{Serialize, Serializer};

use crate::connect::{SecretSource, secret_file};

/// A secret that a file refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference(pub(crate) SecretSource);

impl<'de> Deserialize<'de> for Reference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // The text is not repeated: it may be the secret itself.
        let invalid = || {
            D::Error::custom(
                "a secret must not be in the file; valid is ${env:NAME} or ${file:/absolute/path}",
            )
        };
        let inner = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        match inner.and_then(|inner| inner.split_once(':')) {
            Some(("env", name)) if !name.is_empty() && !name.contains(['=', '\0', '}']) => {
                Ok(Self(SecretSource::Variable(name.to_owned())))
            }
            Some(("file", path)) if path.starts_with('/') && !path.contains('}') => {
                Ok(Self(SecretSource::File(PathBuf::from(path))))
            }
            _ => Err(invalid()),
        }
    }
}

impl Serialize for Reference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The reference as it stands in a file, never the secret.
impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            SecretSource::Variable(name) => write!(f, "${{env:{name}}}"),
            SecretSource::File(path) => write!(f, "${{file:{}}}", path.display()),
        }
    }
}

impl SecretSource {
    /// Reads the secret. The error is the reason.
    pub(crate) fn read(&self) -> Result<String, String> {
        match self {
            Self::Variable(name) => {
                let secret = std::env::var(name).map_err(|_| {
                    format!("the environment has no variable {name}, or it is not UTF-8")
                })?;
                not_empty(secret, || format!("the variable {name}"))
            }
            Self::File(path) => {
                let secret = secret_file(path)
                    .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
                not_empty(secret, || path.display().to_string())
            }
        }
    }
}

/// Refuses an empty secret. A connection would go on without credentials.
fn not_empty(secret: String, place: impl FnOnce() -> String) -> Result<String, String> {
    match secret.is_empty() {
        true => Err(format!("{} is empty; valid is the secret", place())),
        false => Ok(secret),
    }
}
