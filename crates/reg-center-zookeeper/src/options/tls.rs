//! Certificates of servers and of the client.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use zookeeper_client as zk;

use super::{OptionsError, TextSource};

const CA: &str = "tls_ca";
const CERTIFICATE: &str = "tls_certificate";
const KEY: &str = "tls_key";
const VALID_CA: &str = "one or more certificates of authorities in PEM";
const VALID_CERTIFICATE: &str =
    "the client's certificate in PEM, followed by those between it and its authority";
const VALID_KEY: &str = "the key to the client's certificate in PEM, not encrypted";

/// TLS options: the trusted authorities, optionally a client certificate.
///
/// One of the named authorities must have issued the server's certificate, for the host name or IP
/// address of the connection. Neither check can be switched off, and the authorities of the
/// operating system are not used. TLS 1.2 and 1.3 are supported. A revocation list in the PEM of
/// the authorities is applied.
///
/// Files and variables are read again whenever a connection was lost, and for each new session, so
/// that certificates can be renewed without a restart. If a renewed file is invalid, the center
/// logs it (`warn`) and keeps the former certificates.
///
/// A client certificate admits the connection if the servers require one. By itself it restricts
/// access to no node. Together with a user, new nodes are accessible to its subject as well.
///
/// # Examples
/// ```
/// use reg_center_zookeeper::{TextSource, TlsOptions, ZookeeperOptions};
///
/// let tls = TlsOptions::new(TextSource::file("/etc/zookeeper/ca.pem")).identity(
///     TextSource::file("/etc/zookeeper/worker.pem"),
///     TextSource::file("/run/secrets/worker.key"),
/// );
/// let options = ZookeeperOptions::new("zk-1:2281,zk-2:2281").tls(tls);
/// # let _ = options;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsOptions {
    ca: TextSource,
    identity: Option<Identity>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Identity {
    certificate: TextSource,
    key: TextSource,
}

/// The loaded certificates, in the forms of the client crate and of rustls.
#[derive(Clone, Debug)]
pub(crate) struct LoadedTls {
    /// Certificates for the client.
    pub(crate) certificates: zk::TlsCerts,
    /// The same certificates, for the TLS probe.
    pub(crate) config: Arc<ClientConfig>,
}

impl TlsOptions {
    /// Returns TLS options that trust servers with a certificate of one of these authorities, in
    /// PEM.
    #[must_use]
    pub fn new(ca: TextSource) -> Self {
        Self { ca, identity: None }
    }

    /// Sets the client certificate in PEM, and its key.
    ///
    /// Servers that require a certificate get it. The key is PKCS #8, PKCS #1 or SEC 1, not
    /// encrypted. Default: none.
    #[must_use]
    pub fn identity(mut self, certificate: TextSource, key: TextSource) -> Self {
        self.identity = Some(Identity { certificate, key });
        self
    }

    /// Reads all sources and checks that certificate and key match.
    pub(crate) fn load(&self) -> Result<LoadedTls, OptionsError> {
        let ca_text = self.ca.read(CA, VALID_CA)?;
        let provider = provider();
        let verifier = self.verifier(&ca_text, &provider)?;
        let ca = zk::TlsCa::from_pem(&ca_text).map_err(|error| self.wrong_ca(&error))?;
        let mut certificates = zk::TlsCerts::builder().with_ca(ca);
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| self.wrong_ca(&error))?
            .with_webpki_verifier(verifier);
        let config = match &self.identity {
            None => config.with_no_client_auth(),
            Some(identity) => {
                let read = identity.read()?;
                certificates = certificates.with_identity(read.for_client);
                let used = config.with_client_auth_cert(read.chain, read.key);
                used.map_err(|error| identity.wrong(&error))?
            }
        };
        let certificates = certificates.build().map_err(|error| self.wrong_ca(&error))?;
        Ok(LoadedTls { certificates, config: Arc::new(config) })
    }

    fn verifier(
        &self,
        text: &str,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<WebPkiServerVerifier>, OptionsError> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(text.as_bytes()) {
            let certificate = certificate.map_err(|error| self.wrong_ca(&error))?;
            roots.add(certificate).map_err(|error| self.wrong_ca(&error))?;
        }
        if roots.is_empty() {
            return Err(self.wrong_ca(&"no certificate is in it"));
        }
        let lists = CertificateRevocationListDer::pem_slice_iter(text.as_bytes());
        let lists = lists.collect::<Result<Vec<_>, _>>().map_err(|error| self.wrong_ca(&error))?;
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
            .with_crls(lists)
            .build()
            .map_err(|error| self.wrong_ca(&error))
    }

    fn wrong_ca(&self, why: &dyn std::fmt::Display) -> OptionsError {
        wrong(CA, &self.ca, why, VALID_CA)
    }
}

/// A certificate with its chain up to the authority, and its key.
struct ReadIdentity {
    for_client: zk::TlsIdentity,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    fn read(&self) -> Result<ReadIdentity, OptionsError> {
        let certificate = self.certificate.read(CERTIFICATE, VALID_CERTIFICATE)?;
        let of_certificate = |why: &dyn std::fmt::Display| {
            wrong(CERTIFICATE, &self.certificate, why, VALID_CERTIFICATE)
        };
        let chain = CertificateDer::pem_slice_iter(certificate.as_bytes());
        let chain = chain.collect::<Result<Vec<_>, _>>().map_err(|error| of_certificate(&error))?;
        if chain.is_empty() {
            return Err(of_certificate(&"no certificate is in it"));
        }
        let key_text = self.key.read(KEY, VALID_KEY)?;
        let key = PrivateKeyDer::from_pem_slice(key_text.as_bytes());
        // The parser's error is not shown, because it may contain a part of the key.
        let key = key.map_err(|_| wrong(KEY, &self.key, &"no private key is in it", VALID_KEY))?;
        let for_client = zk::TlsIdentity::from_pem(&certificate, &key_text);
        let for_client =
            for_client.map_err(|_| wrong(KEY, &self.key, &"no private key is in it", VALID_KEY))?;
        Ok(ReadIdentity { for_client, chain, key })
    }

    /// Returns an error that names the certificate or the key, whichever is unusable.
    fn wrong(&self, error: &rustls::Error) -> OptionsError {
        if matches!(error, rustls::Error::InvalidCertificate(_)) {
            return wrong(CERTIFICATE, &self.certificate, error, VALID_CERTIFICATE);
        }
        if matches!(error, rustls::Error::InconsistentKeys(_)) {
            return wrong(KEY, &self.key, &"it is not the key to the certificate", VALID_KEY);
        }
        wrong(KEY, &self.key, error, VALID_KEY)
    }
}

fn wrong(
    option: &'static str,
    source: &TextSource,
    why: &dyn std::fmt::Display,
    valid: &'static str,
) -> OptionsError {
    OptionsError::described(
        option,
        format!("{}, which cannot be used: {why}", source.place()),
        valid,
    )
}

/// Returns the cryptography provider of this process, and installs ring's if there is none.
///
/// The client uses the provider of the process, too. Without one it could not choose among the
/// providers in the build. A program that wants another provider installs it before.
fn provider() -> Arc<CryptoProvider> {
    if CryptoProvider::get_default().is_none() {
        // If another thread has installed a provider meanwhile, that one is used.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    let process = CryptoProvider::get_default();
    process.map_or_else(|| Arc::new(rustls::crypto::ring::default_provider()), Arc::clone)
}

/// Returns the name that a server's certificate must have.
pub(crate) fn server_name(host: &str) -> Option<ServerName<'static>> {
    ServerName::try_from(host.to_owned()).ok()
}

#[cfg(test)]
mod tests {
    use zookeeper_fixture::Authority;

    use super::*;
    use crate::ZookeeperOptions;

    #[test]
    fn an_unusable_certificate_or_key_is_reported_with_its_source_but_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            TextSource::file(path)
        };
        let authority = Authority::new("test");
        let (worker, other) = (authority.issue("a", ["a"]), authority.issue("b", ["b"]));
        let ca = file("ca.pem", authority.pem());
        let certificate = file("worker.pem", worker.certificate_pem());
        let key = file("worker.key", worker.key_pem());
        let damaged = |pem: &str| pem.replace("\nMI", "\n!!");
        let no_der = "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n";
        let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\naGVsbG8=\n-----END ENCRYPTED PRIVATE KEY-----\n";
        let gone = TextSource::file(folder.path().join("gone"));
        let tls = |ca: &TextSource| TlsOptions::new(ca.clone());
        let with = |certificate: &TextSource, key: &TextSource| {
            tls(&ca).identity(certificate.clone(), key.clone())
        };
        let rows = [
            ("authority", tls(&ca), None),
            ("authority and identity", with(&certificate, &key), None),
            ("no file", tls(&gone), Some((CA, "gone, which cannot be read: No such file"))),
            (
                "no variable",
                tls(&TextSource::environment("NO_SUCH_CA")),
                Some((CA, "the variable NO_SUCH_CA, which cannot be read")),
            ),
            ("an empty file", tls(&file("empty", "")), Some((CA, "no certificate is in it"))),
            ("a key instead of authorities", tls(&key), Some((CA, "no certificate is in it"))),
            ("no base 64", tls(&file("b64", &damaged(authority.pem()))), Some((CA, "b64, which"))),
            (
                "no valid certificate",
                tls(&file("der", no_der)),
                Some((CA, "der, which cannot be used")),
            ),
            (
                "one good, one bad",
                tls(&file("two", &format!("{}{no_der}", authority.pem()))),
                Some((CA, "two, which cannot be used")),
            ),
            ("no certificate file", with(&gone, &key), Some((CERTIFICATE, "gone, which"))),
            ("a key as certificate", with(&key, &key), Some((CERTIFICATE, "no certificate"))),
            (
                "an invalid client certificate",
                with(&file("der", no_der), &key),
                Some((CERTIFICATE, "der, which cannot be used")),
            ),
            ("no key file", with(&certificate, &gone), Some((KEY, "gone, which cannot be read"))),
            (
                "a certificate as key",
                with(&certificate, &certificate),
                Some((KEY, "no private key")),
            ),
            (
                "an encrypted key",
                with(&certificate, &file("locked", encrypted)),
                Some((KEY, "no private key is in it; valid: the key")),
            ),
            (
                "a damaged key",
                with(&certificate, &file("bad", &damaged(worker.key_pem()))),
                Some((KEY, "bad, which cannot be used")),
            ),
            (
                "the key of another certificate",
                with(&certificate, &file("other", other.key_pem())),
                Some((KEY, "it is not the key to the certificate")),
            ),
        ];
        for (case, tls, expected) in rows {
            let options = ZookeeperOptions::new("zk-1:2281").tls(tls);
            let error = options.validate().err();
            let found = error.as_ref().map(OptionsError::option);
            assert_eq!(found, expected.map(|(option, _)| option), "{case}: {error:?}");
            let text = error.map(|error| error.to_string()).unwrap_or_default();
            assert!(text.contains(expected.map_or("", |(_, part)| part)), "{case}: {text}");
            let key_line = worker.key_pem().lines().nth(1).unwrap();
            assert!(!format!("{text} {options:?}").contains(key_line), "{case}: {text}");
        }
    }

    #[test]
    fn with_tls_a_host_must_be_valid_in_a_certificate() {
        let authority = Authority::new("test");
        let rows = [
            ("zk-1:2281,10.0.0.7:2281,[::1]:2281", None),
            ("zk_1.example.com", None),
            ("zk-1,zk%1", Some("address")),
        ];
        for (addresses, expected) in rows {
            let tls = TlsOptions::new(TextSource::text(authority.pem()));
            let error = ZookeeperOptions::new(addresses).tls(tls).validate().err();
            assert_eq!(error.map(|error| error.option()), expected, "{addresses}");
            assert_eq!(ZookeeperOptions::new(addresses).validate(), Ok(()), "{addresses}");
        }
    }
}
