//! Import of configurations: the plan, and its execution.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use coordination::{
    Dialect, GroupName, InvalidConfig, JavaSettings, JobConfig, JobName, NodeKind, OperatorStep,
    TemplateRecord, encode_config,
};
use jiff::Timestamp;
use reg_center::Revision;
use serde::Serialize;
use sharding::{ShardingItem, StrategyRegistry};

use super::{ExportedTemplate, class_in_root};
use crate::act::{differences, named, readable_by_peers};
use crate::audit::item_target;
use crate::change::{Entry, Planned, Recorded};
use crate::groups::label;
use crate::operations::Absence;
use crate::{
    By, Error, FieldChange, GroupChange, JobSnapshot, Operations, Report, Result, validate,
};

/// A configuration to import, with the template and the checkpoints of its job.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Importable {
    /// The configuration.
    pub config: JobConfig,
    /// Template that a new job is created from; `None` if the code of its instances registers it.
    pub template: Option<TemplateRecord>,
    /// Checkpoints of a new job without a template, in the format of the job's code.
    pub checkpoints: BTreeMap<ShardingItem, Vec<u8>>,
}

impl From<JobConfig> for Importable {
    /// Returns the configuration as that of a job without a template and checkpoints.
    fn from(config: JobConfig) -> Self {
        Self { config, template: None, checkpoints: BTreeMap::new() }
    }
}

/// Effect of the import of one configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum ImportAct {
    /// The job is created, or a group gets its first limits.
    Create {
        /// Limits of the group; empty for a job.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        changes: Vec<FieldChange>,
    },
    /// The job's configuration is replaced.
    Replace {
        /// Fields that differ.
        changes: Vec<FieldChange>,
    },
    /// The job's configuration is already as wanted.
    Same,
    /// The job's configuration differs but stays, because overwriting was not requested.
    Stays {
        /// Fields that differ.
        changes: Vec<FieldChange>,
    },
    /// The configuration cannot be imported.
    Refused {
        /// Why it cannot be imported.
        reason: String,
    },
}

/// Planned import of one configuration, based on the present nodes of the job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ImportStep {
    /// Job name, or `group NAME` for the limits of a group.
    pub job: String,
    /// Group whose limits are imported; absent for a job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Planned effect.
    #[serde(flatten)]
    pub act: ImportAct,
    /// Template of a job that is created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<ExportedTemplate>,
    #[serde(skip)]
    #[cfg_attr(feature = "openapi", schema(ignore))]
    wanted: Wanted,
    /// Revision that the plan is based on.
    #[serde(skip)]
    #[cfg_attr(feature = "openapi", schema(ignore))]
    stored: Option<Revision>,
}

/// Data that a step stores.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wanted {
    Job(Box<Importable>),
    Limits(GroupChange),
}

impl ImportStep {
    pub(super) fn of_group(act: ImportAct, change: GroupChange) -> Self {
        let (job, group) = (label(&change.group), Some(change.group.to_string()));
        let wanted = Wanted::Limits(change);
        Self { job, group, act, template: None, wanted, stored: None }
    }

    /// Returns a text that differs between two steps that would write different nodes. It has the
    /// whole configuration, which may hold secrets.
    #[must_use]
    pub fn identity(&self) -> String {
        match &self.wanted {
            Wanted::Job(job) => {
                let Importable { config, template, checkpoints } = &**job;
                format!("{self}\n{}\n{template:?}\n{checkpoints:?}", encode_config(config))
            }
            Wanted::Limits(change) => format!("{self}\n{change}"),
        }
    }

    /// Returns true if the step would change the registry.
    #[must_use]
    pub fn has_effect(&self) -> bool {
        matches!(self.act, ImportAct::Create { .. } | ImportAct::Replace { .. })
    }

    /// Returns the group that the job of the step would be in.
    fn group_of_job(&self) -> Option<&GroupName> {
        match &self.wanted {
            Wanted::Job(job) => job.config.group.as_ref(),
            Wanted::Limits(_) => None,
        }
    }

    /// Returns the target of the step, as reports name it.
    fn target(&self) -> &'static str {
        if self.group.is_some() { "limits" } else { "configuration" }
    }
}

impl fmt::Display for ImportStep {
    /// Writes one line: the effect, the job, and the reason.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = |changes: &[FieldChange]| {
            changes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        };
        match &self.act {
            ImportAct::Create { .. } => match &self.wanted {
                Wanted::Limits(change) => write!(f, "create {}: {}", self.job, change.after),
                Wanted::Job(wanted) => match &wanted.template {
                    None if wanted.checkpoints.is_empty() => write!(f, "create {}", self.job),
                    None => {
                        let n = wanted.checkpoints.len();
                        write!(f, "create {} with checkpoints of {n} items", self.job)
                    }
                    Some(record) => write!(f, "create {} from {}", self.job, named(record)),
                },
            },
            ImportAct::Replace { changes } => {
                write!(f, "replace {}: {}", self.job, listed(changes))
            }
            ImportAct::Same => write!(f, "keep {}: it is as wanted already", self.job),
            ImportAct::Stays { changes } => {
                write!(f, "keep {}, although it differs: {}", self.job, listed(changes))
            }
            ImportAct::Refused { reason } => write!(f, "refuse {}: {reason}", self.job),
        }
    }
}

/// Plans the import of configurations into a namespace.
///
/// `stored` returns the nodes of a job, or why they could not be read, such as
/// [`Namespace::stored`](crate::Namespace::stored). A configuration is replaced only if `overwrite`
/// is set. The template of a job that exists never changes.
///
/// # Examples
/// ```
/// use coordination::{JobConfig, JobName};
/// use operations::{ImportAct, Namespace, plan_import};
/// use sharding::StrategyRegistry;
///
/// let jobs = [JobConfig::new(JobName::new("report")?, 3).into()];
/// let now = "2024-02-29T12:00:00Z".parse()?;
/// let strategies = StrategyRegistry::default();
/// let present = Namespace::default();
/// let steps = plan_import(&jobs, |name| present.stored(name), false, &strategies, now);
/// assert_eq!(steps[0].act, ImportAct::Create { changes: Vec::new() });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn plan_import<S: Borrow<JobSnapshot>>(
    jobs: &[Importable],
    stored: impl Fn(&JobName) -> Result<Option<S>>,
    overwrite: bool,
    strategies: &StrategyRegistry,
    now: Timestamp,
) -> Vec<ImportStep> {
    let step = |given: &Importable| {
        let job = given.config.job_name.to_string();
        let read = stored(&given.config.job_name);
        let stored = read.as_ref().ok().and_then(Option::as_ref).map(Borrow::borrow);
        let config = with_stored_class(&given.config, stored);
        let refusal = match &read {
            Err(error) => Some(format!("the job in the registry could not be read: {error}")),
            Ok(_) => other_origin(given.template.as_ref(), stored),
        };
        let act = match (refusal, decide(&config, stored, overwrite)) {
            (Some(reason), _) => ImportAct::Refused { reason },
            (None, ImportAct::Same) => ImportAct::Same,
            (None, act) => match refusal_of(&given.config, stored, strategies, now) {
                Some(reason) => ImportAct::Refused { reason },
                None => act,
            },
        };
        let template = given.template.as_ref().map(ExportedTemplate::of);
        let stored = stored.and_then(JobSnapshot::config_revision);
        let wanted = Wanted::Job(Box::new(Importable { config, ..given.clone() }));
        ImportStep { job, group: None, act, template, wanted, stored }
    };
    jobs.iter().map(step).collect()
}

/// Keeps the stored Java class, which 3.x stores in the root and not in the document.
fn with_stored_class(config: &JobConfig, stored: Option<&JobSnapshot>) -> JobConfig {
    let mut wanted = config.clone();
    let exists = stored.is_some_and(JobSnapshot::has_config);
    if exists && wanted.java.dialect() == Dialect::V3 {
        let in_force = stored.and_then(JobSnapshot::config);
        let class = in_force.map_or(JavaSettings::NO_CLASS, |config| &config.java.job_class);
        class.clone_into(&mut wanted.java.job_class);
    }
    wanted
}

/// Returns why a job cannot be created from a template over the nodes that exist.
///
/// A job that exists never gets another template.
fn other_origin(wanted: Option<&TemplateRecord>, stored: Option<&JobSnapshot>) -> Option<String> {
    let (wanted, stored) = (wanted?, stored?);
    let found = match stored.template() {
        Some(Ok(found)) if found == *wanted => return None,
        Some(Ok(found)) => format!("the job was created from {}", named(&found)),
        Some(Err(fault)) => {
            format!("the template of the job cannot be read: {fault}")
        }
        None if stored.has_config() => {
            "the job was registered by the code of its instances".to_owned()
        }
        None => "the registry has nodes without a configuration".to_owned(),
    };
    Some(format!("{found}, not created from {}; remove the job first", named(wanted)))
}

/// Returns why a configuration cannot be imported.
fn refusal_of(
    config: &JobConfig,
    stored: Option<&JobSnapshot>,
    strategies: &StrategyRegistry,
    now: Timestamp,
) -> Option<String> {
    let in_force = stored.and_then(JobSnapshot::config);
    let valid = validate(config, in_force, strategies, now);
    let fits = stored.map_or(Ok(()), |stored| fits_nodes(config, stored));
    let fits = fits.and_then(|()| stored.map_or(Ok(()), |job| readable_by_peers(job, config)));
    valid.and(fits).err().map(|error| error.to_string())
}

fn decide(wanted: &JobConfig, stored: Option<&JobSnapshot>, overwrite: bool) -> ImportAct {
    let Some(stored) = stored.filter(|stored| stored.has_config()) else {
        return ImportAct::Create { changes: Vec::new() };
    };
    let Some(in_force) = stored.config() else {
        let fault = stored.config_fault().unwrap_or_default();
        let reason = format!("the stored configuration cannot be used, and stays: {fault}");
        return if overwrite {
            ImportAct::Replace { changes: Vec::new() }
        } else {
            ImportAct::Refused { reason }
        };
    };
    let changes = differences(in_force, wanted);
    if changes.is_empty() {
        ImportAct::Same
    } else if overwrite {
        ImportAct::Replace { changes }
    } else {
        ImportAct::Stays { changes }
    }
}

/// Rejects a configuration in another dialect than the nodes that the job already has.
fn fits_nodes(config: &JobConfig, stored: &JobSnapshot) -> Result<(), InvalidConfig> {
    let has_members = stored.view().servers().next().is_some() || !stored.instances().is_empty();
    let (is, shall) = (stored.dialect(), config.java.dialect());
    if is != shall && (has_members || stored.has_config()) {
        let valid = format!("{is}, as the job's other nodes are");
        return Err(InvalidConfig::new("dialect", shall, valid));
    }
    Ok(())
}

impl Operations {
    /// Executes the steps of an import in order, and calls a function after each that was tried.
    ///
    /// A failed step does not stop the others; the report has its error. If the limits of a group
    /// fail, the jobs of that group are not tried. After a registry error without an answer the
    /// remaining steps are not tried.
    pub async fn import_all(
        &self,
        steps: &[ImportStep],
        by: &By,
        mut after_each: impl FnMut(),
    ) -> Report {
        let mut report = Report::default();
        let mut groups_without_limits = BTreeSet::new();
        for step in steps {
            if report.is_unanswered() {
                report.skip(&step.job, step.target());
                continue;
            }
            // Its runs would not be limited as wanted.
            if step.group_of_job().is_some_and(|group| groups_without_limits.contains(group)) {
                let what = "not tried, as the limits of its group were not set";
                report.left.push(Entry::new(&*step.job, step.target(), what));
                continue;
            }
            match self.import(step, by).await {
                Ok(done) => report.extend(done),
                Err(error) => {
                    if let Wanted::Limits(change) = &step.wanted {
                        groups_without_limits.insert(&change.group);
                    }
                    report.fail(&step.job, step.target(), error);
                }
            }
            after_each();
        }
        report
    }

    /// Executes one step of an import, unless the job has changed since the step was planned.
    ///
    /// A step without effect is reported as left alone.
    ///
    /// # Errors
    /// [`Error::StaleConfig`], [`Error::AlreadyThere`] or [`Error::JobExists`] if another client
    /// has changed or created the job, [`Error::Group`] if it has changed the limits of the group;
    /// otherwise as [`update_config`](Self::update_config). In each case nothing was changed.
    pub async fn import(&self, step: &ImportStep, by: &By) -> Result<Report> {
        let wanted = match &step.wanted {
            Wanted::Job(wanted) => wanted,
            Wanted::Limits(change) => return self.import_limits(step, change, by).await,
        };
        let Importable { config, template, .. } = &**wanted;
        let unchanged = |is_left: bool| {
            let mut planned = Planned::default();
            if is_left {
                planned.leave("configuration", step.to_string());
            } else {
                planned.keep("configuration", "it is as wanted already");
            }
            Ok(planned.report(&config.job_name, None))
        };
        match &step.act {
            ImportAct::Create { .. } => match template {
                Some(template) => self.create_stored(template, config, by).await,
                None => self.create(wanted, by).await,
            },
            ImportAct::Replace { .. } => {
                let expected = step.stored.unwrap_or_default();
                Ok(self.update_config(config, expected, by).await?.report)
            }
            ImportAct::Same => unchanged(false),
            ImportAct::Stays { .. } | ImportAct::Refused { .. } => unchanged(true),
        }
    }

    async fn import_limits(
        &self,
        step: &ImportStep,
        change: &GroupChange,
        by: &By,
    ) -> Result<Report> {
        let mut report = Report::default();
        let entry = |what: String| Entry::new(&*step.job, step.target(), what);
        match &step.act {
            ImportAct::Create { .. } | ImportAct::Replace { .. } => {
                let done = self.change_group(change, by).await?;
                report.done.push(entry(done.to_string()));
                let recorded = |record| Recorded { job: step.job.clone(), record };
                report.records.extend(done.record.map(recorded));
            }
            ImportAct::Same => {
                let what = "they are as wanted already".to_owned();
                report.left.push(Entry { as_wanted: true, ..entry(what) });
            }
            ImportAct::Stays { .. } | ImportAct::Refused { .. } => {
                report.left.push(entry(step.to_string()));
            }
        }
        Ok(report)
    }

    /// Stores the configuration of a job that has none, so that starting instances run it, and
    /// the checkpoints that they continue from.
    async fn create(&self, wanted: &Importable, by: &By) -> Result<Report> {
        let Importable { config, checkpoints, .. } = wanted;
        let plan = |job: &JobSnapshot, _: &str| {
            if job.has_config() {
                return Err(Error::AlreadyThere { job: job.job().clone() });
            }
            validate(config, None, &self.strategies, self.now())?;
            fits_nodes(config, job)?;
            readable_by_peers(job, config)?;
            let lacks_class = config.java.dialect() == Dialect::V3 && class_in_root(job).is_none();
            let class = if lacks_class { config.java.given_class() } else { None };
            let root = job.view().layout().root();
            let version = job.nodes().find(|node| node.path == root).map(|node| node.stat.version);
            let class =
                class.map(|class| OperatorStep::SetClass { class: class.to_owned(), version });
            let add = OperatorStep::AddConfig(Box::new(config.clone()));
            debug_assert!(job.node(&NodeKind::Config).is_none(), "there is no configuration");
            let mut planned = Planned::default();
            planned.change("configuration", "stored", class.into_iter().chain([add]));
            for (item, data) in checkpoints {
                let target = item_target(*item);
                if job.node(&NodeKind::Checkpoint(*item)).is_some() {
                    planned.leave(target, "it has a checkpoint already");
                } else {
                    let add =
                        OperatorStep::AddCheckpoint { item: *item, data: data.clone().into() };
                    planned.change(target, "checkpoint stored", [add]);
                }
            }
            Ok(planned)
        };
        self.change_or_create(&config.job_name, Absence::IsEmpty, "import", by, plan).await
    }
}
