//! P3: announcements and effects at the external resource, in its own order. S1b, S1c.

use std::collections::{BTreeMap, BTreeSet};

use super::{Facts, Findings};
use crate::Property::{S1b, S1c};
use crate::history::{Fact, RunId};
use crate::replay::trace::Spot;
use crate::slot::Slot;

/// An announcement of a run at the resource, or a write to it.
struct Access<'a> {
    rseq: u64,
    run: &'a RunId,
    accepted: bool,
    writes: bool,
    spot: Spot,
}

pub(super) fn pass(facts: &Facts<'_>, findings: &mut Findings) {
    let accesses = accesses(facts);
    if accesses.windows(2).any(|pair| pair[0].rseq == pair[1].rseq) {
        let problem = "two accesses have the same number in the resource's order";
        findings.problems.push(problem.to_owned());
    }
    if accesses.iter().any(|access| !access.writes) {
        announced(&accesses, findings);
    }
    fenced(facts, &accesses, findings);
    effects_follow_start(facts, &accesses, findings);
    repeated(facts, &accesses, findings);
}

/// Returns all accesses to the resource, in its own order.
fn accesses<'a>(facts: &Facts<'a>) -> Vec<Access<'a>> {
    let access = |(record, of): (usize, &'a crate::history::Record)| {
        let (run, accepted, rseq, writes) = match &of.fact {
            Fact::Effect { run, accepted, rseq } => (run, *accepted, *rseq, true),
            Fact::Announced { run, accepted, rseq } => (run, *accepted, *rseq, false),
            _ => return None,
        };
        Some(Access { rseq, run, accepted, writes, spot: Spot { record, mt: of.mt, zxid: None } })
    };
    let mut accesses: Vec<_> = facts.records.iter().enumerate().filter_map(access).collect();
    accesses.sort_by_key(|access| access.rseq);
    accesses
}

/// Checks announcements, if runs make them. Each run announces itself before it writes.
///
/// The resource rejects an announcement only after one with a greater token. Otherwise the harness
/// breaks the assumptions of the promises about effects.
fn announced(accesses: &[Access<'_>], findings: &mut Findings) {
    let mut announced = BTreeSet::new();
    let mut greatest_tokens: BTreeMap<(&str, Slot), u64> = BTreeMap::new();
    for access in accesses {
        if access.writes && !announced.contains(access.run) {
            let Access { rseq, run, .. } = access;
            let slot = Slot::of(run);
            let problem = format!(
                "effect {rseq} of item {slot} belongs to a run that did not announce itself"
            );
            return findings.problems.push(problem);
        }
        announced.insert(access.run);
        let greatest = greatest_tokens
            .entry((access.run.job.as_str(), Slot::of(access.run)))
            .or_insert(access.run.token);
        if !access.accepted && access.run.token >= *greatest {
            let problem =
                format!("the resource rejected access {}, whose token was not stale", access.rseq);
            return findings.problems.push(problem);
        }
        *greatest = access.run.token.max(*greatest);
    }
}

/// Judges that the resource accepts no token smaller than one that it has seen.
fn fenced(facts: &Facts<'_>, accesses: &[Access<'_>], findings: &mut Findings) {
    let ended = ended_tokens(facts);
    // The greatest token that the resource has seen, per slot.
    let mut greatest_tokens: BTreeMap<(&str, Slot), (u64, Spot)> = BTreeMap::new();
    for Access { run, accepted, spot, writes, .. } in accesses {
        let slot = (run.job.as_str(), Slot::of(run));
        let newer = greatest_tokens.get(&slot).copied().filter(|(token, _)| *token > run.token);
        if !accepted {
            findings.count(if *writes { "effects refused" } else { "runs refused" }, 1);
            continue;
        }
        let evidence: Vec<_> = newer.map(|(_, spot)| spot).into_iter().chain([*spot]).collect();
        findings.expect(newer.is_none(), S1b, (slot.0, Some(slot.1)), &evidence, || {
            let newer = newer.map_or(0, |(token, _)| token);
            format!("the resource accepted token {} after it had seen token {newer}", run.token)
        });
        superseded(findings, &ended, run, *spot);
        if newer.is_none() {
            greatest_tokens.insert(slot, (run.token, *spot));
        }
    }
}

/// Judges that only a run that has effects_follow_start accesses the resource.
fn effects_follow_start(facts: &Facts<'_>, accesses: &[Access<'_>], findings: &mut Findings) {
    if facts.execs.is_empty() {
        return;
    }
    let effects_follow_start: BTreeMap<_, _> = facts
        .execs
        .iter()
        .rev()
        .map(|exec| ((exec.job_name, exec.slot, exec.fire, exec.token), exec.start.mt))
        .collect();
    for Access { run, spot, .. } in accesses.iter().filter(|access| access.accepted) {
        let start =
            effects_follow_start.get(&(run.job.as_str(), Slot::of(run), run.fire, run.token));
        let now = spot.mt.saturating_add(facts.bounds.clock);
        let is_begun = start.is_some_and(|start| *start <= now);
        findings.expect(is_begun, S1b, (&run.job, Some(Slot::of(run))), &[*spot], || {
            format!("the resource accepted token {} for fire {}, and no such run had effects_follow_start", run.token, run.fire)
        });
    }
}

/// Judges one effect per fire if the resource deduplicates; otherwise counts repeated effects.
fn repeated(facts: &Facts<'_>, accesses: &[Access<'_>], findings: &mut Findings) {
    let mut taken: BTreeMap<(&str, u32, i64), Spot> = BTreeMap::new();
    for Access { run, spot, .. } in
        accesses.iter().filter(|access| access.writes && access.accepted)
    {
        let earlier = taken.insert((&run.job, run.item, run.fire), *spot);
        if facts.options.deduplicated {
            let evidence: Vec<_> = earlier.into_iter().chain([*spot]).collect();
            findings.expect(
                earlier.is_none(),
                S1c,
                (&run.job, Some(Slot::of(run))),
                &evidence,
                || format!("the resource accepted a second effect of fire {}", run.fire),
            );
        } else if earlier.is_some() {
            findings.count("fires with more than one effect", 1);
        }
    }
}

type Ended<'a> = BTreeMap<(&'a str, Slot), Vec<(Spot, u64)>>;

/// Returns the tokens of successful runs per slot, in order of time.
fn ended_tokens<'a>(facts: &Facts<'a>) -> Ended<'a> {
    let mut ended = Ended::new();
    for exec in &facts.execs {
        if let Some((spot, "ok")) = exec.end {
            ended.entry((exec.job_name, exec.slot)).or_default().push((spot, exec.token));
        }
    }
    ended
}

/// Judges effects after a later run has succeeded. That run has shown its token to the resource,
/// even if no record says so.
fn superseded(findings: &mut Findings, ended: &Ended<'_>, run: &RunId, spot: Spot) {
    let later = ended.get(&(run.job.as_str(), Slot::of(run))).into_iter().flatten();
    let later = later
        .filter(|(end, token)| *token > run.token && end.mt < spot.mt)
        .min_by_key(|(end, _)| end.mt);
    let Some((end, token)) = later else { return };
    findings.expect(false, S1b, (&run.job, Some(Slot::of(run))), &[*end, spot], || {
        format!(
            "the resource accepted token {} after the run under token {token} had ended",
            run.token
        )
    });
}
