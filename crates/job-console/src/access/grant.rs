//! Roles of the groups that a proxy or an identity provider names.

use std::collections::BTreeSet;

use super::file::{check_jobs, check_name};
use super::{AccessError, Caller, Role};

/// Role and job pattern of a group.
#[derive(Clone, Debug)]
struct Grant {
    role: Role,
    jobs: String,
}

impl Grant {
    fn new(role: Role, jobs: &str) -> Result<Self, AccessError> {
        check_jobs(jobs).map_err(AccessError::Grant)?;
        Ok(Self { role, jobs: jobs.to_owned() })
    }
}

/// The grants of groups, and that of everyone.
#[derive(Clone, Debug, Default)]
pub(super) struct Grants {
    groups: Vec<(String, Grant)>,
    everyone: Option<Grant>,
}

impl Grants {
    pub(super) fn add(&mut self, name: &str, role: Role, jobs: &str) -> Result<(), AccessError> {
        check_name(name).map_err(AccessError::Grant)?;
        self.groups.push((name.to_owned(), Grant::new(role, jobs)?));
        Ok(())
    }

    pub(super) fn set_everyone(&mut self, role: Role, jobs: &str) -> Result<(), AccessError> {
        self.everyone = Some(Grant::new(role, jobs)?);
        Ok(())
    }

    /// Returns the caller of this name with the highest role of the groups, and of the first group
    /// among those with the same role. Returns `None` if no group gives a role.
    pub(super) fn caller(&self, name: &str, groups: &BTreeSet<&str>) -> Option<Caller> {
        let of_groups = self.groups.iter().filter(|(group, _)| groups.contains(group.as_str()));
        let grants: Vec<&Grant> = of_groups.map(|(_, grant)| grant).chain(&self.everyone).collect();
        // `max_by_key` returns the last of equals, and the first one counts.
        let grant = grants.into_iter().rev().max_by_key(|grant| grant.role)?;
        Some(Caller { name: name.to_owned(), role: grant.role, jobs: grant.jobs.clone() })
    }
}
