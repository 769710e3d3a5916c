//! Sessions and feeds under load: many calls at once, many feeds.

use std::sync::Arc;
use std::time::Duration;

use postgres_fixture::proxy::{Cut, Mode, Proxy};
use reg_center::{Change, Feed, Lifetime, RegistryCenter as _, Txn, Version};
use reg_center_postgres::Notify;

use crate::behind_proxies::{connect, options_for, path, runtime, server, session_of, soon};

/// Reads a feed until the end of its next snapshot.
async fn await_snapshot(feed: &mut Feed) {
    while feed.next().await.expect("the feed is open") != Change::Ready {}
}

/// Runs a query until it returns at least this number.
async fn await_number(sql: &str, least: u64) {
    let reached = async {
        loop {
            let query = sql.to_owned();
            let row = tokio::task::spawn_blocking(move || server().query(&query)).await;
            let row = row.expect("the query does not panic").expect("the query is valid");
            if row.parse::<u64>().expect("the query returns a number") >= least {
                return;
            }
        }
    };
    soon(sql, reached).await;
}

/// Callers that send the next call with each answer must not take the time of beats and feeds.
#[test]
fn calls_do_not_hold_up_beats_and_feeds() {
    const CALLERS: usize = 8;
    runtime().block_on(async {
        let options = || options_for(server().address()).namespace("busy").notify(Notify::Off);
        let busy = connect(options().session_timeout(Duration::from_secs(4))).await;
        // It would end the session of the busy center.
        let other = connect(options().session_timeout(Duration::from_secs(60))).await;
        let create = Txn::new().create(path("/job/n"), "", Lifetime::Persistent);
        assert!(other.commit(create).await.unwrap().is_committed());
        let mut feed = busy.watch(&path("/job"));
        soon("the snapshot", await_snapshot(&mut feed)).await;
        let session = session_of(&busy);
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| {
                let busy = Arc::clone(&busy);
                tokio::spawn(async move { while busy.read(&path("/job/n")).await.is_ok() {} })
            })
            .collect();
        assert!(other.commit(Txn::new().put(path("/job/n"), "")).await.unwrap().is_committed());
        let changed = async {
            while !matches!(feed.next().await, Some(Change::Put(n)) if n.stat.version == Version(1))
            {
            }
        };
        soon("the feed shows the change", changed).await;
        // Three beats are three quarters of the timeout.
        let beats = format!("SELECT beat FROM ejob.session WHERE id = {}", session.0);
        await_number(&beats, 4).await;
        assert_eq!(session_of(&busy), session);
        assert!(callers.iter().all(|caller| !caller.is_finished()), "all reads were answered");
        callers.iter().for_each(|caller| caller.abort());
    });
}

/// The snapshots of all feeds together take longer than the session timeout if each one is a
/// request of its own.
#[test]
fn a_center_with_many_feeds_keeps_its_session_across_a_reconnect() {
    const FEEDS: usize = 400;
    /// Each request takes two delays.
    const DELAY: Duration = Duration::from_millis(15);
    runtime().block_on(async {
        let proxy = Proxy::start(server().address()).await.unwrap();
        let options = |address| options_for(address).namespace("many-feeds").notify(Notify::Off);
        let center =
            connect(options(proxy.address()).session_timeout(Duration::from_secs(4))).await;
        // It would end the session of the center.
        let other =
            connect(options(server().address()).session_timeout(Duration::from_secs(60))).await;
        let jobs: Vec<_> = (0..FEEDS).map(|n| path(&format!("/job-{n}/config"))).collect();
        let create = |txn: Txn, job: &_| {
            Txn::create(txn, reg_center::NodePath::clone(job), "", Lifetime::Persistent)
        };
        let create = jobs.iter().fold(Txn::new(), create);
        assert!(other.commit(create).await.unwrap().is_committed());
        let session = session_of(&center);
        proxy.set(Mode::Delay(DELAY)).await.unwrap();
        let mut feeds: Vec<Feed> =
            jobs.iter().map(|job| center.watch(&job.parent().unwrap())).collect();
        for feed in &mut feeds {
            soon("the first snapshot", await_snapshot(feed)).await;
        }
        proxy.kick(Cut::Reset).await.unwrap();
        for feed in &mut feeds {
            soon("the snapshot after the reconnect", await_snapshot(feed)).await;
        }
        assert_eq!(session_of(&center), session);
        // No feed is missing among those that get changes.
        let put = jobs.iter().fold(Txn::new(), |txn, job| txn.put(job.clone(), ""));
        assert!(other.commit(put).await.unwrap().is_committed());
        for (feed, job) in feeds.iter_mut().zip(&jobs) {
            let change = soon("the change", feed.next()).await;
            assert!(matches!(&change, Some(Change::Put(node)) if node.path == *job), "{change:?}");
        }
    });
}
