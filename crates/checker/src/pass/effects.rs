//! P3: what the resource was told and accepted, in its own order. S1b, S1c.

use std::collections::{BTreeMap, BTreeSet};

use super::{Facts, Findings};
use crate::Property::{S1b, S1c};
use crate::history::{Fact, RunId};
use crate::replay::trace::Spot;

/// A run told the resource that it begins, or wrote to it.
struct Act<'a> {
    rseq: u64,
    run: &'a RunId,
    accepted: bool,
    writes: bool,
    spot: Spot,
}

pub(super) fn pass(facts: &Facts<'_>, findings: &mut Findings) {
    let acts = acts(facts);
    if acts.windows(2).any(|pair| pair[0].rseq == pair[1].rseq) {
        let problem = "two acts have the same place in the resource's order";
        findings.problems.push(problem.to_owned());
    }
    if acts.iter().any(|act| !act.writes) {
        announced(&acts, findings);
    }
    fenced(facts, &acts, findings);
    begun(facts, &acts, findings);
    repeated(facts, &acts, findings);
}

/// Returns what reached the resource, in its own order.
fn acts<'a>(facts: &Facts<'a>) -> Vec<Act<'a>> {
    let act = |(record, of): (usize, &'a crate::history::Record)| {
        let (run, accepted, rseq, writes) = match &of.fact {
            Fact::Effect { run, accepted, rseq } => (run, *accepted, *rseq, true),
            Fact::Announced { run, accepted, rseq } => (run, *accepted, *rseq, false),
            _ => return None,
        };
        Some(Act { rseq, run, accepted, writes, spot: Spot { record, mt: of.mt, zxid: None } })
    };
    let mut acts: Vec<_> = facts.records.iter().enumerate().filter_map(act).collect();
    acts.sort_by_key(|act| act.rseq);
    acts
}

/// Where runs announce themselves, each does so before it writes, and is refused only if a later one was before it: else
/// the harness does not do what the promises about effects presume.
fn announced(acts: &[Act<'_>], findings: &mut Findings) {
    let mut announced = BTreeSet::new();
    let mut told: BTreeMap<(&str, u32), u64> = BTreeMap::new();
    for act in acts {
        if act.writes && !announced.contains(act.run) {
            let Act { rseq, run, .. } = act;
            let item = run.item;
            let problem =
                format!("effect {rseq} of item {item} is of a run that was not announced");
            return findings.problems.push(problem);
        }
        announced.insert(act.run);
        let greatest = told.entry((act.run.job.as_str(), act.run.item)).or_insert(act.run.token);
        if !act.accepted && act.run.token >= *greatest {
            let problem = format!("the resource refused act {}, whose token was good", act.rseq);
            return findings.problems.push(problem);
        }
        *greatest = act.run.token.max(*greatest);
    }
}

/// Once the resource was told of a token, it takes nothing of a smaller one, and everything else.
fn fenced(facts: &Facts<'_>, acts: &[Act<'_>], findings: &mut Findings) {
    let ended = ended_tokens(facts);
    // The greatest token that the resource was told of, per item.
    let mut told: BTreeMap<(&str, u32), (u64, Spot)> = BTreeMap::new();
    for Act { run, accepted, spot, writes, .. } in acts {
        let item = (run.job.as_str(), run.item);
        let newer = told.get(&item).copied().filter(|(token, _)| *token > run.token);
        if !accepted {
            findings.count(if *writes { "effects refused" } else { "runs refused" }, 1);
            continue;
        }
        let evidence: Vec<_> = newer.map(|(_, spot)| spot).into_iter().chain([*spot]).collect();
        findings.expect(newer.is_none(), S1b, (item.0, Some(item.1)), &evidence, || {
            let newer = newer.map_or(0, |(token, _)| token);
            format!("token {} was accepted after the resource was told of token {newer}", run.token)
        });
        superseded(findings, &ended, run, *spot);
        if newer.is_none() {
            told.insert(item, (run.token, *spot));
        }
    }
}

/// What is written is written by a run that has begun.
fn begun(facts: &Facts<'_>, acts: &[Act<'_>], findings: &mut Findings) {
    if facts.execs.is_empty() {
        return;
    }
    let begun: BTreeMap<_, _> = facts
        .execs
        .iter()
        .rev()
        .map(|exec| ((exec.job_name, exec.item, exec.fire, exec.token), exec.start.mt))
        .collect();
    for Act { run, spot, .. } in acts.iter().filter(|act| act.accepted) {
        let start = begun.get(&(run.job.as_str(), run.item, run.fire, run.token));
        let now = spot.mt.saturating_add(facts.bounds.clock);
        let is_begun = start.is_some_and(|start| *start <= now);
        findings.expect(is_begun, S1b, (&run.job, Some(run.item)), &[*spot], || {
            format!("token {} was accepted for fire {}; no such run had begun", run.token, run.fire)
        });
    }
}

/// A resource that says so takes one effect per fire; others are counted.
fn repeated(facts: &Facts<'_>, acts: &[Act<'_>], findings: &mut Findings) {
    let mut taken: BTreeMap<(&str, u32, i64), Spot> = BTreeMap::new();
    for Act { run, spot, .. } in acts.iter().filter(|act| act.writes && act.accepted) {
        let earlier = taken.insert((&run.job, run.item, run.fire), *spot);
        if facts.options.deduplicated {
            let evidence: Vec<_> = earlier.into_iter().chain([*spot]).collect();
            findings.expect(earlier.is_none(), S1c, (&run.job, Some(run.item)), &evidence, || {
                format!("fire {} had an effect before", run.fire)
            });
        } else if earlier.is_some() {
            findings.count("fires with more than one effect", 1);
        }
    }
}

type Ended<'a> = BTreeMap<(&'a str, u32), Vec<(Spot, u64)>>;

/// Returns which tokens' runs have ended well, per item, in the order of time.
fn ended_tokens<'a>(facts: &Facts<'a>) -> Ended<'a> {
    let mut ended = Ended::new();
    for exec in &facts.execs {
        if let Some((spot, "ok")) = exec.end {
            ended.entry((exec.job_name, exec.item)).or_default().push((spot, exec.token));
        }
    }
    ended
}

/// Once a later run has ended well, the resource has been told its token, even if that shows nowhere.
fn superseded(findings: &mut Findings, ended: &Ended<'_>, run: &RunId, spot: Spot) {
    let later = ended.get(&(run.job.as_str(), run.item)).into_iter().flatten();
    let later = later
        .filter(|(end, token)| *token > run.token && end.mt < spot.mt)
        .min_by_key(|(end, _)| end.mt);
    let Some((end, token)) = later else { return };
    findings.expect(false, S1b, (&run.job, Some(run.item)), &[*end, spot], || {
        format!("token {} was accepted after the run under token {token} had ended", run.token)
    });
}
