//! The loss of a leader in a cluster of three servers.

use std::time::Duration;

use etcd_fixture::Cluster;
use reg_center::{Change, Lifetime, RegistryCenter as _, Txn, TxnOutcome, Version};

use super::{LIMIT, await_connected, path, runtime, soon};
use crate::{EtcdCenter, EtcdOptions};

#[test]
fn a_center_continues_after_the_loss_of_each_leader_and_counts_no_write_twice() {
    let mut cluster = Cluster::start(3).unwrap();
    runtime().block_on(async {
        let addresses: Vec<_> = cluster.addresses().iter().map(ToString::to_string).collect();
        let options = EtcdOptions::new(addresses.join(","), "/leaders")
            .session_timeout(Duration::from_secs(20));
        let center = EtcdCenter::connect(options).await.unwrap();
        let mut changes = center.session_feed();
        let session = await_connected(&mut changes).await;
        let create = Txn::new().create(path("/n"), "0", Lifetime::Persistent).create(
            path("/mine"),
            "",
            Lifetime::Ephemeral,
        );
        assert!(center.commit(create).await.unwrap().is_committed());
        let mut feed = center.watch(&path("/n"));
        let mut known = Version(0);
        for round in 0..3 {
            let leader = cluster.wait_for_leader(LIMIT).unwrap();
            cluster.server_mut(leader).kill().unwrap();
            // Each write names the version before it, so that a late one cannot come twice.
            let write = async {
                loop {
                    let put = Txn::new().in_session(session).put_if(path("/n"), known, "x");
                    match center.commit(put).await {
                        Ok(TxnOutcome::Committed(_)) => return known.next(),
                        Ok(TxnOutcome::Conflict(_)) => {
                            let node = center.read(&path("/n")).await;
                            if let Ok(Some(node)) = node {
                                let version = node.stat.version;
                                assert_eq!(version, known.next(), "round {round}: one write");
                                return version;
                            }
                        }
                        Err(error) => assert!(error.is_retryable(), "round {round}: {error}"),
                    }
                    tokio::task::yield_now().await;
                }
            };
            known = soon("a write is answered", write).await;
            let delivered = async {
                loop {
                    let change = feed.next().await.expect("the feed is open");
                    if let Change::Put(node) | Change::Entry(node) = change
                        && node.stat.version == known
                    {
                        return;
                    }
                }
            };
            soon("the feed delivers the write", delivered).await;
            cluster.launch_missing().unwrap();
        }
        assert_eq!(known, Version(3));
        assert!(center.read(&path("/mine")).await.unwrap().is_some(), "the session is kept");
        center.close().await.unwrap();
    });
}

#[test]
fn without_a_majority_no_call_is_answered_and_the_session_is_suspended() {
    let mut cluster = Cluster::start(3).unwrap();
    runtime().block_on(async {
        let addresses: Vec<_> = cluster.addresses().iter().map(ToString::to_string).collect();
        let options = EtcdOptions::new(addresses.join(","), "/majority")
            .session_timeout(Duration::from_secs(20));
        let center = EtcdCenter::connect(options).await.unwrap();
        let mut changes = center.session_feed();
        let session = await_connected(&mut changes).await;
        for index in [0, 1] {
            cluster.server_mut(index).kill().unwrap();
        }
        let until_error = async {
            loop {
                if let Err(error) = center.read(&path("/n")).await {
                    return error;
                }
                tokio::task::yield_now().await;
            }
        };
        let error = soon("a read fails", until_error).await;
        assert!(error.is_retryable(), "{error:?}");
        let is_suspended = |change| matches!(change, reg_center::SessionChange::Suspended { .. });
        super::await_change(&mut changes, "the loss is noticed", is_suspended).await;
        cluster.launch_missing().unwrap();
        assert_eq!(await_connected(&mut changes).await, session);
        assert_eq!(center.read(&path("/n")).await, Ok(None));
    });
}
