//! Paths of the nodes of one job.

use reg_center::{NodePath, Scope};
use sharding::ShardingItem;

use super::node::NodeKind;
use crate::protocol::followed::Followed;
use crate::{Dialect, GroupName, JobName};

/// The subtrees that every instance watches, even with a narrow watch.
const COMMON: [&str; 16] = [
    "config",
    "instances",
    "trigger",
    "servers",
    "leader",
    "coordination/term",
    "coordination/servers",
    "coordination/request",
    "coordination/assignment",
    "coordination/draining",
    "coordination/waiting",
    "coordination/permits",
    "coordination/starts",
    "coordination/names",
    "coordination/triggers",
    "coordination/once",
];

/// The paths and bytes of the nodes of one job.
///
/// # Examples
/// ```
/// use coordination::{JobName, Layout};
///
/// let layout = Layout::new(&JobName::new("report")?);
/// assert_eq!(layout.root().as_str(), "/report");
/// assert_eq!(layout.config_path().as_str(), "/report/config");
/// # Ok::<(), coordination::InvalidName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    root: NodePath,
    dialect: Dialect,
}

impl Layout {
    /// Returns the layout of a job in the dialect of ElasticJob 2.1.5.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "a job name was checked to be a node name")]
    pub fn new(job: &JobName) -> Self {
        let root = NodePath::root().join(job.as_str()).expect("a job name is a valid node name");
        Self { root, dialect: Dialect::default() }
    }

    /// Returns the name of the job.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "the root has the name of a job")]
    pub fn job(&self) -> JobName {
        JobName::new(self.root.name()).expect("the root has the name of a job")
    }

    /// Writes and reads the nodes in another dialect. The paths of the root and of the
    /// configuration stay the same.
    #[must_use]
    pub fn speaking(self, dialect: Dialect) -> Self {
        Self { dialect, ..self }
    }

    /// Returns the dialect in which the nodes are written and read.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Returns the job's root node, the subtree to watch.
    #[must_use]
    pub fn root(&self) -> NodePath {
        self.root.clone()
    }

    /// Returns the node of the configuration.
    #[must_use]
    pub fn config_path(&self) -> NodePath {
        self.path(&NodeKind::Config)
    }

    /// Returns the node that is written to read the registry's time.
    #[must_use]
    pub fn system_time(&self) -> NodePath {
        self.path(&NodeKind::SystemTime)
    }

    /// Returns the node of the checkpoint of an item, or of the slot with this key, in the format
    /// of the job's code.
    ///
    /// [`write_of_run`](Self::write_of_run) has the transaction that writes it.
    #[must_use]
    pub fn checkpoint_path(&self, item: ShardingItem) -> NodePath {
        self.path(&NodeKind::Checkpoint(item))
    }

    /// Returns the node of the progress of an item, or of the slot with this key, which
    /// [`decode_progress`](crate::decode_progress) reads.
    #[must_use]
    pub fn progress_path(&self, item: ShardingItem) -> NodePath {
        self.path(&NodeKind::Progress(item))
    }

    /// Returns the node of the record of an item, or of the slot with this key, which
    /// [`decode_ledger`](crate::decode_ledger) reads.
    #[must_use]
    pub fn ledger_path(&self, item: ShardingItem) -> NodePath {
        self.path(&NodeKind::Ledger(item))
    }

    /// Returns the path of a node of the job.
    ///
    /// # Panics
    /// If an id or a name in `kind` is no node name. Those that [`instance_id`](crate::instance_id)
    /// and [`parse`](Self::parse) return are.
    #[must_use]
    pub fn path(&self, kind: &NodeKind) -> NodePath {
        let text = if kind.is_of_group() {
            format!("/{}", kind.relative())
        } else {
            format!("{}/{}", self.root, kind.relative())
        };
        NodePath::parse(&text).expect("ids and names were checked when they were made or read")
    }

    /// Returns the nodes to watch for an instance that follows these items, and the group of the
    /// job. The nodes of the group are in another tree than those of the job.
    pub(crate) fn scope(&self, followed: &Followed, group: Option<&GroupName>) -> Scope {
        let of_job = self.scope_of_job(followed);
        let Some(group) = group else { return of_job };
        let parts = of_job.parts().cloned().chain([Self::group_root(group)]);
        Scope::parts_of(NodePath::root(), parts)
    }

    fn scope_of_job(&self, followed: &Followed) -> Scope {
        let Followed::Only(items) = followed else { return Scope::all_of(self.root()) };
        let path = |text: &str| NodePath::parse(&format!("{}/{text}", self.root));
        let common = COMMON.iter().map(|text| path(text).expect("the names are valid"));
        let of_items = items.iter().flat_map(|item| {
            // Only 3.x has persistent marks of runs, which need a second mark of the session.
            let alive = (self.dialect == Dialect::V3).then_some(NodeKind::Alive(*item));
            let nodes = [NodeKind::Item(*item), NodeKind::Ledger(*item)];
            nodes.into_iter().chain(alive).map(|node| self.path(&node))
        });
        Scope::parts_of(self.root(), common.chain(of_items))
    }

    /// Returns the purpose of a node of the job, or of a group. `None` for parents and unknown
    /// nodes.
    ///
    /// # Examples
    /// ```
    /// use coordination::{JobName, Layout, NodeKind};
    /// use reg_center::NodePath;
    /// use sharding::ShardingItem;
    ///
    /// let layout = Layout::new(&JobName::new("report")?);
    /// let owner = NodePath::parse("/report/sharding/2/instance")?;
    /// assert_eq!(layout.parse(&owner), Some(NodeKind::Owner(ShardingItem::new(2))));
    /// assert_eq!(layout.parse(&NodePath::parse("/report/sharding/x/instance")?), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn parse(&self, path: &NodePath) -> Option<NodeKind> {
        match path.below(&self.root) {
            Some(relative) => NodeKind::parse(relative),
            None => NodeKind::parse_of_group(path.below(&Self::groups_root())?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(job: &str) -> Layout {
        Layout::new(&JobName::new(job).unwrap())
    }

    #[test]
    fn parents_and_unknown_nodes_have_no_kind() {
        let layout = layout("a");
        for text in [
            "/a",
            "/a/sharding",
            "/a/sharding/0/instance/x",
            "/a/sharding/x/instance",
            "/a/sharding/01/instance",
            "/a/servers/host",
            "/a/leader/election/latch",
            "/a/guarantee/started-latch",
        ] {
            assert_eq!(layout.parse(&NodePath::parse(text).unwrap()), None, "{text}");
        }
    }
}
