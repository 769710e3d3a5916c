//! Texts that are read when a connection is opened.

use std::fmt;
use std::path::PathBuf;

use super::OptionsError;

/// Source of a password, a certificate or a key.
///
/// Files and variables are read again for each new connection, so that a renewed text is used
/// without a restart. The text appears in no `Debug` output and no error.
///
/// # Examples
/// ```
/// use reg_center_etcd::TextSource;
///
/// assert_eq!(format!("{:?}", TextSource::Text("s3cret".into())), "Text(hidden)");
/// let file = TextSource::File("/run/secrets/etcd".into());
/// assert_eq!(format!("{file:?}"), r#"File("/run/secrets/etcd")"#);
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextSource {
    /// The text itself.
    Text(String),
    /// A file with the text as its only content. Line ends at its end are ignored.
    File(PathBuf),
    /// A variable of this process's environment.
    Environment(String),
}

impl TextSource {
    /// Returns the text, or an error that names the option, the source and the reason.
    pub(super) fn read(
        &self,
        option: &'static str,
        valid: &'static str,
    ) -> Result<String, OptionsError> {
        let read = match self {
            Self::Text(text) => Ok(text.clone()),
            Self::File(path) => std::fs::read_to_string(path)
                .map(|text| text.trim_end_matches(['\r', '\n']).to_owned())
                .map_err(|error| error.to_string()),
            Self::Environment(name) => std::env::var(name).map_err(|error| error.to_string()),
        };
        read.map_err(|why| {
            let value = format!("{}, which cannot be read: {why}", self.place());
            OptionsError::described(option, value, valid)
        })
    }

    /// Describes the source for an error.
    pub(super) fn place(&self) -> String {
        match self {
            Self::Text(_) => "a text".to_owned(),
            Self::File(path) => format!("the file {}", path.display()),
            Self::Environment(name) => format!("the variable {name}"),
        }
    }
}

impl fmt::Debug for TextSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(_) => f.write_str("Text(hidden)"),
            Self::File(path) => write!(f, "File({path:?})"),
            Self::Environment(name) => write!(f, "Environment({name:?})"),
        }
    }
}
