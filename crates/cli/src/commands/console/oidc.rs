//! The section `access.oidc` of the file: an identity provider.

use std::collections::BTreeMap;

use job_console::Access;
use serde::Deserialize;

use super::access::Grant;
use crate::fault::Fault;
use crate::reference::Reference;

/// An identity provider that signs users in. Its values are checked when it is applied.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(feature = "oidc"), expect(dead_code, reason = "the section is refused"))]
pub(super) struct OidcSection {
    issuer: String,
    client_id: String,
    client_secret: Option<Reference>,
    /// Public address of the console, without the prefix.
    address: String,
    #[serde(default)]
    scopes: Vec<String>,
    label: Option<String>,
    name_claim: Option<String>,
    roles_claim: Option<String>,
    session: Option<String>,
    #[serde(default)]
    roles: BTreeMap<String, Grant>,
    everyone: Option<Grant>,
}

impl OidcSection {
    #[cfg(not(feature = "oidc"))]
    #[expect(clippy::unused_self, reason = "the signature is that of the feature")]
    pub(super) fn apply(&self, _: Access) -> Result<Access, Fault> {
        Err(Fault::usage(
            "access.oidc is given, and this program was built without the feature oidc",
        ))
    }

    #[cfg(feature = "oidc")]
    pub(super) fn apply(&self, access: Access) -> Result<Access, Fault> {
        let mut oidc = job_console::Oidc::new(&self.issuer, &self.client_id, &self.address)?;
        if let Some(secret) = &self.client_secret {
            oidc = oidc.client_secret(&secret.to_string())?;
        }
        for scope in &self.scopes {
            oidc = oidc.scope(scope)?;
        }
        if let Some(label) = &self.label {
            oidc = oidc.label(label)?;
        }
        if let Some(claim) = &self.name_claim {
            oidc = oidc.name_claim(claim)?;
        }
        if let Some(claim) = &self.roles_claim {
            oidc = oidc.roles_claim(claim)?;
        }
        if let Some(session) = &self.session {
            let longest = crate::text::duration(session).map_err(|reason| {
                Fault::usage(format!("oidc: session is {session:?}; {reason}"))
            })?;
            oidc = oidc.session(longest)?;
        }
        for (value, Grant { role, jobs }) in &self.roles {
            oidc = oidc.role(value, *role, jobs)?;
        }
        if let Some(Grant { role, jobs }) = &self.everyone {
            oidc = oidc.everyone(*role, jobs)?;
        }
        Ok(access.oidc(oidc)?)
    }
}
