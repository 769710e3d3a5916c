//! Texts that may refer to secrets. Neither the text nor the resolved secret is ever shown, not
//! even by `Debug`.

use std::env::VarError;
use std::fmt;
use std::fs::File;

use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use crate::{Invalid, read_text};

/// Maximum size of a secret file, in KiB. A larger file is surely the wrong one.
const MAX_FILE_KIB: u64 = 64;

/// A text of a definition that may refer to secrets.
///
/// `${env:NAME}` stands for a variable of this process's environment. `${file:/path}` stands for
/// the content of a file without the line break at its end. `$${` stands for `${` itself.
///
/// References are resolved at each use, so that a file can be replaced while the worker runs.
/// Neither `Debug` nor any error shows the text or the resolved secret; errors name the reference.
///
/// # Examples
/// ```
/// use outbound::SecretText;
///
/// let header = SecretText::parse("Bearer ${env:PATH}")?;
/// assert!(header.has_references());
/// assert_eq!(format!("{header:?}"), "SecretText(..)");
///
/// let error = SecretText::parse("Bearer ${vault:token}").unwrap_err();
/// assert_eq!(error.valid, "${env:NAME} or ${file:/absolute/path}");
/// # Ok::<(), outbound::Invalid>(())
/// ```
#[derive(Clone)]
pub struct SecretText(Vec<Part>);

#[derive(Clone)]
enum Part {
    Plain(SecretString),
    Environment(String),
    File(String),
}

/// A reference that cannot be resolved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// The environment has no such variable, or its value is not UTF-8.
    #[error("${{env:{name}}}: the environment has no variable of this name, or it is not UTF-8")]
    Environment {
        /// Name of the variable.
        name: String,
    },
    /// The file cannot be read, is not UTF-8, or is larger than 64 KiB.
    #[error("${{file:{path}}}: the file cannot be used")]
    File {
        /// Path of the file.
        path: String,
        /// Error of the operating system.
        #[source]
        source: std::io::Error,
    },
}

impl SecretText {
    /// Parses a text and its references.
    ///
    /// # Errors
    /// [`Invalid`] if a reference is of an unknown kind or has no closing brace.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let (mut parts, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find("${") {
            let before = &rest[..at];
            if let Some(escaped) = before.strip_suffix('$') {
                plain.push_str(escaped);
                plain.push_str("${");
                rest = &rest[at + 2..];
                continue;
            }
            plain.push_str(before);
            let (reference, after) = rest[at + 2..].split_once('}').ok_or_else(bad_reference)?;
            parts.push(Part::Plain(std::mem::take(&mut plain).into()));
            parts.push(part(reference)?);
            rest = after;
        }
        plain.push_str(rest);
        parts.push(Part::Plain(plain.into()));
        Ok(Self(parts))
    }

    /// Wraps a text without looking for references, for secrets that a program has from elsewhere.
    #[must_use]
    pub fn literal(text: impl Into<String>) -> Self {
        Self(vec![Part::Plain(text.into().into())])
    }

    /// Returns true if a text is exactly one reference.
    ///
    /// # Examples
    /// ```
    /// assert!(outbound::SecretText::is_reference("${env:TOKEN}"));
    /// assert!(!outbound::SecretText::is_reference("Bearer ${env:TOKEN}"));
    /// ```
    #[must_use]
    pub fn is_reference(text: &str) -> bool {
        let inner = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        inner.is_some_and(|reference| !reference.contains('}') && part(reference).is_ok())
    }

    /// Returns true if the text has at least one reference.
    #[must_use]
    pub fn has_references(&self) -> bool {
        self.0.iter().any(|part| !matches!(part, Part::Plain(_)))
    }

    /// Returns true if the text is a URL with a user name or a password in plain text. A text with
    /// a reference is not.
    ///
    /// # Examples
    /// ```
    /// use outbound::SecretText;
    ///
    /// assert!(SecretText::parse("https://anna:secret@chat.example")?.is_url_with_plain_user());
    /// assert!(!SecretText::parse("https://${env:USER}@chat.example")?.is_url_with_plain_user());
    /// # Ok::<(), outbound::Invalid>(())
    /// ```
    #[must_use]
    pub fn is_url_with_plain_user(&self) -> bool {
        if self.has_references() {
            return false;
        }
        let text = self.resolve().ok();
        let url = text.and_then(|text| Url::parse(text.expose_secret()).ok());
        url.is_some_and(|url| !url.username().is_empty() || url.password().is_some())
    }

    /// Resolves the references and returns the resulting text.
    ///
    /// # Errors
    /// [`SecretError`] names the reference that cannot be resolved.
    pub fn resolve(&self) -> Result<SecretString, SecretError> {
        Ok(self.resolve_with_values()?.0)
    }

    /// Resolves the references and returns the resulting text, and the value of each reference in
    /// it. A server that gets the text may repeat a value alone, so that the values are the texts
    /// to mask in its answer.
    ///
    /// # Errors
    /// [`SecretError`] names the reference that cannot be resolved.
    ///
    /// # Examples
    /// ```
    /// use outbound::SecretText;
    /// use secrecy::ExposeSecret as _;
    ///
    /// let header = SecretText::parse("Bearer ${env:CARGO_PKG_NAME}")?;
    /// let (text, values) = header.resolve_with_values()?;
    /// assert_eq!(text.expose_secret(), "Bearer outbound");
    /// assert_eq!(values[0].expose_secret(), "outbound");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resolve_with_values(&self) -> Result<(SecretString, Vec<SecretString>), SecretError> {
        let (mut text, mut values) = (String::new(), Vec::new());
        for part in &self.0 {
            let value = match part {
                Part::Plain(plain) => {
                    text.push_str(plain.expose_secret());
                    continue;
                }
                Part::Environment(name) => variable(name)?,
                Part::File(path) => file(path)?,
            };
            text.push_str(&value);
            values.push(value.into());
        }
        Ok((text.into(), values))
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText(..)")
    }
}

fn part(reference: &str) -> Result<Part, Invalid> {
    match reference.split_once(':') {
        Some(("env", name)) if !name.is_empty() && !name.contains(['=', '\0']) => {
            Ok(Part::Environment(name.to_owned()))
        }
        Some(("file", path)) if path.starts_with('/') => Ok(Part::File(path.to_owned())),
        _ => Err(bad_reference()),
    }
}

fn bad_reference() -> Invalid {
    let valid = "${env:NAME} or ${file:/absolute/path}";
    Invalid::new("reference", "a reference of no known kind, or without an end", valid)
}

fn variable(name: &str) -> Result<String, SecretError> {
    std::env::var(name).map_err(|error| match error {
        VarError::NotPresent | VarError::NotUnicode(_) => {
            SecretError::Environment { name: name.to_owned() }
        }
    })
}

/// Reads a secret file. The blocking read is acceptable, because these files are small and local.
fn file(path: &str) -> Result<String, SecretError> {
    let read = File::open(path).and_then(|file| read_text(file, MAX_FILE_KIB));
    let text = read.map_err(|source| SecretError::File { path: path.to_owned(), source })?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn resolved(text: &str) -> String {
        let text = SecretText::parse(text).unwrap().resolve().unwrap();
        text.expose_secret().to_owned()
    }

    #[test]
    fn references_are_replaced_and_everything_else_is_kept() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"s3cret\r\n").unwrap();
        let path = file.path().display().to_string();
        let cargo = std::env::var("CARGO_PKG_NAME").unwrap();
        let rows = [
            ("nothing", String::new(), String::new()),
            ("plain", "a $b {c}".to_owned(), "a $b {c}".to_owned()),
            ("variable", "x${env:CARGO_PKG_NAME}y".to_owned(), format!("x{cargo}y")),
            ("file", format!("<${{file:{path}}}>"), "<s3cret>".to_owned()),
            ("escaped", "$${env:HOME}".to_owned(), "${env:HOME}".to_owned()),
            ("two", format!("${{env:CARGO_PKG_NAME}}${{file:{path}}}"), format!("{cargo}s3cret")),
        ];
        for (case, text, expected) in rows {
            assert_eq!(resolved(&text), expected, "{case}");
        }
    }

    #[test]
    fn malformed_references_are_rejected() {
        for text in
            ["${", "${env:", "${env:}", "${A}", "${file:relative}", "a ${ENV:A}", "${env:A=B}"]
        {
            let error = SecretText::parse(text).unwrap_err();
            assert_eq!(error.field, "reference", "{text}");
        }
    }

    #[test]
    fn error_names_the_unresolved_reference() {
        let rows = [
            (
                "${env:EJOB_NO_SUCH_VARIABLE}",
                "${env:EJOB_NO_SUCH_VARIABLE}: the environment has no",
            ),
            ("${file:/no/such/file}", "${file:/no/such/file}: the file cannot be used"),
        ];
        for (text, expected) in rows {
            let error = SecretText::parse(text).unwrap().resolve().unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn oversized_file_is_rejected() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![b'x'; 64 * 1024 + 1]).unwrap();
        let text = SecretText::parse(&format!("${{file:{}}}", file.path().display())).unwrap();
        assert!(text.resolve().is_err());
    }

    #[test]
    fn debug_does_not_show_secrets() {
        let secret = SecretText::literal("hunter2");
        assert!(!format!("{secret:?} {:?}", secret.resolve().unwrap()).contains("hunter2"));
    }
}
