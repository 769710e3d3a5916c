//! The checks, one file each, with the modules that they share.

mod common;
mod configuring;
mod dumping;
mod joining;
mod leading;
mod misfiring;
mod operating;
mod rolling;
mod run_history;
mod strategies;
mod takeover;
mod zones;

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::stage::{CheckEnv, Failure, Log, TestBed};
use crate::suite::{JavaVersion, Report};

/// Longest duration of a check: several times its usual duration, for a busy machine.
const LIMIT: Duration = Duration::from_secs(300);

/// The future of a check. It returns an error only if the check cannot continue.
type CheckFuture<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + 'a>>;
type CheckFn = for<'a> fn(&'a CheckSetup<'a>, &'a mut Report) -> CheckFuture<'a>;

/// Parameters of one run of a check.
pub(crate) struct CheckSetup<'a> {
    test_bed: &'a TestBed,
    namespace: &'a str,
    java: JavaVersion,
    /// Events of the workers of the check.
    log: Log,
}

impl CheckSetup<'_> {
    /// Begins the check.
    async fn begin(&self) -> Result<CheckEnv<'_>, Failure> {
        self.test_bed.begin_check(self.namespace, self.log.clone()).await
    }
}

/// A row of the table of checks.
pub(crate) struct Check {
    pub(crate) number: u32,
    pub(crate) title: &'static str,
    check: CheckFn,
}

impl Check {
    /// Runs the check.
    ///
    /// It also fails if a worker reports an error, or if the check takes longer than [`LIMIT`].
    pub(crate) async fn run(
        &self,
        test_bed: &TestBed,
        namespace: &str,
        java: JavaVersion,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let setup = CheckSetup { test_bed, namespace, java, log: Log::new() };
        let outcome = tokio::time::timeout(LIMIT, (self.check)(&setup, report)).await;
        report_log(&setup.log, report);
        let (check, title) = (self.number, self.title);
        outcome.unwrap_or(Err(Failure::Overdue { check, title, after: LIMIT }))
    }
}

/// Reports the events that concern all checks.
///
/// An error of a worker is a failure. Nodes that Rust workers could not decode are printed, and
/// reminders of Java leaders are counted.
fn report_log(log: &Log, report: &mut Report) {
    let entries = log.entries();
    for (who, text) in entries.iter().filter_map(|entry| Some((&entry.who, entry.error()?))) {
        report.failed(&format!("the worker {who} has failed: {text}"));
    }
    let anomalies = entries.iter().filter_map(|entry| Some((&entry.who, entry.anomaly()?)));
    for (who, (job, text)) in anomalies.collect::<BTreeSet<_>>() {
        report.note(&format!("anomaly reported by {who} in {job}: {text}"));
    }
    report.reminded(log.n_reminders());
}

pub(crate) const CHECKS: [Check; 9] = [
    Check {
        number: 1,
        title: "Rust joins a Java cluster, and every fire of every item runs once",
        check: |setup, report| Box::pin(joining::check(setup, report)),
    },
    Check {
        number: 2,
        title: "the leader is killed, and the other language leads",
        check: |setup, report| Box::pin(leading::check(setup, report)),
    },
    Check {
        number: 3,
        title: "an item whose worker is killed is taken over by the other language",
        check: |setup, report| Box::pin(takeover::check(setup, report)),
    },
    Check {
        number: 4,
        title: "a configuration that one language changes is followed by the other",
        check: |setup, report| Box::pin(configuring::check(setup, report)),
    },
    Check {
        number: 5,
        title: "the Java lifecycle API operates Rust instances and shows them rightly",
        check: |setup, report| Box::pin(operating::check(setup, report)),
    },
    Check {
        number: 6,
        title: "strategies give the same assignment under a Java leader and a Rust leader",
        check: |setup, report| Box::pin(strategies::check(setup, report)),
    },
    Check {
        number: 7,
        title: "misfires and disabled items are respected across languages",
        check: |setup, report| Box::pin(misfiring::check(setup, report)),
    },
    Check {
        number: 8,
        title: "Java workers are replaced by Rust workers and back without a lost or doubled fire",
        check: |setup, report| Box::pin(rolling::check(setup, report)),
    },
    Check {
        number: 9,
        title: "the dump of a mixed namespace is what the Java client expects",
        check: |setup, report| Box::pin(dumping::check(setup, report)),
    },
];
