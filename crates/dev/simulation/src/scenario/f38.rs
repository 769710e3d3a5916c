//! F38: the holder of the only permit of a group is killed while the job waits in the line, then
//! all instances that wait are killed.
//!
//! ```text
//! permit  1 for three items
//! b      [i ----- killed ...T... |another process takes i over
//! a, c         |wait in the line |run
//! b      [i -----------------]          keeps its permit while a and c are killed
//! a, c         |wait in the line, killed
//! ```

use lite::{GroupLimits, GroupName};

use super::Scenario;
use super::findings::Findings;
use super::history_queries::{Hit, RunSeen, Seen, ns};
use super::stage::{Stage, StepResult, work};

const ITEMS: u32 = 3;
const HOLDERS: [&str; 3] = ["a", "b", "c"];
const GROUP: &str = "shared";
/// Work of the process that is meant to hold the permit, in periods.
const LONG: f64 = 1.6;
/// Time after the start of a long run until the fires of the other items wait, in periods.
const UNTIL_OTHERS_WAIT: f64 = 1.2;
const SHORT: f64 = 0.15;

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F38",
    title: "a killed holder of a group's only permit, and killed processes in the line",
    shows: "the permit is free after the session's end; the run fails over; one run at once; all items run",
    catches: "a permit that outlives its session, or that is taken before; a place that blocks the line",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("failover", 1), ("crash", 1)],
};

async fn script(stage: &mut Stage) -> StepResult {
    let group = GroupName::new(GROUP).expect("the constant is a valid group name");
    stage.create_job(ITEMS, |config| config.group = Some(group.clone())).await?;
    stage.set_group(&group, GroupLimits { cluster_concurrency: Some(1), start_rate: None }).await?;
    for name in HOLDERS {
        stage.spawn(name, &work(if name == "b" { LONG } else { SHORT })).await?;
    }
    stage.until_shared(HOLDERS.len()).await?;
    stage.start_schedule().await?;

    until_others_wait_for_b(stage).await?;
    let mark = stage.mark().await?;
    stage.kill("b").await?;
    stage.until_taken_over(1, mark, 8).await?;
    stage.spawn("b", &work(LONG)).await?;
    stage.until_shared(HOLDERS.len()).await?;

    until_others_wait_for_b(stage).await?;
    for name in ["a", "c"] {
        stage.kill(name).await?;
    }
    stage.until_shared(1).await?;
    for name in ["a", "c"] {
        stage.spawn(name, &work(SHORT)).await?;
    }
    stage.until_shared(HOLDERS.len()).await?;

    // Short runs let each item run at each fire.
    stage.close("b").await?;
    stage.spawn("d", &work(SHORT)).await?;
    stage.until_shared(HOLDERS.len()).await?;
    stage.heal_and_settle(0..ITEMS).await
}

/// Waits until b runs with the permit, and a later fire of the other items waits for it.
async fn until_others_wait_for_b(stage: &mut Stage) -> StepResult {
    stage.next_run_of("b").await?;
    stage.elapse(stage.periods(UNTIL_OTHERS_WAIT)).await;
    Ok(())
}

/// Returns the kills of the processes, in order.
fn kills<'a>(seen: &Seen<'a>) -> Vec<Hit<'a>> {
    seen.hits("crash").collect()
}

/// Returns the time at which a run ended, or was ended by the kill of its process.
fn ended_at(seen: &Seen<'_>, run: &RunSeen<'_>) -> u64 {
    let killed = kills(seen).into_iter().find(|hit| hit.target == run.p && hit.mt > run.began);
    run.end.map(|(mt, _)| mt).or(killed.map(|hit| hit.mt)).unwrap_or(u64::MAX)
}

/// Returns true if b had this run at this moment, which can be that of its own kill.
fn is_of_b_at(seen: &Seen<'_>, run: &RunSeen<'_>, mt: u64) -> bool {
    run.p == "b" && run.began <= mt && mt <= ended_at(seen, run)
}

/// Returns the nodes of the group below `parent` at this moment, each with the process that
/// created it.
fn owners_of<'a>(seen: &Seen<'a>, parent: &str, mt: u64) -> Vec<Option<&'a str>> {
    let nodes = seen.group_nodes(GROUP, mt).into_iter();
    let below = nodes.filter(|(node, _)| node.starts_with(&format!("{parent}/")));
    below.map(|(_, sid)| seen.opener_of(sid)).collect()
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let runs = seen.runs();
    for run in &runs {
        let is_beside = |it: &&RunSeen<'_>| it.began <= run.began && ended_at(seen, it) > run.began;
        let at_once = runs.iter().filter(is_beside).count();
        findings.expect(at_once <= 1, || {
            format!("{at_once} runs of the group at once when {} began {:?}", run.p, run.id)
        });
    }
    if let Some(hit) = kills(seen).first() {
        findings.lost_runs_are_repeated(seen, hit.target, hit.mt);
        permit_is_kept_until_its_session_ends(&mut findings, seen, *hit);
    }
    for hit in kills(seen).iter().skip(1) {
        for run in runs.iter().filter(|run| is_of_b_at(seen, run, hit.mt)) {
            findings.expect(run.has_succeeded(), || {
                format!("the run of b ended as {:?} after the kill of {}", run.end, hit.target)
            });
        }
    }
    nothing_outlives_its_session(&mut findings, seen);
    for item in 0..ITEMS {
        findings.each_fire_accounted(seen, item);
        let n = runs.iter().filter(|run| run.id.item == item).count();
        findings.expect(n > 3, || format!("item {item} ran {n} times"));
    }
    findings.into_sentences()
}

/// Expects that no run begins from the kill of the holder to the end of its session, and that one
/// begins soon afterwards.
fn permit_is_kept_until_its_session_ends(
    findings: &mut Findings,
    seen: &Seen<'_>,
    killed: Hit<'_>,
) {
    let session = seen.session_at(killed.target, killed.mt);
    let Some((closed_mt, closed)) = session.and_then(|sid| seen.closed(sid)) else {
        return findings.expect(false, || format!("the session of {} did not end", killed.target));
    };
    let claims = seen.ledger().into_iter().filter(|change| change.is_claim());
    let later: Vec<_> = claims.filter(|claim| claim.mt > killed.mt).collect();
    for early in later.iter().filter(|claim| claim.zxid < closed) {
        findings.expect(false, || {
            format!("item {} was claimed while the killed process held the permit", early.item)
        });
    }
    let limit = closed_mt + ns(seen.recovery());
    let next = later.iter().find(|claim| claim.zxid > closed);
    findings.expect(next.is_some_and(|claim| claim.mt <= limit), || {
        format!("the next run began at {:?}, not until {limit}", next.map(|claim| claim.mt))
    });
}

/// Expects that no permit and no place in the line belongs to a session that has ended.
fn nothing_outlives_its_session(findings: &mut Findings, seen: &Seen<'_>) {
    let end = seen.records().last().map_or(0, |record| record.mt);
    for (node, sid) in seen.group_nodes(GROUP, end) {
        let is_of_run = node.starts_with("permits/") || node.starts_with("waiting/");
        findings.expect(!is_of_run || seen.closed(sid).is_none(), || {
            format!("{node} of the group outlived the session {sid}")
        });
    }
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let runs = seen.runs();
    for (n, hit) in kills(seen).into_iter().enumerate() {
        let killed = hit.target;
        let runs_b = runs.iter().any(|run| is_of_b_at(seen, run, hit.mt));
        let holders = owners_of(seen, "permits", hit.mt);
        findings.expect(runs_b && holders == [Some("b")], || {
            format!("b did not run with the permit when {killed} was killed: {holders:?}")
        });
        // The place of the job can be that of either process, and ends with its session.
        let is_known = n < 2;
        let waiting = owners_of(seen, "waiting", hit.mt);
        let others_wait = waiting.iter().any(|p| p.is_some_and(|p| p != "b"));
        findings.expect(!is_known || others_wait, || {
            format!("no process waited when {killed} was killed: {waiting:?}")
        });
    }
    findings.into_sentences()
}
