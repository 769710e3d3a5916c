//! Detection of a job's dialect: from the stored configuration, else from other nodes, else from
//! the request of the caller.

use std::fmt;

use coordination::{ConfigError, Dialect, JobConfig, Layout, dialect_of_config};
use reg_center::{Node, NodePath};

use crate::Result;
use crate::config_store::ConfigStore;

/// The dialect of the stored nodes of a job, and the node that shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundDialect {
    pub(crate) dialect: Dialect,
    pub(crate) shown_by: ShownBy,
}

/// Evidence for the dialect of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ShownBy {
    /// The stored configuration.
    Config,
    /// Another node, because there is no configuration that can be read.
    Node(NodePath),
}

impl fmt::Display for ShownBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config => f.write_str("its stored configuration"),
            Self::Node(path) => write!(f, "its node {path}"),
        }
    }
}

impl ConfigStore<'_> {
    /// Returns the dialect of the stored nodes, or `None` if no node shows it.
    pub(crate) async fn found_dialect(
        &self,
        stored: Option<&Result<JobConfig, ConfigError>>,
    ) -> Result<Option<FoundDialect>> {
        if let Some(Ok(config)) = stored {
            let dialect = config.java.dialect();
            return Ok(Some(FoundDialect { dialect, shown_by: ShownBy::Config }));
        }
        let layout = Layout::new(&self.local.job_name);
        let nodes = self.nodes_with_signs(&layout).await?;
        let sign = layout.sign_of_dialect(nodes.iter().map(|(path, node)| (path, &*node.data)));
        Ok(sign
            .map(|sign| FoundDialect { dialect: sign.dialect, shown_by: ShownBy::Node(sign.path) }))
    }

    /// Returns the dialect for a job whose stored nodes do not show it: the requested one, or else
    /// the one that a damaged document looks like.
    pub(crate) fn likely_dialect(
        &self,
        asked_for: Option<Dialect>,
        node: Option<&Node>,
    ) -> Dialect {
        let looks = node.and_then(|node| dialect_of_config(&node.data));
        asked_for.or(looks).unwrap_or(self.local.java.dialect())
    }

    async fn nodes_with_signs(&self, layout: &Layout) -> Result<Vec<(NodePath, Node)>> {
        let root = layout.root();
        let Some(node) = self.read(&root).await? else { return Ok(Vec::new()) };
        let mut nodes = vec![(root, node)];
        for parent in layout.parents_of_signs() {
            for name in self.children(&parent).await? {
                // Children with invalid names belong to other programs, not to instances or
                // servers.
                let Ok(path) = parent.join(&name) else { continue };
                if let Some(node) = self.read(&path).await? {
                    nodes.push((path, node));
                }
            }
        }
        Ok(nodes)
    }
}
