//! Jobs that operators create from templates at run time, and the list by which processes find
//! them.
//!
//! The node `coordination/template` of a job names its template. The list has one entry per job, so
//! that a process finds new jobs without reading all jobs of the namespace. Creating a job writes
//! its entry anew. The Java console removes jobs without their entries; such an entry has no
//! effect.

use bytes::Bytes;
use reg_center::{Expect, Lifetime, Node, NodePath, Op, Txn, Version};

use super::config::encode_config;
use super::layout::Layout;
use super::node::{GroupNode, NodeKind};
use super::records::encode_template;
use crate::{Dialect, GroupName, JobConfig, JobName, TemplateRecord};

/// Name of the node beside the jobs that lists the jobs created from templates.
///
/// It contains `@-@`, so no job can have this name. Java instances skip a child of the namespace
/// that has no configuration.
pub const RUNTIME_INDEX: &str = "runtime@-@jobs";

/// Name of the node beside the jobs with the state of watchers: alerts, silences, and the sender.
///
/// Like [`RUNTIME_INDEX`], it is no job, for instances and consoles of either language.
pub const WATCH_STATE: &str = "watch@-@state";

/// Name of the node beside the jobs with the groups of jobs: limits, permits and waiting jobs.
///
/// Like [`RUNTIME_INDEX`], it is no job, for instances and consoles of either language.
pub const JOB_GROUPS: &str = "job@-@groups";

impl Layout {
    /// Returns true for a node beside the jobs that belongs to this project and is no job.
    #[must_use]
    pub fn is_reserved(name: &str) -> bool {
        [RUNTIME_INDEX, WATCH_STATE, JOB_GROUPS].contains(&name)
    }

    /// Returns the root of the state of watchers.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "the name is fixed, and is a valid name")]
    pub fn watch_state() -> NodePath {
        NodePath::root().join(WATCH_STATE).expect("it is a valid node name")
    }

    /// Returns the root of the groups of jobs.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "the name is fixed, and is a valid name")]
    pub fn groups_root() -> NodePath {
        NodePath::root().join(JOB_GROUPS).expect("it is a valid node name")
    }

    /// Returns the root of the nodes of a group.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "a group name was checked to be a node name")]
    pub fn group_root(group: &GroupName) -> NodePath {
        Self::groups_root().join(group.as_str()).expect("a group name is a valid node name")
    }

    /// Returns the path of a node of a group.
    ///
    /// # Examples
    /// ```
    /// use coordination::{GroupName, GroupNode, Layout};
    ///
    /// let path = Layout::group_path(&GroupName::new("database")?, &GroupNode::Permit(3));
    /// assert_eq!(path.as_str(), "/job@-@groups/database/permits/3");
    /// assert!(Layout::parse_group(&path).is_some());
    /// # Ok::<(), coordination::InvalidName>(())
    /// ```
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "the names were checked when they were made")]
    pub fn group_path(group: &GroupName, node: &GroupNode) -> NodePath {
        let kind = NodeKind::Group(group.clone(), node.clone());
        NodePath::parse(&format!("/{}", kind.relative())).expect("the names are node names")
    }

    /// Returns the group and the purpose of a node of a group. `None` for parents and other nodes.
    #[must_use]
    pub fn parse_group(path: &NodePath) -> Option<(GroupName, GroupNode)> {
        let kind = NodeKind::parse_of_group(path.below(&Self::groups_root())?)?;
        if let NodeKind::Group(group, node) = kind { Some((group, node)) } else { None }
    }

    /// Returns the root of the list of jobs created from templates, the subtree to watch.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "the name is fixed, and is a valid name")]
    pub fn runtime_index() -> NodePath {
        NodePath::root().join(RUNTIME_INDEX).expect("it is a valid node name")
    }

    /// Returns the job of an entry of the list. `None` for any other node.
    ///
    /// # Examples
    /// ```
    /// use coordination::{JobName, Layout};
    ///
    /// let job = JobName::new("report")?;
    /// let entry = Layout::new(&job).index_path();
    /// assert_eq!(Layout::indexed_job(&entry), Some(job));
    /// assert_eq!(Layout::indexed_job(&Layout::runtime_index()), None);
    /// # Ok::<(), coordination::InvalidName>(())
    /// ```
    #[must_use]
    pub fn indexed_job(path: &NodePath) -> Option<JobName> {
        JobName::new(path.below(&Self::runtime_index())?).ok()
    }

    /// Returns the job's entry in the list of jobs created from templates.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "a job name was checked to be a node name")]
    pub fn index_path(&self) -> NodePath {
        Self::runtime_index().join(self.root().name()).expect("a job name is a valid node name")
    }

    /// Returns the node that names the job's template, which
    /// [`decode_template`](crate::decode_template) reads.
    #[must_use]
    pub fn template_path(&self) -> NodePath {
        self.path(&NodeKind::Template)
    }

    /// Returns the operations that create a job from a template in one transaction.
    ///
    /// It conflicts at its first operation if the root of the job exists. It conflicts at its last
    /// operation if the entry in the list has another version than `listed`, where `None` stands
    /// for no entry.
    ///
    /// # Examples
    /// ```
    /// use coordination::{JobConfig, JobName, Layout, TemplateName, TemplateRecord};
    ///
    /// let job = JobName::new("report-7")?;
    /// let record = TemplateRecord { template: TemplateName::new("report")?, label: None };
    /// let ops = Layout::new(&job).creation(&JobConfig::new(job.clone(), 2), &record, None);
    /// let paths: Vec<_> = ops.iter().map(|op| op.path().as_str()).collect();
    /// assert_eq!(paths, [
    ///     "/report-7",
    ///     "/report-7/config",
    ///     "/report-7/coordination/template",
    ///     "/runtime@-@jobs/report-7",
    /// ]);
    /// # Ok::<(), coordination::InvalidName>(())
    /// ```
    #[must_use]
    pub fn creation(
        &self,
        config: &JobConfig,
        record: &TemplateRecord,
        listed: Option<Version>,
    ) -> Vec<Op> {
        let is_in_root = config.java.dialect() == Dialect::V3;
        let class = if is_in_root { config.java.given_class() } else { None }.unwrap_or_default();
        let create = |path, data: String| Op::Create {
            path,
            data: Bytes::from(data),
            lifetime: Lifetime::Persistent,
        };
        let entry = match listed {
            None => create(self.index_path(), encode_template(record)),
            Some(version) => Op::Put {
                path: self.index_path(),
                data: encode_template(record).into(),
                expect: Expect::Version(version),
            },
        };
        vec![
            create(self.root(), class.to_owned()),
            create(self.config_path(), encode_config(config)),
            create(self.template_path(), encode_template(record)),
            entry,
        ]
    }

    /// Returns the transaction that removes the entry of this version, if its job no longer exists.
    #[must_use]
    pub fn unlist(&self, listed: Version) -> Txn {
        Txn::new().check_absent(self.template_path()).delete_if(self.index_path(), listed)
    }

    /// Returns the transaction that restores a missing entry, if the job still exists with this
    /// node at [`template_path`](Self::template_path). The entry is a copy of its data.
    #[must_use]
    pub fn list_again(&self, template: &Node) -> Txn {
        Txn::new().check_version(self.template_path(), template.stat.version).create(
            self.index_path(),
            template.data.clone(),
            Lifetime::Persistent,
        )
    }
}

#[cfg(test)]
mod tests {
    use reg_center::model::Model;

    use super::*;
    use crate::{JavaSettings, TemplateName};

    fn name() -> JobName {
        JobName::new("j").unwrap()
    }

    fn layout() -> Layout {
        Layout::new(&name())
    }

    fn record() -> TemplateRecord {
        TemplateRecord { template: TemplateName::new("report").unwrap(), label: None }
    }

    fn stored(model: &Model, path: &NodePath) -> Option<String> {
        let node = model.read(path)?;
        Some(String::from_utf8(node.data.to_vec()).unwrap())
    }

    #[test]
    fn job_is_created_completely_and_only_once() {
        for (dialect, class, in_root) in [
            (Dialect::V2, None, ""),
            (Dialect::V2, Some("a.b.C"), ""),
            (Dialect::V3, None, ""),
            (Dialect::V3, Some("a.b.C"), "a.b.C"),
        ] {
            let mut model = Model::new();
            let session = model.open_session();
            let mut config = JobConfig::new(name(), 2);
            config.java = JavaSettings::of(dialect);
            config.java.job_class = class.map_or(config.java.job_class, str::to_owned);
            let ops = layout().creation(&config, &record(), None);
            assert!(model.commit(session, &ops).unwrap().0.is_committed(), "{dialect}");
            assert_eq!(stored(&model, &layout().root()).unwrap(), in_root, "{dialect} {class:?}");
            let document = stored(&model, &layout().config_path()).unwrap();
            assert_eq!(crate::decode_config(document.as_bytes()).unwrap().java.dialect(), dialect);
            for path in [layout().template_path(), layout().index_path()] {
                assert_eq!(
                    stored(&model, &path).unwrap(),
                    r#"{"v":1,"template":"report"}"#,
                    "{path}"
                );
            }
            assert!(!model.commit(session, &ops).unwrap().0.is_committed(), "{dialect}");
        }
    }

    #[test]
    fn entries_are_removed_only_without_job_and_restored_only_with_job() {
        let mut model = Model::new();
        let session = model.open_session();
        let ops = layout().creation(&JobConfig::new(name(), 2), &record(), None);
        let creation = ops.into_iter().fold(Txn::new(), Txn::op);
        let mut commit = |txn: Txn| model.commit(session, txn.ops()).unwrap().0.is_committed();
        assert!(commit(creation));
        let template = model.read(&layout().template_path()).unwrap().clone();
        let mut commit = |txn: Txn| model.commit(session, txn.ops()).unwrap().0.is_committed();
        assert!(!commit(layout().unlist(Version(0))), "the job is there");
        assert!(!commit(layout().list_again(&template)), "it is listed");
        assert!(commit(Txn::new().delete(layout().index_path())));
        assert!(commit(layout().list_again(&template)));
        assert!(commit(Txn::new().delete(layout().template_path())));
        assert!(!commit(layout().unlist(Version(1))), "another entry");
        assert!(commit(layout().unlist(Version(0))));
        assert!(!commit(layout().list_again(&template)), "the job is gone");
    }
}
