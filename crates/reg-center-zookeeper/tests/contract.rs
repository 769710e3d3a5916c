//! The contract suite on a real ZooKeeper server. Each client has a proxy of its own.

use crate::behind_proxies;

use behind_proxies::{ZookeeperHarness, runtime};
use reg_center::contract::Case;

reg_center::contract_tests!(run);

fn run(case: &Case) {
    runtime().block_on(case.run(&ZookeeperHarness::new()));
}
