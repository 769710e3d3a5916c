//! Tests that need other servers than ZooKeeper.

use crate::steps::{Steps, cargo};
use crate::{Error, etcd, mariadb, postgres};

/// Packages whose tests start a server of PostgreSQL, MariaDB or etcd. `cargo xtask test` omits
/// them.
pub(crate) const PACKAGES: [&str; 5] = [
    "etcd-fixture",
    "mariadb-fixture",
    "postgres-fixture",
    "reg-center-etcd",
    "reg-center-postgres",
];

/// Tests of `registry` that start such a server.
const BY_ADDRESS: &str = "test -p registry --all-features -- --ignored";

/// Tests of `ejob` that start such a server.
const EJOB: &str = "test -p cli --all-features --test it -- --ignored servers";

/// Tests of the history that start a server of PostgreSQL or MariaDB.
const HISTORY: &str =
    "test -p job-history --all-features --test it -- --ignored postgres:: mysql::";

/// Runs the tests of the registries on PostgreSQL and etcd, and of the history on PostgreSQL and
/// MariaDB.
pub(crate) fn test(steps: &mut Steps) -> Result<(), Error> {
    steps.step("PostgreSQL", postgres::ensure)?;
    steps.step("MariaDB", mariadb::ensure)?;
    steps.step("etcd", etcd::ensure)?;
    let packages: String = PACKAGES.iter().map(|package| format!(" -p {package}")).collect();
    steps
        .command("registries on servers", &mut cargo(&format!("test --all-features{packages}")))?;
    steps.command("registries by address", &mut cargo(BY_ADDRESS))?;
    steps.command("ejob on servers", &mut cargo(EJOB))?;
    steps.command("history on servers", &mut cargo(HISTORY))
}
