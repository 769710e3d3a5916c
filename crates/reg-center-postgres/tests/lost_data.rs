//! Registries whose data were restored or moved: no revision and no session is used twice.

use std::time::Duration;

use postgres_fixture::Server;
use postgres_fixture::proxy::{Mode, Proxy};
use reg_center::{Error, Lifetime, RegistryCenter as _, Revision, SessionChange, SessionFeed, Txn};
use reg_center_postgres::{Notify, PostgresCenter, PostgresOptions};

use crate::behind_proxies::{connect, options_for, path, runtime, server, session_of, soon};

const JOBS: &str = "restored_jobs";
const BACKUP: &str = "backup_of_jobs";

async fn query_in(database: &'static str, sql: impl Into<String>) -> String {
    let sql = sql.into();
    let run = tokio::task::spawn_blocking(move || server().query_in(database, &sql));
    run.await.expect("the query does not panic").expect("the query succeeds")
}

async fn query(sql: impl Into<String>) -> String {
    query_in("postgres", sql).await
}

fn put() -> Txn {
    Txn::new().put(path("/job/n"), "")
}

/// Commits as soon as the registry answers. Returns the revision.
async fn commit(center: &PostgresCenter, txn: Txn) -> Revision {
    let committed = async {
        loop {
            match center.commit(txn.clone()).await {
                Ok(reg_center::TxnOutcome::Committed(done)) => {
                    return done.revision.expect("it has written");
                }
                Ok(conflict) => panic!("{txn:?}: {conflict:?}"),
                Err(Error::Unavailable { .. }) => tokio::task::yield_now().await,
                Err(error) => panic!("{txn:?}: {error}"),
            }
        }
    };
    soon("the registry answers", committed).await
}

async fn await_change(changes: &mut SessionFeed, wanted: impl Fn(&SessionChange) -> bool) {
    let found = async { while !wanted(&changes.next().await.expect("the center is open")) {} };
    soon("the change of the session", found).await;
}

fn is_connected(change: &SessionChange) -> bool {
    matches!(change, SessionChange::Connected { .. })
}

/// Ends the connections to a database, so that it can be copied or removed.
async fn end_connections(database: &str) {
    let others = format!("FROM pg_stat_activity WHERE datname = '{database}'");
    query(format!("SELECT count(pg_terminate_backend(pid)) {others}")).await;
    let ended = async { while query(format!("SELECT count(*) {others}")).await != "0" {} };
    soon("the connections end", ended).await;
}

/// A database that was restored into the same server has the same identity and timeline. Its rows
/// do not show that it is behind, but the programs know revisions that it has not given yet.
#[test]
fn a_center_refuses_a_restored_registry_until_a_new_epoch_begins() {
    runtime().block_on(async {
        query(format!("CREATE DATABASE {JOBS}")).await;
        let proxy = Proxy::start(server().address()).await.unwrap();
        let address = proxy.address();
        let options = PostgresOptions::new(address.ip().to_string(), address.port(), JOBS)
            .user("postgres")
            .notify(Notify::Off)
            .session_timeout(Duration::from_secs(60));
        let center = connect(options).await;
        let old = session_of(&center);
        commit(&center, Txn::new().create(path("/job/n"), "", Lifetime::Persistent)).await;
        commit(&center, Txn::new().create(path("/job/mine"), "", Lifetime::Ephemeral)).await;
        let mut changes = center.session_feed();

        proxy.set(Mode::Close).await.unwrap();
        end_connections(JOBS).await;
        query(format!("CREATE DATABASE {BACKUP} TEMPLATE {JOBS}")).await;
        proxy.set(Mode::Pass).await.unwrap();
        await_change(&mut changes, |change| matches!(change, SessionChange::Suspended { .. }))
            .await;
        await_change(&mut changes, is_connected).await;
        assert_eq!(session_of(&center), old, "a broken connection alone ends no session");
        let newest = commit(&center, put()).await;

        proxy.set(Mode::Close).await.unwrap();
        end_connections(JOBS).await;
        query(format!("DROP DATABASE {JOBS}")).await;
        query(format!("ALTER DATABASE {BACKUP} RENAME TO {JOBS}")).await;
        let n_connections = proxy.counters().accepted();
        proxy.set(Mode::Pass).await.unwrap();
        // The second connection shows that the first one was given up.
        proxy.wait_for_connections(n_connections + 2, Duration::from_secs(60)).await.unwrap();
        assert_eq!(center.session(), Some(SessionChange::Suspended { session: old }));
        let refused = center.commit(put()).await;
        assert_eq!(refused, Err(Error::Unavailable { call: "commit" }));
        let session = "SELECT beat, incarnation FROM ejob.session";
        assert_eq!(query_in(JOBS, session).await, "0|0", "a refused center keeps no session alive");

        query_in(JOBS, "SELECT ejob.begin_epoch()").await;
        await_change(&mut changes, |change| *change == SessionChange::Lost { session: old }).await;
        await_change(&mut changes, is_connected).await;
        assert!(session_of(&center).0 > old.0);
        let revision = commit(&center, put()).await;
        assert!(revision > newest, "{revision} after {newest}");
        assert_eq!(center.read(&path("/job/mine")).await.unwrap(), None);
    });
}

/// A center that stays connected while the data are replaced notices it as well.
#[test]
fn a_connected_center_notices_that_revisions_began_anew() {
    runtime().block_on(async {
        let server = Server::start().unwrap();
        let options = options_for(server.address()).session_timeout(Duration::from_secs(2));
        let center = connect(options.notify(Notify::Off)).await;
        commit(&center, Txn::new().create(path("/job/n"), "", Lifetime::Persistent)).await;
        commit(&center, put()).await;
        let mut changes = center.session_feed();
        server.query("SELECT setval('ejob.last_revision', 1)").unwrap();
        // The next beat comes within half a second.
        await_change(&mut changes, |change| matches!(change, SessionChange::Suspended { .. }))
            .await;
        server.query("SELECT ejob.begin_epoch(41)").unwrap();
        await_change(&mut changes, |change| matches!(change, SessionChange::Lost { .. })).await;
        await_change(&mut changes, is_connected).await;
        let revision = commit(&center, put()).await;
        assert_eq!(revision.0 >> 40, 42);
    });
}

/// After a move the rows name the former server.
#[test]
fn sessions_end_on_another_server() {
    runtime().block_on(async {
        let server = Server::start().unwrap();
        let options = options_for(server.address()).session_timeout(Duration::from_secs(60));
        let (idle, busy) = (connect(options.clone()).await, connect(options).await);
        commit(&busy, Txn::new().create(path("/job/n"), "", Lifetime::Persistent)).await;
        let (mut idle_changes, mut busy_changes) = (idle.session_feed(), busy.session_feed());
        let (idle_session, busy_session) = (session_of(&idle), session_of(&busy));
        server
            .query("UPDATE ejob.namespace SET system = 1; UPDATE ejob.session SET system = 1")
            .unwrap();
        let bound = put().in_session(busy_session);
        let lost = Err(Error::SessionLost { session: busy_session });
        assert_eq!(busy.commit(bound).await, lost, "a commit compares the server");
        let is_lost = |session| move |change: &_| *change == SessionChange::Lost { session };
        await_change(&mut busy_changes, is_lost(busy_session)).await;
        await_change(&mut busy_changes, is_connected).await;
        // The other session was ended with the former epoch.
        await_change(&mut idle_changes, is_lost(idle_session)).await;
        assert_eq!(commit(&busy, put()).await.0 >> 40, 1, "the epoch of the revision");
    });
}

/// The first program that connects creates the schema again. It has no revision of the former one.
#[test]
fn a_center_refuses_a_schema_that_was_created_again_until_a_new_epoch_begins() {
    runtime().block_on(async {
        let proxy = Proxy::start(server().address()).await.unwrap();
        let options = options_for(proxy.address()).schema("created_again");
        let center = connect(options.notify(Notify::Off)).await;
        let lost = SessionChange::Lost { session: session_of(&center) };
        commit(&center, Txn::new().create(path("/job/n"), "", Lifetime::Persistent)).await;
        let newest = commit(&center, put()).await;
        let mut changes = center.session_feed();
        query("DROP SCHEMA created_again CASCADE").await;
        await_change(&mut changes, |change| *change == lost).await;
        let created = "SELECT count(*) FROM pg_tables WHERE schemaname = 'created_again'";
        let is_created = async { while query(created).await == "0" {} };
        soon("the schema is created again", is_created).await;
        let n_connections = proxy.counters().accepted();
        // The second connection shows that the first one was given up.
        proxy.wait_for_connections(n_connections + 2, Duration::from_secs(60)).await.unwrap();
        assert_eq!(center.session(), Some(lost));
        query("SELECT created_again.begin_epoch()").await;
        await_change(&mut changes, is_connected).await;
        let create = Txn::new().create(path("/job/n"), "", Lifetime::Persistent);
        let revision = commit(&center, create).await;
        assert!(revision > newest, "{revision} after {newest}");
    });
}
