//! Playing a scenario and judging what came of it.

use std::fmt;

use checker::history::{Fact, Record};
use checker::{History, Options, Report, Verdict};

use super::history_queries::Seen;
use super::stage::{ScenarioError, Stage};
use super::{Cluster, Scenario};

/// What came of a scenario.
#[derive(Debug)]
pub struct Judgement {
    /// Which scenario.
    pub id: &'static str,
    /// What the checker says about the promises that every run must keep.
    pub report: Report,
    /// What this scenario expects beyond them and did not get, each a sentence.
    pub unmet: Vec<String>,
    /// What the scenario is about and did not happen, each a sentence: the run shows nothing.
    pub unreached: Vec<String>,
    /// The whole history.
    pub records: Vec<Record>,
}

impl Judgement {
    /// Judges a finished history. `played` is how the script ended.
    #[must_use]
    pub fn of(
        scenario: &Scenario,
        seen: Seen<'_>,
        played: Result<(), ScenarioError>,
        options: &Options,
    ) -> Self {
        let records = seen.records().to_vec();
        let report = checker::check(&History::from_records(records.clone()), options);
        let mut unmet = (scenario.expect)(&seen);
        let mut unreached = (scenario.covers)(&seen);
        match played {
            Ok(()) => {}
            Err(error @ ScenarioError::Broken { .. }) => unmet.push(error.to_string()),
            Err(error) => unreached.push(reasons(&error)),
        }
        Self { id: scenario.id, report, unmet, unreached, records }
    }

    /// Returns the verdict: invalid if a promise or an expectation is not kept; else unknown if the run did not reach
    /// what it is about, or the harness failed.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match (self.report.verdict, self.unmet.is_empty(), self.unreached.is_empty()) {
            // What a script expects after something that never came about proves nothing.
            (Verdict::Valid | Verdict::Unknown, false, true) => Verdict::Invalid,
            (Verdict::Valid, true, true) => Verdict::Valid,
            (Verdict::Invalid, ..) => Verdict::Invalid,
            (Verdict::Valid | Verdict::Unknown, ..) => Verdict::Unknown,
        }
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} is {}", self.id, self.verdict())?;
        for sentence in &self.unmet {
            writeln!(f, "  not as expected: {sentence}")?;
        }
        for sentence in &self.unreached {
            writeln!(f, "  not reached: {sentence}")?;
        }
        write!(f, "{}", self.report)
    }
}

/// Plays a scenario on a cluster that nothing has been done with, and judges it. `seed` decides what the scenario leaves
/// to chance; the cluster has its own.
///
/// # Errors
/// [`ClusterError`](super::ClusterError) if there is no history to judge. Everything else is part of the judgement.
pub async fn run(
    scenario: &Scenario,
    cluster: Box<dyn Cluster>,
    seed: u64,
    options: &Options,
) -> Result<Judgement, super::ClusterError> {
    let (period, session_timeout) = (cluster.period(), cluster.session_timeout());
    let mut stage = Stage::new(cluster, seed);
    let played = (scenario.run)(&mut stage).await;
    let mut records = stage.into_cluster().finish().await?;
    demand(scenario, &mut records);
    let history = History::from_records(records);
    let seen = Seen::new(history.records(), period, session_timeout);
    Ok(Judgement::of(scenario, seen, played, options))
}

/// Writes into the history what the run must have reached to count.
fn demand(scenario: &Scenario, records: &mut [Record]) {
    for record in records {
        if let Fact::RunMeta { run, require, .. } = &mut record.fact {
            *run = format!("{} {}: {run}", scenario.id, scenario.title);
            for (row, n) in scenario.require {
                require.entry((*row).to_owned()).or_insert(*n);
            }
        }
    }
}

fn reasons(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
