//! P7: runs of one item at the same time. They cannot be excluded, but each needs an explanation.
//! S1.

use std::collections::BTreeMap;

use super::{Exec, Facts, Findings};
use crate::Property::S1;
use crate::history::Fact;

pub(super) fn pass(facts: &Facts<'_>, findings: &mut Findings) {
    let mut by_item: BTreeMap<(&str, u32), Vec<&Exec<'_>>> = BTreeMap::new();
    for exec in facts.execs.iter().filter(|exec| exec.token > 0) {
        by_item.entry((exec.job_name, exec.item)).or_default().push(exec);
    }
    let accepted = accepted(facts);
    for ((job, item), execs) in by_item {
        // Runs that have begun and not ended when the next one begins.
        let mut open: Vec<(&Exec<'_>, u64)> = Vec::new();
        for later in execs {
            open.retain(|(_, over)| *over > later.start.mt);
            for (earlier, _) in &open {
                findings.count("overlapping runs of one item", 1);
                if is_explained(facts, earlier, later) {
                    continue;
                }
                findings.count("overlapping runs without an explanation", 1);
                let has = |exec: &Exec<'_>| accepted.contains_key(&(job, item, exec.token));
                let both = has(earlier) && has(later);
                let evidence = [earlier.start, later.start];
                findings.expect(!both, S1, (job, Some(item)), &evidence, || {
                    format!(
                        "{} (token {}) and {} (token {}) ran at the same time without a cause, \
                         and both had effects",
                        earlier.process, earlier.token, later.process, later.token
                    )
                });
            }
            let over = later.end.map_or_else(|| until(facts, later), |(end, _)| end.mt);
            open.push((later, over));
        }
    }
}

/// Returns the tokens that had effects, per job and item.
fn accepted<'a>(facts: &Facts<'a>) -> BTreeMap<(&'a str, u32, u64), ()> {
    let effects = facts.records.iter().filter_map(|record| match &record.fact {
        Fact::Effect { run, accepted: true, .. } => {
            Some(((run.job.as_str(), run.item, run.token), ()))
        }
        _ => None,
    });
    effects.collect()
}

/// Returns the end of a run without an end record: the kill or the next start of its process, else
/// the end of the history.
fn until(facts: &Facts<'_>, exec: &Exec<'_>) -> u64 {
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
fn is_explained(facts: &Facts<'_>, earlier: &Exec<'_>, later: &Exec<'_>) -> bool {
    let claim = facts.trace().claims.iter().find(|claim| {
        Some(claim.job) == earlier.job && claim.item == earlier.item && claim.token == earlier.token
    });
    let session = claim.and_then(|claim| facts.replay.sessions.get(claim.session));
    let closed = session.and_then(|session| session.closed);
    let before = later.start.mt.saturating_add(facts.bounds.clock);
    closed.is_some_and(|closed| closed <= before)
        || !facts.health.is_calm(earlier.process, earlier.start.mt, later.start.mt)
}
