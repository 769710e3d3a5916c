//! Text of the verdict.

use std::fmt;

use crate::evidence::{Evidence, FaultKind};
use crate::judge::{Judgement, Neighbourhood, Tally};

/// The printed verdict of a run.
#[derive(Debug)]
pub struct Report<'a> {
    /// All facts of the run.
    pub evidence: &'a Evidence,
    /// The verdict.
    pub judgement: &'a Judgement,
    /// True to show the neighbourhoods of unexplained fires, not only their times.
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
        for group in &judgement.groups() {
            if *in_full {
                writeln!(f, "\nunexplained: {}", Neighbourhood { evidence, group })?;
            } else {
                writeln!(f, "unexplained: {group}")?;
            }
        }
        for violation in &judgement.violations {
            writeln!(f, "violation: {}", violation.trim_end())?;
        }
        let (fires, broken) = (judgement.unexplained.len(), judgement.violations.len());
        writeln!(f, "\n{fires} unexplained fires, {broken} violations")
    }
}
