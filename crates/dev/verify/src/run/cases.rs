//! Cases that can be played: the scenarios of `simulation`, and one that tests the harness.

use checker::history::Record;
use checker::{History, Options, Verdict, check};
use simulation::scenario::{self, Scenario};
use testkit::harness::{Cluster, ClusterError};

use crate::smoke;

/// Scenarios that are played each time; the others are played at night.
const QUICK: [&str; 11] =
    ["S00", "F01", "F02", "F05", "F08", "F12", "F14", "F16", "F17", "F20", "F24"];

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
}
