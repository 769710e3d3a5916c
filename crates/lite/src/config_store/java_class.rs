//! The class of the Java job, which a job of 3.x stores in its root node.

use bytes::Bytes;
use coordination::{Dialect, JobConfig, Layout};
use reg_center::{Expect, Lifetime, Node, NodePath, Op};

use super::{ConfigDifference, ConfigStore};
use crate::Result;

impl ConfigStore<'_> {
    /// Returns the root node of a job of 3.x, which stores the Java class; `None` for 2.1.5.
    pub(super) async fn root_of_3(&self, local: &JobConfig) -> Result<Option<RootNode>> {
        if local.java.dialect() != Dialect::V3 {
            return Ok(None);
        }
        let class = local.java.given_class().map(str::to_owned);
        let path = Layout::new(&local.job_name).root();
        let node = self.read(&path).await?;
        Ok(Some(RootNode { path, node, class }))
    }
}

/// The root node of a job of 3.x, which stores the class of the Java job.
pub(super) struct RootNode {
    path: NodePath,
    node: Option<Node>,
    /// The class that the program sets, if any.
    class: Option<String>,
}

impl RootNode {
    /// Returns the write of the class if no class is stored, or if another one is to be
    /// overwritten. Java writes the class only together with the configuration.
    pub(super) fn write(&self, overwrite: bool) -> Option<Op> {
        let (path, data) = (self.path.clone(), Bytes::from(self.class.clone()?));
        let Some(node) = &self.node else {
            return Some(Op::Create { path, data, lifetime: Lifetime::Persistent });
        };
        let replaces = node.data.trim_ascii().is_empty() || overwrite;
        let expect = Expect::Version(node.stat.version);
        (node.data != data && replaces).then(|| Op::Put { path, data, expect })
    }

    /// Returns a difference if another class is stored.
    pub(super) fn difference(&self) -> Option<ConfigDifference> {
        other_class(&self.stored_class()?, self.class.as_deref()?)
    }

    /// Sets the stored class in a configuration that has none.
    pub(super) fn with_stored_class(&self, mut config: JobConfig) -> JobConfig {
        if let (None, Some(stored)) = (&self.class, self.stored_class()) {
            config.java.job_class = stored;
        }
        config
    }

    fn stored_class(&self) -> Option<String> {
        let stored = String::from_utf8_lossy(&self.node.as_ref()?.data).trim().to_owned();
        Some(stored).filter(|stored| !stored.is_empty())
    }
}

/// Returns a difference if the classes differ: Java instances refuse to start with another class.
pub(super) fn other_class(stored: &str, local: &str) -> Option<ConfigDifference> {
    let (field, quoted) = ("java_class", |class: &str| format!("{class:?}"));
    (stored != local).then(|| ConfigDifference {
        field,
        stored: quoted(stored),
        local: quoted(local),
    })
}
