//! The requests of a center to its server. `feeds` has those of its feeds.

mod feeds;

use std::collections::BTreeSet;
use std::time::Duration;

use reg_center::{Beat, Node, NodePath, Op, Revision, SessionId, TxnOutcome};
use sqlx::postgres::PgRow;

use crate::connection::Connection;
use crate::error::{Failure, Result};
use crate::outcome::{self, NODE_COLUMNS, column, counter};
use crate::sql::{Batch, key, text, texts};
use crate::worker::RETRY_PAUSES;
use crate::{OpenError, PostgresOptions, migrate};

pub(crate) use feeds::{News, Positions, Snapshot};

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
    /// Position of the registry: no revision in it is greater.
    pub(crate) position: Revision,
}

/// A session that was opened.
pub(crate) struct Opened {
    pub(crate) incarnation: Incarnation,
    /// Number of the registry in the schema.
    pub(crate) ns: i32,
    /// Channel of the notifications of this registry.
    pub(crate) channel: String,
    /// Position of the registry.
    pub(crate) position: Revision,
}

/// Repeats the opening of a registry until the
/// [`connect_timeout`](PostgresOptions::connect_timeout), as long as the server cannot be reached:
/// it may be starting beside this program.
pub(crate) async fn with_retry<T, F>(
    options: &PostgresOptions,
    open: impl Fn(PostgresOptions) -> F,
) -> std::result::Result<T, OpenError>
where
    F: Future<Output = std::result::Result<T, OpenError>>,
{
    let limit = options.connect_timeout;
    let mut obstacle = None;
    let attempts = async {
        let mut pause = RETRY_PAUSES[0];
        loop {
            match open(options.clone()).await {
                Err(error @ OpenError::Unreachable { .. }) => {
                    if obstacle.is_none() {
                        tracing::warn!(%error, ?limit, "waiting for the database");
                    }
                    obstacle = Some(error);
                }
                ended => return ended,
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(RETRY_PAUSES[1]);
        }
    };
    match tokio::time::timeout(limit, attempts).await {
        Ok(ended) => ended,
        Err(_) => Err(obstacle.unwrap_or_else(|| OpenError::Unreachable {
            server: options.server(),
            cause: format!("no connection within {limit:?}"),
        })),
    }
}

/// A connection to the registry.
pub(crate) struct Store {
    connection: Connection,
    /// Number of the registry in the schema.
    ns: i32,
    schema: String,
    namespace: String,
    /// The session of the center; 0, which none has, before it was opened or continued.
    session: SessionId,
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
            session: SessionId(0),
            trees: BTreeSet::new(),
        })
    }

    pub(crate) async fn close(self) {
        self.connection.close().await;
    }

    async fn call(&mut self, function: &str) -> Result<Vec<PgRow>> {
        self.connection.write(&format!("SELECT * FROM {}.{function}", self.schema)).await
    }

    /// Opens a session. Fails with [`DATA_LOST`](crate::error::DATA_LOST) if the registry is behind
    /// `newest`, a revision that the center has seen. So do the other calls with this argument.
    pub(crate) async fn open_session(
        &mut self,
        timeout: Duration,
        newest: Revision,
    ) -> Result<Opened> {
        let name = text(&self.namespace);
        let call = format!("open_session({name}, {}, {})", timeout.as_millis(), newest.0);
        let row = only(self.call(&call).await?)?;
        self.ns = column(&row, 0)?;
        let session = SessionId(column(&row, 1)?);
        self.session = session;
        Ok(Opened {
            incarnation: Incarnation { session, number: 0 },
            ns: self.ns,
            channel: column(&row, 2)?,
            position: Revision(counter(&row, 3)?),
        })
    }

    /// Continues a session. Commits of former connections are finished, or never happen.
    pub(crate) async fn resume(
        &mut self,
        session: SessionId,
        ns: i32,
        newest: Revision,
    ) -> Result<Resumed> {
        (self.ns, self.session) = (ns, session);
        let rows = self.call(&format!("resume_session({}, {})", session.0, newest.0)).await?;
        let row = rows.first().ok_or(Failure::SessionOver)?;
        let revisions: &str = column(row, 2)?;
        Ok(Resumed {
            incarnation: Incarnation { session, number: column(row, 0)? },
            seq: counter(row, 1)?,
            revisions: revisions.split(',').filter_map(|number| number.parse().ok()).collect(),
            position: Revision(counter(row, 3)?),
        })
    }

    /// Raises the counter of a live session. Returns the position of the registry.
    pub(crate) async fn beat(
        &mut self,
        Incarnation { session, number }: Incarnation,
        newest: Revision,
    ) -> Result<Revision> {
        let row = only(self.call(&format!("beat({}, {number}, {})", session.0, newest.0)).await?)?;
        match column::<Option<i64>>(&row, 0)? {
            Some(_) => Ok(Revision(counter(&row, 0)?)),
            None => Err(Failure::SessionOver),
        }
    }

    /// Removes some old changes. Returns true if there may be more to remove.
    pub(crate) async fn forget_changes(&mut self) -> Result<bool> {
        let call = format!("forget_changes({}, {KEPT_CHANGES})", self.ns);
        column(&only(self.call(&call).await?)?, 0)
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
        newest: Revision,
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
            "SELECT * FROM {schema}.commit_all({ns}, {}, {number}, {}, {seq}, {})",
            session.0,
            newest.0,
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
        // The server has committed. The next connection finds the outcome.
        let unknown = |failure| match failure {
            Failure::SessionOver => Failure::SessionOver,
            Failure::NotDone(cause) | Failure::Refused { cause, .. } | Failure::Unknown(cause) => {
                Failure::Unknown(cause)
            }
        };
        outcome::outcomes(&rows, session, txns).map_err(unknown)
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
}

fn only(rows: Vec<PgRow>) -> Result<PgRow> {
    rows.into_iter().next().ok_or_else(|| Failure::Unknown("the server returned no row".to_owned()))
}
