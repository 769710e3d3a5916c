//! Users with passwords, from a file.

use std::collections::BTreeMap;
use std::sync::Arc;

use outbound::parse_toml;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;

use super::file::{all_jobs, check_jobs, check_name};
use super::secret::{check_hash, hash_password, random_id};
use super::{Caller, Role};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    users: Vec<User>,
}

/// A user with a password.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct User {
    name: String,
    /// Hash as a PHC string.
    password: SecretString,
    role: Role,
    #[serde(default = "all_jobs")]
    jobs: String,
}

impl User {
    pub(super) fn caller(&self) -> Caller {
        Caller { name: self.name.clone(), role: self.role, jobs: self.jobs.clone() }
    }

    pub(super) fn hash(&self) -> &SecretString {
        &self.password
    }

    /// Returns true if sessions of one version of the user are valid for the other.
    fn has_same_credentials(&self, other: &Self) -> bool {
        self.role == other.role && self.password.expose_secret() == other.password.expose_secret()
    }
}

/// All users of a file.
#[derive(Debug)]
pub(super) struct Users {
    by_name: BTreeMap<String, Arc<User>>,
    /// Verified when a user is unknown, so that the answer takes the same time.
    decoy: SecretString,
}

impl Users {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let document: Document = parse_toml(text).map_err(|fault| fault.to_string())?;
        let mut by_name = BTreeMap::new();
        let mut strongest: Option<(u32, Arc<User>)> = None;
        for (n, user) in document.users.into_iter().enumerate() {
            check_name(&user.name).map_err(|reason| format!("user {}: {reason}", n + 1))?;
            let of_user = |reason| format!("user {:?}: {reason}", user.name);
            check_jobs(&user.jobs).map_err(of_user)?;
            let work = check_hash(user.password.expose_secret());
            let work = work.map_err(|reason| of_user(format!("password {reason}")))?;
            let user = Arc::new(user);
            if strongest.as_ref().is_none_or(|(most, _)| work > *most) {
                strongest = Some((work, Arc::clone(&user)));
            }
            let name = user.name.clone();
            if by_name.insert(name.clone(), user).is_some() {
                return Err(format!("user {name:?} is given twice; give each user one entry"));
            }
        }
        let decoy = match strongest {
            Some((_, user)) => user.password.clone(),
            None => hash_password(&random_id()).map_err(|error| error.to_string())?.into(),
        };
        Ok(Self { by_name, decoy })
    }

    pub(super) fn get(&self, name: &str) -> Option<&Arc<User>> {
        self.by_name.get(name)
    }

    pub(super) fn decoy(&self) -> &SecretString {
        &self.decoy
    }

    /// Returns the current version of a user, if sessions of the given version are still valid.
    pub(super) fn current(&self, user: &User) -> Option<&Arc<User>> {
        self.get(&user.name).filter(|current| current.has_same_credentials(user))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, hash: &str, rest: &str) -> String {
        format!("[[users]]\nname = {name:?}\npassword = {hash:?}\n{rest}\n")
    }

    #[test]
    fn users_are_read_and_errors_name_user_and_field() {
        let hash = hash_password("correct horse battery").unwrap();
        let anna = entry("anna", &hash, "role = \"operator\"\njobs = \"report-*\"");
        let users = Users::parse(&anna).unwrap();
        let expected =
            Caller { name: "anna".to_owned(), role: Role::Operator, jobs: "report-*".to_owned() };
        assert_eq!(users.get("anna").unwrap().caller(), expected);
        assert_eq!(users.decoy().expose_secret(), hash);
        for (text, expected) in [
            (
                entry("bob", &hash, "role = \"boss\""),
                "line 4: role is \"boss\"; valid is viewer, operator, admin",
            ),
            (
                entry("bob", &hash, "role = \"admin\"\nmail = \"x\""),
                "line 5: mail is an unknown key of the table ",
            ),
            (
                entry("bob", "pa55", "role = \"admin\""),
                "user \"bob\": password is no argon2id hash",
            ),
            (entry("b\nb", &hash, "role = \"admin\""), "user 1: name is \"b\\nb\""),
            (entry("bob", &hash, "role = \"admin\"\njobs = \"\""), "user \"bob\": jobs is \"\""),
            (format!("{anna}{anna}"), "user \"anna\" is given twice"),
            ("[[users]]\nname = \"bob\"".to_owned(), "password is missing"),
        ] {
            let refused = Users::parse(&text).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
            assert!(!refused.contains("pa55") && !refused.contains("$argon2"), "{refused}");
        }
    }

    #[test]
    fn sessions_stay_valid_until_password_or_role_changes() {
        let hash = hash_password("correct horse battery").unwrap();
        let other = hash_password("correct horse battery").unwrap();
        let read = |hash: &str, rest: &str| Users::parse(&entry("anna", hash, rest)).unwrap();
        let before = read(&hash, "role = \"operator\"");
        let anna = before.get("anna").unwrap();
        let renarrowed = read(&hash, "role = \"operator\"\njobs = \"report\"");
        assert_eq!(renarrowed.current(anna).unwrap().caller().jobs, "report");
        assert!(read(&other, "role = \"operator\"").current(anna).is_none());
        assert!(read(&hash, "role = \"viewer\"").current(anna).is_none());
        assert!(Users::parse("").unwrap().current(anna).is_none());
    }

    #[test]
    fn debug_output_has_no_hash() {
        let hash = hash_password("correct horse battery").unwrap();
        let users = Users::parse(&entry("anna", &hash, "role = \"viewer\"")).unwrap();
        let shown = format!("{users:?}");
        assert!(shown.contains("anna") && !shown.contains("argon2"), "{shown}");
    }
}
