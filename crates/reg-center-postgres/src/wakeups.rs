//! Notifications between centers: a connection that listens, and that notifies after commits.
//!
//! The server serializes all commits that notify, so a commit itself never does. One notification
//! has all trees that have changed since the last one.

use std::collections::BTreeSet;
use std::time::Duration;

use sqlx::postgres::{PgListener, PgPoolOptions};
use sqlx::{AssertSqlSafe, Executor as _, Row as _};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep, timeout};

use crate::PostgresOptions;
use crate::connection::server_options;
use crate::sql::text;

/// Longest payload, in bytes. PostgreSQL takes less than 8000.
const MAX_PAYLOAD: usize = 7_000;
/// Delay between two attempts to connect.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// A message from the notifications to the worker.
#[derive(Debug)]
pub(crate) enum Wakeup {
    /// These trees have changed.
    Changed(Vec<String>),
    /// Any tree may have changed.
    Unknown,
}

/// The notifications of a center. They end when this is dropped, after all changes were announced.
#[derive(Debug)]
pub(crate) struct Wakeups {
    pub(crate) channel: String,
    changed: UnboundedSender<String>,
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

    /// Announces that a tree has changed.
    pub(crate) fn announce(&self, tree: &str) {
        // The task runs as long as this sender exists.
        let _ = self.changed.send(tree.to_owned());
    }
}

struct Task {
    options: PostgresOptions,
    channel: String,
    changes: UnboundedReceiver<String>,
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
        let (mut listener, own_process) = match self.listen(limit).await {
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
                    // The worker has marked its own changes before they were announced.
                    Ok(Some(own)) if own.process_id() == own_process => continue,
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

    /// Returns a connection that listens, and the server's process for it.
    async fn listen(&self, limit: Duration) -> Result<(PgListener, u32), String> {
        let server = server_options(&self.options).map_err(|error| error.to_string())?;
        // Nothing that this connection writes must survive, so it need not wait for the disk.
        let server = server.options([("synchronous_commit", "off")]);
        let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(limit);
        let pool = pool.connect_lazy_with(server);
        let listen = async {
            let mut listener = PgListener::connect_with(&pool).await?;
            listener.eager_reconnect(false);
            listener.listen(&self.channel).await?;
            let row = listener.fetch_one(sqlx::raw_sql("SELECT pg_backend_pid()")).await?;
            let process: i32 = row.try_get(0)?;
            Ok::<_, sqlx::Error>((listener, process.cast_unsigned()))
        };
        let listening = timeout(limit, listen).await;
        let listening = listening.map_err(|_| format!("no connection within {limit:?}"))?;
        listening.map_err(|error| error.to_string())
    }

    /// Returns the statement that announces a change and all others that wait.
    fn notification(&mut self, first: String) -> String {
        let mut trees = BTreeSet::from([first]);
        while let Ok(tree) = self.changes.try_recv() {
            trees.insert(tree);
        }
        let payload = payload(&trees);
        format!("SELECT pg_notify({}, {})", text(&self.channel), text(&payload))
    }
}

/// Returns the names of the trees, one a line after a first empty line; empty for too many.
fn payload(trees: &BTreeSet<String>) -> String {
    let length: usize = trees.iter().map(|tree| tree.len() + 1).sum();
    if length > MAX_PAYLOAD {
        return String::new();
    }
    trees.iter().flat_map(|tree| ["\n", tree.as_str()]).collect()
}

fn parse(payload: &str) -> Wakeup {
    match payload.strip_prefix('\n') {
        Some(trees) => Wakeup::Changed(trees.split('\n').map(str::to_owned).collect()),
        None => Wakeup::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_has_the_trees_or_says_that_there_are_too_many() {
        // The empty name is the tree of the root.
        for names in [&["", "a", "b c"][..], &[""], &["é'"]] {
            let trees: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
            match parse(&payload(&trees)) {
                Wakeup::Changed(found) => assert!(found.iter().eq(&trees), "{found:?}"),
                Wakeup::Unknown => panic!("{names:?}"),
            }
        }
        let many = (0..2_000).map(|n| format!("tree-{n}")).collect();
        assert!(matches!(parse(&payload(&many)), Wakeup::Unknown));
    }
}
