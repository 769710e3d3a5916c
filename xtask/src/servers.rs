//! Tests that need other servers than ZooKeeper.

use crate::background::run_all;
use crate::program::Programs;
use crate::steps::Steps;
use crate::test::{TEST_PROGRAMS_AT_ONCE, TESTS};
use crate::{Error, etcd, mariadb, postgres};

/// Packages whose tests start a server of PostgreSQL, MariaDB or etcd, the longest first.
/// `cargo xtask test` omits them.
pub(crate) const PACKAGES: [&str; 5] = [
    "reg-center-postgres",
    "reg-center-etcd",
    "mariadb-fixture",
    "etcd-fixture",
    "postgres-fixture",
];

/// Tests of other packages that start such a server: the package, and the arguments.
const OTHERS: [(&str, &[&str]); 3] = [
    ("registry", &["--ignored"]),
    ("cli", &["--ignored", "servers"]),
    ("job-history", &["--ignored", "postgres::", "mysql::"]),
];

/// The program that the tests of `registry` start.
const PROGRAM: &str = "any_registry";

/// Runs the tests of the registries on PostgreSQL and etcd, and of the history on PostgreSQL and
/// MariaDB.
pub(crate) fn test(steps: &mut Steps) -> Result<(), Error> {
    steps.step("PostgreSQL", postgres::ensure)?;
    steps.step("MariaDB", mariadb::ensure)?;
    steps.step("etcd", etcd::ensure)?;
    let program = || Programs::build_as_tested(&format!("--example {PROGRAM}")).map(drop);
    steps.step("build of the program of the README", program)?;
    // The selection of `cargo xtask test`, so that its dependencies are used again: cargo chooses
    // their features for all selected packages together.
    let build = || Programs::build(&format!("{TESTS} --no-run"));
    let built = steps.step("build of tests on servers", build)?;
    let mut tests = Vec::new();
    for (package, arguments) in PACKAGES.map(|package| (package, &[][..])).into_iter().chain(OTHERS)
    {
        for mut test in built.package_tests(package)? {
            test.args(arguments);
            tests.push(test);
        }
    }
    steps.step("tests on servers", || run_all(tests, TEST_PROGRAMS_AT_ONCE))
}
