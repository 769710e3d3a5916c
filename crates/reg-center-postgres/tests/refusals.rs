//! Statements that the server refuses: they fail alone, and the session goes on.

use std::sync::Arc;
use std::time::Duration;

use postgres_fixture::proxy::{Mode, Proxy};
use reg_center::{
    Change, Error, Lifetime, NodePath, RegistryCenter as _, SessionChange, SessionFeed, Txn,
};
use reg_center_postgres::{Notify, PostgresCenter, PostgresOptions};

use crate::behind_proxies::{
    connect, namespace, options_for, path, runtime, server, session_of, soon,
};
use crate::server_faults::{Holder, wait_for_row};

async fn query(sql: &'static str) -> String {
    let run = tokio::task::spawn_blocking(move || server().query(sql));
    run.await.expect("the query does not panic").expect("the query succeeds")
}

fn create(at: &str) -> Txn {
    Txn::new().create(path(at), "", Lifetime::Persistent)
}

fn options(schema: &str) -> PostgresOptions {
    options_for(server().address()).schema(schema).session_timeout(Duration::from_secs(4))
}

/// Closes a center whose session has not changed since `changes` has shown it.
async fn closes_in_its_session(center: Arc<PostgresCenter>, mut changes: SessionFeed) {
    center.close().await.expect("the registry answers");
    let rest = soon("the end", changes.next()).await;
    assert_eq!(rest, Some(SessionChange::Closed), "no other change of the session");
}

/// The transactions of several jobs are one call. The refused one must not fail the others.
#[test]
fn a_refused_transaction_fails_alone() {
    runtime().block_on(async {
        let center = connect(options("refused")).await;
        let mut changes = center.session_feed();
        changes.next().await;
        query("ALTER TABLE refused.node ADD CONSTRAINT good CHECK (name <> 'bad')").await;
        let center_ref = &center;
        let commits = ["/a/n", "/bad/n", "/b/n", "/c/bad", "/d/n"]
            .map(|at| async move { (at, at.contains("bad"), center_ref.commit(create(at)).await) });
        let commits = futures_util::future::join_all(commits);
        for (at, is_bad, outcome) in soon("all answers", commits).await {
            match outcome {
                Ok(outcome) => assert!(outcome.is_committed() && !is_bad, "{at}: {outcome:?}"),
                Err(Error::Rejected { call: "commit", cause }) => {
                    assert!(is_bad && cause.contains("check constraint \"good\""), "{at}: {cause}");
                }
                Err(error) => panic!("{at}: {error}"),
            }
        }
        let jobs = center.children(&NodePath::root()).await.unwrap().unwrap();
        assert_eq!(jobs, ["a", "b", "d"]);
        closes_in_its_session(center, changes).await;
    });
}

#[test]
fn a_missing_right_is_not_authorized_and_leaves_the_session() {
    runtime().block_on(async {
        PostgresCenter::create_schema(options("rights")).await.unwrap();
        query(
            "CREATE ROLE restricted LOGIN; GRANT USAGE ON SCHEMA rights TO restricted; \
             GRANT SELECT ON ALL TABLES IN SCHEMA rights TO restricted; \
             GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA rights TO restricted",
        )
        .await;
        let center = connect(options("rights").user("restricted")).await;
        assert!(center.commit(create("/job/n")).await.unwrap().is_committed());
        let mut changes = center.session_feed();
        changes.next().await;
        let commit_all = "SELECT format('REVOKE EXECUTE ON FUNCTION %s FROM restricted', oid::regprocedure) \
                          FROM pg_proc WHERE proname = 'commit_all' AND pronamespace = 'rights'::regnamespace";
        let revoke = query(commit_all).await;
        tokio::task::spawn_blocking(move || server().query(&revoke)).await.unwrap().unwrap();
        let refused = center.commit(create("/other/n")).await;
        assert_eq!(refused, Err(Error::NotAuthorized { path: path("/other/n") }));
        assert!(center.read(&path("/job/n")).await.unwrap().is_some());
        query("REVOKE SELECT ON rights.node FROM restricted").await;
        let refused = center.read(&path("/job/n")).await;
        assert_eq!(refused, Err(Error::NotAuthorized { path: path("/job/n") }));
        let refused = center.children(&path("/job")).await;
        assert_eq!(refused, Err(Error::NotAuthorized { path: path("/job") }));
        closes_in_its_session(center, changes).await;
    });
}

/// The server has committed, but the center cannot read the answer: the outcome is that of the
/// commit, not "not executed".
#[test]
fn a_commit_whose_answer_cannot_be_read_is_looked_up() {
    runtime().block_on(async {
        let center = connect(options("unreadable")).await;
        assert!(center.commit(create("/job/n")).await.unwrap().is_committed());
        let session = session_of(&center);
        query("UPDATE unreadable.node SET created = -1 WHERE name = 'n'").await;
        let outcome = center.commit(Txn::new().put(path("/job/n"), "new")).await;
        assert!(outcome.as_ref().is_ok_and(|outcome| outcome.is_committed()), "{outcome:?}");
        assert_eq!(session_of(&center), session);
        let stored =
            "SELECT version, convert_from(data, 'UTF8') FROM unreadable.node WHERE name = 'n'";
        assert_eq!(query(stored).await, "1|new");
    });
}

/// The removal of old changes fails, and the session goes on.
#[test]
fn failed_removal_of_old_changes_leaves_the_session() {
    runtime().block_on(async {
        let options = options("kept").session_timeout(Duration::from_secs(1)).notify(Notify::Off);
        let center = connect(options).await;
        assert!(center.commit(create("/job/n")).await.unwrap().is_committed());
        let mut changes = center.session_feed();
        changes.next().await;
        query(
            "CREATE FUNCTION kept.refuse() RETURNS trigger LANGUAGE plpgsql \
             AS 'BEGIN PERFORM nextval(''kept.attempts''); RAISE ''stay''; END'; \
             CREATE SEQUENCE kept.attempts; \
             CREATE TRIGGER refuse BEFORE DELETE ON kept.change \
             FOR EACH ROW EXECUTE FUNCTION kept.refuse(); \
             INSERT INTO kept.change SELECT id, 0, '/job', 'n' FROM kept.tree, generate_series(1, 20000) \
             WHERE name = 'job'; \
             UPDATE kept.tree SET n_changes = 20001 WHERE name = 'job'",
        )
        .await;
        let attempts =
            async { while query("SELECT last_value FROM kept.attempts").await != "3" {} };
        soon("three attempts", attempts).await;
        assert_eq!(query("SELECT count(*) FROM kept.change WHERE revision = 0").await, "20000");
        let mut feed = center.watch(&path("/job"));
        assert_eq!(soon("a snapshot", feed.next()).await, Some(Change::Init));
        query("DROP TRIGGER refuse ON kept.change").await;
        let removed = async {
            while query("SELECT count(*) FROM kept.change WHERE revision = 0").await != "0" {}
        };
        soon("the changes are removed", removed).await;
        assert_eq!(query("SELECT n_changes, forgotten FROM kept.tree WHERE name = 'job'").await, "10000|0");
        closes_in_its_session(center, changes).await;
    });
}

/// Another program holds the nodes of a dead session. The centers that try to end the session keep
/// their own.
#[test]
fn a_dead_session_that_cannot_be_ended_leaves_other_sessions() {
    runtime().block_on(async {
        let name = namespace();
        let options = |address| options_for(address).namespace(&name).notify(Notify::Off);
        let proxy = Proxy::start(server().address()).await.unwrap();
        let dying =
            connect(options(proxy.address()).session_timeout(Duration::from_secs(1))).await;
        let mine = Txn::new().create(path("/job/mine"), "", Lifetime::Ephemeral);
        assert!(dying.commit(mine).await.unwrap().is_committed());
        let other = options(server().address()).request_timeout(Duration::from_millis(500));
        let other = connect(other).await;
        let mut changes = other.session_feed();
        changes.next().await;
        let holder = Holder::start(&name).await;
        proxy.set(Mode::Close).await.unwrap();
        // Two attempts, each of which gives up by itself.
        let attempt = format!(
            "SELECT (extract(epoch FROM query_start) * 1000)::bigint % 1000000000 FROM pg_stat_activity \
             WHERE query LIKE '%end_session%' AND {} = ANY (pg_blocking_pids(pid))",
            holder.pid
        );
        let first = wait_for_row(attempt.clone()).await;
        let second = async { while wait_for_row(attempt.clone()).await == first {} };
        soon("a second attempt", second).await;
        holder.release().await;
        let ended = async { while other.read(&path("/job/mine")).await.unwrap().is_some() {} };
        soon("the session is ended", ended).await;
        closes_in_its_session(other, changes).await;
    });
}
