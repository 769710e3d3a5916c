//! TLS and SASL options of the connection to the registry.

use std::path::{Path, PathBuf};

use clap::Args;
#[cfg(feature = "zookeeper-tls")]
use reg_center_zookeeper::TlsOptions;
use reg_center_zookeeper::{SaslDigest, TextSource, ZookeeperOptions};

use crate::connect::{Credentials, SecretSource, split};
use crate::fault::Fault;

/// Variable with the SASL password.
const PASSWORD: &str = "EJOB_SASL_PASSWORD";

/// TLS and SASL. Passwords are not arguments, because other users could see them.
#[derive(Clone, Debug, Args)]
pub(crate) struct SecurityArguments {
    /// Connect by TLS, and trust servers with a certificate of the authorities in this file (PEM)
    #[arg(long, global = true, hide_short_help = true, env = "EJOB_TLS_CA", value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// Client certificate for servers that request one (PEM)
    #[arg(long, global = true, hide_short_help = true, env = "EJOB_TLS_CERT", value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// Key of the client certificate (PEM, not encrypted)
    #[arg(long, global = true, hide_short_help = true, env = "EJOB_TLS_KEY", value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// User for SASL (DIGEST-MD5)
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        env = "EJOB_SASL_USER",
        value_name = "NAME"
    )]
    sasl_user: Option<String>,
    /// File with the password of the SASL user; or set EJOB_SASL_PASSWORD to the password
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        env = "EJOB_SASL_PASSWORD_FILE",
        value_name = "FILE"
    )]
    sasl_password_file: Option<PathBuf>,
    /// Variable with the password of the SASL user
    #[arg(skip = PASSWORD)]
    sasl_password_variable: String,
}

impl SecurityArguments {
    /// Creates the options of a namespace that a file names.
    pub(crate) fn of(credentials: Credentials) -> Self {
        let (sasl_password_file, sasl_password_variable) = split(credentials.sasl_password);
        Self {
            tls_ca: credentials.tls_ca,
            tls_cert: credentials.tls_cert,
            tls_key: credentials.tls_key,
            sasl_user: credentials.sasl_user,
            sasl_password_file,
            sasl_password_variable,
        }
    }

    /// Fills the settings of TLS, and those of SASL, if none of them is given.
    pub(crate) fn or(self, credentials: Credentials) -> Self {
        let other = Self::of(credentials);
        let has_tls = [&self.tls_ca, &self.tls_cert, &self.tls_key].map(given) != [None; 3];
        let (tls, sasl) = match (has_tls, self.has_sasl()) {
            (true, true) => return self,
            (true, false) => (self, other),
            (false, true) => (other, self),
            (false, false) => return other,
        };
        Self { tls_ca: tls.tls_ca, tls_cert: tls.tls_cert, tls_key: tls.tls_key, ..sasl }
    }

    /// Returns the given settings, with paths made absolute.
    pub(crate) fn credentials(
        &self,
        absolute: impl Fn(&Path) -> Result<PathBuf, Fault>,
    ) -> Result<Credentials, Fault> {
        let path = |path| given(path).map(|path| absolute(path)).transpose();
        let sasl_password = match path(&self.sasl_password_file)? {
            Some(file) => Some(SecretSource::File(file)),
            None => self
                .has_password_variable()
                .then(|| SecretSource::Variable(self.sasl_password_variable.clone())),
        };
        Ok(Credentials {
            digest: None,
            tls_ca: path(&self.tls_ca)?,
            tls_cert: path(&self.tls_cert)?,
            tls_key: path(&self.tls_key)?,
            sasl_user: self.sasl_user.clone().filter(|user| !user.is_empty()),
            sasl_password,
        })
    }

    /// Adds the given settings to the options.
    pub(crate) fn secure(&self, options: ZookeeperOptions) -> Result<ZookeeperOptions, Fault> {
        let options = self.with_tls(options)?;
        Ok(match self.sasl()? {
            Some(user) => options.sasl(user),
            None => options,
        })
    }

    /// Returns an option of these that is given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let is_set = self.has_password_variable();
        let options = [
            (given(&self.tls_ca).is_some(), "--tls-ca"),
            (given(&self.tls_cert).is_some(), "--tls-cert"),
            (given(&self.tls_key).is_some(), "--tls-key"),
            (self.has_user(), "--sasl-user"),
            (
                is_set || given(&self.sasl_password_file).is_some(),
                "--sasl-password-file (or EJOB_SASL_PASSWORD)",
            ),
        ];
        options.into_iter().find_map(|(is_given, option)| is_given.then_some(option))
    }

    /// Returns true if a SASL user is named.
    pub(crate) fn has_user(&self) -> bool {
        self.sasl_user.as_ref().is_some_and(|user| !user.is_empty())
    }

    fn has_sasl(&self) -> bool {
        let has_file = given(&self.sasl_password_file).is_some();
        self.has_user() || has_file || self.has_password_variable()
    }

    fn has_password_variable(&self) -> bool {
        let password = std::env::var_os(&self.sasl_password_variable);
        password.is_some_and(|password| !password.is_empty())
    }

    #[cfg(feature = "zookeeper-tls")]
    fn with_tls(&self, options: ZookeeperOptions) -> Result<ZookeeperOptions, Fault> {
        Ok(match self.tls()? {
            Some(tls) => options.tls(tls),
            None => options,
        })
    }

    #[cfg(not(feature = "zookeeper-tls"))]
    fn with_tls(&self, options: ZookeeperOptions) -> Result<ZookeeperOptions, Fault> {
        let files = [(&self.tls_ca, "ca"), (&self.tls_cert, "cert"), (&self.tls_key, "key")];
        match files.into_iter().find(|(file, _)| given(file).is_some()) {
            Some((_, name)) => Err(Fault::usage(format!(
                "--tls-{name}: this program was built without the feature `zookeeper-tls`"
            ))),
            None => Ok(options),
        }
    }

    #[cfg(feature = "zookeeper-tls")]
    fn tls(&self) -> Result<Option<TlsOptions>, Fault> {
        let (ca, cert, key) = (given(&self.tls_ca), given(&self.tls_cert), given(&self.tls_key));
        let identity = match (cert, key) {
            (Some(cert), Some(key)) => Some((TextSource::file(cert), TextSource::file(key))),
            (None, None) => None,
            (Some(_), None) => return Err(requires("tls-cert", "tls-key FILE or EJOB_TLS_KEY")),
            (None, Some(_)) => return Err(requires("tls-key", "tls-cert FILE or EJOB_TLS_CERT")),
        };
        let Some(ca) = ca else {
            let missing = requires("tls-cert", "tls-ca FILE or EJOB_TLS_CA");
            return if identity.is_some() { Err(missing) } else { Ok(None) };
        };
        let tls = TlsOptions::new(TextSource::file(ca));
        Ok(Some(match identity {
            Some((cert, key)) => tls.identity(cert, key),
            None => tls,
        }))
    }

    fn sasl(&self) -> Result<Option<SaslDigest>, Fault> {
        let user = self.sasl_user.as_ref().filter(|user| !user.is_empty());
        let is_set = self.has_password_variable();
        let password = match given(&self.sasl_password_file) {
            Some(file) => Some(TextSource::file(file)),
            None => is_set.then(|| TextSource::environment(&*self.sasl_password_variable)),
        };
        match (user, password) {
            (Some(user), Some(password)) => Ok(Some(SaslDigest::new(user, password))),
            (None, None) => Ok(None),
            (Some(_), None) => {
                Err(requires("sasl-user", &format!("sasl-password-file FILE or {PASSWORD}")))
            }
            (None, Some(_)) => {
                Err(requires("sasl-password-file", "sasl-user NAME or EJOB_SASL_USER"))
            }
        }
    }
}

/// Returns a path; a variable that is set to nothing counts as not set.
fn given(path: &Option<PathBuf>) -> Option<&PathBuf> {
    path.as_ref().filter(|path| !path.as_os_str().is_empty())
}

fn requires(option: &str, missing: &str) -> Fault {
    Fault::usage(format!("--{option} requires --{missing}"))
}
