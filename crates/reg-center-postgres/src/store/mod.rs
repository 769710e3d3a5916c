//! The requests of a center to its server.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use reg_center::{Beat, Change, Node, NodePath, Op, Revision, Scope, SessionId, TxnOutcome};
use sqlx::postgres::PgRow;

use crate::connection::Connection;
use crate::error::{Failure, Result};
use crate::outcome::{self, NODE_COLUMNS, column, counter};
use crate::sql::{Batch, integers, key, text, texts, trees_of};
use crate::{OpenError, PostgresOptions, migrate};

/// Number of changes that are kept for feeds in each tree. A center that is further behind starts
/// its feeds with a new snapshot.
const KEPT_CHANGES: u32 = 10_000;

/// The session of a center on its present connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Incarnation {
    pub(crate) session: SessionId,
    pub(crate) number: i64,
}

/// A session that was continued on a new connection, with its last writing call.
pub(crate) struct Resumed {
    pub(crate) incarnation: Incarnation,
    pub(crate) seq: u64,
    /// For each transaction of the call its revision, 0 without a write, or -1 after a conflict.
    pub(crate) revisions: Vec<i64>,
}

/// A session that was opened.
pub(crate) struct Opened {
    pub(crate) incarnation: Incarnation,
    /// Channel of the notifications of this registry.
    pub(crate) channel: String,
}

/// The position of a feed in each tree.
pub(crate) type Positions = BTreeMap<String, Revision>;

/// Changes behind a position.
pub(crate) struct News {
    /// The new position.
    pub(crate) positions: Positions,
    /// The changes by tree. Intermediate states are skipped.
    pub(crate) changes: Vec<(String, Change)>,
    /// Some changes behind the position were removed.
    pub(crate) is_gap: bool,
}

/// A connection to the registry.
pub(crate) struct Store {
    connection: Connection,
    /// Number of the registry in the schema.
    ns: i32,
    schema: String,
    namespace: String,
    /// The session of the center.
    session: Option<SessionId>,
    /// Trees that are known to have a clock.
    trees: BTreeSet<String>,
}

impl Store {
    /// Connects to the server, and creates the schema if it is missing.
    pub(crate) async fn connect(options: &PostgresOptions) -> std::result::Result<Self, OpenError> {
        let connection = migrate::prepare(Connection::open(options).await?, options).await?;
        Ok(Self {
            connection,
            ns: 0,
            schema: format!("\"{}\"", options.schema),
            namespace: options.namespace.clone(),
            session: None,
            trees: BTreeSet::new(),
        })
    }

    pub(crate) async fn close(self) {
        self.connection.close().await;
    }

    async fn call(&mut self, function: &str) -> Result<Vec<PgRow>> {
        self.connection.write(&format!("SELECT * FROM {}.{function}", self.schema)).await
    }

    pub(crate) async fn open_session(&mut self, timeout: Duration) -> Result<Opened> {
        let name = text(&self.namespace);
        let call = format!("open_session({name}, {})", timeout.as_millis());
        let row = only(self.call(&call).await?)?;
        self.ns = column(&row, 0)?;
        let session = SessionId(column(&row, 1)?);
        self.session = Some(session);
        Ok(Opened { incarnation: Incarnation { session, number: 0 }, channel: column(&row, 2)? })
    }

    /// Continues a session. Commits of former connections are finished, or never happen.
    pub(crate) async fn resume(&mut self, session: SessionId, ns: i32) -> Result<Resumed> {
        (self.ns, self.session) = (ns, Some(session));
        let rows = self.call(&format!("resume_session({})", session.0)).await?;
        let row = rows.first().ok_or(Failure::SessionOver)?;
        let revisions: &str = column(row, 2)?;
        Ok(Resumed {
            incarnation: Incarnation { session, number: column(row, 0)? },
            seq: counter(row, 1)?,
            revisions: revisions.split(',').filter_map(|number| number.parse().ok()).collect(),
        })
    }

    /// Returns the number of the registry in the schema.
    pub(crate) fn ns(&self) -> i32 {
        self.ns
    }

    /// Raises the counter of a live session.
    pub(crate) async fn beat(
        &mut self,
        Incarnation { session, number }: Incarnation,
    ) -> Result<()> {
        let row =
            only(self.call(&format!("beat({}, {number}, {KEPT_CHANGES})", session.0)).await?)?;
        if column(&row, 0)? { Ok(()) } else { Err(Failure::SessionOver) }
    }

    /// Ends a session, if its counter still has this value. Returns the changed trees.
    pub(crate) async fn end_session(
        &mut self,
        session: SessionId,
        beat: Option<u64>,
    ) -> Result<Option<Vec<String>>> {
        let beat = beat.map_or(-1, |beat| i64::try_from(beat).unwrap_or(i64::MAX));
        let call = format!("end_session({}, {beat})", session.0);
        let sql = format!("SELECT array_to_string({}.{call}, chr(10))", self.schema);
        let row = only(self.connection.write(&sql).await?)?;
        let trees: Option<&str> = column(&row, 0)?;
        Ok(trees.map(|trees| trees.split('\n').map(str::to_owned).collect()))
    }

    /// Returns the counters of all sessions.
    pub(crate) async fn beats(&mut self) -> Result<Vec<Beat>> {
        let sql = format!(
            "SELECT id, beat, timeout_ms FROM {}.session WHERE ns = {}",
            self.schema, self.ns
        );
        let rows = self.connection.read(&sql).await?;
        let beat = |row: &PgRow| {
            let timeout = Duration::from_millis(counter(row, 2)?);
            Ok(Beat { session: SessionId(column(row, 0)?), count: counter(row, 1)?, timeout })
        };
        rows.iter().map(beat).collect()
    }

    /// Executes transactions, each as a whole or not at all. They become durable together.
    pub(crate) async fn commit(
        &mut self,
        Incarnation { session, number }: Incarnation,
        seq: u64,
        batch: &Batch,
        txns: &[&[Op]],
    ) -> Result<Vec<TxnOutcome>> {
        let (schema, ns) = (&self.schema, self.ns);
        let unknown: Vec<&str> = batch
            .trees
            .iter()
            .filter(|tree| !self.trees.contains(*tree))
            .map(String::as_str)
            .collect();
        let commit = format!(
            "SELECT * FROM {schema}.commit_all({ns}, {}, {number}, {seq}, {})",
            session.0,
            batch.arguments()
        );
        let rows = if unknown.is_empty() {
            self.connection.write(&commit).await?
        } else {
            let create = format!("SELECT {schema}.create_trees({ns}, {})", texts(unknown));
            let mut rows = self.connection.write_both(&create, &commit).await?;
            self.trees.extend(batch.trees.iter().cloned());
            // The row of the first statement.
            rows.remove(0);
            rows
        };
        outcome::outcomes(&rows, session, txns)
    }

    /// Reads nodes at one revision of each tree.
    pub(crate) async fn read(&mut self, paths: &[NodePath]) -> Result<Vec<Option<Node>>> {
        let keys: Vec<_> = paths.iter().map(key).collect();
        let sql = format!(
            "SELECT {NODE_COLUMNS}, k.place - 1 \
             FROM unnest({}, {}) WITH ORDINALITY AS k (parent, name, place) \
             JOIN {}.node AS n ON n.ns = {} AND n.parent = k.parent AND n.name = k.name",
            texts(keys.iter().map(|(parent, _)| parent.as_str())),
            texts(keys.iter().map(|(_, name)| *name)),
            self.schema,
            self.ns,
        );
        let mut nodes = vec![None; paths.len()];
        for row in self.connection.read(&sql).await? {
            let place = usize::try_from(counter(&row, 7)?).unwrap_or_default();
            if let Some(found) = nodes.get_mut(place) {
                *found = Some(outcome::node(&row, 0)?);
            }
        }
        Ok(nodes)
    }

    /// Returns the names of the children in ascending order; `None` if the node does not exist.
    pub(crate) async fn children(&mut self, path: &NodePath) -> Result<Option<Vec<String>>> {
        let ((parent, name), (schema, ns)) = (key(path), (&self.schema, self.ns));
        let sql = format!(
            "SELECT true, n.name FROM {schema}.node AS n \
             WHERE n.ns = {ns} AND n.parent = {} AND n.name = {} \
             UNION ALL SELECT false, n.name FROM {schema}.node AS n \
             WHERE n.ns = {ns} AND n.parent = {}",
            text(&parent),
            text(name),
            text(path.as_str()),
        );
        let (mut exists, mut names) = (false, Vec::new());
        for row in self.connection.read(&sql).await? {
            match column(&row, 0)? {
                true => exists = true,
                false => names.push(column::<String>(&row, 1)?),
            }
        }
        names.sort_unstable();
        Ok(exists.then_some(names))
    }

    /// Returns a condition that holds while the session of the center lives.
    ///
    /// The end of a session deletes its nodes. A feed that showed this before the end of the
    /// session would make its process believe that an operator has deleted them.
    fn session_lives(&self) -> String {
        match self.session {
            Some(session) => {
                format!("EXISTS (SELECT 1 FROM {}.session WHERE id = {})", self.schema, session.0)
            }
            None => "true".to_owned(),
        }
    }

    /// Returns the nodes of a scope, and the position of the snapshot. Fails if the session of the
    /// center is over.
    pub(crate) async fn snapshot(&mut self, scope: &Scope) -> Result<(Positions, Vec<Node>)> {
        let (schema, ns) = (&self.schema, self.ns);
        let trees = match trees_of(scope) {
            None => String::new(),
            Some(trees) => format!(" AND t.name = ANY ({})", texts(trees)),
        };
        let parts: Vec<&NodePath> = scope.parts().collect();
        let keys: Vec<_> = parts.iter().map(|part| key(part)).collect();
        // Paths of deeper descendants begin with the path of the part and a slash; `0` follows the
        // slash.
        let bound = |end: &str| -> Vec<String> {
            parts.iter().map(|part| part.as_str().trim_end_matches('/').to_owned() + end).collect()
        };
        let (low, high) = (bound("/"), bound("0"));
        let list = |values: &[String]| texts(values.iter().map(String::as_str));
        let sql = format!(
            "SELECT NULL::boolean, '', '', ''::bytea, 0::bigint, 0::bigint, ({})::int::bigint, \
               NULL::bigint \
             UNION ALL SELECT true, '', t.name, ''::bytea, 0, 0, t.revision, NULL FROM {schema}.tree AS t WHERE t.ns = {ns}{trees} \
             UNION ALL SELECT false, {NODE_COLUMNS} FROM unnest({}, {}) AS k (parent, name) \
             JOIN {schema}.node AS n ON n.ns = {ns} AND n.parent = k.parent AND n.name = k.name \
             UNION ALL SELECT false, {NODE_COLUMNS} FROM unnest({}) AS k (path) \
             JOIN {schema}.node AS n ON n.ns = {ns} AND n.parent = k.path \
             UNION ALL SELECT false, {NODE_COLUMNS} FROM unnest({}, {}) AS k (low, high) \
             JOIN {schema}.node AS n ON n.ns = {ns} AND n.parent > k.low COLLATE \"C\" \
             AND n.parent < k.high COLLATE \"C\"",
            self.session_lives(),
            texts(keys.iter().map(|(parent, _)| parent.as_str())),
            texts(keys.iter().map(|(_, name)| *name)),
            texts(parts.iter().map(|part| part.as_str())),
            list(&low),
            list(&high),
        );
        let (mut positions, mut nodes) = (Positions::new(), Vec::new());
        for row in self.connection.read(&sql).await? {
            match column(&row, 0)? {
                None if counter(&row, 6)? == 0 => return Err(Failure::SessionOver),
                None => {}
                Some(true) => {
                    positions.insert(column(&row, 2)?, Revision(counter(&row, 6)?));
                }
                Some(false) => nodes.push(outcome::node(&row, 1)?),
            }
        }
        Ok((positions, nodes))
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
        let (schema, ns) = (&self.schema, self.ns);
        let sql = format!(
            "WITH moved AS (\
               SELECT t.id, t.name, t.revision, t.forgotten, a.revision AS after \
               FROM unnest({}, {}) AS a (name, revision) \
               JOIN {schema}.tree AS t ON t.ns = {ns} AND t.name = a.name \
               WHERE t.revision > a.revision\
             ), changed AS (\
               SELECT m.name AS tree, c.parent, c.name, max(c.revision) AS revision \
               FROM moved AS m JOIN {schema}.change AS c ON c.tree = m.id AND c.revision > m.after \
               GROUP BY m.name, c.parent, c.name\
             ) \
             SELECT NULL::text, NULL::text, NULL::text, 0::bigint, {}, \
               NULL::text, NULL::text, NULL::bytea, NULL::bigint, NULL::bigint, NULL::bigint, \
               NULL::bigint \
             UNION ALL SELECT m.name, NULL, NULL, m.revision, m.forgotten > m.after, \
               NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM moved AS m \
             UNION ALL SELECT c.tree, c.parent, c.name, c.revision, n.ns IS NOT NULL, \
               {NODE_COLUMNS} FROM changed AS c \
             LEFT JOIN {schema}.node AS n \
             ON n.ns = {ns} AND n.parent = c.parent AND n.name = c.name",
            texts(after.keys().map(String::as_str)),
            integers(
                after.values().map(|revision| i64::try_from(revision.0).unwrap_or(i64::MAX)),
                "bigint"
            ),
            self.session_lives(),
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

fn only(rows: Vec<PgRow>) -> Result<PgRow> {
    rows.into_iter().next().ok_or_else(|| Failure::Unknown("the server returned no row".to_owned()))
}
