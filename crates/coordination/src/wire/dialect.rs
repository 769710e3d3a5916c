//! Finds the dialect of a job by its nodes, for jobs whose configuration does not show it.

use reg_center::NodePath;

use super::data::{ENABLED, TRIGGER, attributes_after_mark};
use super::layout::Layout;
use super::node::NodeKind;
use crate::Dialect;

/// A node that shows the dialect of its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DialectSign {
    /// The dialect.
    pub dialect: Dialect,
    /// The node.
    pub path: NodePath,
}

/// Strength of a sign, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// A registered instance.
    Present,
    /// Data that only one release writes.
    Written,
    /// Data that may be left over from a former release.
    LeftOver,
}

impl Layout {
    /// Returns the parents of nodes that can be a [`DialectSign`]: `instances` and `servers`.
    #[must_use]
    #[expect(
        clippy::missing_panics_doc,
        reason = "the names are fixed, and are valid names of nodes"
    )]
    pub fn parents_of_signs(&self) -> [NodePath; 2] {
        ["instances", "servers"]
            .map(|name| self.root().join(name).expect("it is a valid node name"))
    }

    /// Returns the strongest sign of the dialect among a job's root, its instances and its servers.
    ///
    /// Registered instances are stronger than leftovers. Data that only 3.x writes (a class in the
    /// root, `ENABLED`) is stronger than nodes that 2.1.5 leaves empty. `None` if no node is a
    /// sign.
    ///
    /// # Examples
    /// ```
    /// use coordination::{Dialect, JobName, Layout};
    ///
    /// let layout = Layout::new(&JobName::new("report")?);
    /// let root = layout.root();
    /// let sign = layout.sign_of_dialect([(&root, "com.acme.Report".as_bytes())]);
    /// assert_eq!(sign.map(|sign| sign.dialect), Some(Dialect::V3));
    /// # Ok::<(), coordination::InvalidName>(())
    /// ```
    #[must_use]
    pub fn sign_of_dialect<'a>(
        &self,
        nodes: impl IntoIterator<Item = (&'a NodePath, &'a [u8])>,
    ) -> Option<DialectSign> {
        let signs = nodes.into_iter().filter_map(|(path, data)| {
            let (weight, dialect) = self.sign_of_node(path, data)?;
            Some((weight, dialect, path))
        });
        // If both releases are present, the job is of the later one: it was upgraded to that.
        let strongest = signs.min_by_key(|(weight, dialect, _)| (*weight, *dialect != Dialect::V3));
        strongest.map(|(_, dialect, path)| DialectSign { dialect, path: path.clone() })
    }

    fn sign_of_node(&self, path: &NodePath, data: &[u8]) -> Option<(Weight, Dialect)> {
        if *path == self.root() {
            return (!data.trim_ascii().is_empty()).then_some((Weight::Written, Dialect::V3));
        }
        let is_one_of = |known: &[&str]| known.iter().any(|known| data == known.as_bytes());
        let kind = self.parse(path)?;
        if matches!(kind, NodeKind::Instance(_)) {
            if is_one_of(&["", TRIGGER]) || attributes_after_mark(data).is_some() {
                return Some((Weight::Present, Dialect::V2));
            }
            let is_yaml = data.starts_with(b"jobInstanceId:");
            return is_yaml.then_some((Weight::Present, Dialect::V3));
        }
        if !matches!(kind, NodeKind::Server(_)) {
            return None;
        }
        if is_one_of(&[ENABLED]) {
            return Some((Weight::Written, Dialect::V3));
        }
        // Instances of 2.1.5 leave the node of a server empty.
        data.is_empty().then_some((Weight::LeftOver, Dialect::V2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JobName;

    #[test]
    fn registered_instances_outweigh_leftovers() {
        let java_3 = "jobInstanceId: 10.0.0.1@-@7\nserverIp: 10.0.0.1\n";
        let rust_3 = "jobInstanceId: 10.0.0.1@-@7\nserverIp: 10.0.0.1\n# RUST\n";
        let (one, two) = ("instances/10.0.0.1@-@7", "instances/10.0.0.2@-@7");
        let (server, other) = ("servers/10.0.0.1", "servers/10.0.0.2");
        let (v2, v3) = (Dialect::V2, Dialect::V3);
        type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], Option<(Dialect, &'a str)>);
        let rows: [Row<'_>; 14] = [
            ("nothing", &[], None),
            ("an empty root", &[("", "")], None),
            ("a class in the root", &[("", "a.b.C")], Some((v3, ""))),
            ("Java 2.1.5", &[(one, "")], Some((v2, one))),
            ("Rust instance, 2.1.5", &[(one, "RUST")], Some((v2, one))),
            ("operator's request, 2.1.5", &[(one, "TRIGGER")], Some((v2, one))),
            ("Java 3.x", &[(one, java_3)], Some((v3, one))),
            ("Rust instance, 3.x", &[(one, rust_3)], Some((v3, one))),
            ("unknown data", &[(one, "?"), (server, "?")], None),
            ("disabled in either", &[(server, "DISABLED"), (other, "PAUSED")], None),
            ("a server of 2.1.5", &[(server, "")], Some((v2, server))),
            (
                "a server of 3.x beside one of 2.1.5",
                &[(server, ""), (other, "ENABLED")],
                Some((v3, other)),
            ),
            (
                "2.1.5 where 3.x was",
                &[("", "a.b.C"), (other, "ENABLED"), (one, "")],
                Some((v2, one)),
            ),
            ("both", &[(one, ""), (two, java_3)], Some((v3, two))),
        ];
        let layout = Layout::new(&JobName::new("j").unwrap());
        let path = |below: &str| {
            let names = below.split('/').filter(|name| !name.is_empty());
            names.fold(layout.root(), |at, name| at.join(name).unwrap())
        };
        for (case, nodes, expected) in rows {
            let nodes: Vec<_> =
                nodes.iter().map(|(at, data)| (path(at), data.as_bytes())).collect();
            let sign = layout.sign_of_dialect(nodes.iter().map(|(path, data)| (path, *data)));
            let expected = expected.map(|(dialect, at)| DialectSign { dialect, path: path(at) });
            assert_eq!(sign, expected, "{case}");
        }
    }
}
