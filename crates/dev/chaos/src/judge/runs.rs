//! Runs, assembled from the lines of the scripts, and the rules that they keep.

use std::collections::{BTreeMap, BTreeSet};

use super::explain::server;
use super::{Judgement, clock};
use crate::evidence::{Evidence, Fault, FaultKind, Line, Phase};

/// Longest overlap of two runs of an item that a fault of the first holder explains, in
/// milliseconds.
///
/// It is the longest script (8 s) minus the time until a takeover (2/3 of 4 s), plus 1 s of delay.
const MAX_OVERLAP_MS: i64 = 6_500;
/// Time after a fault in which it may affect runs, in milliseconds: a session timeout and a
/// shutdown.
const AFTERMATH_MS: i64 = 10_000;

/// A run of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The name of the job.
    pub job: String,
    /// The item.
    pub item: u32,
    /// The scheduled fire time.
    pub fire_ms: i64,
    /// The fencing token; 0 without monitoring.
    pub token: u64,
    /// `NORMAL`, `MISFIRE`, `FAILOVER` or `MANUAL`.
    pub source: String,
    /// The instance that started it.
    pub instance: String,
    /// The start of the script.
    pub began_ms: i64,
    /// The end of the script; `None` if it was killed.
    pub ended_ms: Option<i64>,
}

/// Assembles the runs in the order in which they began.
pub(super) fn of_lines(lines: &[Line]) -> Vec<Run> {
    let key = |line: &Line| (line.pid, line.job.clone(), line.item, line.fire_ms, line.token);
    let ends = lines.iter().filter(|line| line.phase == Phase::End);
    let ends: BTreeMap<_, i64> = ends.map(|line| (key(line), line.at_ms)).collect();
    let begins = lines.iter().filter(|line| line.phase == Phase::Begin);
    let mut runs: Vec<Run> = begins
        .map(|line| Run {
            job: line.job.clone(),
            item: line.item,
            fire_ms: line.fire_ms,
            token: line.token,
            source: line.source.clone(),
            instance: line.instance.clone(),
            began_ms: line.at_ms,
            ended_ms: ends.get(&key(line)).copied(),
        })
        .collect();
    runs.sort_by_key(|run| (run.began_ms, run.token));
    runs
}

/// Checks the rules for the runs of all monitored jobs.
pub(super) fn check(evidence: &Evidence, runs: &[Run], judgement: &mut Judgement) {
    let monitored: BTreeSet<&str> =
        evidence.jobs.iter().filter(|job| job.monitored).map(|job| job.name.as_str()).collect();
    let mut by_item: BTreeMap<(&str, u32), Vec<&Run>> = BTreeMap::new();
    for run in runs.iter().filter(|run| monitored.contains(run.job.as_str())) {
        by_item.entry((&run.job, run.item)).or_default().push(run);
    }
    for runs in by_item.values() {
        check_tokens(evidence, runs, judgement);
        check_overlaps(evidence, runs, judgement);
    }
    check_claims(evidence, runs, &monitored, judgement);
    check_successes(evidence, &monitored, judgement);
}

fn describe(run: &Run) -> String {
    let Run { job, item, fire_ms, token, source, instance, began_ms, .. } = run;
    let (fire, began) = (clock(*fire_ms), clock(*began_ms));
    format!("{job} item {item} fire {fire} {source} token {token} by {instance} at {began}")
}

/// Checks that tokens increase in the order of starts.
///
/// A holder that was stopped may start its script late, with a lower token than that of the
/// takeover.
fn check_tokens(evidence: &Evidence, runs: &[&Run], judgement: &mut Judgement) {
    let mut highest: Option<&Run> = None;
    for run in runs {
        if let Some(before) = highest.filter(|before| run.token <= before.token) {
            let is_late = run.token < before.token
                && was_disturbed(
                    evidence,
                    &run.instance,
                    run.began_ms - AFTERMATH_MS,
                    run.began_ms,
                );
            if !is_late {
                judgement.violations.push(format!(
                    "the token did not increase: {} after {}",
                    describe(run),
                    describe(before)
                ));
            }
            continue;
        }
        highest = Some(run);
    }
}

/// Checks that two runs of an item overlap only after a fault of the first holder, and for a
/// bounded time.
fn check_overlaps(evidence: &Evidence, runs: &[&Run], judgement: &mut Judgement) {
    for (n, first) in runs.iter().enumerate() {
        let Some(ended) = first.ended_ms else { continue };
        for second in runs[n + 1..].iter().take_while(|second| second.began_ms < ended) {
            let end = second.ended_ms.map_or(ended, |other| other.min(ended));
            let overlap = end - second.began_ms;
            let explained = was_disturbed(
                evidence,
                &first.instance,
                first.began_ms - AFTERMATH_MS,
                second.began_ms,
            );
            if explained && overlap <= MAX_OVERLAP_MS {
                judgement.overlaps += 1;
                judgement.longest_overlap_ms = judgement.longest_overlap_ms.max(overlap);
            } else {
                judgement.violations.push(format!(
                    "runs overlap by {overlap} ms ({}): {} and {}",
                    if explained { "too long" } else { "without a fault of the first holder" },
                    describe(first),
                    describe(second)
                ));
            }
        }
    }
}

/// Returns true if, between two instants, the server of an instance was killed or stopped, or all
/// ZooKeeper servers were down.
fn was_disturbed(evidence: &Evidence, instance: &str, from_ms: i64, until_ms: i64) -> bool {
    evidence.faults.iter().any(|fault| {
        let Fault { kind, target, .. } = fault;
        let concerns = match kind {
            FaultKind::Kill | FaultKind::Stop => target == server(instance),
            FaultKind::Outage => true,
            FaultKind::Terminate
            | FaultKind::Ended
            | FaultKind::ServerDown
            | FaultKind::Command => false,
        };
        concerns && fault.from_ms <= until_ms && fault.until_ms >= from_ms
    })
}

/// Checks that the schedule leads to at most one claim of each fire of an item.
fn check_claims(
    evidence: &Evidence,
    runs: &[Run],
    monitored: &BTreeSet<&str>,
    judgement: &mut Judgement,
) {
    let mut claims: BTreeMap<(&str, u32, i64), BTreeSet<u64>> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.source == "NORMAL") {
        claims.entry((&run.job, run.item, run.fire_ms)).or_default().insert(run.token);
    }
    for row in &evidence.rows {
        if let (Some("NORMAL"), Some(token)) = (row.source.as_deref(), row.token) {
            claims.entry((&row.job, row.item, row.fire_ms)).or_default().insert(token);
        }
    }
    for ((job, item, fire_ms), tokens) in claims {
        if monitored.contains(job) && tokens.len() > 1 {
            let fire = clock(fire_ms);
            judgement.violations.push(format!(
                "{job} item {item} fire {fire} was claimed from the schedule with tokens {tokens:?}"
            ));
        }
    }
}

/// Checks that each fire of an item succeeds at most once.
fn check_successes(evidence: &Evidence, monitored: &BTreeSet<&str>, judgement: &mut Judgement) {
    let mut successes: BTreeMap<(&str, u32, i64), BTreeSet<Option<u64>>> = BTreeMap::new();
    for row in evidence.rows.iter().filter(|row| row.outcome == "succeeded") {
        successes.entry((&row.job, row.item, row.fire_ms)).or_default().insert(row.token);
    }
    for ((job, item, fire_ms), tokens) in successes {
        if monitored.contains(job) && tokens.len() > 1 {
            let fire = clock(fire_ms);
            judgement.violations.push(format!(
                "{job} item {item} fire {fire} is recorded as succeeded with tokens {tokens:?}"
            ));
        }
    }
}
