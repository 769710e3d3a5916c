//! The queries that a center sends, by the log of the server.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::poll;
use postgres_fixture::{Server, ServerOptions};
use reg_center::{Change, Feed, Lifetime, RegistryCenter as _, Txn, Version};
use reg_center_postgres::PostgresCenter;
use tokio::runtime::Builder;

use crate::behind_proxies::{connect, namespace, options_for, path, runtime, session_of, soon};

/// The statement of a commit, and the one by which feeds read changes.
const COMMIT: &str = "commit_all(";
const NEWS: &str = "changes_after(";

/// A server that logs each statement.
fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    let start = || Server::start_with(&ServerOptions::default().setting("log_statement", "all"));
    SERVER.get_or_init(|| start().expect("a PostgreSQL server is needed"))
}

fn put() -> Txn {
    Txn::new().put(path("/job/n"), "")
}

/// Waits until a feed shows a version of the node.
async fn shows(feed: &mut Feed, version: Version) {
    let shown = async {
        while !matches!(feed.next().await, Some(Change::Put(n)) if n.stat.version >= version) {}
    };
    soon("the feed shows the change", shown).await;
}

/// Returns the commits and the reads of changes in the log of a tree, in their order.
fn logged(tree: &str) -> Vec<&'static str> {
    let log = std::fs::read_to_string(server().log_path()).expect("the log is readable");
    let statements = log.lines().filter(|line| line.contains(tree));
    let kind = |line: &str| [COMMIT, NEWS].into_iter().find(|kind| line.contains(kind));
    statements.filter_map(kind).collect()
}

/// A feed reads each own change once: the notification of the own change causes no second query.
#[test]
fn own_notifications_cause_no_queries() {
    const COMMITS: u32 = 50;
    runtime().block_on(async {
        let options = options_for(server().address()).namespace(namespace());
        let (center, other) = (connect(options.clone()).await, connect(options).await);
        let node = path("/own/n");
        let create = Txn::new().create(node.clone(), "", Lifetime::Persistent);
        assert!(center.commit(create).await.unwrap().is_committed());
        let (mut feed, mut other_feed) = (center.watch(&node), other.watch(&node));
        for feed in [&mut feed, &mut other_feed] {
            while soon("a snapshot", feed.next()).await != Some(Change::Ready) {}
        }
        let before = logged("own").len();
        for version in 1..=COMMITS {
            let put = Txn::new().put(node.clone(), "");
            assert!(center.commit(put).await.unwrap().is_committed());
            shows(&mut feed, Version(version)).await;
            // The notification has passed the server.
            shows(&mut other_feed, Version(version)).await;
        }
        let log = logged("own").split_off(before);
        let count = |kind| log.iter().filter(|logged| **logged == kind).count();
        let (commits, queries) = (count(COMMIT), count(NEWS));
        assert_eq!(commits, 50);
        // One for each center, and a few after polls.
        assert!((100..120).contains(&queries), "{queries} queries");
    });
}

/// Only the notification can show the end in time: the center that is lost announces nothing, and
/// the other one polls later.
#[test]
fn the_end_of_a_session_is_announced_by_its_own_commit() {
    runtime().block_on(async {
        let options = options_for(server().address()).namespace(namespace());
        let lost = connect(options.clone()).await;
        let other = connect(options.poll_interval(Duration::from_secs(60))).await;
        let mut feed = other.watch(&path("/ended"));
        while soon("a snapshot", feed.next()).await != Some(Change::Ready) {}
        let create = Txn::new().create(path("/ended/n"), "", Lifetime::Ephemeral);
        assert!(lost.commit(create).await.unwrap().is_committed());
        // Only a center that listens learns of it.
        shows(&mut feed, Version(0)).await;
        let end = format!("SELECT ejob.end_session({}, -1)", session_of(&lost).0);
        tokio::task::spawn_blocking(move || server().query(&end)).await.unwrap().unwrap();
        let shown = async { while !matches!(feed.next().await, Some(Change::Gone { .. })) {} };
        let shown = tokio::time::timeout(Duration::from_secs(30), shown).await;
        shown.expect("the feed shows the deletion before the next poll");
    });
}

/// A job spawns a task for each of its commits. Two of them wait for the disk only once.
#[test]
fn commits_of_tasks_that_are_ready_share_a_call() {
    // Each task that sends a call wakes the center's task, which runs next on the same thread.
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let center = connect(options_for(server().address()).namespace(namespace())).await;
        let tree = Txn::new().create(path("/both/n"), "", Lifetime::Persistent);
        assert!(center.commit(tree).await.unwrap().is_committed());
        let before = logged("{\"both\"}").len();
        let put = |center: &Arc<PostgresCenter>| {
            let center = Arc::clone(center);
            tokio::spawn(async move { center.commit(Txn::new().put(path("/both/n"), "")).await })
        };
        let job = tokio::spawn(async move { [put(&center), put(&center)] });
        for commit in job.await.unwrap() {
            assert!(soon("a commit", commit).await.unwrap().unwrap().is_committed());
        }
        assert_eq!(logged("{\"both\"}").split_off(before), [COMMIT]);
    });
}

/// A commit that waits is executed before the feeds read the changes of the former one.
#[test]
fn commits_do_not_wait_for_feeds() {
    runtime().block_on(async {
        let options = options_for(server().address()).namespace(namespace());
        let center = connect(options.request_timeout(Duration::from_secs(5))).await;
        let mut feed = center.watch(&path("/job"));
        while soon("a snapshot", feed.next()).await != Some(Change::Ready) {}
        let create = Txn::new().create(path("/job/n"), "", Lifetime::Persistent);
        assert!(center.commit(create).await.unwrap().is_committed());
        shows(&mut feed, Version(0)).await;
        let before = logged("{\"job\"}").len();
        let lock = "BEGIN; SELECT 1 FROM ejob.tree WHERE name = 'job' FOR UPDATE; \
                    SELECT pg_sleep(600)";
        let holder = std::thread::spawn(move || server().query(lock));
        let holds = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
        let pid = number(holds).await;
        let first = tokio::spawn({
            let center = Arc::clone(&center);
            async move { center.commit(put()).await }
        });
        number(&format!(
            "SELECT pid FROM pg_stat_activity WHERE {pid} = ANY (pg_blocking_pids(pid))"
        ))
        .await;
        let mut second = std::pin::pin!(center.commit(put()));
        assert!(poll!(&mut second).is_pending(), "the first commit is still under way");
        let end = format!("SELECT pg_terminate_backend({pid})");
        tokio::task::spawn_blocking(move || server().query(&end)).await.unwrap().unwrap();
        holder.join().unwrap().expect_err("the transaction was ended");
        assert!(soon("the first commit", first).await.unwrap().unwrap().is_committed());
        assert!(soon("the second commit", second).await.unwrap().is_committed());
        shows(&mut feed, Version(2)).await;
        let log = logged("{\"job\"}").split_off(before);
        assert_eq!(log[..3], [COMMIT, COMMIT, NEWS], "{log:?}");
    });
}

/// Repeats a query until it returns a number.
async fn number(sql: &str) -> u32 {
    let found = async {
        loop {
            let sql = sql.to_owned();
            let row = tokio::task::spawn_blocking(move || server().query(&sql)).await;
            let row = row.expect("the query does not panic").expect("the query is valid");
            if let Ok(number) = row.parse() {
                return number;
            }
        }
    };
    soon("a row", found).await
}
