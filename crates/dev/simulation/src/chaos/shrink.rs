//! Shrinks a failing chaos plan, as long as the same promise stays broken.

use checker::Property;
use testkit::harness::{Fault, Weather};

use super::plan::ChaosPlan;
use super::{Outcome, replay};

/// Returns the smallest plan found that breaks the same promise, after at most `max_runs` runs.
///
/// The search first removes chunks of faults, from halves down to single ones. Then it halves
/// durations, removes items and nodes, and improves the network conditions. It returns the outcome
/// of the smallest failing plan, or `outcome` itself if it is valid.
#[must_use]
pub fn shrink(outcome: Outcome, max_runs: usize) -> Outcome {
    let Some(property) = outcome.broken() else { return outcome };
    let mut search = Search { best: outcome, property, runs_left: max_runs };
    search.drop_faults();
    search.shorten();
    search.simplify();
    search.drop_faults();
    search.best
}

struct Search {
    best: Outcome,
    property: Property,
    runs_left: usize,
}

impl Search {
    /// Plays a plan, and keeps it if it still breaks the promise.
    fn keeps(&mut self, plan: ChaosPlan) -> bool {
        if self.runs_left == 0 || plan == self.best.plan {
            return false;
        }
        self.runs_left -= 1;
        let outcome = replay(&plan);
        let kept = outcome.report.violations_of(self.property).next().is_some();
        if kept {
            self.best = outcome;
        }
        kept
    }

    /// Removes chunks of faults by delta debugging, with ever smaller chunks.
    fn drop_faults(&mut self) {
        let mut size = self.best.plan.faults.len().div_ceil(2).max(1);
        loop {
            let mut from = 0;
            while from < self.best.plan.faults.len() {
                let mut plan = self.best.plan.clone();
                let to = (from + size).min(plan.faults.len());
                plan.faults.drain(from..to);
                if !self.keeps(plan) {
                    from += size;
                }
            }
            if size == 1 || self.runs_left == 0 {
                return;
            }
            size = size.div_ceil(2);
        }
    }

    fn shorten(&mut self) {
        for n in 0..self.best.plan.faults.len() {
            let halve = |fault: &mut Fault| {
                fault.durations().into_iter().for_each(|time| *time /= 2);
            };
            loop {
                let mut plan = self.best.plan.clone();
                halve(&mut plan.faults[n].fault);
                if !self.keeps(plan) {
                    break;
                }
            }
        }
    }

    fn simplify(&mut self) {
        let steps: [fn(&mut ChaosPlan); 18] = [
            |plan| plan.weather = Weather::CALM,
            |plan| plan.weather.loss_permille = 0,
            |plan| plan.job.slow.clear(),
            |plan| plan.job.hang.clear(),
            |plan| plan.job.once = false,
            |plan| plan.job.catch_up = None,
            |plan| plan.job.schedule.clear(),
            |plan| plan.job.overlap.clear(),
            |plan| plan.job.cluster_concurrency = None,
            |plan| plan.job.start_rate.clear(),
            |plan| plan.job.group = None,
            |plan| plan.job.not_before.clear(),
            |plan| plan.job.not_after.clear(),
            |plan| plan.max_concurrency = None,
            |plan| (plan.job.fail, plan.job.panic) = (Vec::new(), Vec::new()),
            |plan| plan.job.items = (plan.job.items - 1).max(1),
            |plan| plan.nodes = (plan.nodes - 1).max(2),
            |plan| {
                let last = plan.faults.last().map_or(0, |fault| fault.at_ms);
                plan.chaos_ms = plan.chaos_ms.min(last + 30_000);
            },
        ];
        for step in steps {
            loop {
                let mut plan = self.best.plan.clone();
                step(&mut plan);
                if !self.keeps(plan) {
                    break;
                }
            }
        }
    }
}
