//! Export and import of configurations, for the API and the pages.

use std::sync::Arc;

use axum::http::StatusCode;
use coordination::JobName;
use operations::{Export, ImportStep, JobSnapshot, export, plan_import};
use serde::Serialize;
use sharding::StrategyRegistry;

use crate::access::{Caller, Permission};
use crate::api::scan;
use crate::bulk::digest;
use crate::namespaces::Namespace;
use crate::problem::{Answer, Problem};

/// A job that is not exported.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct LeftOut {
    /// Job name.
    pub(crate) job: String,
    /// Why it is not exported.
    pub(crate) reason: String,
}

/// Exports the jobs that the caller may configure. The documents may hold secrets.
pub(crate) fn exported(
    jobs: impl Iterator<Item = Arc<JobSnapshot>>,
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
    let (export, faulty) = export(meant.iter().map(|job| &**job));
    left_out.extend(faulty.into_iter().map(|(job, reason)| LeftOut { job, reason }));
    (export, left_out)
}

/// A planned import.
pub(crate) struct Plan {
    /// The steps in the order of the export.
    pub(crate) steps: Vec<ImportStep>,
    /// Digest of the steps, which the import has to name.
    pub(crate) digest: String,
}

/// Plans an import against the read model. The caller is checked for each job.
pub(crate) async fn plan(
    namespace: &Arc<Namespace>,
    caller: &Caller,
    export: &Export,
    overwrite: bool,
) -> Answer<Plan> {
    let jobs = export.importable().map_err(|error| {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        Problem::new(status, "invalid-export", format!("export: {error}"))
    })?;
    for job in &jobs {
        caller.check(Permission::Import, Some(job.config.job_name.as_str()))?;
    }
    let namespace = Arc::clone(namespace);
    scan(move || {
        let stored = |name: &JobName| Ok(namespace.live.job(name));
        let (strategies, now) = (StrategyRegistry::default(), namespace.operations.present());
        let steps = plan_import(&jobs, stored, overwrite, &strategies, now);
        let digest = digest("import", steps.iter().map(ImportStep::identity));
        Plan { steps, digest }
    })
    .await
}
