//! Credentials that a file names, and the context of a command.

use std::path::{Path, PathBuf};

use super::{ConnectArguments, DIGEST, given};
use crate::contexts::{CONTEXT, ChosenContext, ContextEntry};
use crate::fault::Fault;
use crate::reference::Reference;
use crate::target::{EXAMPLE, REGISTRY, Target};

/// Source of a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SecretSource {
    Variable(String),
    File(PathBuf),
}

/// Credentials of a namespace that a file names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Credentials {
    pub(crate) digest: Option<SecretSource>,
    pub(crate) tls_ca: Option<PathBuf>,
    pub(crate) tls_cert: Option<PathBuf>,
    pub(crate) tls_key: Option<PathBuf>,
    pub(crate) sasl_user: Option<String>,
    pub(crate) sasl_password: Option<SecretSource>,
}

impl Credentials {
    /// Returns the key of a credential that is given.
    pub(crate) fn first(&self) -> Option<&'static str> {
        let keys = [
            (self.digest.is_some(), "digest"),
            (self.tls_ca.is_some(), "tls_ca"),
            (self.tls_cert.is_some(), "tls_cert"),
            (self.tls_key.is_some(), "tls_key"),
            (self.sasl_user.is_some(), "sasl_user"),
            (self.sasl_password.is_some(), "sasl_password"),
        ];
        keys.into_iter().find_map(|(is_given, key)| is_given.then_some(key))
    }

    /// Checks that each secret can be read. The error is the reason, with the key.
    pub(crate) fn check_secrets(&self) -> Result<(), String> {
        // A connection without the missing secret would create nodes that everyone can change.
        for (key, secret) in [("digest", &self.digest), ("sasl_password", &self.sasl_password)] {
            if let Some(secret) = secret {
                secret.read().map_err(|reason| format!("{key}: {reason}"))?;
            }
        }
        Ok(())
    }
}

#[cfg(feature = "console")]
impl ConnectArguments {
    /// Returns the options of a namespace that a file names: with its own credentials, and with the
    /// deadlines of the command line.
    pub(crate) fn with(&self, credentials: Credentials) -> Self {
        let (digest_file, digest_variable) = split(credentials.digest.clone());
        Self {
            registry: None,
            zookeeper: None,
            namespace: None,
            context: None,
            chosen: Chosen::default(),
            digest_file,
            digest_variable,
            security: crate::security::SecurityArguments::of(credentials),
            ..self.clone()
        }
    }
}

/// Returns the file and the variable of a secret. No variable has an empty name, so an empty name
/// stands for none.
pub(crate) fn split(source: Option<SecretSource>) -> (Option<PathBuf>, String) {
    match source {
        Some(SecretSource::File(path)) => (Some(path), String::new()),
        Some(SecretSource::Variable(name)) => (None, name),
        None => (None, String::new()),
    }
}

/// The context of a command line.
#[derive(Clone, Debug, Default)]
pub(crate) enum Chosen {
    /// The command line names a registry, or there is no context.
    #[default]
    None,
    /// The context, and the options without it.
    Context(Box<ChosenContext>, Box<ConnectArguments>),
    /// A context is wanted that cannot be used.
    Fault(Fault),
}

impl ConnectArguments {
    /// Adds the context, unless an option or a variable names a registry.
    ///
    /// A context that cannot be used is reported once a registry is needed.
    pub(crate) fn with_context(self) -> Self {
        let option = given(self.context.as_ref());
        let has_address = given(self.registry.as_ref()).or(given(self.zookeeper.as_ref()));
        if has_address.is_some() {
            let fault = option.map(|name| {
                Chosen::Fault(Fault::usage(format!(
                    "--context is {name:?}, but --registry or --zookeeper (or {REGISTRY} or EJOB_ZOOKEEPER) names a registry too; valid is one of them"
                )))
            });
            return Self { chosen: fault.unwrap_or_default(), ..self };
        }
        let variable = std::env::var(CONTEXT).ok().filter(|name| !name.is_empty());
        match ChosenContext::choose(option.or(variable).as_deref()) {
            Ok(None) => self,
            Err(fault) => Self { chosen: Chosen::Fault(fault), ..self },
            Ok(Some(context)) => self.filled(context),
        }
    }

    /// Fills the credentials that no option and no variable names.
    fn filled(self, context: ChosenContext) -> Self {
        let mut filled = self.clone();
        let credentials = context.credentials.clone();
        if !self.has_digest() {
            (filled.digest_file, filled.digest_variable) = split(credentials.digest.clone());
        }
        filled.security = filled.security.or(credentials);
        filled.chosen = Chosen::Context(Box::new(context), Box::new(self));
        filled
    }

    /// Returns the options for a file that names a registry, which wins over the current context.
    pub(crate) fn beside_file(&self, has_registry: bool) -> Self {
        match &self.chosen {
            Chosen::Context(context, plain) if has_registry && !context.is_named => {
                (**plain).clone()
            }
            Chosen::None | Chosen::Context(..) | Chosen::Fault(_) => self.clone(),
        }
    }

    /// Returns a line that names the context and its registry, if the command has one.
    pub(crate) fn context_line(&self) -> Option<String> {
        match &self.chosen {
            Chosen::Context(context, _) => {
                Some(format!("context {}: {}\n", context.name, context.target))
            }
            Chosen::None | Chosen::Fault(_) => None,
        }
    }

    /// Returns the context that the options and variables describe. Files have absolute paths.
    pub(crate) fn entry(&self) -> Result<ContextEntry, Fault> {
        let address = given(self.registry.as_ref());
        if address.is_none() && given(self.zookeeper.as_ref()).is_none() {
            return Err(Fault::usage(format!(
                "--registry is missing; give the address of the context, such as --registry {EXAMPLE}"
            )));
        }
        let registry = match (address, self.named(None, None)?) {
            (_, Target::File(file)) => format!("sqlite:{}", absolute(file.path())?.display()),
            (Some(address), _) => address,
            (None, target) => target.to_string(),
        };
        let digest = match self.digest_path() {
            Some(path) => Some(SecretSource::File(absolute(path)?)),
            None => self.has_digest().then(|| SecretSource::Variable(DIGEST.to_owned())),
        };
        let Credentials { tls_ca, tls_cert, tls_key, sasl_user, sasl_password, .. } =
            self.security.credentials(absolute)?;
        let (digest, sasl_password) = (digest.map(Reference), sasl_password.map(Reference));
        Ok(ContextEntry { registry, digest, tls_ca, tls_cert, tls_key, sasl_user, sasl_password })
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Fault> {
    std::path::absolute(path)
        .map_err(|error| Fault::usage(format!("{} cannot be used: {error}", path.display())))
}
