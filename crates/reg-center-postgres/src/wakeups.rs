//! Notifications between centers: a connection that listens, and that notifies after commits.
//!
//! The server serializes all commits that notify, so only the end of a session does, which is rare.
//! One notification has the revisions of all trees that have changed since the last one.

use std::time::Duration;

use reg_center::Revision;

use sqlx::postgres::{PgListener, PgPoolOptions};
use sqlx::{AssertSqlSafe, Executor as _};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep, timeout};

use crate::PostgresOptions;
use crate::connection::server_options;
use crate::sql::text;
use crate::store::Positions;

/// Longest payload, in bytes. PostgreSQL takes less than 8000.
const MAX_PAYLOAD: usize = 7_000;
/// Delay between two attempts to connect.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// A message from the notifications to the worker.
#[derive(Debug)]
pub(crate) enum Wakeup {
    /// Trees have changed, up to these revisions.
    Changed(Positions),
    /// Any tree may have changed.
    Unknown,
}

/// The notifications of a center. They end when this is dropped, after all changes were announced.
#[derive(Debug)]
pub(crate) struct Wakeups {
    pub(crate) channel: String,
    changed: UnboundedSender<(String, Revision)>,
}

impl Wakeups {
    /// Starts to listen and to notify on a channel.
    pub(crate) fn start(
        options: &PostgresOptions,
        channel: String,
        wakeups: UnboundedSender<Wakeup>,
    ) -> Self {
        let (changed, changes) = unbounded_channel();
        let task = Task { options: options.clone(), channel: channel.clone(), changes, wakeups };
        tokio::spawn(task.run());
        Self { channel, changed }
    }

    /// Announces that a tree has changed at this revision.
    pub(crate) fn announce(&self, tree: &str, revision: Revision) {
        // The task runs as long as this sender exists.
        let _ = self.changed.send((tree.to_owned(), revision));
    }
}

struct Task {
    options: PostgresOptions,
    channel: String,
    changes: UnboundedReceiver<(String, Revision)>,
    wakeups: UnboundedSender<Wakeup>,
}

/// Reason why a connection ended.
enum End {
    /// The center has ended.
    Done,
    /// The connection failed.
    Failed(String),
}

impl Task {
    async fn run(mut self) {
        loop {
            match self.serve().await {
                End::Done => return,
                End::Failed(cause) => {
                    tracing::debug!(cause, "no notifications; polling continues");
                }
            }
            // Changes are found by polling meanwhile.
            let pause = sleep(RETRY_PAUSE);
            tokio::pin!(pause);
            loop {
                tokio::select! {
                    () = &mut pause => break,
                    change = self.changes.recv() => if change.is_none() { return },
                }
            }
        }
    }

    /// Serves one connection until it fails.
    async fn serve(&mut self) -> End {
        let limit = self.options.requests();
        let mut listener = match self.listen(limit).await {
            Ok(listening) => listening,
            Err(cause) => return End::Failed(cause),
        };
        // Notifications before the subscription are lost.
        if self.wakeups.send(Wakeup::Unknown).is_err() {
            return End::Done;
        }
        // A connection can break without notice.
        let check_interval = self.options.session_timeout / 2;
        let mut next_check = Instant::now() + check_interval;
        loop {
            let statement = tokio::select! {
                received = listener.try_recv() => match received {
                    Ok(Some(notification)) => {
                        if self.wakeups.send(parse(notification.payload())).is_err() {
                            return End::Done;
                        }
                        continue;
                    }
                    Ok(None) => return End::Failed("the connection has ended".to_owned()),
                    Err(error) => return End::Failed(error.to_string()),
                },
                first = self.changes.recv() => match first {
                    Some(first) => self.notification(first),
                    None => return End::Done,
                },
                () = tokio::time::sleep_until(next_check) => "SELECT 1".to_owned(),
            };
            next_check = Instant::now() + check_interval;
            let executed = listener.execute(sqlx::raw_sql(AssertSqlSafe(statement)));
            match timeout(limit, executed).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return End::Failed(error.to_string()),
                Err(_) => return End::Failed(format!("no answer within {limit:?}")),
            }
        }
    }

    /// Returns a connection that listens.
    async fn listen(&self, limit: Duration) -> Result<PgListener, String> {
        let server = server_options(&self.options).map_err(|error| error.to_string())?;
        // Nothing that this connection writes must survive, so it need not wait for the disk.
        let server = server.options([("synchronous_commit", "off")]);
        let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(limit);
        let pool = pool.connect_lazy_with(server);
        let listen = async {
            let mut listener = PgListener::connect_with(&pool).await?;
            listener.eager_reconnect(false);
            listener.listen(&self.channel).await?;
            Ok::<_, sqlx::Error>(listener)
        };
        let listening = timeout(limit, listen).await;
        let listening = listening.map_err(|_| format!("no connection within {limit:?}"))?;
        listening.map_err(|error| error.to_string())
    }

    /// Returns the statement that announces a change and all others that wait.
    fn notification(&mut self, first: (String, Revision)) -> String {
        let mut positions = Positions::from([first]);
        // The changes of a tree come in the order of their revisions.
        while let Ok((tree, revision)) = self.changes.try_recv() {
            positions.insert(tree, revision);
        }
        let payload = payload(&positions);
        format!("SELECT pg_notify({}, {})", text(&self.channel), text(&payload))
    }
}

/// Returns a line for each tree, with its revision and its name; nothing for too many.
/// `end_session` in `functions.sql` writes the same.
fn payload(positions: &Positions) -> String {
    let line = |(tree, revision): (&String, &Revision)| format!("{} {tree}", revision.0);
    let payload = positions.iter().map(line).collect::<Vec<_>>().join("\n");
    if payload.len() > MAX_PAYLOAD { String::new() } else { payload }
}

fn parse(payload: &str) -> Wakeup {
    let position = |line: &str| {
        let (revision, tree) = line.split_once(' ')?;
        Some((tree.to_owned(), Revision(revision.parse().ok()?)))
    };
    let positions: Option<Positions> = payload.split('\n').map(position).collect();
    positions.map_or(Wakeup::Unknown, Wakeup::Changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_has_the_positions_or_says_that_there_are_too_many() {
        // The empty name is the tree of the root.
        for names in [&["", "a", "b c"][..], &[""], &["é'"]] {
            let positions: Positions =
                names.iter().zip(7..).map(|(name, n)| ((*name).to_owned(), Revision(n))).collect();
            match parse(&payload(&positions)) {
                Wakeup::Changed(found) => assert_eq!(found, positions),
                Wakeup::Unknown => panic!("{names:?}"),
            }
        }
        let many = (0..2_000).map(|n| (format!("tree-{n}"), Revision(n))).collect();
        assert!(matches!(parse(&payload(&many)), Wakeup::Unknown));
    }
}
