//! P2: links runs to claims. S1, S1a, S3, S11, S12, L0, L4.

use std::collections::BTreeMap;

use super::places::{FullPeriods, free_for};
use super::{Exec, Facts, Findings};
use crate::Property::{L0, L4, S1, S1a, S3, S11, S12};
use crate::docs::Outcome;
use crate::replay::trace::{Claim, ConfigFrom, Ending};
use crate::slot::Slot;

pub(super) fn pass(facts: &Facts<'_>, full: &FullPeriods<'_>, findings: &mut Findings) {
    let claims = &facts.trace().claims;
    let by_token: BTreeMap<_, _> = claims
        .iter()
        .enumerate()
        .map(|(place, claim)| ((claim.job, claim.slot, claim.token), place))
        .collect();
    let mut runs: Vec<Option<&Exec<'_>>> = vec![None; claims.len()];
    for exec in &facts.execs {
        let place = exec.job.and_then(|job| by_token.get(&(job, exec.slot, exec.token)));
        match place.map(|place| (*place, &claims[*place])) {
            Some((place, claim)) => {
                let subject = (exec.job_name, Some(exec.slot));
                findings.expect(
                    runs[place].is_none(),
                    S1a,
                    subject,
                    &[claim.spot, exec.start],
                    || format!("fire {} was run twice under token {}", exec.fire, exec.token),
                );
                runs[place] = Some(exec);
                linked(facts, findings, exec, claim);
            }
            None => unclaimed(facts, findings, exec),
        }
    }
    if facts.execs.is_empty() {
        findings.notes.push("runs of claims: the history has no runs".to_owned());
        return;
    }
    for (claim, exec) in claims.iter().zip(runs) {
        run_of(facts, full, findings, claim, exec);
    }
}

/// Judges a run without a claim. Only jobs without monitoring have such runs.
fn unclaimed(facts: &Facts<'_>, findings: &mut Findings, exec: &Exec<'_>) {
    let is_unmonitored =
        |from: &ConfigFrom| from.config.as_ref().is_some_and(|config| !config.monitor);
    let unmonitored = exec.job.and_then(|job| facts.trace().jobs.get(job)).is_some_and(|job| {
        job.configs.iter().enumerate().any(|(place, from)| {
            u32::try_from(from.version).ok() == Some(exec.config)
                && job.possible_configs(place).iter().any(is_unmonitored)
        })
    });
    if unmonitored && exec.token == 0 {
        return findings.count("runs without monitoring", 1);
    }
    findings.expect(false, S1, (exec.job_name, Some(exec.slot)), &[exec.start], || {
        format!(
            "{} ran fire {} under token {}, which no instance claimed",
            exec.process, exec.fire, exec.token
        )
    });
}

/// Judges that a run matches its claim.
fn linked(facts: &Facts<'_>, findings: &mut Findings, exec: &Exec<'_>, claim: &Claim) {
    let subject = (exec.job_name, Some(exec.slot));
    let evidence = [claim.spot, exec.start];
    let owner = facts.replay.sessions.process_of(claim.session);
    let same = claim.fire == exec.fire
        && claim.source.as_str() == exec.source
        && owner.is_none_or(|owner| owner == exec.process);
    findings.expect(same, S1, subject, &evidence, || {
        format!(
            "{} ran {} {} under token {}, claimed by {} as {} {}",
            exec.process,
            exec.source,
            exec.fire,
            exec.token,
            owner.unwrap_or("an unknown process"),
            claim.source.as_str(),
            claim.fire
        )
    });
    let after = exec.start.mt.saturating_add(facts.bounds.clock) >= claim.spot.mt;
    findings.expect(after, S1, subject, &evidence, || {
        format!("the run of fire {} began before its claim", exec.fire)
    });
    let config = u32::try_from(claim.config).ok();
    findings.expect(config == Some(exec.config), S11, subject, &evidence, || {
        format!(
            "the run of fire {} saw configuration {}; its claim checked configuration {}",
            exec.fire, exec.config, claim.config
        )
    });
    if claim.end.is_some_and(|end| end.spot.mt < exec.start.mt) {
        findings.count("runs begun after their claim had ended", 1);
    }
}

/// Judges that the record of a claim and its run agree: no success without a run, and no run
/// without a record of its end.
fn run_of(
    facts: &Facts<'_>,
    full: &FullPeriods<'_>,
    findings: &mut Findings,
    claim: &Claim,
    exec: Option<&Exec<'_>>,
) {
    let job = facts.replay.nodes.job_name(claim.job);
    let subject = (job, Some(claim.slot));
    if let Some(end) = claim.end.filter(|end| end.how == Ending::Done(Some(Outcome::Succeeded))) {
        let result = exec.and_then(|exec| exec.end).map(|(_, result)| result);
        findings.expect(result == Some("ok"), S3, subject, &[claim.spot, end.spot], || {
            let result = result.unwrap_or("no end");
            format!("fire {} is recorded as succeeded; its run has the result {result}", claim.fire)
        });
    }
    handed_over(findings, subject, claim, exec);
    let Some(process) = facts.replay.sessions.process_of(claim.session) else { return };
    let epsilon = facts.bounds.epsilon;
    let closed = claim.end.map_or(facts.end, |end| end.spot.mt);
    let began = exec.map_or(closed, |exec| exec.start.mt.min(closed));
    let by = free_for(full, process, claim.spot.mt, epsilon);
    let overdue = by < began && facts.health.is_calm(process, claim.spot.mt, by);
    findings.expect(!overdue, L0, subject, &[claim.spot], || {
        format!("{process} claimed fire {}, had a free place, and did not run it", claim.fire)
    });
    if let Some(Exec { end: Some((ended, result)), .. }) = exec {
        let by = ended.mt.saturating_add(epsilon);
        let overdue = by < closed && facts.health.is_calm(process, claim.spot.mt, by);
        let mut evidence = vec![claim.spot, *ended];
        evidence.extend(claim.end.map(|end| end.spot));
        findings.expect(!overdue, L4, subject, &evidence, || {
            format!(
                "the run of fire {} ended with {result}, and its end was not recorded",
                claim.fire
            )
        });
    }
}

/// Judges that a holder gives up only cancelled runs.
fn handed_over(
    findings: &mut Findings,
    subject: (&str, Option<Slot>),
    claim: &Claim,
    exec: Option<&Exec<'_>>,
) {
    let Some(end) = claim.end.filter(|end| end.by_holder && end.how == Ending::Orphaned) else {
        return;
    };
    let finished = exec.and_then(|exec| exec.end).filter(|(_, result)| *result != "cancelled");
    findings.expect(finished.is_none(), S12, subject, &[claim.spot, end.spot], || {
        let result = finished.map_or("", |(_, result)| result);
        format!(
            "the run of fire {} ended with {result}, and its holder gave it up as orphaned",
            claim.fire
        )
    });
}
