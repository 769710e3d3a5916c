//! Certificates of servers and of the client.

use tonic::transport::{Certificate, ClientTlsConfig, Identity};

use super::{OptionsError, TextSource};

const CA: &str = "tls_ca";
const CERTIFICATE: &str = "tls_certificate";
const KEY: &str = "tls_key";
const VALID_CA: &str = "one or more certificates of authorities in PEM";
const VALID_CERTIFICATE: &str = "the client's certificate in PEM, with those up to its authority";
const VALID_KEY: &str = "the key to the client's certificate in PEM, not encrypted";

/// TLS options: the trusted authorities, optionally a client certificate.
///
/// One of the named authorities must have issued the server's certificate, for the host name or IP
/// address of the connection. Neither check can be switched off, and the authorities of the
/// operating system are not used. All sources are read again for each new connection.
///
/// # Examples
/// ```
/// use reg_center_etcd::{EtcdOptions, TextSource, TlsOptions};
///
/// let file = |name: &str| TextSource::File(format!("/etc/etcd/{name}").into());
/// let tls = TlsOptions::new(file("ca.pem")).identity(file("worker.pem"), file("worker.key"));
/// let options = EtcdOptions::new("etcd-1:2379,etcd-2:2379", "/jobs").tls(tls);
/// # let _ = options;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsOptions {
    ca: TextSource,
    identity: Option<(TextSource, TextSource)>,
}

impl TlsOptions {
    /// Returns TLS options that trust servers with a certificate of one of these authorities, in
    /// PEM.
    #[must_use]
    pub fn new(ca: TextSource) -> Self {
        Self { ca, identity: None }
    }

    /// Sets the client certificate in PEM, and its key, for servers that require one.
    ///
    /// The key is PKCS #8, PKCS #1 or SEC 1, not encrypted. Default: none.
    #[must_use]
    pub fn identity(mut self, certificate: TextSource, key: TextSource) -> Self {
        self.identity = Some((certificate, key));
        self
    }

    /// Reads all sources. The certificates are checked when a connection is opened.
    pub(crate) fn load(&self) -> Result<ClientTlsConfig, OptionsError> {
        let ca = read(&self.ca, CA, VALID_CA, "CERTIFICATE-----")?;
        let config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(ca));
        let Some((certificate, key)) = &self.identity else { return Ok(config) };
        let certificate = read(certificate, CERTIFICATE, VALID_CERTIFICATE, "CERTIFICATE-----")?;
        let key = read(key, KEY, VALID_KEY, "PRIVATE KEY-----")?;
        if key.contains("ENCRYPTED PRIVATE KEY") {
            return Err(OptionsError::hidden(KEY, VALID_KEY));
        }
        Ok(config.identity(Identity::from_pem(certificate, key)))
    }
}

/// Reads a text in PEM, which must have an entry of this kind.
fn read(
    source: &TextSource,
    option: &'static str,
    valid: &'static str,
    kind: &str,
) -> Result<String, OptionsError> {
    let text = source.read(option, valid)?;
    if text.contains(kind) {
        return Ok(text);
    }
    let value = format!("{}, which has no such entry", source.place());
    Err(OptionsError::described(option, value, valid))
}

#[cfg(test)]
mod tests {
    use etcd_fixture::Authority;

    use super::*;

    #[test]
    fn an_unusable_source_is_named_and_its_text_is_not_shown() {
        let authority = Authority::new("test");
        let worker = authority.issue("worker", ["worker"]);
        let text = |text: &str| TextSource::Text(text.to_owned());
        let (ca, key) = (text(authority.pem()), text(worker.key_pem()));
        let certificate = text(worker.certificate_pem());
        let tls = |ca: &TextSource| TlsOptions::new(ca.clone());
        let with = |certificate: &TextSource, key: &TextSource| {
            tls(&ca).identity(certificate.clone(), key.clone())
        };
        let gone = TextSource::File("/no/such/file".into());
        let locked = text("-----BEGIN ENCRYPTED PRIVATE KEY-----");
        let rows = [
            ("authority", tls(&ca), ""),
            ("identity", with(&certificate, &key), ""),
            ("no file", tls(&gone), "tls_ca is the file /no/such/file, which cannot be read: No s"),
            ("a key as authority", tls(&key), "tls_ca is a text, which has no such entry; valid"),
            ("a key as certificate", with(&key, &key), "tls_certificate is a text, which has no"),
            ("a certificate as key", with(&ca, &certificate), "tls_key is a text, which has no"),
            (
                "an encrypted key",
                with(&certificate, &locked),
                "tls_key is (hidden); valid: the key",
            ),
        ];
        for (case, tls, expected) in rows {
            let error = tls.load().err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.starts_with(expected), "{case}: {error}");
            assert_eq!(error.is_empty(), expected.is_empty(), "{case}: {error}");
            let line = worker.key_pem().lines().nth(1).unwrap();
            assert!(!format!("{error} {tls:?}").contains(line), "{case}");
        }
    }
}
