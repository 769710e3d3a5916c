//! Passes over a whole history, after the replay of the registry's log.

mod accounting;
mod catch_up;
mod coverage;
mod delay;
mod effects;
mod execs;
mod explained;
mod faults;
mod health;
mod justify;
mod leaks;
mod leave;
mod link;
mod once;
mod overlap;
mod places;
mod reported;
mod targets;

use std::collections::BTreeMap;

use crate::Property;
use crate::history::{Fact, Record};
use crate::names::Name;
use crate::options::{Bounds, Options};
use crate::replay::Replay;
use crate::replay::nodes::JobIndex;
use crate::replay::trace::{JobTrace, Spot, Trace};
use crate::report::Coverage;
use crate::slot::Slot;
use crate::tally::Tally;
use crate::violation::{Subject, Violation};

pub(crate) use execs::Exec;
pub(crate) use faults::Fault;
use health::Health;

/// Input of all passes.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) records: &'a [Record],
    pub(crate) replay: &'a Replay,
    pub(crate) options: &'a Options,
    pub(crate) bounds: Bounds,
    pub(crate) execs: Vec<Exec<'a>>,
    pub(crate) faults: Vec<Fault<'a>>,
    pub(crate) health: Health<'a>,
    /// True wall clock minus shared clock, in milliseconds.
    offset_ms: i64,
    /// Time of the last record.
    pub(crate) end: u64,
}

/// Results of all passes.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) tally: Tally,
    pub(crate) violations: Vec<Violation>,
    pub(crate) coverage: BTreeMap<String, Coverage>,
    pub(crate) metrics: BTreeMap<String, u64>,
    pub(crate) notes: Vec<String>,
    pub(crate) problems: Vec<String>,
}

/// Runs all passes.
pub(crate) fn run(facts: &Facts<'_>) -> Findings {
    let mut findings = Findings::default();
    let never = facts.health.never.iter();
    let never = never.filter(|p| facts.execs.iter().any(|exec| exec.process == **p));
    findings.notes.extend(
        never.map(|p| format!("misses of {p}: the process never reports that it is ready")),
    );
    let full = places::pass(facts, &mut findings);
    link::pass(facts, &full, &mut findings);
    effects::pass(facts, &mut findings);
    accounting::pass(facts, &mut findings);
    overlap::pass(facts, &mut findings);
    once::pass(facts, &mut findings);
    delay::pass(facts, &mut findings);
    leave::pass(facts, &mut findings);
    leaks::pass(facts, &mut findings);
    coverage::pass(facts, &mut findings);
    if facts.options.blind {
        targets::blind(facts, &mut findings);
    }
    findings
}

impl<'a> Facts<'a> {
    pub(crate) fn new(records: &'a [Record], replay: &'a Replay, options: &'a Options) -> Self {
        let bounds = replay.bounds;
        let end = records.last().map_or(0, |record| record.mt);
        let faults = faults::of(records, end);
        let health = Health::new(records, &faults, bounds, end);
        Self {
            records,
            replay,
            options,
            bounds,
            execs: execs::of(records, replay),
            faults,
            health,
            offset_ms: offset_ms(records),
            end,
        }
    }

    pub(crate) fn trace(&self) -> &'a Trace {
        &self.replay.trace
    }

    /// Returns the jobs with their names.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = (JobIndex, &'a str, &'a JobTrace)> {
        let replay = self.replay;
        let jobs = replay.trace.jobs.iter().enumerate();
        jobs.map(move |(index, job)| (index, replay.nodes.job_name(index), job))
    }

    /// Converts a wall clock time to the shared clock. A time before the start of the run becomes
    /// its start.
    pub(crate) fn mt_of(&self, wall_ms: i64) -> u64 {
        let ms = u64::try_from(wall_ms.saturating_sub(self.offset_ms)).unwrap_or(0);
        ms.saturating_mul(1_000_000)
    }

    /// Converts a time on the shared clock to accurate wall clock time, in milliseconds since 1970
    /// UTC.
    pub(crate) fn wall_of(&self, mt: u64) -> i64 {
        i64::try_from(mt / 1_000_000).unwrap_or(i64::MAX).saturating_add(self.offset_ms)
    }

    /// Returns the process of an instance that was registered at a time, and the time of its
    /// registration.
    pub(crate) fn process_of(
        &self,
        job: &JobTrace,
        instance: Name,
        mt: u64,
    ) -> Option<(&'a str, u64)> {
        let membership = job.memberships.iter().rev().find(|m| {
            m.instance == instance && m.from <= mt && m.until.is_none_or(|until| until > mt)
        })?;
        Some((self.replay.sessions.process_of(membership.session)?, membership.from))
    }
}

/// Returns the true wall clock minus the shared clock, in milliseconds.
///
/// The registry and the fault injector have accurate clocks. Clocks of processes may be wrong on
/// purpose.
fn offset_ms(records: &[Record]) -> i64 {
    let accurate = records.iter().find(|record| matches!(record.fact, Fact::RunMeta { .. }));
    let accurate = accurate.or_else(|| records.iter().find(|record| record.p == "registry"));
    accurate.map_or(0, |record| {
        record.wt.saturating_sub(i64::try_from(record.mt / 1_000_000).unwrap_or(i64::MAX))
    })
}

impl Findings {
    /// Counts a property as judged, and reports a violation unless it holds.
    pub(crate) fn expect(
        &mut self,
        holds: bool,
        property: Property,
        (job, slot): (&str, Option<Slot>),
        evidence: &[Spot],
        message: impl FnOnce() -> String,
    ) {
        self.tally.judged(property);
        if holds {
            return;
        }
        let Some(at) = evidence.iter().max_by_key(|spot| spot.record) else { return };
        let mut records: Vec<_> = evidence.iter().map(|spot| spot.record).collect();
        records.sort_unstable();
        records.dedup();
        self.violations.push(Violation {
            property,
            at: (*at).into(),
            subject: Subject::of(job, slot),
            message: message(),
            evidence: records,
            window: Vec::new(),
        });
    }

    pub(crate) fn count(&mut self, metric: &str, by: u64) {
        if let Some(count) = self.metrics.get_mut(metric) {
            *count += by;
        } else {
            self.metrics.insert(metric.to_owned(), by);
        }
    }
}
