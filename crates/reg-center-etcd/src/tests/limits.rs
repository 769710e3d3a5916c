//! Limits of a server, found by asking.

use std::time::Duration;

use etcd_fixture::{Server, ServerOptions};
use reg_center::{Error, Lifetime, RegistryCenter as _, SessionChange, Txn};

use super::{path, runtime, server};
use crate::{ConnectError, EtcdCenter, EtcdOptions};

fn server_with(max_txn_ops: u32) -> Server {
    Server::start_with(&ServerOptions::default().max_txn_ops(max_txn_ops)).unwrap()
}

async fn connect(
    server: &Server,
    namespace: &str,
) -> Result<std::sync::Arc<EtcdCenter>, ConnectError> {
    EtcdCenter::connect(EtcdOptions::new(server.address().to_string(), namespace)).await
}

#[test]
fn the_limit_of_operations_is_that_of_the_server() {
    runtime().block_on(async {
        let rows = [(64, 36), (100, 72), (127, 99), (129, 101), (1_000, 972), (8_192, 5_000)];
        for (max_txn_ops, max_ops) in rows {
            let server = server_with(max_txn_ops);
            let center = connect(&server, "/limits").await.unwrap();
            assert_eq!(center.limits().max_ops, max_ops, "--max-txn-ops={max_txn_ops}");
            let txn = (0..max_ops).fold(Txn::new(), |txn, n| {
                txn.create(path(&format!("/{n}")), "", Lifetime::Persistent)
            });
            let outcome = center.commit(txn).await.unwrap();
            assert!(outcome.is_committed(), "--max-txn-ops={max_txn_ops}");
        }
        let default = connect(server(), "/limits").await.unwrap();
        assert_eq!(default.limits().max_ops, 100);
    });
}

#[test]
fn a_server_with_too_few_operations_is_refused() {
    runtime().block_on(async {
        let server = server_with(63);
        let error = connect(&server, "/limits").await.err();
        assert_eq!(error, Some(ConnectError::MaxTxnOps { limit: 63, needed: 64 }));
    });
}

#[test]
fn the_granted_timeout_is_reported_if_the_server_has_a_longer_floor() {
    runtime().block_on(async {
        let slow = ServerOptions::default()
            .flag("--election-timeout=4000")
            .flag("--heartbeat-interval=400");
        let slow = Server::start_with(&slow).unwrap();
        for (server, granted) in [(server(), 2), (&slow, 6)] {
            let options = EtcdOptions::new(server.address().to_string(), "/limits/timeout")
                .session_timeout(Duration::from_secs(2));
            let center = EtcdCenter::connect(options).await.unwrap();
            let Some(SessionChange::Connected { session, timeout }) = center.session() else {
                panic!("the center is connected: {center:?}")
            };
            assert_eq!(timeout, Duration::from_secs(granted));
            let lease = center.lease_remaining(session).unwrap();
            assert!(lease <= timeout * 2 / 3, "{lease:?}");
        }
    });
}

#[test]
fn writes_to_a_server_without_space_are_unknown_and_the_session_is_kept() {
    runtime().block_on(async {
        let small = ServerOptions::default().flag("--quota-backend-bytes=4194304");
        let small = Server::start_with(&small).unwrap();
        let center = connect(&small, "/limits/space").await.unwrap();
        let write = |n: usize| {
            let at = path(&format!("/{n}"));
            center.commit(Txn::new().create(at, vec![b'x'; 500_000], Lifetime::Persistent))
        };
        let mut written = 0;
        let error = loop {
            assert!(written < 100, "the quota is 4 MiB");
            match write(written).await {
                Ok(_) => written += 1,
                Err(error) => break error,
            }
        };
        // The write that exceeds the quota is executed, although the server has refused it.
        assert!(error.is_unknown(), "{error:?}");
        let names = center.children(&path("/")).await.unwrap().unwrap();
        assert!([written, written + 1].contains(&names.len()), "{written}: {names:?}");
        assert!(write(written + 1).await.is_err());
        assert_eq!(center.children(&path("/")).await.unwrap().unwrap(), names, "refused for good");
        let is_connected = matches!(center.session(), Some(SessionChange::Connected { .. }));
        assert!(is_connected, "{center:?}");
    });
}

/// The descendants of a child are skipped, and its siblings are not.
#[test]
fn children_are_listed_among_more_descendants_than_a_page_has() {
    runtime().block_on(async {
        let center = connect(server(), "/limits/children").await.unwrap();
        for folder in ["/list/a", "/list/b"] {
            for hundred in 0..11 {
                let txn = (0..100).fold(Txn::new(), |txn, n| {
                    let at = path(&format!("{folder}/{hundred}-{n}"));
                    txn.create(at, "", Lifetime::Persistent)
                });
                assert!(center.commit(txn).await.unwrap().is_committed());
            }
        }
        let others = ["/list/a-b", "/list/a0", "/list/ab", "/list/c/d"];
        let txn = others
            .iter()
            .fold(Txn::new(), |txn, at| txn.create(path(at), "", Lifetime::Persistent));
        assert!(center.commit(txn).await.unwrap().is_committed());
        let names = center.children(&path("/list")).await.unwrap().unwrap();
        assert_eq!(names, ["a", "a-b", "a0", "ab", "b", "c"]);
        let below = center.children(&path("/list/a")).await.unwrap().unwrap();
        assert_eq!(below.len(), 1_100);
    });
}

/// Each deletion needs two conditions, which would not fit.
#[test]
fn a_transaction_at_the_limit_deletes_as_many_nodes() {
    runtime().block_on(async {
        let center = connect(server(), "/limits/deletions").await.unwrap();
        let max_ops = center.limits().max_ops;
        let at = |n: usize| path(&format!("/job/{}/{n}", n % 3));
        let all = |op: fn(Txn, reg_center::NodePath) -> Txn| {
            (0..max_ops).fold(Txn::new(), |txn, n| op(txn, at(n)))
        };
        let create = all(|txn, at| txn.create(at, "", Lifetime::Persistent));
        assert!(center.commit(create).await.unwrap().is_committed());
        let child = Txn::new().create(path("/job/1/1/child"), "", Lifetime::Persistent);
        assert!(center.commit(child).await.unwrap().is_committed());
        let delete = || all(|txn, at| txn.delete(at));
        let conflict = center.commit(delete()).await.unwrap();
        assert!(!conflict.is_committed(), "one of them has a child");
        assert!(center.commit(Txn::new().delete(path("/job/1/1/child"))).await.is_ok());
        assert!(center.commit(delete()).await.unwrap().is_committed());
        for folder in ["/job/0", "/job/1", "/job/2"] {
            assert_eq!(center.children(&path(folder)).await.unwrap(), Some(vec![]), "{folder}");
        }
    });
}

#[test]
fn missing_parents_beyond_the_limit_are_reported_and_nothing_is_written() {
    runtime().block_on(async {
        let center = connect(server(), "/limits/parents").await.unwrap();
        let max_ops = center.limits().max_ops;
        let deep = (0..max_ops).fold(Txn::new(), |txn, n| {
            txn.create(path(&format!("/{n}/{n}")), "", Lifetime::Persistent)
        });
        let error = center.commit(deep).await.expect_err("each node has a missing parent");
        assert!(
            matches!(error, Error::TooLarge { unit: "operations", limit: 128, .. }),
            "{error:?}"
        );
        let many: String = std::iter::repeat_n('x', 3_900).collect();
        let long = (0..max_ops).fold(Txn::new(), |txn, n| {
            txn.create(path(&format!("/{n}-{many}")), vec![b'y'; 10_000], Lifetime::Persistent)
        });
        let error = center.commit(long).await.expect_err("each path is sent twice");
        assert!(matches!(error, Error::TooLarge { unit: "bytes", .. }), "{error:?}");
        assert_eq!(center.children(&path("/")).await.unwrap(), Some(vec![]));
        assert!(center.sync().await.is_ok(), "the connection is as before");
    });
}
