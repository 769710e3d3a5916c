//! Configuration as code: a namespace is made to have the jobs and the limits of groups that files
//! declare.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

use coordination::{Dialect, GroupLimits, GroupName, JavaFields, JavaSettings, JobConfig, JobName};
use jiff::Timestamp;
use serde::Serialize;
use sharding::StrategyRegistry;

use super::groups::plan_group_import;
use super::import::{ImportAct, ImportStep, plan_import};
use crate::act::{Removal, RemovalPreview, removal_preview};
use crate::{By, GroupSnapshot, JobSnapshot, Namespace, Operations, Report, Result};

/// Field of a 2.1.5 document with the owner of the job. Java instances skip it.
const OWNER_2: &str = "appliedBy";
/// Property of a 3.x document with the owner of the job. Java instances keep it.
const OWNER_3: &str = "elastic-job-rust.applied-by";
/// Maximum length of the name of an owner, in bytes.
const MAX_OWNER_BYTES: usize = 64;

/// Name of a set of files. A job has the owner that created it, so that one set of files never
/// removes the jobs of another, or jobs that programs registered.
///
/// # Examples
/// ```
/// use operations::Owner;
///
/// assert_eq!(Owner::default().to_string(), "default");
/// assert!(Owner::parse("team-a").is_ok() && Owner::parse("team a").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner(String);

impl Default for Owner {
    fn default() -> Self {
        Self("default".to_owned())
    }
}

impl Owner {
    /// Description of valid names.
    pub const VALID: &'static str = "1 to 64 letters, digits, dots, hyphens and underscores";

    /// Checks a name.
    ///
    /// # Errors
    /// [`VALID`](Self::VALID).
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        let is_valid = (1..=MAX_OWNER_BYTES).contains(&text.len()) && text.bytes().all(is_plain);
        if is_valid { Ok(Self(text.to_owned())) } else { Err(Self::VALID) }
    }

    /// Returns the owner of a job: the one that created it.
    #[must_use]
    pub fn of(config: &JobConfig) -> Option<String> {
        match &config.java.fields {
            JavaFields::V2(_) => {
                let (_, text) = config.unknown.iter().find(|(name, _)| name == OWNER_2)?;
                text.strip_prefix('"')?.strip_suffix('"').map(str::to_owned)
            }
            JavaFields::V3(java) => java.props.get(OWNER_3).cloned(),
        }
    }

    fn mark(&self, config: &mut JobConfig) {
        match &mut config.java.fields {
            // The name has no character that JSON escapes.
            JavaFields::V2(_) => {
                config.unknown.push((OWNER_2.to_owned(), format!("\"{}\"", self.0)));
            }
            JavaFields::V3(java) => {
                java.props.insert(OWNER_3.to_owned(), self.0.clone());
            }
        }
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Changes that make a namespace have the declared jobs and limits of groups, based on one reading
/// of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct ApplyPlan {
    /// The limits of the declared groups, then the declared jobs, each in the order of their names.
    pub steps: Vec<ImportStep>,
    /// Jobs of the owner that are not declared any more.
    pub removals: Vec<RemovalPreview>,
    /// Jobs that could not be read, with the reason. Any of them may be one to remove.
    pub unread: Vec<(String, String)>,
}

impl ApplyPlan {
    /// Adds the limits of the declared groups, for a namespace that has these groups. A declared
    /// group gets its limits before the jobs change; other groups stay as they are.
    ///
    /// # Examples
    /// ```
    /// use coordination::{GroupLimits, GroupName};
    /// use operations::{ApplyPlan, GroupSnapshot};
    ///
    /// let limits = GroupLimits { cluster_concurrency: Some(3), start_rate: None };
    /// let declared = [(GroupName::new("database")?, limits)].into();
    /// let stored = [GroupSnapshot::new(GroupName::new("search")?)];
    /// let plan = ApplyPlan::default().with_limits(&declared, &stored);
    /// assert_eq!(plan.steps[0].to_string(), "create group database: at most 3 runs at once");
    /// # Ok::<(), coordination::InvalidName>(())
    /// ```
    #[must_use]
    pub fn with_limits(
        mut self,
        declared: &BTreeMap<GroupName, GroupLimits>,
        found: &[impl Borrow<GroupSnapshot>],
    ) -> Self {
        self.steps.splice(0..0, plan_group_import(declared, found, true));
        self
    }

    /// Returns lines that differ between two plans with different effects. They have the whole
    /// configurations, which may hold secrets.
    pub fn identity(&self) -> impl Iterator<Item = String> {
        let removals = self.removals.iter().map(|one| format!("{} {}", one.job, one.confirmation));
        self.steps.iter().map(ImportStep::identity).chain(removals)
    }

    /// Returns true if something would change.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        !self.removals.is_empty() || self.steps.iter().any(ImportStep::has_effect)
    }

    /// Returns true if a declared job is left as it is although it differs, or a job that might
    /// have to be removed could not be read.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        let is_left = |step: &ImportStep| {
            matches!(step.act, ImportAct::Refused { .. } | ImportAct::Stays { .. })
        };
        !self.unread.is_empty() || self.steps.iter().any(is_left)
    }
}

/// Plans the changes that make a namespace have the declared jobs.
///
/// A declared job is created or gets the declared fields. Fields that only Java reads, unknown
/// fields and the dialect stay as stored; a new job has the dialect of the jobs that exist. A job
/// of another owner is refused. With `prune` the jobs that this owner created and does not declare
/// any more are removed.
///
/// # Examples
/// ```
/// use coordination::{JobConfig, JobName};
/// use operations::{ImportAct, Namespace, Owner, plan_apply};
/// use sharding::StrategyRegistry;
///
/// let declared = [JobConfig::new(JobName::new("report")?, 3)];
/// let now = "2024-02-29T12:00:00Z".parse()?;
/// let (present, owner) = (Namespace::default(), Owner::default());
/// let plan = plan_apply(&declared, &present, &owner, true, &StrategyRegistry::default(), now);
/// assert!(matches!(plan.steps[0].act, ImportAct::Create { .. }));
/// assert!(plan.has_changes() && plan.removals.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn plan_apply(
    declared: &[JobConfig],
    namespace: &Namespace,
    owner: &Owner,
    prune: bool,
    strategies: &StrategyRegistry,
    now: Timestamp,
) -> ApplyPlan {
    let dialect = namespace.configured().next().map_or(Dialect::V2, JobSnapshot::dialect);
    let wanted: Vec<_> = declared
        .iter()
        .map(|config| wanted(config, namespace.job(&config.job_name), dialect, owner).into())
        .collect();
    let mut steps = plan_import(&wanted, |name| namespace.stored(name), true, strategies, now);
    for (step, config) in steps.iter_mut().zip(declared) {
        let stored = namespace.job(&config.job_name).and_then(JobSnapshot::config);
        if let Some(other) = stored.and_then(Owner::of).filter(|other| *other != owner.0) {
            let reason = format!("the owner {other} created it, not {owner}");
            step.act = ImportAct::Refused { reason };
        }
    }
    steps.sort_by(|a, b| a.job.cmp(&b.job));
    let mut plan = ApplyPlan { steps, ..ApplyPlan::default() };
    if prune {
        let names: BTreeSet<&JobName> = declared.iter().map(|config| &config.job_name).collect();
        let is_declared = |job: &JobSnapshot| names.contains(job.job());
        let is_own =
            |job: &JobSnapshot| job.config().and_then(Owner::of).is_some_and(|of| of == owner.0);
        let surplus = namespace.configured().filter(|job| is_own(job) && !is_declared(job));
        // Jobs of ElasticJob 1.x, which no removal takes, have no owner.
        plan.removals = surplus.filter_map(|job| removal_preview(job).ok()).collect();
        let unread = namespace.unread.iter();
        plan.unread = unread.map(|(job, error)| (job.clone(), error.to_string())).collect();
    }
    plan
}

/// Returns the configuration to store for a declared one.
fn wanted(
    declared: &JobConfig,
    stored: Option<&JobSnapshot>,
    dialect: Dialect,
    owner: &Owner,
) -> JobConfig {
    let mut wanted = declared.clone();
    match stored.filter(|job| job.has_config()) {
        Some(job) => match job.config() {
            Some(config) => {
                wanted.java = config.java.clone();
                wanted.unknown.clone_from(&config.unknown);
            }
            None => wanted.java = JavaSettings::of(job.dialect()),
        },
        None => {
            wanted.java = JavaSettings::of(dialect);
            owner.mark(&mut wanted);
        }
    }
    wanted.with_default_strategy(stored.and_then(JobSnapshot::config))
}

impl Operations {
    /// Executes a plan. If a job or the limits of a group have changed since, they fail in the
    /// report, and the others go on, as in [`import_all`](Self::import_all). After a registry error
    /// without an answer nothing more is tried.
    ///
    /// Jobs with live instances are not removed.
    pub async fn apply(&self, plan: &ApplyPlan, by: &By) -> Report {
        let mut report = self.import_all(&plan.steps, by, || ()).await;
        for removal in &plan.removals {
            if report.is_unanswered() {
                report.skip(&removal.job, "job");
                continue;
            }
            match self.remove_previewed(removal, by).await {
                Ok(done) => report.extend(done),
                Err(error) => report.fail(&removal.job, "job", error),
            }
        }
        report
    }

    async fn remove_previewed(&self, removal: &RemovalPreview, by: &By) -> Result<Report> {
        let job = JobName::new(&removal.job)?;
        self.remove_job(&job, &removal.confirmation, Removal::UnlessAlive, by).await
    }
}
