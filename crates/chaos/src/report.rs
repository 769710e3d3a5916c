//! The verdict as text.

use std::fmt;

use crate::evidence::{Evidence, FaultKind};
use crate::judge::{Judgement, Neighbourhood, Tally};

/// How many unexplained fires are shown with their neighbourhood; the file has all of them.
const SHOWN: usize = 5;

/// The verdict on a run, as it is printed.
#[derive(Debug)]
pub struct Report<'a> {
    /// All facts.
    pub evidence: &'a Evidence,
    /// The verdict on them.
    pub judgement: &'a Judgement,
    /// Whether to show the neighbourhoods of all unexplained fires, not only of the first ones.
    pub in_full: bool,
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { evidence, judgement, in_full } = self;
        let count = |kind| evidence.faults.iter().filter(|fault| fault.kind == kind).count();
        writeln!(
            f,
            "seed {}: {} SIGKILL, {} SIGSTOP, {} SIGTERM, {} kills of ZooKeeper servers, {} outages, \
             {} commands",
            evidence.seed,
            count(FaultKind::Kill),
            count(FaultKind::Stop),
            count(FaultKind::Terminate),
            count(FaultKind::ServerDown),
            count(FaultKind::Outage),
            count(FaultKind::Command),
        )?;
        writeln!(
            f,
            "\n| job | (item, fire) | ran | recorded | item did not exist | unexplained |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|")?;
        for tally in &judgement.tallies {
            let Tally { job, monitored, due, ran, recorded, not_there, unexplained } = tally;
            let remark = if *monitored { "" } else { " (not monitored, not judged)" };
            writeln!(
                f,
                "| {job} | {due} | {ran} | {recorded} | {not_there} | {unexplained}{remark} |"
            )?;
        }
        writeln!(
            f,
            "\n{} overlapping runs after a fault of the first holder, the longest {} ms",
            judgement.overlaps, judgement.longest_overlap_ms
        )?;
        let shown = if *in_full { judgement.unexplained.len() } else { SHOWN };
        for fire in judgement.unexplained.iter().take(shown) {
            write!(f, "\nunexplained: {}", Neighbourhood { evidence, fire })?;
        }
        for violation in &judgement.violations {
            writeln!(f, "violation: {violation}")?;
        }
        let (fires, broken) = (judgement.unexplained.len(), judgement.violations.len());
        writeln!(f, "\n{fires} unexplained fires, {broken} violations")
    }
}
