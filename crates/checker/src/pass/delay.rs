//! Jobs with a fixed delay: the next fire comes the delay after the last one has ended on all
//! items. S3, L4.

use super::once::{RECORD, first_open};
use super::{Facts, Findings};
use crate::Property::{L4, S3};
use crate::docs::{self, EndedFire, Ledger, Run, State};
use crate::history::{Fact, RegOp};
use crate::replay::trace::{ConfigFrom, JobTrace, Spot};
use crate::slot::Slot;

/// A recorded end of a fire.
#[derive(Clone, Copy, Debug)]
struct End {
    spot: Spot,
    ended: EndedFire,
}

impl End {
    /// Returns the fire that follows by a delay in seconds: the first whole second after it.
    fn next(&self, delay: i64) -> i64 {
        (self.ended.at + delay * 1_000 + 999).div_euclid(1_000) * 1_000
    }
}

/// Returns the recorded ends of a job, the oldest first.
fn ends(facts: &Facts<'_>, name: &str) -> Vec<End> {
    let mut ends: Vec<End> = Vec::new();
    for (place, record) in facts.records.iter().enumerate() {
        let Fact::Reg { ops, .. } = &record.fact else { continue };
        for op in ops {
            let (RegOp::Create { path, data, .. } | RegOp::Set { path, data, .. }) = op else {
                continue;
            };
            let of_job = path.strip_prefix('/').and_then(|path| path.strip_suffix(RECORD));
            if of_job != Some(name) {
                continue;
            }
            let Ok(Some(ended)) = docs::ended(data) else { continue };
            if ends.last().is_none_or(|last| last.ended != ended) {
                let spot = Spot { record: place, mt: record.mt, zxid: None };
                ends.push(End { spot, ended });
            }
        }
    }
    ends
}

/// Returns the configurations that instances may have followed at some time of a period.
fn in_force(job: &JobTrace, from: u64, until: u64) -> impl Iterator<Item = &ConfigFrom> {
    let first = job.configs.partition_point(|config| config.mt <= from).saturating_sub(1);
    let end = job.configs.partition_point(|config| config.mt <= until);
    (first..end).flat_map(|place| job.possible_configs(place))
}

fn delay_of(config: &ConfigFrom) -> Option<i64> {
    config.schedule.as_ref()?.fixed_delay()
}

/// Returns the fires that follow from the ends, and whether they must be accounted for: the
/// configuration did not change before the next end.
pub(super) fn fires(facts: &Facts<'_>, name: &str, job: &JobTrace) -> Vec<(i64, bool)> {
    if job.configs.iter().all(|config| delay_of(config).is_none()) {
        return Vec::new();
    }
    let ends = ends(facts, name);
    let mut fires = Vec::new();
    for (place, end) in ends.iter().enumerate() {
        let until = ends.get(place + 1).map_or(facts.end, |next| next.spot.mt);
        let delays: Vec<_> = in_force(job, end.spot.mt, until).map(delay_of).collect();
        let is_one = delays.len() == 1;
        let margin = i64::try_from(facts.bounds.epsilon / 1_000_000).unwrap_or(i64::MAX);
        for delay in delays.into_iter().flatten() {
            let fire = end.next(delay);
            let has_come = fire < facts.wall_of(facts.end).saturating_sub(margin);
            fires.push((fire, is_one && has_come));
        }
    }
    fires
}

pub(super) fn pass(facts: &Facts<'_>, findings: &mut Findings) {
    for (_, name, job) in facts.jobs() {
        if job.configs.iter().all(|config| delay_of(config).is_none()) {
            continue;
        }
        let ends = ends(facts, name);
        findings.count("fires with a delay ended", ends.len() as u64);
        for pair in ends.windows(2) {
            follows(facts, (name, job), (pair[0], pair[1]), findings);
        }
        if let Some(last) = ends.last() {
            goes_on(facts, (name, job), *last, findings);
        }
        begin_once((name, job), &ends, findings);
    }
}

/// Returns the first item that has not ended a fire after the time `at`, up to the fire `last`.
///
/// A run of a later fire can have begun within the difference of the clocks.
fn unfinished_since(
    facts: &Facts<'_>,
    job: &JobTrace,
    (at, last): (i64, i64),
    mt: u64,
) -> Option<u32> {
    let is_scheduled = |run: &Run| !run.is_requested && run.fire <= last;
    let runs = |ledger: &Ledger| ledger.run.as_ref().is_some_and(is_scheduled);
    let is_begun = |ledger: &Ledger| ledger.state == State::Retired || ledger.last > Some(at);
    first_open(facts, job, mt, |ledger| !is_begun(ledger) || runs(ledger), runs)
}

/// Judges that no item begins two fires without a recorded end between them.
fn begin_once((name, job): (&str, &JobTrace), ends: &[End], findings: &mut Findings) {
    for (item, of) in &job.items {
        let mut earlier: Option<(usize, i64, Spot)> = None;
        for change in &of.changes {
            let Some((before, after)) = change.before.zip(change.after) else { continue };
            let Some(fire) = after.last.filter(|_| after.last > before.last) else { continue };
            let place = ends.partition_point(|end| end.spot.record < change.spot.record);
            let since = place.checked_sub(1).map(|last| ends[last].spot.mt);
            let is_delayed = since.is_some_and(|since| {
                in_force(job, since, change.spot.mt).all(|config| delay_of(config).is_some())
            });
            // An item that comes back continues at the fire of the others.
            if !is_delayed || before.state == State::Retired {
                continue;
            }
            let again = earlier.filter(|(of, ..)| *of == place);
            let evidence: Vec<_> =
                again.into_iter().map(|(.., spot)| spot).chain([change.spot]).collect();
            let at = (name, Some(Slot::first(*item)));
            findings.expect(again.is_none(), S3, at, &evidence, || {
                let first = again.map_or(0, |(_, fire, _)| fire);
                format!("fire {fire} began although the end of fire {first} was not recorded")
            });
            earlier = Some((place, fire, change.spot));
        }
    }
}

/// Judges that an end is that of the one fire that follows from the end before, that every item had
/// ended a fire since, and that its time does not shorten the next delay.
fn follows(
    facts: &Facts<'_>,
    (name, job): (&str, &JobTrace),
    (before, end): (End, End),
    findings: &mut Findings,
) {
    let evidence = [before.spot, end.spot];
    let mut delays = in_force(job, before.spot.mt, end.spot.mt).map(delay_of);
    let fire = end.ended.fire;
    // The job may have had another schedule meanwhile, with fires of its own.
    let is_next = delays.any(|delay| delay.is_none_or(|delay| fire == Some(before.next(delay))));
    findings.expect(is_next, S3, (name, None), &evidence, || {
        format!("the end of fire {fire:?} does not follow from {:?}", before.ended)
    });
    let Some(fire) = fire else { return };
    findings.expect(end.ended.at >= fire, S3, (name, None), &evidence, || {
        format!("fire {fire} ended at {}, before it came", end.ended.at)
    });
    let open = unfinished_since(facts, job, (before.ended.at, fire), end.spot.mt);
    findings.expect(open.is_none(), S3, (name, open.map(Slot::first)), &evidence, || {
        format!("the end of fire {fire} was recorded, although this item had not ended it")
    });
}

/// Judges that the end of the last fire is recorded, if a leader could do that.
fn goes_on(facts: &Facts<'_>, (name, job): (&str, &JobTrace), last: End, findings: &mut Findings) {
    let Some(config) = job.configs.last().filter(|config| config.readable) else { return };
    let is_monitored = config.config.as_ref().is_some_and(|config| config.monitor);
    if delay_of(config).filter(|_| is_monitored).is_none() {
        return;
    }
    if unfinished_since(facts, job, (last.ended.at, i64::MAX), facts.end).is_some() {
        return;
    }
    let of_items = job.items.values().map(|item| &item.changes);
    let changes = of_items.chain(job.further.values()).filter_map(|changes| changes.last());
    let ended = changes.map(|change| change.spot.mt).max().unwrap_or(0);
    let since = ended.max(config.mt).max(last.spot.mt);
    let until = since.saturating_add(facts.bounds.epsilon);
    let leader = job.leaderships.iter().rev().find(|leader| leader.until.is_none());
    let leader = leader.filter(|leader| leader.from <= since);
    let process = leader.and_then(|leader| facts.replay.sessions.process_of(leader.session));
    let is_able = process.is_some_and(|process| facts.health.is_calm(process, since, facts.end));
    let is_late = until < facts.end && is_able;
    findings.expect(!is_late, L4, (name, None), &[last.spot], || {
        let end = last.ended;
        format!("every item has ended the fire after {end:?}, and the leader has not recorded that")
    });
}
