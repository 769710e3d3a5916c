//! Texts that the program does not hold itself.

use std::fmt;
use std::path::{Path, PathBuf};

use super::OptionsError;

/// Where a text comes from that is not for everybody: a password, a key, a certificate.
///
/// What comes from a file or the environment is looked up when a connection is opened, and again for each later one: what is
/// renewed there is used without a restart. The text itself is in no `Debug` output and no error.
///
/// # Examples
/// ```
/// use reg_center_zookeeper::TextSource;
///
/// let password = TextSource::file("/run/secrets/zookeeper");
/// assert_eq!(format!("{password:?}"), r#"File("/run/secrets/zookeeper")"#);
/// assert_eq!(format!("{:?}", TextSource::text("s3cret")), "Text(hidden)");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct TextSource(Place);

#[derive(Clone, PartialEq, Eq)]
enum Place {
    Text(String),
    File(PathBuf),
    Environment(String),
}

impl TextSource {
    /// The text itself.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self(Place::Text(text.into()))
    }

    /// A file that holds the text and nothing else. A line end at its end does not count.
    #[must_use]
    pub fn file(path: impl AsRef<Path>) -> Self {
        Self(Place::File(path.as_ref().to_owned()))
    }

    /// A variable of this process's environment.
    #[must_use]
    pub fn environment(name: impl Into<String>) -> Self {
        Self(Place::Environment(name.into()))
    }

    /// Returns the text, or names `option` and what is wrong with the place.
    pub(super) fn read(
        &self,
        option: &'static str,
        valid: &'static str,
    ) -> Result<String, OptionsError> {
        let absent = |why: &dyn fmt::Display| {
            OptionsError::told(
                option,
                format!("{}, which cannot be read: {why}", self.place()),
                valid,
            )
        };
        match &self.0 {
            Place::Text(text) => Ok(text.clone()),
            Place::File(path) => {
                let text = std::fs::read_to_string(path).map_err(|error| absent(&error))?;
                Ok(text.trim_end_matches(['\r', '\n']).to_owned())
            }
            Place::Environment(name) => std::env::var(name).map_err(|error| absent(&error)),
        }
    }

    /// Names the place for an error.
    pub(super) fn place(&self) -> String {
        match &self.0 {
            Place::Text(_) => "a text".to_owned(),
            Place::File(path) => format!("the file {}", path.display()),
            Place::Environment(name) => format!("the variable {name}"),
        }
    }
}

impl fmt::Debug for TextSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Place::Text(_) => f.write_str("Text(hidden)"),
            Place::File(path) => write!(f, "File({path:?})"),
            Place::Environment(name) => write!(f, "Environment({name:?})"),
        }
    }
}
