//! The options that an address stands for.

use super::{EtcdOptions, OptionsError, TextSource};

const VALID: &str = "etcd://[USER@]HOST[:PORT][,HOST[:PORT]…]/NAMESPACE[?NAME=VALUE[&NAME=VALUE…]]";
const NAMES: &str =
    "password_file or password_env with a user, ca_file, certificate_file with key_file";
const NO_PASSWORD: &str = "no password in a URL, use password_file or password_env";
/// The variable with the password of a user, if the address names no other source.
const PASSWORD_VARIABLE: &str = "ETCD_PASSWORD";

/// The sources that an address names.
#[derive(Default)]
struct Sources {
    password: Option<TextSource>,
    ca: Option<TextSource>,
    certificate: Option<TextSource>,
    key: Option<TextSource>,
}

/// Parses a URL and checks the values of its options. Files and variables are read when the
/// registry is opened.
///
/// An error never shows text that may be part of a password.
pub(super) fn parse(url: &str) -> Result<EtcdOptions, OptionsError> {
    let parsed = options(url).and_then(|options| options.check_values().map(|()| options));
    // The first question mark may belong to a password. Hosts, namespace and parameters are then
    // parts of it.
    let may_split_password = url.split_once('?').is_some_and(|(_, query)| query.contains('@'));
    match parsed {
        Err(_) if may_split_password => Err(OptionsError::hidden("url", NO_PASSWORD)),
        parsed => parsed,
    }
}

fn options(url: &str) -> Result<EtcdOptions, OptionsError> {
    let rest = url.strip_prefix("etcd://").ok_or_else(|| OptionsError::hidden("url", VALID))?;
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) => (rest, query),
        None => (rest, ""),
    };
    let (user, rest) = match rest.rsplit_once('@') {
        Some((user, rest)) => (Some(user), rest),
        None => (None, rest),
    };
    if user.is_some_and(|user| user.contains(':')) {
        return Err(OptionsError::hidden("url", NO_PASSWORD));
    }
    // Parameters are not shown: their values may be secrets.
    let invalid = || OptionsError::new("url", &format!("etcd://{rest}"), VALID);
    let slash = rest.find('/').ok_or_else(invalid)?;
    let (addresses, namespace) = rest.split_at(slash);
    let sources = sources(query)?;
    let mut options = EtcdOptions::new(addresses, namespace);
    match (user, sources.password) {
        (Some(user), password) => {
            let default = || TextSource::Environment(PASSWORD_VARIABLE.to_owned());
            options = options.user(user, password.unwrap_or_else(default));
        }
        (None, Some(_)) => {
            return Err(OptionsError::described("url", "without a user".to_owned(), NAMES));
        }
        (None, None) => {}
    }
    with_tls(options, sources.ca, sources.certificate.zip(sources.key))
}

fn sources(query: &str) -> Result<Sources, OptionsError> {
    let mut sources = Sources::default();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        // The value of a wrong name may be a password. A text without a value may be the end of one
        // with an ampersand.
        let unknown = || match value {
            "" => OptionsError::hidden("parameter of the url", NAMES),
            _ => OptionsError::new("parameter of the url", name, NAMES),
        };
        let place = match name {
            "password_file" | "password_env" => &mut sources.password,
            "ca_file" => &mut sources.ca,
            "certificate_file" => &mut sources.certificate,
            "key_file" => &mut sources.key,
            _ => return Err(unknown()),
        };
        if value.is_empty() || place.is_some() {
            let value = format!("{name} without a value, or twice");
            return Err(OptionsError::described("parameter of the url", value, NAMES));
        }
        *place = Some(match name {
            "password_env" => TextSource::Environment(value.to_owned()),
            _ => TextSource::File(value.into()),
        });
    }
    if sources.certificate.is_some() != sources.key.is_some()
        || sources.certificate.is_some() && sources.ca.is_none()
    {
        let value = "certificate_file and key_file together, and both with ca_file";
        return Err(OptionsError::new("parameter of the url", "certificate_file", value));
    }
    Ok(sources)
}

#[cfg(feature = "tls")]
fn with_tls(
    options: EtcdOptions,
    ca: Option<TextSource>,
    identity: Option<(TextSource, TextSource)>,
) -> Result<EtcdOptions, OptionsError> {
    let Some(ca) = ca else { return Ok(options) };
    let tls = super::TlsOptions::new(ca);
    Ok(options.tls(match identity {
        Some((certificate, key)) => tls.identity(certificate, key),
        None => tls,
    }))
}

#[cfg(not(feature = "tls"))]
fn with_tls(
    options: EtcdOptions,
    ca: Option<TextSource>,
    _: Option<(TextSource, TextSource)>,
) -> Result<EtcdOptions, OptionsError> {
    match ca {
        Some(_) => Err(OptionsError::new(
            "parameter of the url",
            "ca_file",
            "a program that was built with the feature `tls` of reg-center-etcd",
        )),
        None => Ok(options),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_stands_for_options() {
        let base = || EtcdOptions::new("e-1:2379,e-2", "/jobs");
        let environment = |name: &str| TextSource::Environment(name.to_owned());
        let rows = [
            ("etcd://e-1:2379,e-2/jobs", base()),
            ("etcd://e-1:2379,e-2/jobs?", base()),
            (
                "etcd://worker@e-1:2379,e-2/jobs",
                base().user("worker", environment("ETCD_PASSWORD")),
            ),
            (
                "etcd://worker@e-1:2379,e-2/jobs?password_env=PW",
                base().user("worker", environment("PW")),
            ),
            (
                "etcd://worker@e-1:2379,e-2/jobs?password_file=/run/pw",
                base().user("worker", TextSource::File("/run/pw".into())),
            ),
        ];
        for (url, expected) in rows {
            assert_eq!(parse(url), Ok(expected), "{url}");
        }
    }

    #[test]
    fn an_invalid_url_is_reported_with_the_valid_form_and_without_secrets() {
        let rows = [
            ("zk://e-1/jobs", "url is (hidden); valid: etcd://["),
            ("etcd://e-1:2379", "url is \"etcd://e-1:2379\"; valid: etcd://["),
            ("etcd://u:s3cret@e-1/jobs", "url is (hidden); valid: no password in a URL"),
            (
                "etcd://e-1/jobs?password=s3cret",
                "parameter of the url is \"password\"; valid: pass",
            ),
            ("etcd://e-1/jobs?password_env=P", "url is without a user; valid: password_file or"),
            ("etcd://e-1?password=s3cret", "url is \"etcd://e-1\"; valid: etcd://["),
            ("etcd://e-1/jobs?ca_file=/a&s3cret", "parameter of the url is (hidden); valid: pass"),
            ("etcd://u:s3cret?w@e-1/jobs", "url is (hidden); valid: no password in a URL"),
            ("etcd://u:p?s3cret@e-1/jobs", "url is (hidden); valid: no password in a URL"),
            ("etcd://u:p/s3cret?w@e-1/jobs", "url is (hidden); valid: no password in a URL"),
            ("etcd://u:p/b?s3cret=x@e-1/jobs", "url is (hidden); valid: no password in a URL"),
            ("etcd://u:s3cret/b?ca_file=@e-1/jobs", "url is (hidden); valid: no password in a"),
            ("etcd://u:p/s3cret?@e-1/jobs", "url is (hidden); valid: no password in a URL"),
            ("etcd://u:s3cret#w@e-1/jobs", "url is (hidden); valid: no password in a URL"),
            ("etcd://u@e-1/jobs?password_file=", "parameter of the url is password_file without a"),
            (
                "etcd://u@e-1/jobs?password_file=/a&password_env=B",
                "parameter of the url is password_env without a value, or twice; valid: ",
            ),
            (
                "etcd://e-1/jobs?certificate_file=/a",
                "parameter of the url is \"certificate_file\"; valid: certificate_file and key",
            ),
        ];
        for (url, expected) in rows {
            let error = parse(url).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{url}: {error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
    }
}
