//! Plays a scenario and judges the result.

use std::fmt;

use checker::history::{Fact, Record};
use checker::{History, Options, Report, Verdict};

use super::history_queries::Seen;
use super::stage::{ScenarioError, Stage};
use super::{Cluster, Scenario};

/// The judgement of a played scenario.
#[derive(Debug)]
pub struct Judgement {
    /// Number of the scenario.
    pub id: &'static str,
    /// The checker's report about the promises of every run.
    pub report: Report,
    /// Unmet expectations of this scenario, each a sentence.
    pub unmet: Vec<String>,
    /// Conditions that the scenario needs and did not reach, each a sentence. Such a run proves
    /// nothing.
    pub unreached: Vec<String>,
    /// The complete history.
    pub records: Vec<Record>,
}

impl Judgement {
    /// Judges a finished history. `played` is the result of the script.
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
            Err(error) => unreached.push(error_chain(&error)),
        }
        Self { id: scenario.id, report, unmet, unreached, records }
    }

    /// Returns the verdict. It is invalid if a promise or an expectation is broken, and unknown if
    /// the run did not reach its subject or the harness failed.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match (self.report.verdict, self.unmet.is_empty(), self.unreached.is_empty()) {
            // An unmet expectation proves nothing if its premise was not reached.
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
            writeln!(f, "  unmet: {sentence}")?;
        }
        for sentence in &self.unreached {
            writeln!(f, "  not reached: {sentence}")?;
        }
        write!(f, "{}", self.report)
    }
}

/// Plays a scenario on a fresh cluster and judges it. `seed` drives the random choices of the
/// scenario; the cluster has its own seed.
///
/// # Errors
/// [`ClusterError`](super::ClusterError) if there is no history to judge. Other failures are part
/// of the judgement.
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
    require_coverage(scenario, &mut records);
    let history = History::from_records(records);
    let seen = Seen::new(history.records(), period, session_timeout);
    Ok(Judgement::of(scenario, seen, played, options))
}

/// Adds the required coverage of the scenario to the history.
fn require_coverage(scenario: &Scenario, records: &mut [Record]) {
    for record in records {
        if let Fact::RunMeta { run, require, .. } = &mut record.fact {
            *run = format!("{} {}: {run}", scenario.id, scenario.title);
            for (row, n) in scenario.require {
                require.entry((*row).to_owned()).or_insert(*n);
            }
        }
    }
}

fn error_chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
