//! A measurement: raw transactions and commits of a center, side by side.
//!
//! `cargo test --release -p reg-center-etcd --lib -- --ignored --nocapture rates`

use std::time::{Duration, Instant};

use bytes::Bytes;
use etcd_fixture::Server;
use futures_util::future::join_all;
use reg_center::{Lifetime, RegistryCenter as _, Txn, Version};

use super::{bare_client, path, runtime};
use crate::client::messages::{PutRequest, Request, TxnRequest};
use crate::session::unchanged;
use crate::{EtcdCenter, EtcdOptions};

const ROUNDS: u32 = 500;
const CLIENTS: usize = 64;

/// Calls one after the other. Returns the time of each, in ascending order.
async fn times(mut call: impl AsyncFnMut(u32)) -> Vec<Duration> {
    let mut times = Vec::new();
    for round in 0..ROUNDS {
        let start = Instant::now();
        call(round).await;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    times
}

/// Calls many at once. Returns the number per second.
async fn rate(call: impl AsyncFn(usize, u32)) -> f64 {
    let start = Instant::now();
    let clients = (0..CLIENTS).map(async |client| {
        for round in 0..ROUNDS / 10 {
            call(client, round).await;
        }
    });
    let n_calls = join_all(clients).await.len() as f64 * f64::from(ROUNDS / 10);
    n_calls / start.elapsed().as_secs_f64()
}

fn print(what: &str, times: &[Duration]) {
    let at = |share: usize| times[times.len() * share / 100].as_secs_f64() * 1e3;
    println!("{what}: median {:.2} ms, 95 % {:.2} ms", at(50), at(95));
}

#[test]
#[ignore = "a measurement, which asserts nothing"]
fn rates_of_raw_transactions_and_of_commits() {
    let server = Server::start().unwrap();
    runtime().block_on(async {
        let raw = bare_client(server.address()).await;
        let raw_txn = async |key: String| {
            let key = Bytes::from(key);
            let value = Bytes::from_static(b"{\"state\":\"running\"}");
            let put = PutRequest { key: key.clone(), value, lease: 0, ignore_lease: false };
            let compare = vec![unchanged(key, 0)];
            let success = vec![Request::Put(put).into()];
            raw.txn(TxnRequest { compare, success, failure: Vec::new() }).await.unwrap();
        };
        print("raw transaction", &times(async |n| raw_txn(format!("/raw/{n}")).await).await);

        let options = EtcdOptions::new(server.address().to_string(), "/rates");
        let center = EtcdCenter::connect(options).await.unwrap();
        let setup = Txn::new().create(path("/job/ledger/0"), "", Lifetime::Persistent).create(
            path("/job/running/x"),
            "",
            Lifetime::Persistent,
        );
        assert!(center.commit(setup).await.unwrap().is_committed());
        // What begins a run: the claim of the item, and the mark of the instance.
        let claim = async |round: u32| {
            let txn = Txn::new()
                .put_if(path("/job/ledger/0"), Version(round), "{\"state\":\"running\"}")
                .create(path(&format!("/job/running/{round}")), "", Lifetime::Ephemeral);
            assert!(center.commit(txn).await.unwrap().is_committed());
        };
        print("first start (claim of the center)", &times(claim).await);

        let raw_rate = rate(async |c, n| raw_txn(format!("/raw/{c}/{n}")).await).await;
        let create = async |client: usize, round: u32| {
            let at = path(&format!("/many/{client}-{round}"));
            let txn = Txn::new().create(at, "{\"state\":\"running\"}", Lifetime::Persistent);
            assert!(center.commit(txn).await.unwrap().is_committed());
        };
        let rate = rate(create).await;
        println!("{CLIENTS} at once: {raw_rate:.0} raw transactions/s, {rate:.0} commits/s");
    });
}
