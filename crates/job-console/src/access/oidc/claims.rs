//! The caller that a verified ID token names.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::Value;

use super::invalid;
use crate::access::file::check_name;
use crate::access::grant::Grants;
use crate::access::{AccessError, Caller};

/// Most values of the roles claim that are looked at.
const MAX_VALUES: usize = 10_000;

/// The claims that name a user and the user's roles.
#[derive(Clone, Debug)]
pub(super) struct ClaimNames {
    pub(super) name: String,
    pub(super) roles: String,
}

impl Default for ClaimNames {
    fn default() -> Self {
        Self { name: "preferred_username".to_owned(), roles: "groups".to_owned() }
    }
}

/// Why a token names no caller of this console.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoCaller {
    #[error("the ID token has no text in the claim {0:?}")]
    Nameless(String),
    #[error("the claim {claim:?} is no valid name: {reason}")]
    Name { claim: String, reason: String },
    #[error("no value of the claim {claim:?} has a role in this console")]
    Roleless { claim: String, user: String },
}

/// Checks the name of a claim.
pub(super) fn check_claim(field: &'static str, claim: &str) -> Result<String, AccessError> {
    let is_valid = (1..=256).contains(&claim.len()) && !claim.chars().any(char::is_control);
    match is_valid {
        true => Ok(claim.to_owned()),
        false => Err(invalid(field, claim, "1 to 256 bytes without control characters")),
    }
}

/// Returns the claims of a token whose signature is verified.
pub(super) fn payload(token: &str) -> Option<Value> {
    let part = token.split('.').nth(1)?;
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

impl ClaimNames {
    /// Returns the caller that claims name.
    pub(super) fn caller(&self, claims: &Value, grants: &Grants) -> Result<Caller, NoCaller> {
        let name = find(claims, &self.name).and_then(Value::as_str);
        let name = name.ok_or_else(|| NoCaller::Nameless(self.name.clone()))?;
        check_name(name).map_err(|reason| NoCaller::Name { claim: self.name.clone(), reason })?;
        let groups: BTreeSet<&str> = match find(claims, &self.roles) {
            Some(Value::String(one)) => BTreeSet::from([one.as_str()]),
            Some(Value::Array(all)) => {
                all.iter().take(MAX_VALUES).filter_map(Value::as_str).collect()
            }
            _ => BTreeSet::new(),
        };
        let (claim, user) = (self.roles.clone(), name.to_owned());
        grants.caller(name, &groups).ok_or(NoCaller::Roleless { claim, user })
    }
}

/// Returns a claim by its name, or else by a path of names with dots between them.
fn find<'a>(claims: &'a Value, name: &str) -> Option<&'a Value> {
    claims.get(name).or_else(|| {
        let (outer, inner) = name.split_once('.')?;
        find(claims.get(outer)?, inner)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::access::Role;

    #[test]
    fn highest_role_of_the_values_counts_and_none_is_refused() {
        let mut grants = Grants::default();
        grants.add("ops", Role::Operator, "report-*").unwrap();
        grants.add("root", Role::Admin, "*").unwrap();
        let names = |roles: &str| ClaimNames {
            name: "preferred_username".to_owned(),
            roles: roles.to_owned(),
        };
        let claims = json!({
            "preferred_username": "anna", "groups": ["x", "ops"], "role": "root",
            "realm_access": { "roles": ["ops", "root", 7] }, "https://acme.example/roles": ["ops"],
            "number": 7,
        });
        for (claim, expected) in [
            ("groups", Some((Role::Operator, "report-*"))),
            ("role", Some((Role::Admin, "*"))),
            ("realm_access.roles", Some((Role::Admin, "*"))),
            ("https://acme.example/roles", Some((Role::Operator, "report-*"))),
            ("number", None),
            ("missing", None),
        ] {
            let caller = names(claim).caller(&claims, &grants);
            let found = caller.as_ref().ok().map(|caller| (caller.role, caller.jobs.as_str()));
            assert_eq!(found, expected, "{claim}: {caller:?}");
        }
        grants.set_everyone(Role::Viewer, "*").unwrap();
        let caller = names("missing").caller(&claims, &grants).unwrap();
        assert_eq!((caller.name.as_str(), caller.role), ("anna", Role::Viewer));
    }

    #[test]
    fn token_without_a_usable_name_is_refused() {
        let mut grants = Grants::default();
        grants.set_everyone(Role::Viewer, "*").unwrap();
        for claims in [
            json!({}),
            json!({ "preferred_username": 7 }),
            json!({ "preferred_username": "" }),
            json!({ "preferred_username": "an\nna" }),
        ] {
            let refused = ClaimNames::default().caller(&claims, &grants).unwrap_err();
            assert!(refused.to_string().contains("preferred_username"), "{refused}");
        }
    }
}
