//! Compaction while a feed is cut off.

use etcd_fixture::Server;
use etcd_fixture::proxy::{Mode, Proxy};
use reg_center::{Change, Lifetime, RegistryCenter as _, SessionChange, Txn};

use super::{await_change, await_connected, bare_client, path, runtime, soon};
use crate::{EtcdCenter, EtcdOptions};

/// Starts a server for one test: a compaction disturbs other connections that are being opened.
fn server() -> Server {
    Server::start().expect("an etcd server is needed")
}

#[test]
fn a_feed_begins_again_if_its_changes_were_compacted() {
    let server = server();
    runtime().block_on(async {
        let proxy = Proxy::start(server.address()).await.unwrap();
        let through = EtcdOptions::new(proxy.address().to_string(), "/compaction");
        let reader = EtcdCenter::connect(through).await.unwrap();
        let direct = EtcdOptions::new(server.address().to_string(), "/compaction");
        let writer = EtcdCenter::connect(direct).await.unwrap();
        let mut changes = reader.session_feed();
        await_connected(&mut changes).await;
        let create = Txn::new().create(path("/n"), "0", Lifetime::Persistent);
        assert!(writer.commit(create).await.unwrap().is_committed());
        let mut feed = reader.watch(&path("/n"));
        let first = async { while feed.next().await != Some(Change::Ready) {} };
        soon("the first snapshot", first).await;

        proxy.set(Mode::Close).await.unwrap();
        let is_suspended = |change| matches!(change, SessionChange::Suspended { .. });
        await_change(&mut changes, "the cut is noticed", is_suspended).await;
        for round in 1..=20 {
            let put = Txn::new().put(path("/n"), round.to_string());
            assert!(writer.commit(put).await.unwrap().is_committed());
        }
        let newest = writer.read(&path("/n")).await.unwrap().unwrap();
        let revision = i64::try_from(newest.stat.modified.0).unwrap();
        bare_client(server.address()).await.compact(revision).await.unwrap();
        proxy.set(Mode::Pass).await.unwrap();

        let again = async {
            assert_eq!(feed.next().await, Some(Change::Init));
            assert_eq!(feed.next().await, Some(Change::Entry(newest)));
            assert_eq!(feed.next().await, Some(Change::Ready));
        };
        soon("a new snapshot closes the gap", again).await;
        let last = Txn::new().put(path("/n"), "last");
        assert!(writer.commit(last).await.unwrap().is_committed());
        let next = soon("a later change", feed.next()).await;
        assert!(matches!(next, Some(Change::Put(node)) if node.data == "last"));
    });
}

/// A watch whose begin was compacted is reported as a gap, not as an error.
#[test]
fn a_watch_of_compacted_revisions_ends_as_compacted() {
    let server = server();
    runtime().block_on(async {
        let direct = EtcdOptions::new(server.address().to_string(), "/compacted-watch");
        let center = EtcdCenter::connect(direct).await.unwrap();
        for round in 0..5 {
            let create = Txn::new().create(path(&format!("/{round}")), "", Lifetime::Persistent);
            assert!(center.commit(create).await.unwrap().is_committed());
        }
        let newest = center.read(&path("/4")).await.unwrap().unwrap().stat.modified;
        let revision = i64::try_from(newest.0).unwrap();
        bare_client(server.address()).await.compact(revision).await.unwrap();
        let link = center.link().expect("the center is connected");
        let (route, mut news) = tokio::sync::mpsc::unbounded_channel();
        link.watches.open(link.keys.subtree(&path("/")), revision - 3, route);
        let first = soon("the server answers the watch", news.recv()).await;
        let compacted =
            matches!(first, Some(crate::session::WatchNews::Canceled { compacted: true, .. }));
        assert!(compacted, "{first:?}");
        center.sync().await.expect("the connection is as before");
    });
}
