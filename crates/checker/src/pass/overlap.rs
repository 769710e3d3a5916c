//! P7: runs of one slot at the same time, and more runs of one item than its job allows. They
//! cannot be excluded, but each needs an explanation. S1, S24.

use std::collections::BTreeMap;

use super::{Exec, Facts, Findings};
use crate::Property::{S1, S24};
use crate::history::Fact;
use crate::replay::nodes::JobIndex;
use crate::replay::trace::Claim;
use crate::slot::Slot;

/// The claims of all slots by their tokens, with their places in the trace.
type Claims<'a> = BTreeMap<(JobIndex, Slot, u64), (usize, &'a Claim)>;

/// A run of the job's code that has begun and not ended.
#[derive(Clone, Copy)]
struct Open<'a> {
    exec: &'a Exec<'a>,
    until: u64,
}

pub(super) fn pass(facts: &Facts<'_>, findings: &mut Findings) {
    let mut by_item: BTreeMap<(&str, u32), Vec<&Exec<'_>>> = BTreeMap::new();
    for exec in facts.execs.iter().filter(|exec| exec.token > 0) {
        by_item.entry((exec.job_name, exec.slot.item)).or_default().push(exec);
    }
    let accepted = accepted(facts);
    let has_effect =
        |exec: &Exec<'_>| accepted.contains_key(&(exec.job_name, exec.slot, exec.token));
    let claims: Claims<'_> = facts
        .trace()
        .claims
        .iter()
        .enumerate()
        .map(|(place, claim)| ((claim.job, claim.slot, claim.token), (place, claim)))
        .collect();
    for execs in by_item.into_values() {
        // Runs that have begun and not ended when the next one begins.
        let mut open: Vec<Open<'_>> = Vec::new();
        for later in execs {
            open.retain(|earlier| earlier.until > later.start.mt);
            for earlier in open.iter().map(|open| open.exec) {
                if earlier.slot == later.slot {
                    of_one_slot(facts, findings, &claims, (earlier, later), &has_effect);
                }
            }
            let rivals = open.iter().map(|open| open.exec).filter(|exec| exec.slot != later.slot);
            of_one_item(facts, findings, &claims, (rivals, later), &has_effect);
            let until = later.end.map_or_else(|| until(facts, later), |(end, _)| end.mt);
            open.push(Open { exec: later, until });
        }
    }
}

/// Judges two runs of one slot at the same time: without an explanation, not both have effects.
fn of_one_slot(
    facts: &Facts<'_>,
    findings: &mut Findings,
    claims: &Claims<'_>,
    (earlier, later): (&Exec<'_>, &Exec<'_>),
    has_effect: &impl Fn(&Exec<'_>) -> bool,
) {
    findings.count("overlapping runs of one item", 1);
    if is_explained(facts, claims, earlier, later) {
        return;
    }
    findings.count("overlapping runs without an explanation", 1);
    let both = has_effect(earlier) && has_effect(later);
    let evidence = [earlier.start, later.start];
    findings.expect(!both, S1, (later.job_name, Some(later.slot)), &evidence, || {
        format!(
            "{} (token {}) and {} (token {}) ran at the same time without a cause, and both had \
             effects",
            earlier.process, earlier.token, later.process, later.token
        )
    });
}

/// Judges a run that begins beside runs of other slots: without an explanation, no more runs have
/// effects than the job allows by the configuration of the claim.
///
/// Takeovers continue runs that began when the job allowed more.
fn of_one_item<'a>(
    facts: &Facts<'_>,
    findings: &mut Findings,
    claims: &Claims<'_>,
    (rivals, later): (impl Iterator<Item = &'a Exec<'a>>, &Exec<'_>),
    has_effect: &impl Fn(&Exec<'_>) -> bool,
) {
    let claim_of = |exec: &Exec<'_>| claims.get(&(exec.job?, exec.slot, exec.token)).copied();
    let mut rivals = rivals.peekable();
    if rivals.peek().is_none() || later.source == "FAILOVER" {
        return;
    }
    let Some((place, claim)) = claim_of(later) else { return };
    let Some(most) = most_runs(facts, claim) else { return };
    // A later claim may have begun a run before this one: it counts the runs before it.
    let earlier: Vec<_> = rivals
        .filter(|rival| claim_of(rival).is_some_and(|(other, _)| other < place))
        .filter(|rival| !is_explained(facts, claims, rival, later) && has_effect(rival))
        .collect();
    let mut slots: Vec<_> = earlier.iter().map(|rival| rival.slot).collect();
    slots.sort_unstable();
    slots.dedup();
    let is_allowed = slots.len() < most || !has_effect(later);
    let evidence: Vec<_> = earlier.iter().map(|exec| exec.start).chain([later.start]).collect();
    findings.expect(is_allowed, S24, (later.job_name, Some(later.slot)), &evidence, || {
        format!(
            "{} runs of the item went on when another one began without a cause, and all had \
             effects; the job allows {most}",
            slots.len()
        )
    });
}

/// Returns the number of runs that the job allowed an item by the configuration of a claim.
fn most_runs(facts: &Facts<'_>, claim: &Claim) -> Option<usize> {
    let configs = &facts.trace().jobs.get(claim.job)?.configs;
    let place = configs
        .iter()
        .rposition(|from| from.mt <= claim.spot.mt && from.version == claim.config)?;
    let job = facts.trace().jobs.get(claim.job)?;
    let configs = job.possible_configs(place).iter().filter_map(|from| from.config.as_ref());
    configs.map(|config| config.slots).max()
}

/// Returns the tokens that had effects, per job and slot.
fn accepted<'a>(facts: &Facts<'a>) -> BTreeMap<(&'a str, Slot, u64), ()> {
    let effects = facts.records.iter().filter_map(|record| match &record.fact {
        Fact::Effect { run, accepted: true, .. } => {
            Some(((run.job.as_str(), Slot::of(run), run.token), ()))
        }
        _ => None,
    });
    effects.collect()
}

/// Returns the end of a run without an end record: the kill or the next start of its process, else
/// the end of the history.
pub(super) fn until(facts: &Facts<'_>, exec: &Exec<'_>) -> u64 {
    let ends = facts.records[exec.start.record..].iter().find(|record| match &record.fact {
        Fact::Nemesis { kind, target, .. } => target == exec.process && is_kill(kind),
        Fact::Process { .. } => record.p == exec.process && record.inc > exec.inc,
        _ => false,
    });
    ends.map_or(facts.end, |record| record.mt)
}

pub(super) fn is_kill(kind: &str) -> bool {
    ["crash", "kill", "sigkill"].iter().any(|word| kind.contains(word))
}

/// Returns true if a fault of the earlier run's process, or the end of its session, explains the
/// overlap.
fn is_explained(
    facts: &Facts<'_>,
    claims: &Claims<'_>,
    earlier: &Exec<'_>,
    later: &Exec<'_>,
) -> bool {
    let claim = earlier.job.and_then(|job| claims.get(&(job, earlier.slot, earlier.token)));
    let session = claim.and_then(|(_, claim)| facts.replay.sessions.get(claim.session));
    let closed = session.and_then(|session| session.closed);
    let before = later.start.mt.saturating_add(facts.bounds.clock);
    closed.is_some_and(|closed| closed <= before)
        || !facts.health.is_calm(earlier.process, earlier.start.mt, later.start.mt)
}
