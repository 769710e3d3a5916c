//! P9: coverage of the run. A fault without a target proves nothing.

use super::overlap::is_kill;
use super::{Facts, Fault, Findings};
use crate::docs::{Ledger, Outcome, Source};
use crate::history::Fact;
use crate::replay::trace::{Ending, Membership};
use crate::report::Coverage;

pub(super) fn pass(facts: &Facts<'_>, findings: &mut Findings) {
    for (name, reached) in occurrences(facts) {
        row(findings, name, reached, reached);
    }
    for fault in &facts.faults {
        let hit = fault.is_real() && hits(facts, fault);
        row(findings, fault.kind, u64::from(hit), 1);
    }
    let required = facts.records.iter().filter_map(|record| match &record.fact {
        Fact::RunMeta { require, .. } => Some(require),
        _ => None,
    });
    for (name, least) in required.flatten() {
        let row = findings.coverage.entry(name.clone()).or_default();
        row.required = *least;
        if row.reached < *least {
            let reached = row.reached;
            let problem =
                format!("coverage: {name} was reached {reached} times; {least} are required");
            findings.problems.push(problem);
        }
    }
}

fn row(findings: &mut Findings, name: &str, reached: u64, tried: u64) {
    let row: &mut Coverage = findings.coverage.entry(name.to_owned()).or_default();
    row.reached += reached;
    row.tried += tried;
}

/// Counts the requests to cancel a run that reached its record.
fn cancel_requests(facts: &Facts<'_>) -> u64 {
    let changes = facts.trace().jobs.iter().flat_map(|job| {
        let of_items = job.items.values().flat_map(|item| &item.changes);
        of_items.chain(job.further.values().flatten())
    });
    let wanted = |ledger: Option<Ledger>| ledger.filter(Ledger::is_busy)?.cancel_request();
    changes
        .filter(|change| wanted(change.after).is_some() && wanted(change.before).is_none())
        .count() as u64
}

/// Returns the counts of all coverage rows except faults, by the names that runs require them by.
fn occurrences(facts: &Facts<'_>) -> Vec<(&'static str, u64)> {
    let claims = &facts.trace().claims;
    let jobs = &facts.trace().jobs;
    let of = |source| claims.iter().filter(|claim| claim.source == source).count() as u64;
    let ended = |ending: fn(Ending) -> bool| {
        claims.iter().filter(|claim| claim.end.is_some_and(|end| ending(end.how))).count() as u64
    };
    let merged = claims.iter().filter(|claim| claim.span.0 < claim.span.1).count() as u64;
    let facts_of = |wanted: fn(&Fact) -> bool| {
        facts.records.iter().filter(|record| wanted(&record.fact)).count() as u64
    };
    vec![
        ("claim", claims.len() as u64),
        ("normal", of(Source::Normal)),
        ("misfire", of(Source::Misfire)),
        ("merged", merged),
        ("failover", of(Source::Failover)),
        ("manual", of(Source::Manual)),
        ("backfill", of(Source::Backfill)),
        ("parallel", claims.iter().filter(|claim| !claim.slot.is_first()).count() as u64),
        ("orphan", ended(|how| how == Ending::Orphaned)),
        ("taken_at_once", ended(|how| how == Ending::TakenAtOnce)),
        ("cancel_request", cancel_requests(facts)),
        ("interrupted", ended(|how| how == Ending::Done(Some(Outcome::Interrupted)))),
        (
            "failed",
            ended(|how| {
                matches!(
                    how,
                    Ending::Done(Some(Outcome::Failed | Outcome::Panicked | Outcome::TimedOut))
                )
            }),
        ),
        ("run", facts.execs.len() as u64),
        ("effect", facts_of(|fact| matches!(fact, Fact::Effect { accepted: true, .. }))),
        ("fenced", facts_of(|fact| matches!(fact, Fact::Effect { accepted: false, .. }))),
        ("once", facts_of(|fact| matches!(fact, Fact::Once { .. }))),
        ("session_end", facts_of(|fact| matches!(fact, Fact::SessClose { .. }))),
        ("reshard", jobs.iter().map(|job| job.reshardings.saturating_sub(1)).sum()),
        ("election", jobs.iter().map(|job| job.terms).sum()),
        ("retired", jobs.iter().map(|job| job.retired).sum()),
        ("reconfigured", jobs.iter().map(|job| job.configs.len().saturating_sub(1) as u64).sum()),
    ]
}

/// Returns true if a fault had a target.
///
/// A fault that stops a process hits if the process held a claim or led while the fault lasted.
/// A fault of the registry hits if any instance was registered. Other faults hit if their process
/// was registered.
fn hits(facts: &Facts<'_>, fault: &Fault<'_>) -> bool {
    let is_of = |session: i64| facts.replay.sessions.process_of(session) == Some(fault.target);
    let over = |from: u64, until: Option<u64>| {
        from <= fault.until && until.is_none_or(|until| until >= fault.from)
    };
    let jobs = &facts.trace().jobs;
    let registered = |wanted: &dyn Fn(&Membership) -> bool| {
        let memberships = jobs.iter().flat_map(|job| &job.memberships);
        memberships.into_iter().any(|m| over(m.from, m.until) && wanted(m))
    };
    if facts.replay.sessions.iter().all(|(sid, _)| !is_of(sid)) {
        return fault.target == "registry" && registered(&|_| true);
    }
    let stops = is_kill(fault.kind)
        || ["pause", "stop", "partition", "black", "expire"].iter().any(|w| fault.kind.contains(w));
    if !stops {
        return registered(&|m| is_of(m.session));
    }
    let held =
        facts.trace().claims.iter().any(|claim| {
            is_of(claim.session) && over(claim.spot.mt, claim.end.map(|end| end.spot.mt))
        });
    let leaderships = jobs.iter().flat_map(|job| &job.leaderships);
    held || leaderships.into_iter().any(|led| is_of(led.session) && over(led.from, led.until))
}
