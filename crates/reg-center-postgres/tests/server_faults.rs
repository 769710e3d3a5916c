//! Faults of the server itself: SIGKILL and restart, a stuck transaction, lost replies.

use std::sync::Arc;
use std::time::Duration;

use postgres_fixture::Server;
use postgres_fixture::proxy::{Cut, Mode, Proxy};
use reg_center::{Change, Error, Lifetime, RegistryCenter as _, SessionChange, Txn, Version};
use reg_center_postgres::{Notify, PostgresCenter};

use crate::behind_proxies::{
    connect, namespace, options_for, path, runtime, server, session_of, soon,
};

fn put() -> Txn {
    Txn::new().put(path("/job/n"), "")
}

fn create(at: &str, lifetime: Lifetime) -> Txn {
    Txn::new().create(path(at), "", lifetime)
}

/// Commits until the registry answers, as a program does that knows the outcome to be final.
async fn commit(center: &PostgresCenter, txn: Txn) {
    let committed = async {
        loop {
            match center.commit(txn.clone()).await {
                Ok(outcome) => return assert!(outcome.is_committed(), "{txn:?}: {outcome:?}"),
                Err(Error::Unavailable { .. }) => tokio::task::yield_now().await,
                Err(error) => panic!("{txn:?}: {error}"),
            }
        }
    };
    soon("the registry answers", committed).await;
}

/// Kills the server again and again while two centers write. Every answered commit must be there,
/// no commit may happen twice, and the sessions stay.
#[test]
fn a_killed_server_loses_no_answered_commit_and_no_session() {
    const WRITERS: usize = 2;
    let mut server = Server::start().unwrap();
    runtime().block_on(async {
        let options = options_for(server.address()).session_timeout(Duration::from_secs(60));
        let mut centers = Vec::new();
        for writer in 0..WRITERS {
            let center = connect(options.clone()).await;
            commit(&center, create(&format!("/job-{writer}/n"), Lifetime::Persistent)).await;
            commit(&center, create(&format!("/job-{writer}/mine"), Lifetime::Ephemeral)).await;
            centers.push(center);
        }
        let sessions: Vec<_> = centers.iter().map(|center| center.session()).collect();
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let writers: Vec<_> = centers
            .iter()
            .enumerate()
            .map(|(writer, center)| {
                let (center, stopped) = (Arc::clone(center), stopped.clone());
                tokio::spawn(async move { write(&center, writer, || *stopped.borrow()).await })
            })
            .collect();
        for _ in 0..5 {
            // Each kill hits ongoing writes.
            for (writer, center) in centers.iter().enumerate() {
                await_more_writes(center, writer).await;
            }
            server.kill().unwrap();
            server.restart().unwrap();
        }
        for (writer, center) in centers.iter().enumerate() {
            await_more_writes(center, writer).await;
        }
        stop.send(true).unwrap();
        for (writer, task) in writers.into_iter().enumerate() {
            let (answered, unknown) = task.await.unwrap();
            let at = path(&format!("/job-{writer}/n"));
            let found = centers[0].read(&at).await.unwrap().unwrap().stat.version;
            assert!(answered >= 100, "writer {writer}: {answered} answered commits");
            let possible = Version(answered)..=Version(answered + unknown);
            assert!(possible.contains(&found), "writer {writer}: {found}, expected {possible:?}");
        }
        let now: Vec<_> = centers.iter().map(|center| center.session()).collect();
        assert_eq!(now, sessions);
    });
}

/// Waits until a counter was raised by 20.
async fn await_more_writes(center: &PostgresCenter, writer: usize) {
    let mut start = None;
    let raised = async {
        loop {
            match center.read(&path(&format!("/job-{writer}/n"))).await {
                Ok(node) => {
                    let version = node.expect("the counter exists").stat.version;
                    if version.0 >= start.get_or_insert(version).0 + 20 {
                        return;
                    }
                }
                Err(Error::Unavailable { .. }) => {}
                Err(error) => panic!("{error}"),
            }
            tokio::task::yield_now().await;
        }
    };
    soon("the writer has written", raised).await;
}

/// Raises a counter. Returns the numbers of answered and of unknown commits.
async fn write(
    center: &PostgresCenter,
    writer: usize,
    is_stopped: impl Fn() -> bool,
) -> (u32, u32) {
    let (mut answered, mut unknown) = (0, 0);
    while !is_stopped() {
        let put = Txn::new().put(path(&format!("/job-{writer}/n")), "");
        match center.commit(put).await {
            Ok(outcome) => {
                assert!(outcome.is_committed());
                answered += 1;
            }
            Err(Error::Unknown { .. }) => unknown += 1,
            Err(Error::Unavailable { .. }) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    }
    (answered, unknown)
}

/// The reply to a commit is lost, and the center finds its outcome on the next connection.
#[test]
fn an_unknown_outcome_is_found_on_the_next_connection() {
    runtime().block_on(async {
        let namespace = namespace();
        let proxy = Proxy::start(server().address()).await.unwrap();
        let options = |address| options_for(address).namespace(&namespace).notify(Notify::Off);
        let center = connect(options(proxy.address())).await;
        let observer = connect(options(server().address())).await;
        commit(&center, create("/job/n", Lifetime::Persistent)).await;
        for round in 1..=5 {
            proxy.set(Mode::HoldReplies).await.unwrap();
            let lost_reply = async {
                let executed = async {
                    while observer.read(&path("/job/n")).await.unwrap().unwrap().stat.version
                        < Version(round)
                    {}
                };
                soon("the commit is executed", executed).await;
                proxy.kick(Cut::Reset).await.unwrap();
                proxy.set(Mode::Pass).await.unwrap();
            };
            let (outcome, ()) = tokio::join!(center.commit(put()), lost_reply);
            assert!(outcome.unwrap().is_committed(), "round {round}: it was found");
            let node = center.read(&path("/job/n")).await.unwrap().unwrap();
            assert_eq!(node.stat.version, Version(round));
        }
        // A request that never arrived was not executed.
        proxy.set(Mode::HoldRequests).await.unwrap();
        let before = proxy.counters().request_bytes();
        let lost_request = async {
            let limit = Duration::from_secs(60);
            proxy.wait_for_request_bytes(before + 1, limit).await.unwrap();
            proxy.kick(Cut::Reset).await.unwrap();
            proxy.set(Mode::Pass).await.unwrap();
        };
        let (outcome, ()) = tokio::join!(center.commit(put()), lost_request);
        assert_eq!(outcome, Err(Error::Unavailable { call: "commit" }));
        let node = observer.read(&path("/job/n")).await.unwrap().unwrap();
        assert_eq!(node.stat.version, Version(5));
    });
}

/// A transaction of another program that holds the rows of all jobs of a namespace.
pub(crate) struct Holder {
    pub(crate) pid: u32,
    thread: std::thread::JoinHandle<Result<String, postgres_fixture::Error>>,
}

impl Holder {
    pub(crate) async fn start(namespace: &str) -> Self {
        let lock = format!(
            "BEGIN; SELECT 1 FROM ejob.tree AS t JOIN ejob.namespace AS n ON n.id = t.ns \
             WHERE n.name = '{namespace}' FOR UPDATE OF t; SELECT pg_sleep(600)"
        );
        let thread = std::thread::spawn(move || server().query(&lock));
        let holder = format!(
            "SELECT pid FROM pg_stat_activity WHERE query LIKE '%''{namespace}'' FOR UPDATE OF t%' \
             AND wait_event = 'PgSleep'"
        );
        Self { pid: wait_for_row(holder).await, thread }
    }

    pub(crate) async fn release(self) {
        let end = move || {
            let ended = server().query(&format!("SELECT pg_terminate_backend({})", self.pid));
            ended.expect("the server ends the transaction");
            let held = self.thread.join().expect("the query does not panic");
            held.expect_err("the transaction was ended");
        };
        tokio::task::spawn_blocking(end).await.expect("the transaction is ended");
    }
}

/// Repeats a query until it returns a number.
pub(crate) async fn wait_for_row(sql: String) -> u32 {
    let found = async {
        loop {
            let sql = sql.clone();
            let row = tokio::task::spawn_blocking(move || server().query(&sql)).await;
            let row = row.expect("the query does not panic").expect("the query is valid");
            if let Ok(number) = row.parse() {
                return number;
            }
        }
    };
    soon(&sql, found).await
}

#[test]
fn a_stuck_transaction_of_another_program_delays_a_commit_only_for_the_request_timeout() {
    runtime().block_on(async {
        let name = namespace();
        let options = options_for(server().address())
            .namespace(&name)
            .request_timeout(Duration::from_millis(500));
        let center = connect(options).await;
        commit(&center, create("/job/n", Lifetime::Persistent)).await;
        let mut sessions = center.session_feed();
        let Some(SessionChange::Connected { session, .. }) = sessions.next().await else {
            panic!("the center is connected")
        };
        let holder = Holder::start(&name).await;
        assert_eq!(center.commit(put()).await, Err(Error::Unavailable { call: "commit" }));
        assert_eq!(sessions.next().await, Some(SessionChange::Suspended { session }));
        let back = soon("the session comes back", sessions.next()).await;
        assert!(
            matches!(back, Some(SessionChange::Connected { session: same, .. }) if same == session)
        );
        holder.release().await;
        commit(&center, put()).await;
    });
}

/// The connection breaks while its commit waits for a lock on the server. The server executes the
/// commit later, so the center must wait for it before it looks for the outcome.
#[test]
fn a_commit_that_outlives_its_connection_is_awaited() {
    runtime().block_on(async {
        let name = namespace();
        let proxy = Proxy::start(server().address()).await.unwrap();
        let options = options_for(proxy.address())
            .namespace(&name)
            .notify(Notify::Off)
            .session_timeout(Duration::from_secs(60))
            .request_timeout(Duration::from_secs(30));
        let center = connect(options).await;
        commit(&center, create("/job/n", Lifetime::Persistent)).await;
        let holder = Holder::start(&name).await;
        let broken = async {
            let waits = format!(
                "SELECT w.pid FROM pg_stat_activity AS w WHERE {} = ANY (pg_blocking_pids(w.pid))",
                holder.pid
            );
            wait_for_row(waits).await;
            let n_connections = proxy.counters().accepted();
            proxy.kick(Cut::Reset).await.unwrap();
            // The center is on its next connection, and waits there for its former one.
            let limit = Duration::from_secs(60);
            proxy.wait_for_connections(n_connections + 1, limit).await.unwrap();
            let resumes = "SELECT pid FROM pg_stat_activity \
                           WHERE query LIKE '%resume_session%' AND wait_event_type = 'Lock'";
            wait_for_row(resumes.to_owned()).await;
            holder.release().await;
        };
        let (outcome, ()) = tokio::join!(center.commit(put()), broken);
        assert!(outcome.unwrap().is_committed());
        let node = center.read(&path("/job/n")).await.unwrap().unwrap();
        assert_eq!(node.stat.version, Version(1));
    });
}

/// Another center ends a session while a commit of the session is under way. The end must wait, or
/// the commit would leave an ephemeral node without a session.
#[test]
fn a_session_that_ends_during_its_commit_leaves_no_node() {
    runtime().block_on(async {
        let name = namespace();
        let options = options_for(server().address())
            .namespace(&name)
            .notify(Notify::Off)
            .session_timeout(Duration::from_secs(60))
            .request_timeout(Duration::from_secs(30));
        let (center, other) = (connect(options.clone()).await, connect(options).await);
        commit(&center, create("/job/n", Lifetime::Persistent)).await;
        let session = session_of(&center);
        let holder = Holder::start(&name).await;
        let ended = async {
            let waits = |on: u32| {
                format!(
                    "SELECT w.pid FROM pg_stat_activity AS w \
                     WHERE {on} = ANY (pg_blocking_pids(w.pid)) LIMIT 1"
                )
            };
            let committing = wait_for_row(waits(holder.pid)).await;
            let end = format!("SELECT ejob.end_session({}, -1)", session.0);
            let ending = std::thread::spawn(move || server().query(&end));
            wait_for_row(waits(committing)).await;
            holder.release().await;
            tokio::task::spawn_blocking(|| ending.join().unwrap().unwrap()).await.unwrap();
        };
        let mine = center.commit(create("/job/mine", Lifetime::Ephemeral));
        let (outcome, ()) = tokio::join!(mine, ended);
        assert!(outcome.unwrap().is_committed(), "it was committed before the session ended");
        assert_eq!(other.children(&path("/job")).await.unwrap().unwrap(), ["n"]);
    });
}

/// A center that has seen an old counter must not end a session that has raised it since.
#[test]
fn a_session_with_another_counter_is_not_ended() {
    runtime().block_on(async {
        let center = connect(options_for(server().address()).namespace(namespace())).await;
        commit(&center, create("/mine", Lifetime::Ephemeral)).await;
        let session = session_of(&center);
        let end = format!("SELECT ejob.end_session({}, 1000000) IS NULL", session.0);
        let refused = tokio::task::spawn_blocking(move || server().query(&end)).await.unwrap();
        assert_eq!(refused.unwrap(), "t");
        assert!(center.read(&path("/mine")).await.unwrap().is_some());
        commit(&center, create("/second", Lifetime::Ephemeral).in_session(session)).await;
    });
}

/// A feed that is further behind than the kept changes starts with a new snapshot.
#[test]
fn a_feed_behind_the_kept_changes_starts_again() {
    const WRITES: usize = 5;
    const NODES: usize = 5_000;
    runtime().block_on(async {
        let namespace = namespace();
        let proxy = Proxy::start(server().address()).await.unwrap();
        let options = |address| {
            // The beat that removes old changes comes each 500 ms.
            options_for(address).namespace(&namespace).session_timeout(Duration::from_secs(2))
        };
        let writer = connect(options(server().address())).await;
        let reader = connect(
            options(proxy.address())
                .notify(Notify::Off)
                // Only this poll would find the changes.
                .poll_interval(Duration::from_secs(60))
                .session_timeout(Duration::from_secs(600)),
        )
        .await;
        let nodes = (0..NODES).fold(Txn::new(), |txn, n| {
            txn.create(path(&format!("/job/{n}")), "", Lifetime::Persistent)
        });
        commit(&writer, nodes).await;
        let mut feed = reader.watch(&path("/job"));
        let snapshot = async { while feed.next().await != Some(Change::Ready) {} };
        soon("the first snapshot", snapshot).await;
        for _ in 0..WRITES {
            let all = (0..NODES).fold(Txn::new(), |txn, n| txn.put(path(&format!("/job/{n}")), ""));
            commit(&writer, all).await;
        }
        let count = "SELECT count(*) FROM ejob.change AS c JOIN ejob.tree AS t ON t.id = c.tree \
                     JOIN ejob.namespace AS n ON n.id = t.ns WHERE n.name = ";
        let count = format!("{count}'{namespace}'");
        let removed = async {
            loop {
                let count = count.clone();
                let rows = tokio::task::spawn_blocking(move || server().query(&count)).await;
                if rows.unwrap().unwrap().parse::<usize>().unwrap() < 20_000 {
                    return;
                }
            }
        };
        soon("old changes are removed", removed).await;
        // A commit of the reader itself makes it look for changes of this job.
        commit(&reader, Txn::new().put(path("/job/0"), "last")).await;
        let mut n_entries = 0;
        let again = async {
            loop {
                match feed.next().await.unwrap() {
                    Change::Init => n_entries = 0,
                    Change::Entry(_) => n_entries += 1,
                    Change::Ready => return,
                    change @ (Change::Put(_) | Change::Gone { .. }) => panic!("{change:?}"),
                }
            }
        };
        soon("a new snapshot", again).await;
        assert_eq!(n_entries, NODES + 1);
    });
}
