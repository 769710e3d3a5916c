//! P3: what the resource accepted, in its own order. S1b, S1c.

use std::collections::BTreeMap;

use super::{Facts, Findings};
use crate::Property::{S1b, S1c};
use crate::history::{Fact, RunId};
use crate::replay::trace::Spot;

/// A write to the resource.
struct Effect<'a> {
    rseq: u64,
    run: &'a RunId,
    accepted: bool,
    spot: Spot,
}

pub(super) fn pass(facts: &Facts<'_>, findings: &mut Findings) {
    let mut effects: Vec<_> = facts
        .records
        .iter()
        .enumerate()
        .filter_map(|(record, of)| match &of.fact {
            Fact::Effect { run, accepted, rseq } => {
                let spot = Spot { record, mt: of.mt, zxid: None };
                Some(Effect { rseq: *rseq, run, accepted: *accepted, spot })
            }
            _ => None,
        })
        .collect();
    effects.sort_by_key(|effect| effect.rseq);
    if effects.windows(2).any(|pair| pair[0].rseq == pair[1].rseq) {
        findings
            .problems
            .push("two effects have the same place in the resource's order".to_owned());
    }
    let ended = ended_tokens(facts);
    // The greatest token that the resource accepted, per item, and how often each fire had an effect.
    let mut seen: BTreeMap<(&str, u32), (u64, Spot)> = BTreeMap::new();
    let mut taken: BTreeMap<(&str, u32, i64), Spot> = BTreeMap::new();
    for Effect { run, accepted, spot, .. } in &effects {
        let item = (run.job.as_str(), run.item);
        let subject = (item.0, Some(item.1));
        let before = seen.get(&item).copied();
        if !accepted {
            findings.count("effects refused", 1);
            continue;
        }
        let stale = before.filter(|(token, _)| *token > run.token);
        let evidence: Vec<_> = stale.map(|(_, spot)| spot).into_iter().chain([*spot]).collect();
        findings.expect(stale.is_none(), S1b, subject, &evidence, || {
            let newer = stale.map_or(0, |(token, _)| token);
            format!("token {} was accepted after token {newer}", run.token)
        });
        superseded(findings, &ended, run, *spot);
        if before.is_none_or(|(token, _)| token < run.token) {
            seen.insert(item, (run.token, *spot));
        }
        let earlier = taken.insert((&run.job, run.item, run.fire), *spot);
        if facts.options.deduplicated {
            let evidence: Vec<_> = earlier.into_iter().chain([*spot]).collect();
            findings.expect(earlier.is_none(), S1c, subject, &evidence, || {
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

/// Once a later run has ended well, the resource has been told its token, even if nothing else was written since.
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
