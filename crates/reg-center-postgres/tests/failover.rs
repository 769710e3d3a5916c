//! Promotion of a synchronous standby.

use std::sync::Arc;
use std::time::Duration;

use postgres_fixture::Server;
use postgres_fixture::proxy::Proxy;
use reg_center::{
    Change, Error, Lifetime, Node, RegistryCenter as _, Revision, SessionChange, SessionFeed, Txn,
    Version,
};
use reg_center_postgres::{OpenError, PostgresCenter};

use crate::behind_proxies::{connect, options_for, path, runtime, session_of, soon};

fn create(at: &str, lifetime: Lifetime) -> Txn {
    Txn::new().create(path(at), "", lifetime)
}

async fn await_change(
    changes: &mut SessionFeed,
    what: &str,
    wanted: impl Fn(&SessionChange) -> bool,
) -> SessionChange {
    let found = async {
        loop {
            let change = changes.next().await.expect("the center is open");
            if wanted(&change) {
                return change;
            }
        }
    };
    soon(what, found).await
}

/// Reads a feed until it shows that a node is gone, in a change or by a new snapshot.
async fn await_gone(feed: &mut reg_center::Feed, at: &str) {
    let gone = async {
        let mut is_in_snapshot = false;
        loop {
            match feed.next().await.expect("the feed is open") {
                Change::Init => is_in_snapshot = false,
                Change::Entry(node) => is_in_snapshot |= node.path == path(at),
                Change::Ready if !is_in_snapshot => return,
                Change::Gone { path: gone, .. } if gone == path(at) => return,
                Change::Ready | Change::Put(_) | Change::Gone { .. } => {}
            }
        }
    };
    soon("the node goes", gone).await;
}

/// Returns the node as soon as the registry answers.
async fn read(center: &PostgresCenter, at: &str) -> Option<Node> {
    let answer = async {
        loop {
            match center.read(&path(at)).await {
                Ok(node) => return node,
                Err(Error::Unavailable { .. }) => tokio::task::yield_now().await,
                Err(error) => panic!("{error}"),
            }
        }
    };
    soon("the registry answers", answer).await
}

async fn put(center: &PostgresCenter) -> Option<Revision> {
    match center.commit(Txn::new().put(path("/job/n"), "")).await {
        Ok(reg_center::TxnOutcome::Committed(committed)) => committed.revision,
        Ok(conflict) => panic!("{conflict:?}"),
        Err(Error::Unknown { .. } | Error::Unavailable { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_promotion_loses_the_sessions_and_neither_a_commit_nor_the_order() {
    let mut primary = Server::start().unwrap();
    runtime().block_on(async {
        let proxy = Proxy::start(primary.address()).await.unwrap();
        let options = options_for(proxy.address()).session_timeout(Duration::from_secs(60));
        let (center, other) = (connect(options.clone()).await, connect(options.clone()).await);
        let standby = primary.start_synchronous_standby().unwrap();
        let refused = PostgresCenter::connect(options_for(standby.address())).await;
        assert!(matches!(refused, Err(OpenError::Standby { .. })), "{refused:?}");

        let old = session_of(&center);
        for txn in
            [create("/job/n", Lifetime::Persistent), create("/job/mine", Lifetime::Ephemeral)]
        {
            assert!(center.commit(txn).await.unwrap().is_committed());
        }
        let mut feed = other.watch(&path("/job"));
        let mut changes = center.session_feed();
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let writing = {
            let center = Arc::clone(&center);
            tokio::spawn(async move {
                let (mut answered, mut open, mut last) = (0, 0, Revision(0));
                while !*stopped.borrow() {
                    match put(&center).await {
                        Some(revision) => {
                            assert!(revision > last, "{revision} after {last}");
                            (answered, last) = (answered + 1, revision);
                        }
                        None => {
                            open += 1;
                            tokio::task::yield_now().await;
                        }
                    }
                }
                (answered, open, last)
            })
        };
        let busy =
            async { while read(&other, "/job/n").await.unwrap().stat.version < Version(50) {} };
        soon("the writer has written", busy).await;
        primary.kill().unwrap();
        standby.promote().unwrap();
        proxy.redirect(standby.address());

        await_change(&mut changes, "the session is lost", |change| {
            *change == SessionChange::Lost { session: old }
        })
        .await;
        await_change(
            &mut changes,
            "another session",
            |change| matches!(change, SessionChange::Connected { session, .. } if *session != old),
        )
        .await;
        await_gone(&mut feed, "/job/mine").await;
        let before = read(&center, "/job/n").await.unwrap().stat;
        let more = async {
            let wanted = Version(before.version.0 + 20);
            while read(&other, "/job/n").await.unwrap().stat.version < wanted {}
        };
        soon("the writer continues", more).await;
        stop.send(true).unwrap();
        let (answered, open, last) = writing.await.unwrap();
        let found = read(&other, "/job/n").await.unwrap().stat;
        let possible = Version(answered)..=Version(answered + open);
        assert!(possible.contains(&found.version), "{found:?}, expected {possible:?}");
        assert!(found.modified >= last);
        assert!(last.0 >> 40 > 0, "{last} has the epoch of the promotion");
        let bound = create("/job/late", Lifetime::Persistent).in_session(old);
        assert_eq!(center.commit(bound).await, Err(Error::SessionLost { session: old }));
    });
}
