//! Contexts: registries with a name, in a file of the user.

mod file;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub(crate) use self::file::ContextsFile;
use crate::connect::Credentials;
use crate::fault::Fault;
use crate::reference::Reference;
use crate::target::Target;

/// Variable with the name of a context.
pub(crate) const CONTEXT: &str = "EJOB_CONTEXT";

/// A registry and its credentials, as the file of contexts has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ContextEntry {
    pub(crate) registry: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) digest: Option<Reference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tls_ca: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tls_cert: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tls_key: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sasl_user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sasl_password: Option<Reference>,
}

impl ContextEntry {
    /// Returns the registry of the context. The error is the reason.
    pub(crate) fn target(&self) -> Result<Target, String> {
        let target = Target::parse_of_context(&self.registry)?;
        match (&target, self.credentials().first()) {
            (Target::Memory, _) => Err("the registry is memory:, which ends with its process; \
                                        valid is the address of a registry that workers use"
                .to_owned()),
            (Target::File(_) | Target::Server(_), Some(key)) => Err(format!(
                "{key} is given, which only ZooKeeper has, but the registry is {target}"
            )),
            _ => Ok(target),
        }
    }

    /// Returns the credentials. Secrets that cannot be read are an error.
    pub(crate) fn read_credentials(&self) -> Result<Credentials, String> {
        let credentials = self.credentials();
        credentials.check_secrets()?;
        Ok(credentials)
    }

    fn credentials(&self) -> Credentials {
        Credentials {
            digest: self.digest.clone().map(|secret| secret.0),
            tls_ca: self.tls_ca.clone(),
            tls_cert: self.tls_cert.clone(),
            tls_key: self.tls_key.clone(),
            sasl_user: self.sasl_user.clone(),
            sasl_password: self.sasl_password.clone().map(|secret| secret.0),
        }
    }
}

/// The context of a command.
#[derive(Clone, Debug)]
pub(crate) struct ChosenContext {
    pub(crate) name: String,
    pub(crate) target: Target,
    pub(crate) credentials: Credentials,
    /// An option or variable names it. Otherwise it is the current one of the file.
    pub(crate) is_named: bool,
}

impl ChosenContext {
    /// Returns the context that is named, or else the current one of the file, if there is one.
    pub(crate) fn choose(named: Option<&str>) -> Result<Option<Self>, Fault> {
        let contexts = ContextsFile::read()?;
        let Some(name) = named.or(contexts.current()) else { return Ok(None) };
        let entry = contexts.get(name)?;
        let invalid = |reason| contexts.invalid(name, reason);
        Ok(Some(Self {
            name: name.to_owned(),
            target: entry.target().map_err(invalid)?,
            credentials: entry.read_credentials().map_err(invalid)?,
            is_named: named.is_some(),
        }))
    }
}
