//! Configuration as code: the namespace gets the jobs and the limits of groups that files declare,
//! for the API and the pages.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::StatusCode;
use coordination::{GroupLimits, GroupName, JobConfig};
use job_types::{JobFile, declared_configs, declared_groups};
use operations::{ApplyPlan, Owner, plan_apply};
use serde::Deserialize;
use sharding::StrategyRegistry;

use crate::access::{Caller, Permission};
use crate::api::scan;
use crate::bulk::digest;
use crate::namespaces::Namespace;
use crate::problem::{Answer, Problem};

/// Code of a problem that a file causes.
pub(crate) const INVALID_FILE: &str = "invalid-job-file";

/// A file of jobs.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeclaringFile {
    /// Name, which ends in `.toml`, `.yaml` or `.yml`.
    #[schema(example = "jobs.toml")]
    pub(crate) name: String,
    /// Content, as `ejob worker` reads it. It must not name files to read. Only the configurations
    /// and the limits of groups are checked, not the values of `script`, `http` and
    /// `error_handlers`.
    #[schema(example = "[[jobs]]\nname = \"report\"\nsharding_total_count = 3\nstored = true\n")]
    pub(crate) text: String,
}

/// Files to apply.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    pub(crate) files: Vec<DeclaringFile>,
    /// Name of this set of files.
    pub(crate) owner: Owner,
    /// True to remove the jobs of the owner that the files do not declare.
    pub(crate) prune: bool,
}

/// The plan of an apply.
pub(crate) struct PlannedApply {
    pub(crate) plan: ApplyPlan,
    /// Digest of the plan, which the apply has to name.
    pub(crate) digest: String,
}

/// Plans an apply against a fresh reading of the registry. The caller is checked for each job;
/// limits of groups may be of any job.
pub(crate) async fn plan(
    namespace: &Arc<Namespace>,
    caller: &Caller,
    declared: Declared,
) -> Answer<PlannedApply> {
    let Declared { files, owner, prune } = declared;
    let (configs, limits) = scan(move || read(&files))
        .await?
        .map_err(|detail| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, INVALID_FILE, detail))?;
    for config in &configs {
        caller.check(Permission::Import, Some(config.job_name.as_str()))?;
    }
    let mut groups = Vec::new();
    if !limits.is_empty() {
        caller.check(Permission::Configure, None)?;
        groups = namespace.operations.groups().await?;
    }
    let present = namespace.operations.namespace().await?;
    let now = namespace.operations.present();
    let planned = scan(move || {
        let strategies = StrategyRegistry::default();
        let plan = plan_apply(&configs, &present, &owner, prune, &strategies, now);
        let plan = plan.with_limits(&limits, &groups);
        let digest = digest("apply", plan.identity());
        PlannedApply { plan, digest }
    });
    let planned = planned.await?;
    for removal in &planned.plan.removals {
        caller.check(Permission::Remove, Some(&removal.job))?;
    }
    Ok(planned)
}

/// Parses the name of a set of files.
pub(crate) fn owner(text: &str) -> Result<Owner, String> {
    Owner::parse(text).map_err(|valid| format!("owner is {text:?}; valid are {valid}"))
}

/// The jobs and the limits of groups that files declare.
type Contents = (Vec<JobConfig>, BTreeMap<GroupName, GroupLimits>);

fn read(files: &[DeclaringFile]) -> Result<Contents, String> {
    let mut read = Vec::new();
    for DeclaringFile { name, text } in files {
        let file = JobFile::from_named(name, text).map_err(|error| format!("{name}: {error}"))?;
        read.push((name.clone(), file));
    }
    let configs = declared_configs(&read).map_err(|error| error.to_string())?;
    let limits = declared_groups(&read).map_err(|error| error.to_string())?;
    Ok((configs, limits))
}
