//! Sources of texts that the program does not contain itself.

use std::fmt;
use std::path::{Path, PathBuf};

use super::OptionsError;

/// Source of a secret text: a password, a key, a certificate.
///
/// Files and variables are read when a connection is opened, and again for each later one, so that
/// a renewed text is used without a restart. The text itself appears in no `Debug` output and no
/// error.
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
    /// Returns a source that is the text itself.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self(Place::Text(text.into()))
    }

    /// Returns a source that is a file with the text as its only content. A line end at the end of
    /// the file is ignored.
    #[must_use]
    pub fn file(path: impl AsRef<Path>) -> Self {
        Self(Place::File(path.as_ref().to_owned()))
    }

    /// Returns a source that is a variable of this process's environment.
    #[must_use]
    pub fn environment(name: impl Into<String>) -> Self {
        Self(Place::Environment(name.into()))
    }

    /// Returns the text, or an error that names `option`, the source and the reason.
    pub(super) fn read(
        &self,
        option: &'static str,
        valid: &'static str,
    ) -> Result<String, OptionsError> {
        let absent = |why: &dyn fmt::Display| {
            OptionsError::described(
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

    /// Describes the source for an error.
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
