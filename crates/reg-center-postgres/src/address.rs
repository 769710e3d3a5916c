//! Options as a URL.

use url::Url;

use crate::{Notify, OptionsError, PostgresOptions, Tls};

const FORM: &str = "postgres://[USER@]HOST[:PORT]/DATABASE?namespace=NAME";
const NO_PASSWORD: &str =
    "no password in the address, which ends up in logs; use password_file=PATH or PGPASSWORD";
const ENCODED_AT: &str =
    "an address without a password, where each @ after the host is written %40";

impl PostgresOptions {
    /// Parses `postgres://[USER@]HOST[:PORT]/DATABASE[?PARAMETER=VALUE&…]`. The port is 5432 if it
    /// is missing.
    ///
    /// | parameter | option | values |
    /// |---|---|---|
    /// | `namespace` | [`namespace`](Self::namespace) | |
    /// | `schema` | [`schema`](Self::schema) | |
    /// | `notify` | [`notify`](Self::notify) | `on`, `off` |
    /// | `password_file` | [`password_file`](Self::password_file) | a path |
    /// | `sslmode` | [`tls`](Self::tls) | the names of [`Tls`], such as `verify-full` |
    /// | `sslrootcert` | [`tls_root_cert`](Self::tls_root_cert) | a path |
    ///
    /// Behind the host, `@` is written `%40`: the rest of a password could not be distinguished.
    ///
    /// # Errors
    /// [`OptionsError`] with the invalid part. The address itself is not shown, because it may have
    /// a password.
    ///
    /// # Examples
    /// ```
    /// use reg_center_postgres::PostgresOptions;
    ///
    /// let options = PostgresOptions::parse_url("postgres://worker@db/jobs?namespace=reports")?;
    /// assert!(PostgresOptions::parse_url("postgres://worker:secret@db/jobs").is_err());
    /// # let _ = options;
    /// # Ok::<(), reg_center_postgres::OptionsError>(())
    /// ```
    pub fn parse_url(text: &str) -> Result<Self, OptionsError> {
        // The parser would remove such characters silently.
        let is_clean = text.chars().all(|c| !c.is_control() && c != ' ');
        let url = Url::parse(text).ok().filter(|url| is_clean && url.scheme() == "postgres");
        let Some(url) = url else { return Err(OptionsError::new("address", "(hidden)", FORM)) };
        if url.password().is_some() {
            return Err(OptionsError::new("password", "(hidden)", NO_PASSWORD));
        }
        // The parser ends the host at the first of these characters, also within a password. Its
        // rest would become the database or a parameter, and would be printed.
        let (_, rest) = text.split_once("://").unwrap_or(("", text));
        let after_host = rest.split_once(['/', '?', '#']).map_or("", |(_, rest)| rest);
        if after_host.contains('@') {
            return Err(OptionsError::new("address", "(hidden)", ENCODED_AT));
        }
        if url.fragment().is_some() {
            return Err(OptionsError::new("address", "the text after #", FORM));
        }
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let database = decoded("database", url.path().trim_start_matches('/'))?;
        let mut options = Self::new(host, url.port().unwrap_or(5432), database);
        if !url.username().is_empty() {
            options = options.user(decoded("user", url.username())?);
        }
        for (name, value) in url.query_pairs() {
            options = options.parameter(&name, &value)?;
        }
        options.validate()?;
        Ok(options)
    }

    fn parameter(self, name: &str, value: &str) -> Result<Self, OptionsError> {
        Ok(match name {
            "namespace" => self.namespace(value),
            "schema" => self.schema(value),
            "password_file" => self.password_file(value),
            "sslrootcert" => self.tls_root_cert(value),
            "notify" => match value {
                "on" => self.notify(Notify::On),
                "off" => self.notify(Notify::Off),
                _ => return Err(OptionsError::new("notify", value, "on or off")),
            },
            "sslmode" => self.tls(match value {
                "disable" => Tls::Disable,
                "prefer" => Tls::Prefer,
                "require" => Tls::Require,
                "verify-ca" => Tls::VerifyCa,
                "verify-full" => Tls::VerifyFull,
                _ => {
                    let valid = "disable, prefer, require, verify-ca or verify-full";
                    return Err(OptionsError::new("sslmode", value, valid));
                }
            }),
            // The value of an unknown parameter may be a secret. A text without a value may be the
            // end of one with an ampersand.
            _ => {
                return Err(OptionsError::new(
                    "parameter",
                    if value.is_empty() { "(hidden)" } else { name },
                    "namespace, schema, notify, password_file, sslmode or sslrootcert",
                ));
            }
        })
    }
}

/// Decodes a part of a URL. `url` decodes only form data, where a plus sign stands for a space.
fn decoded(option: &'static str, part: &str) -> Result<String, OptionsError> {
    let form = format!("p={}", part.replace('+', "%2B").replace('&', "%26"));
    let decoded = url::form_urlencoded::parse(form.as_bytes()).next().map(|(_, value)| value);
    let decoded = decoded.unwrap_or_default().into_owned();
    if decoded.contains('\u{FFFD}') {
        return Err(OptionsError::new(option, part, "a text in UTF-8"));
    }
    Ok(decoded)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_part_of_an_address_becomes_an_option() {
        let options = PostgresOptions::parse_url(
            "postgres://a%20b@[::1]:5433/jobs%2B?namespace=n&schema=s&notify=off&sslmode=verify-full\
             &sslrootcert=/ca.pem&password_file=/p%401",
        )
        .unwrap();
        let expected = PostgresOptions::new("::1", 5433, "jobs+")
            .user("a b")
            .namespace("n")
            .schema("s")
            .notify(Notify::Off)
            .tls(Tls::VerifyFull)
            .tls_root_cert(Path::new("/ca.pem"))
            .password_file("/p@1");
        assert!(options == expected, "{options:?}");
        let short = PostgresOptions::parse_url("postgres://db/jobs").unwrap();
        assert!(short == PostgresOptions::new("db", 5432, "jobs"), "{short:?}");
    }

    #[test]
    fn an_invalid_address_is_refused_without_its_secrets() {
        let rows = [
            ("", "address: \"(hidden)\" is invalid, valid is postgres://[USER@]HOST"),
            ("postgres://u:hunter2@:/x", "address: \"(hidden)\" is invalid"),
            (
                "postgres://u:hunter2@db/x",
                "password: \"(hidden)\" is invalid, valid is no password",
            ),
            ("postgres://db", "database: \"\" is invalid"),
            ("postgres:///jobs", "host: \"\" is invalid"),
            ("postgres://db/jobs?passwrd=hunter2", "parameter: \"passwrd\" is invalid"),
            ("postgres://db/jobs?password_file=/a&hunter2", "parameter: \"(hidden)\" is invalid"),
            ("postgres://u:hunter2?w@db/x", "address: \"(hidden)\" is invalid, valid is postgres"),
            ("postgres://u:1?hunter2@db/x", "address: \"(hidden)\" is invalid, valid is an addr"),
            ("postgres://u:1/x?hunter2=@db/x", "address: \"(hidden)\" is invalid, valid is an a"),
            ("postgres://u:1/hunter2@db/x", "address: \"(hidden)\" is invalid, valid is an addr"),
            ("postgres://u:1#hunter2@db/x", "address: \"(hidden)\" is invalid, valid is an addr"),
            ("postgres://db/jobs?notify=maybe", "notify: \"maybe\" is invalid, valid is on or off"),
            ("postgres://db/jobs?sslmode=on", "sslmode: \"on\" is invalid, valid is disable"),
            ("postgres://db/jobs?namespace=a/b", "namespace: \"a/b\" is invalid"),
        ];
        for (text, expected) in rows {
            let error = PostgresOptions::parse_url(text).unwrap_err();
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("hunter2"), "{shown}");
            assert!(error.to_string().starts_with(expected), "{text}: {error}");
        }
    }
}
