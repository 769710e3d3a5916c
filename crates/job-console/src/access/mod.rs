//! Callers, how they are identified, and the operations that they may use.

mod cookie;
mod file;
pub(crate) mod form;
mod grant;
mod headers;
pub(crate) mod identify;
mod limit;
mod log;
#[cfg(feature = "oidc")]
mod oidc;
mod origin;
mod permission;
mod proxy;
mod secret;
mod sessions;
mod setup;
mod sign_in;
#[cfg(test)]
mod table_test;
mod tokens;
mod users;

pub(crate) use cookie::session_name;
pub(crate) use headers::protect;
pub(crate) use identify::{Means, identify};
#[cfg(feature = "oidc")]
pub use oidc::Oidc;
pub use permission::{Permission, Role};
pub use proxy::Proxy;
pub use secret::{PasswordError, hash_password, new_token};
pub use setup::{Access, AccessError};
pub(crate) use sign_in::add_routes;

/// The person or program that sent a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Name, as the audit records show it.
    pub name: String,
    /// Role, which decides the permissions.
    pub role: Role,
    /// Jobs that the caller may change: a name in which `*` stands for any text.
    pub jobs: String,
}

/// Why a caller may not use an operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("{permission} needs the role {needed}; {caller} has the role {role}")]
    Role { permission: Permission, needed: Role, caller: String, role: Role },
    #[error("{caller} may change jobs named {pattern:?}, but {target}")]
    Job { caller: String, pattern: String, target: String },
}

impl Caller {
    /// Checks whether the role of the caller has a permission, whatever the jobs are.
    pub(crate) fn check_role(&self, permission: Permission) -> Result<(), Refusal> {
        let needed = permission.least_role();
        if self.role >= needed {
            return Ok(());
        }
        let (caller, role) = (self.name.clone(), self.role);
        Err(Refusal::Role { permission, needed, caller, role })
    }

    /// Checks whether the caller may use an operation on a job, or on all jobs.
    pub(crate) fn check(&self, permission: Permission, job: Option<&str>) -> Result<(), Refusal> {
        self.check_role(permission)?;
        let is_limited = permission.changes() && self.jobs != "*";
        if !is_limited || job.is_some_and(|job| operations::matches_pattern(&self.jobs, job)) {
            return Ok(());
        }
        let target = match job {
            Some(job) => format!("this request is about job {job:?}"),
            None => "this request may change all jobs".to_owned(),
        };
        Err(Refusal::Job { caller: self.name.clone(), pattern: self.jobs.clone(), target })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_limits_changes_but_not_reading() {
        let caller =
            Caller { name: "anna".to_owned(), role: Role::Operator, jobs: "report-*".to_owned() };
        assert!(caller.check(Permission::View, Some("billing")).is_ok());
        assert!(caller.check(Permission::Run, Some("report-2")).is_ok());
        let refused = caller.check(Permission::Run, Some("billing")).unwrap_err().to_string();
        let expected =
            r#"anna may change jobs named "report-*", but this request is about job "billing""#;
        assert_eq!(refused, expected);
        assert!(caller.check(Permission::Run, None).is_err());
        let refused = caller.check(Permission::Remove, Some("report-2")).unwrap_err().to_string();
        assert_eq!(refused, "remove needs the role admin; anna has the role operator");
    }
}
