//! Export and import of configurations, for the API and the pages.

use std::sync::Arc;

use axum::http::StatusCode;
use coordination::JobName;
use operations::{
    Export, ExportError, GroupSnapshot, ImportStep, JobSnapshot, export, groups_of,
    plan_group_import, plan_import,
};
use serde::Serialize;
use sharding::StrategyRegistry;

use crate::access::{Caller, Permission};
use crate::api::scan;
use crate::bulk::digest;
use crate::namespaces::Namespace;
use crate::problem::{Answer, Problem};

/// A job, or the limits of a group, that is not exported.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct LeftOut {
    /// Job name, or `group NAME`.
    pub(crate) job: String,
    /// Why it is not exported.
    pub(crate) reason: String,
}

/// Exports the jobs that the caller may configure, with the limits of their groups. The documents
/// may hold secrets.
pub(crate) fn exported(
    jobs: impl Iterator<Item = Arc<JobSnapshot>>,
    groups: &[Arc<GroupSnapshot>],
    caller: &Caller,
) -> (Export, Vec<LeftOut>) {
    let (mut meant, mut left_out): (Vec<Arc<JobSnapshot>>, Vec<LeftOut>) = Default::default();
    for job in jobs {
        match caller.check(Permission::Configure, Some(job.job().as_str())) {
            Ok(()) => meant.push(job),
            Err(why) => {
                let (job, reason) = (job.job().to_string(), why.to_string());
                left_out.push(LeftOut { job, reason });
            }
        }
    }
    let (mut export, mut faulty) = export(meant.iter().map(|job| &**job));
    let in_use = groups_of(meant.iter().map(|job| &**job));
    let groups = groups.iter().map(|group| &**group);
    faulty.extend(export.add_groups(groups.filter(|it| in_use.contains(it.view().name()))));
    left_out.extend(faulty.into_iter().map(|(job, reason)| LeftOut { job, reason }));
    (export, left_out)
}

/// A planned import.
pub(crate) struct Plan {
    /// The steps: those of groups, then those of jobs in the order of the export.
    pub(crate) steps: Vec<ImportStep>,
    /// Digest of the steps, which the import has to name.
    pub(crate) digest: String,
}

/// Plans an import against the read model. The caller is checked for each job; limits of groups may
/// be of any job.
pub(crate) async fn plan(
    namespace: &Arc<Namespace>,
    caller: &Caller,
    export: &Export,
    overwrite: bool,
) -> Answer<Plan> {
    let invalid = |error: ExportError| {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        Problem::new(status, "invalid-export", format!("export: {error}"))
    };
    let jobs = export.importable().map_err(invalid)?;
    let limits = export.limits().map_err(invalid)?;
    let mut groups = Vec::new();
    if !limits.is_empty() {
        caller.check(Permission::Import, None)?;
        groups = namespace.live.groups();
    }
    for job in &jobs {
        caller.check(Permission::Import, Some(job.config.job_name.as_str()))?;
    }
    let namespace = Arc::clone(namespace);
    scan(move || {
        let stored = |name: &JobName| Ok(namespace.live.job(name));
        let (strategies, now) = (StrategyRegistry::default(), namespace.operations.present());
        let mut steps = plan_group_import(&limits, &groups, overwrite);
        steps.extend(plan_import(&jobs, stored, overwrite, &strategies, now));
        let digest = digest("import", steps.iter().map(ImportStep::identity));
        Plan { steps, digest }
    })
    .await
}
