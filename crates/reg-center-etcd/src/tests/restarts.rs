//! A server that is killed and restarted, paused, or replaced.

use std::sync::Arc;
use std::time::Duration;

use etcd_fixture::Server;
use reg_center::{Change, Error, Feed, Lifetime, RegistryCenter, SessionChange, Txn, TxnOutcome};

use super::{LIMIT, await_change, await_connected, path, runtime, soon};
use crate::{EtcdCenter, EtcdOptions};

fn options(server: &Server) -> EtcdOptions {
    // Longer than a restart takes on a busy machine.
    EtcdOptions::new(server.address().to_string(), "/restarts")
        .session_timeout(Duration::from_secs(20))
}

async fn connect(server: &Server) -> Arc<EtcdCenter> {
    EtcdCenter::connect(options(server)).await.expect("the server is there")
}

fn create(at: &str, lifetime: Lifetime) -> Txn {
    Txn::new().create(path(at), "", lifetime)
}

/// Reads the feed until it has delivered a node.
async fn await_node(feed: &mut Feed, at: &str) {
    let wanted = path(at);
    let found = async {
        loop {
            let change = feed.next().await.expect("the feed is open");
            if let Change::Put(node) | Change::Entry(node) = change
                && node.path == wanted
            {
                return;
            }
        }
    };
    soon(&format!("the feed delivers {at}"), found).await;
}

#[test]
fn an_acknowledged_write_and_the_session_survive_a_killed_server() {
    let mut server = Server::start().unwrap();
    runtime().block_on(async {
        let center = connect(&server).await;
        let mut changes = center.session_feed();
        let session = await_connected(&mut changes).await;
        let mut feed = center.watch(&path("/"));
        for round in 0..3 {
            let (kept, mine) = (format!("/kept/{round}"), format!("/mine/{round}"));
            for txn in [create(&kept, Lifetime::Persistent), create(&mine, Lifetime::Ephemeral)] {
                assert!(center.commit(txn).await.unwrap().is_committed());
            }
            await_node(&mut feed, &mine).await;
            server.kill().unwrap();
            let is_suspended = |change| matches!(change, SessionChange::Suspended { .. });
            await_change(&mut changes, "the loss is noticed", is_suspended).await;
            let refused = center.commit(create("/never", Lifetime::Persistent)).await;
            assert_eq!(refused, Err(Error::Unavailable { call: "commit" }));
            server.restart().unwrap();
            assert_eq!(await_connected(&mut changes).await, session, "the lease is kept");
            for at in [&kept, &mine] {
                assert!(center.read(&path(at)).await.unwrap().is_some(), "{at} is kept");
            }
            let after = format!("/after/{round}");
            assert!(center.commit(create(&after, Lifetime::Persistent)).await.is_ok());
            await_node(&mut feed, &after).await;
        }
        assert_eq!(center.read(&path("/never")).await.unwrap(), None);
        center.close().await.unwrap();
    });
}

/// Writes until the server is killed. Each answer is compared with what the restarted server has.
#[test]
fn a_killed_server_leaves_each_write_whole_and_keeps_the_acknowledged_ones() {
    let mut server = Server::start().unwrap();
    runtime().block_on(async {
        let center = connect(&server).await;
        let mut changes = center.session_feed();
        await_connected(&mut changes).await;
        let pair = |n: usize| {
            create(&format!("/{n}/a"), Lifetime::Persistent).create(
                path(&format!("/{n}/b")),
                "",
                Lifetime::Persistent,
            )
        };
        let writer = Arc::clone(&center);
        let writing = tokio::spawn(async move {
            let mut answers: Vec<Result<TxnOutcome, Error>> = Vec::new();
            while answers.last().is_none_or(Result::is_ok) {
                answers.push(writer.commit(pair(answers.len())).await);
            }
            answers
        });
        // The server is killed while writes are answered.
        let first = async {
            while center.read(&path("/20/a")).await.unwrap().is_none() {
                tokio::task::yield_now().await;
            }
        };
        soon("some writes are answered", first).await;
        server.kill().unwrap();
        let answers = soon("the writer notices", writing).await.unwrap();
        server.restart().unwrap();
        await_connected(&mut changes).await;
        // This write fences the earlier ones.
        assert!(center.commit(create("/fence", Lifetime::Persistent)).await.is_ok());
        for (n, answer) in answers.iter().enumerate() {
            let paths = ["a", "b"].map(|name| path(&format!("/{n}/{name}")));
            let nodes = center.read_all(&paths).await.unwrap();
            let found = nodes[0].is_some();
            assert_eq!(found, nodes[1].is_some(), "write {n} is whole");
            match answer {
                Ok(_) => assert!(found, "write {n} was acknowledged"),
                Err(Error::Unknown { .. }) => {}
                Err(error) => assert!(!found, "write {n} was not sent: {error}"),
            }
        }
        assert!(answers.len() > 20, "{}", answers.len());
    });
}

#[test]
fn a_paused_server_suspends_the_session_and_no_outcome_changes_after_a_later_write() {
    let server = Server::start().unwrap();
    runtime().block_on(async {
        let quick = options(&server).session_timeout(Duration::from_secs(8));
        let center = EtcdCenter::connect(quick).await.unwrap();
        let mut changes = center.session_feed();
        await_connected(&mut changes).await;
        server.pause().unwrap();
        let late = center.commit(create("/late", Lifetime::Persistent));
        let late = soon("a call ends", late).await;
        let error = late.expect_err("the server does not answer");
        assert!(error.is_retryable(), "{error:?}");
        server.resume().unwrap();
        await_connected(&mut changes).await;
        assert!(center.commit(create("/later", Lifetime::Persistent)).await.is_ok());
        let found = center.read(&path("/late")).await.unwrap();
        for round in 0..20 {
            let other = create(&format!("/other/{round}"), Lifetime::Persistent);
            assert!(center.commit(other).await.is_ok());
        }
        assert_eq!(center.read(&path("/late")).await.unwrap(), found, "the outcome is final");
    });
}

#[test]
fn a_registry_without_its_data_is_refused_until_the_process_restarts() {
    let mut server = Server::start().unwrap();
    runtime().block_on(async {
        let center = connect(&server).await;
        let mut changes = center.session_feed();
        await_connected(&mut changes).await;
        assert!(center.commit(create("/n", Lifetime::Persistent)).await.is_ok());
        server.stop().unwrap();
        server.forget_data().unwrap();
        server.restart().unwrap();
        let is_suspended = |change| matches!(change, SessionChange::Suspended { .. });
        await_change(&mut changes, "the loss is noticed", is_suspended).await;
        // Another center accepts the new data, and this one has tried meanwhile.
        let other = soon("another center connects", connect(&server)).await;
        let tries = tokio::time::timeout(Duration::from_secs(3), changes.next()).await;
        assert!(tries.is_err(), "the center stays suspended: {tries:?}");
        let read = center.read(&path("/n")).await;
        assert_eq!(read, Err(Error::Unavailable { call: "read" }), "absence would be wrong");
        other.close().await.unwrap();
        let closed = soon("the center closes", center.close()).await;
        assert!(closed.is_err(), "its session is unknown there");
    });
}

#[test]
fn a_server_that_is_not_there_is_named_within_the_connect_timeout() {
    let mut server = Server::start().unwrap();
    server.stop().unwrap();
    runtime().block_on(async {
        let options = options(&server).connect_timeout(Duration::from_millis(300));
        let error = tokio::time::timeout(LIMIT, EtcdCenter::connect(options)).await.unwrap();
        let error = error.expect_err("no server listens").to_string();
        assert!(error.starts_with("no connection to etcd within the connect timeout: 127."));
        assert!(error.contains("Connection refused"), "{error}");
    });
}
