//! Graceful leaves: no completed run is repeated, and each leave ends. S12, L6.

use std::collections::BTreeMap;

use super::overlap::is_kill;
use super::{Facts, Findings};
use crate::Property::{L6, S12};
use crate::history::{Fact, ProcessEvent};
use crate::replay::session::ProcessStart;
use crate::replay::trace::Spot;

pub(super) fn pass(facts: &Facts<'_>, findings: &mut Findings) {
    let left = ends(facts, findings);
    taken_over(facts, findings, &left);
}

/// Judges that no completed run of a process that left in order is taken over, and that none of its
/// runs goes on.
///
/// A run is excused if its session was lost before the leave, so that its end could not be
/// recorded.
fn taken_over(facts: &Facts<'_>, findings: &mut Findings, left: &BTreeMap<ProcessStart, Spot>) {
    for exec in &facts.execs {
        let process_start = ProcessStart { process: exec.process.to_owned(), inc: exec.inc };
        let Some(leave) = left.get(&process_start) else { continue };
        let over = exec.end.is_some_and(|(end, _)| end.record < leave.record);
        let subject = (exec.job_name, Some(exec.slot));
        findings.expect(over, S12, subject, &[exec.start, *leave], || {
            format!("{} left in order while its run of fire {} went on", exec.process, exec.fire)
        });
    }
    let claims = &facts.trace().claims;
    for takeover in claims {
        let Some(former) = takeover.takes_over.and_then(|place| claims.get(place)) else {
            continue;
        };
        let Some(session) = facts.replay.sessions.get(former.session) else { continue };
        let leave =
            session.process_start.as_ref().and_then(|process_start| left.get(process_start));
        let kept = |leave: &&Spot| session.closed.is_none_or(|closed| closed >= leave.mt);
        let Some(leave) = leave.filter(kept) else { continue };
        let finished = facts.execs.iter().find(|exec| {
            Some(former.job) == exec.job && former.slot == exec.slot && former.token == exec.token
        });
        let finished = finished.and_then(|exec| exec.end).filter(|(_, how)| *how != "cancelled");
        let job = facts.replay.nodes.job_name(takeover.job);
        let evidence = [former.spot, *leave, takeover.spot];
        findings.expect(finished.is_none(), S12, (job, Some(takeover.slot)), &evidence, || {
            format!(
                "fire {} was completed before its holder left, and was run again",
                takeover.fire
            )
        });
    }
}

/// Judges that leaves end. Returns the process starts that have left in order.
fn ends(facts: &Facts<'_>, findings: &mut Findings) -> BTreeMap<ProcessStart, Spot> {
    let mut left = BTreeMap::new();
    for (place, record) in facts.records.iter().enumerate() {
        let Fact::Process { ev, .. } = &record.fact else { continue };
        let spot = Spot { record: place, mt: record.mt, zxid: None };
        if *ev == ProcessEvent::Left {
            left.insert(ProcessStart { process: record.p.clone(), inc: record.inc }, spot);
        }
        if *ev != ProcessEvent::Drain {
            continue;
        }
        let rest = &facts.records[place..];
        let over = rest.iter().find(|later| match &later.fact {
            Fact::Process { ev: ProcessEvent::Left | ProcessEvent::Exit, .. } => {
                later.p == record.p && later.inc == record.inc
            }
            Fact::Nemesis { kind, target, .. } => *target == record.p && is_kill(kind),
            _ => false,
        });
        let by = record.mt.saturating_add(facts.bounds.drain);
        let in_time = match over {
            Some(over) => over.mt <= by,
            None => facts.end <= by,
        };
        let excused = facts.health.is_disturbed(&record.p, record.mt, by);
        findings.expect(in_time || excused, L6, ("", None), &[spot], || {
            format!("{} began to leave and did not end within its bound", record.p)
        });
    }
    left
}
