//! Cases that can be played: the scenarios of `simulation`, and one that tests the harness.

use checker::history::Record;
use checker::{History, Options, Verdict, check};
use simulation::scenario::{self, Scenario};
use testkit::harness::{Cluster, ClusterError};

use super::command_line::Backend;
use crate::cluster::RealBackend;
use crate::smoke;

/// Scenarios that are played each time; the others are played at night.
const QUICK: [&str; 11] =
    ["S00", "F01", "F02", "F05", "F08", "F12", "F14", "F16", "F17", "F20", "F24"];

/// Scenarios that do not exist on a file, each with the reason.
const NOT_ON_A_FILE: [(&str, &str); 7] = [
    ("F08", "it needs a network between workers and registry"),
    ("F09", "it needs a network between workers and registry"),
    ("F18", "it needs servers of the registry"),
    ("F19", "it needs servers of the registry"),
    ("F24", "it needs the clock of a registry"),
    ("F27", "the end of a killed process is seen before it is started again"),
    ("F30", "it needs a network between workers and registry"),
];

/// Scenarios that do not exist on a database, each with the reason.
const NOT_ON_A_DATABASE: [(&str, &str); 2] = [
    ("F19", "it needs a server of the registry with stale data"),
    ("F24", "it needs the clock of a registry"),
];

/// Scenarios that do not exist on etcd, each with the reason.
const NOT_ON_ETCD: [(&str, &str); 1] = [("F24", "it needs the clock of a registry")];

/// A case that can be played on a cluster.
#[derive(Clone, Copy, Debug)]
pub(super) enum Case {
    /// Test of the harness itself.
    Smoke,
    /// A fault scenario.
    Scenario(&'static Scenario),
}

/// A judged history.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) verdict: Verdict,
    /// Text of the judgement.
    pub(super) details: String,
    pub(super) records: Vec<Record>,
}

impl Case {
    /// Returns all cases, in order.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        const SCENARIOS: &[Scenario] = &scenario::ALL;
        std::iter::once(Self::Smoke).chain(SCENARIOS.iter().map(Self::Scenario))
    }

    pub(super) fn id(self) -> &'static str {
        match self {
            Self::Smoke => "S00",
            Self::Scenario(scenario) => scenario.id,
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Smoke => "the harness itself: a worker is killed in the middle of its items",
            Self::Scenario(scenario) => scenario.title,
        }
    }

    /// Returns the reason why the case does not exist on a backend, if it does not.
    pub(super) fn absence_on(self, backend: Backend) -> Option<&'static str> {
        let absent: &[_] = match backend {
            Backend::Real(RealBackend::Sqlite) => &NOT_ON_A_FILE,
            Backend::Real(RealBackend::Postgres) => &NOT_ON_A_DATABASE,
            Backend::Real(RealBackend::Etcd) => &NOT_ON_ETCD,
            Backend::Memory | Backend::Real(RealBackend::Zookeeper) => &[],
        };
        absent.iter().find(|(id, _)| *id == self.id()).map(|(_, reason)| *reason)
    }

    pub(super) fn is_quick(self) -> bool {
        QUICK.contains(&self.id())
    }

    /// Plays the case with a seed on a fresh cluster.
    pub(super) async fn play(
        self,
        cluster: Box<dyn Cluster>,
        seed: u64,
        options: &Options,
    ) -> Result<Judged, ClusterError> {
        match self {
            Self::Smoke => {
                let records = smoke::play(cluster).await?;
                let report = check(&History::from_records(records.clone()), options);
                Ok(Judged { verdict: report.verdict, details: report.to_string(), records })
            }
            Self::Scenario(scenario) => {
                let judgement = scenario::run(scenario, cluster, seed, options).await?;
                let (verdict, details) = (judgement.verdict(), judgement.to_string());
                Ok(Judged { verdict, details, records: judgement.records })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_quick_case_exists() {
        assert_eq!(Case::all().filter(|case| case.is_quick()).count(), QUICK.len());
    }

    #[test]
    fn readme_counts_the_scenarios_of_each_backend() {
        let readme = include_str!("../../README.md");
        let backends = [
            ("zk", Backend::Real(RealBackend::Zookeeper)),
            ("etcd", Backend::Real(RealBackend::Etcd)),
            ("postgres", Backend::Real(RealBackend::Postgres)),
            ("sqlite", Backend::Real(RealBackend::Sqlite)),
            ("memory", Backend::Memory),
        ];
        for (name, backend) in backends {
            let scenarios = || Case::all().filter(|case| matches!(case, Case::Scenario(_)));
            let n = scenarios().filter(|case| case.absence_on(backend).is_none()).count();
            let all = if n == scenarios().count() { "all " } else { "" };
            let row = readme.lines().find(|line| line.starts_with(&format!("| `{name}` | ")));
            let row = row.unwrap_or_else(|| panic!("the README has no row for {name}"));
            assert!(row.ends_with(&format!("| {all}{n} |")), "{all}{n}: {row}");
        }
    }

    #[test]
    fn every_case_that_is_absent_on_a_backend_exists_elsewhere() {
        let tables: [(_, &[_]); 3] = [
            (RealBackend::Sqlite, &NOT_ON_A_FILE),
            (RealBackend::Postgres, &NOT_ON_A_DATABASE),
            (RealBackend::Etcd, &NOT_ON_ETCD),
        ];
        for (backend, table) in tables {
            let absent =
                Case::all().filter(|case| case.absence_on(Backend::Real(backend)).is_some());
            let ids: Vec<&str> = absent.map(Case::id).collect();
            let expected: Vec<&str> = table.iter().map(|(id, _)| *id).collect();
            assert_eq!(ids, expected, "{backend:?}");
        }
    }
}
