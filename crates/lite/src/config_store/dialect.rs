//! Detection of a job's dialect: from the stored configuration, else from other nodes, else from
//! the request of the caller.

use std::fmt;

use coordination::{ConfigError, Dialect, JavaSettings, JobConfig, Layout, dialect_of_config};
use reg_center::{Node, NodePath};

use super::ConfigStore;
use crate::{Error, Result};

/// The dialect of the stored nodes of a job, and the node that shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundDialect {
    pub(super) dialect: Dialect,
    pub(super) shown_by: ShownBy,
}

/// Evidence for the dialect of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShownBy {
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
    pub(super) async fn found_dialect(
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

    /// Returns the local configuration in the dialect of the stored nodes, or else in the likely
    /// one.
    pub(super) fn in_dialect(
        &self,
        found: Option<FoundDialect>,
        node: Option<&Node>,
    ) -> Result<JobConfig> {
        let given = self.local.java.dialect();
        let settings_given = !self.local.java.has_default_fields();
        let asked_for = self.dialect.or(settings_given.then_some(given));
        let dialect = match (found, asked_for) {
            (Some(found), Some(wanted)) if found.dialect != wanted => {
                return Err(Error::Dialect {
                    job: self.local.job_name.clone(),
                    shown_by: found.shown_by.to_string(),
                    stored: found.dialect,
                    wanted,
                });
            }
            (Some(found), _) => found.dialect,
            (None, asked_for) => self.likely_dialect(asked_for, node),
        };
        if dialect == given {
            return Ok(self.local.clone());
        }
        let job_class = self.local.java.job_class.clone();
        let java = JavaSettings { job_class, ..JavaSettings::of(dialect) };
        Ok(self.local.clone().with(|it| it.java = java))
    }

    /// Returns the dialect for a job whose stored nodes do not show it: the requested one, or else
    /// the one that a damaged document looks like.
    fn likely_dialect(&self, asked_for: Option<Dialect>, node: Option<&Node>) -> Dialect {
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
