//! The queries of feeds: snapshots and changes.

use std::collections::BTreeMap;

use reg_center::{Change, Node, NodePath, Revision, Scope};
use sqlx::postgres::PgRow;

use super::Store;
use crate::error::{Failure, Result};
use crate::outcome::{self, NODE_COLUMNS, column, counter};
use crate::sql::{integers, key, texts, trees_of};

/// Number in the place of a scope's number: the row is the position of a tree.
const TREE: i32 = -1;

/// The position of a feed in each tree.
pub(crate) type Positions = BTreeMap<String, Revision>;

/// The nodes of a scope at a point in time.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// Position of the trees of the scope.
    pub(crate) since: Positions,
    pub(crate) nodes: Vec<Node>,
}

/// Changes behind a position.
pub(crate) struct News {
    /// The new position.
    pub(crate) positions: Positions,
    /// The changes by tree. Intermediate states are skipped.
    pub(crate) changes: Vec<(String, Change)>,
    /// Some changes behind the position were removed.
    pub(crate) is_gap: bool,
}

impl Store {
    /// Returns a condition that holds while the session of the center lives.
    ///
    /// The end of a session deletes its nodes. A feed that showed this before the end of the
    /// session would make its process believe that an operator has deleted them.
    fn session_lives(&self) -> String {
        format!("EXISTS (SELECT 1 FROM {}.session WHERE id = {})", self.schema, self.session.0)
    }

    /// Returns the snapshots of some scopes at one point in time. Fails if the session of the
    /// center is over.
    pub(crate) async fn snapshots(&mut self, scopes: &[Scope]) -> Result<Vec<Snapshot>> {
        let rows = self.connection.read(&self.snapshots_query(scopes)).await?;
        let (mut positions, mut nodes) = (Positions::new(), vec![Vec::new(); scopes.len()]);
        for row in rows {
            match column::<Option<i32>>(&row, 0)? {
                None if counter(&row, 6)? == 0 => return Err(Failure::SessionOver),
                None => {}
                Some(TREE) => {
                    positions.insert(column(&row, 2)?, Revision(counter(&row, 6)?));
                }
                Some(place) => {
                    let scope = usize::try_from(place).ok().and_then(|n| nodes.get_mut(n));
                    let unknown = || Failure::not_done(format!("a node of scope {place}"));
                    scope.ok_or_else(unknown)?.push(outcome::node(&row, 1)?);
                }
            }
        }
        let snapshot = |(scope, nodes): (&Scope, Vec<Node>)| {
            let position = |tree: &str| Some((tree.to_owned(), *positions.get(tree)?));
            let since = match trees_of(scope) {
                None => positions.clone(),
                Some(trees) => trees.into_iter().filter_map(position).collect(),
            };
            Snapshot { since, nodes }
        };
        Ok(scopes.iter().zip(nodes).map(snapshot).collect())
    }

    /// Returns the query of [`snapshots`](Self::snapshots). The first column of its rows is the
    /// number of the scope, or [`TREE`] for the position of a tree, or NULL for whether the session
    /// lives. The columns of a node follow.
    fn snapshots_query(&self, scopes: &[Scope]) -> String {
        let (schema, ns) = (&self.schema, self.ns);
        let trees: Option<Vec<_>> = scopes.iter().map(trees_of).collect();
        let trees = match trees {
            None => String::new(),
            Some(trees) => format!(" AND t.name = ANY ({})", texts(trees.into_iter().flatten())),
        };
        let numbered = scopes.iter().zip(0_i64..);
        let parts: Vec<(&NodePath, i64)> =
            numbered.flat_map(|(scope, n)| scope.parts().map(move |part| (part, n))).collect();
        let keys: Vec<_> = parts.iter().map(|(part, _)| key(part)).collect();
        // Paths of deeper descendants begin with the path of the part and a slash; `0` follows the
        // slash.
        let bounds = |end: &str| {
            let bound =
                |(part, _): &(&NodePath, i64)| part.as_str().trim_end_matches('/').to_owned() + end;
            let bounds: Vec<String> = parts.iter().map(bound).collect();
            texts(bounds.iter().map(String::as_str))
        };
        let nodes = format!("SELECT {NODE_COLUMNS} FROM {schema}.node AS n WHERE n.ns = {ns}");
        // Each part itself, its children, and its deeper descendants. `OFFSET 0` makes the server
        // look up one part after the other in the index, also before it has statistics of the
        // table.
        format!(
            "SELECT NULL::int, '', '', ''::bytea, 0::bigint, 0::bigint, ({})::int::bigint, \
               NULL::bigint \
             UNION ALL SELECT {TREE}, '', t.name, ''::bytea, 0, 0, t.revision, NULL \
             FROM {schema}.tree AS t WHERE t.ns = {ns}{trees} \
             UNION ALL SELECT k.n, s.* \
             FROM unnest({}, {}, {}, {}, {}, {}) AS k (parent, name, path, low, high, n) \
             CROSS JOIN LATERAL (\
               {nodes} AND n.parent = k.parent AND n.name = k.name \
               UNION ALL {nodes} AND n.parent = k.path \
               UNION ALL {nodes} AND n.parent > k.low COLLATE \"C\" \
               AND n.parent < k.high COLLATE \"C\" OFFSET 0\
             ) AS s",
            self.session_lives(),
            texts(keys.iter().map(|(parent, _)| parent.as_str())),
            texts(keys.iter().map(|(_, name)| *name)),
            texts(parts.iter().map(|(part, _)| part.as_str())),
            bounds("/"),
            bounds("0"),
            integers(parts.iter().map(|(_, n)| *n), "int"),
        )
    }

    /// Returns the revision of the last write of each tree.
    pub(crate) async fn positions(&mut self) -> Result<Positions> {
        let sql = format!("SELECT name, revision FROM {}.tree WHERE ns = {}", self.schema, self.ns);
        let rows = self.connection.read(&sql).await?;
        let position = |row: &PgRow| Ok((column(row, 0)?, Revision(counter(row, 1)?)));
        rows.iter().map(position).collect()
    }

    /// Returns the changes behind a position, in the trees of the position. Fails if the session of
    /// the center is over.
    pub(crate) async fn news(&mut self, after: &Positions) -> Result<News> {
        let revision = |revision: &Revision| i64::try_from(revision.0).unwrap_or(i64::MAX);
        let sql = format!(
            "SELECT * FROM {}.changes_after({}, {}, {}, {})",
            self.schema,
            self.ns,
            self.session.0,
            texts(after.keys().map(String::as_str)),
            integers(after.values().map(revision), "bigint"),
        );
        let mut news = News { positions: Positions::new(), changes: Vec::new(), is_gap: false };
        let mut changes = Vec::new();
        for row in self.connection.read(&sql).await? {
            let Some(tree) = column::<Option<String>>(&row, 0)? else {
                if column(&row, 4)? {
                    continue;
                }
                return Err(Failure::SessionOver);
            };
            let revision = Revision(counter(&row, 3)?);
            if column::<Option<&str>>(&row, 1)?.is_none() {
                news.is_gap |= column::<bool>(&row, 4)?;
                news.positions.insert(tree, revision);
            } else {
                changes.push((revision, tree, outcome::change(&row, 1)?));
            }
        }
        changes.sort_by(|a, b| (a.0, a.2.path()).cmp(&(b.0, b.2.path())));
        news.changes = changes.into_iter().map(|(_, tree, change)| (tree, change)).collect();
        Ok(news)
    }
}
