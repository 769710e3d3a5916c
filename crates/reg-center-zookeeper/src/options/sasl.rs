//! User and password for SASL.

use std::fmt;

use super::{OptionsError, TextSource};

const VALID_USER: &str =
    "a name of printable ASCII characters without quotation marks, backslashes and commas";
const VALID_PASSWORD: &str = "a password of printable ASCII characters";

/// A user and a password for SASL's DIGEST-MD5, which ZooKeeper offers with its
/// `DigestLoginModule`.
///
/// The password itself is not sent, but an eavesdropper can guess it offline: use it over TLS.
///
/// # Examples
/// ```
/// use reg_center_zookeeper::{SaslDigest, TextSource, ZookeeperOptions};
///
/// let user = SaslDigest::new("worker", TextSource::environment("ZOOKEEPER_PASSWORD"));
/// let options = ZookeeperOptions::new("zk-1:2181").sasl(user);
/// # let _ = options;
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct SaslDigest {
    user: String,
    password: TextSource,
}

impl SaslDigest {
    /// Returns a user with a password.
    ///
    /// Valid users have one or more printable ASCII characters except `"`, `\` and `,`. Valid
    /// passwords have one or more printable ASCII characters.
    #[must_use]
    pub fn new(user: impl Into<String>, password: TextSource) -> Self {
        Self { user: user.into(), password }
    }

    /// Returns user and password, the password read from its source.
    pub(crate) fn load(&self) -> Result<(String, String), OptionsError> {
        // The client does not escape the name in its answer.
        let is_name = |c: char| is_printable(c) && !"\"\\,".contains(c);
        if self.user.is_empty() || !self.user.chars().all(is_name) {
            return Err(OptionsError::new("sasl_user", &self.user, VALID_USER));
        }
        let password = self.password.read("sasl_password", VALID_PASSWORD)?;
        // Other characters are ambiguous: Java reads some of them as Latin-1.
        if password.is_empty() || !password.chars().all(is_printable) {
            let found = if password.is_empty() {
                format!("empty ({})", self.password.place())
            } else {
                format!("(hidden, {})", self.password.place())
            };
            return Err(OptionsError::described("sasl_password", found, VALID_PASSWORD));
        }
        Ok((self.user.clone(), password))
    }
}

fn is_printable(c: char) -> bool {
    c.is_ascii_graphic() || c == ' '
}

impl fmt::Debug for SaslDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, password } = self;
        f.debug_struct("SaslDigest").field("user", user).field("password", password).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ZookeeperOptions;

    #[test]
    fn an_unusable_user_or_password_is_reported_but_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            TextSource::file(path)
        };
        let good = || TextSource::text("s3cret");
        let (user, password) = (Some("sasl_user"), Some("sasl_password"));
        let rows = [
            ("a user", "worker@x", good(), None, ""),
            ("a file", "worker", file("good", "s3cret with: \"all\" of\\it\r\n"), None, ""),
            ("a variable", "worker", TextSource::environment("CARGO_PKG_NAME"), None, ""),
            ("no user", "", good(), user, "sasl_user is \"\"; valid: a name of printable"),
            ("a quotation mark", "a\"b", good(), user, "without quotation marks"),
            ("a backslash", "a\\b", good(), user, ""),
            ("a comma", "a,b", good(), user, ""),
            ("beyond ASCII", "j\u{f6}", good(), user, ""),
            ("no password", "worker", TextSource::text(""), password, "is empty (a text)"),
            ("an empty file", "worker", file("empty", "\n"), password, "is empty (the file "),
            ("two lines", "worker", file("two", "s3cret\ns3cret"), password, "(hidden, the file"),
            ("no ASCII", "worker", TextSource::text("s3cret\u{e9}"), password, "(hidden, a text)"),
            (
                "no file",
                "worker",
                TextSource::file(folder.path().join("gone")),
                password,
                "gone, which cannot be read: No such file",
            ),
            (
                "no variable",
                "worker",
                TextSource::environment("NO_SUCH_PASSWORD"),
                password,
                "the variable NO_SUCH_PASSWORD, which cannot be read",
            ),
        ];
        for (case, user, source, expected, part) in rows {
            let options = ZookeeperOptions::new("zk-1").sasl(SaslDigest::new(user, source));
            let error = options.validate().err();
            assert_eq!(error.as_ref().map(OptionsError::option), expected, "{case}: {error:?}");
            let text = error.map(|error| error.to_string()).unwrap_or_default();
            assert!(text.contains(part), "{case}: {text}");
            assert!(!format!("{text} {options:?}").contains("s3cret"), "{case}: {text}");
        }
    }
}
