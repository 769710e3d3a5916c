//! A certificate authority for tests, and the certificates that it issues.

use std::fmt;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// A certificate authority whose key exists only in memory.
///
/// Clones are the same authority. Two authorities with the same name are distinct, and neither
/// accepts certificates of the other.
///
/// # Examples
/// ```
/// use server_fixture::Authority;
///
/// let authority = Authority::new("the test's own");
/// assert!(authority.pem().starts_with("-----BEGIN CERTIFICATE-----"));
/// let identity = authority.issue("worker-1", ["worker-1.example.com"]);
/// assert!(identity.key_pem().starts_with("-----BEGIN PRIVATE KEY-----"));
/// ```
#[derive(Clone)]
pub struct Authority {
    name: String,
    issuer: Arc<Issuer<'static, KeyPair>>,
    pem: String,
}

impl Authority {
    /// Creates an authority and its key.
    ///
    /// # Panics
    /// If the operating system has no random numbers.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let key = new_key();
        let mut params = params(name, Vec::new());
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key).expect("the key fits what it signs");
        let pem = certificate.pem();
        Self { name: name.to_owned(), issuer: Arc::new(Issuer::new(params, key)), pem }
    }

    /// Returns the authority's own certificate, for servers and clients that trust it.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Issues a certificate for `name`, valid for `hosts`, which are host names and IP addresses.
    ///
    /// Both servers and clients can use it.
    ///
    /// # Panics
    /// If one of `hosts` is no ASCII text.
    #[must_use]
    pub fn issue(
        &self,
        name: &str,
        hosts: impl IntoIterator<Item = impl Into<String>>,
    ) -> Identity {
        let key = new_key();
        let mut params = params(name, hosts.into_iter().map(Into::into).collect());
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let signed = params.signed_by(&key, self.issuer.as_ref());
        let certificate_pem = signed.expect("the issuer's key fits what it signs").pem();
        Identity { certificate_pem, key_pem: key.serialize_pem() }
    }
}

impl PartialEq for Authority {
    fn eq(&self, other: &Self) -> bool {
        self.pem == other.pem
    }
}

impl Eq for Authority {}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A certificate and its private key, both as PEM. The key is in PKCS #8 and not encrypted.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    certificate_pem: String,
    key_pem: String,
}

impl Identity {
    /// Returns the certificate.
    #[must_use]
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// Returns the private key.
    #[must_use]
    pub fn key_pem(&self) -> &str {
        &self.key_pem
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

fn new_key() -> KeyPair {
    KeyPair::generate().expect("the operating system has random numbers")
}

fn params(name: &str, hosts: Vec<String>) -> CertificateParams {
    let mut params = CertificateParams::new(hosts).expect("host names and addresses are ASCII");
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// Requirement of a certificate of clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientCertificate {
    /// The client needs a certificate of the server's authority.
    #[default]
    Required,
    /// The server requests no certificate.
    NotAsked,
}
