//! Graceful leaves: nothing finished is run again, and they end. S12, L6.

use std::collections::BTreeMap;

use super::overlap::is_death;
use super::{Facts, Findings};
use crate::Property::{L6, S12};
use crate::history::{Fact, ProcessEvent};
use crate::replay::session::Life;
use crate::replay::trace::Spot;

pub(super) fn pass(facts: &Facts<'_>, findings: &mut Findings) {
    let left = ends(facts, findings);
    taken_over(facts, findings, &left);
}

/// What a process that left in order had finished is not taken over, and nothing of it runs on. Its leave is not to blame
/// for what it could not record because it had lost the session.
fn taken_over(facts: &Facts<'_>, findings: &mut Findings, left: &BTreeMap<Life, Spot>) {
    for exec in &facts.execs {
        let life = Life { process: exec.process.to_owned(), inc: exec.inc };
        let Some(leave) = left.get(&life) else { continue };
        let over = exec.end.is_some_and(|(end, _)| end.record < leave.record);
        let subject = (exec.job_name, Some(exec.item));
        findings.expect(over, S12, subject, &[exec.start, *leave], || {
            format!("{} has left in order while its run of {} went on", exec.process, exec.fire)
        });
    }
    let claims = &facts.trace().claims;
    for takeover in claims {
        let Some(former) = takeover.takes_over.and_then(|place| claims.get(place)) else {
            continue;
        };
        let Some(session) = facts.replay.sessions.get(former.session) else { continue };
        let leave = session.life.as_ref().and_then(|life| left.get(life));
        let kept = |leave: &&Spot| session.closed.is_none_or(|closed| closed >= leave.mt);
        let Some(leave) = leave.filter(kept) else { continue };
        let finished = facts.execs.iter().find(|exec| {
            Some(former.job) == exec.job && former.item == exec.item && former.token == exec.token
        });
        let finished = finished.and_then(|exec| exec.end).filter(|(_, how)| *how != "cancelled");
        let job = facts.replay.nodes.job_name(takeover.job);
        let evidence = [former.spot, *leave, takeover.spot];
        findings.expect(finished.is_none(), S12, (job, Some(takeover.item)), &evidence, || {
            format!("fire {} was finished before its holder left, and run again", takeover.fire)
        });
    }
}

/// Judges that leaves end, and returns which lives have left in order.
fn ends(facts: &Facts<'_>, findings: &mut Findings) -> BTreeMap<Life, Spot> {
    let mut left = BTreeMap::new();
    for (place, record) in facts.records.iter().enumerate() {
        let Fact::Process { ev, .. } = &record.fact else { continue };
        let spot = Spot { record: place, mt: record.mt, zxid: None };
        if *ev == ProcessEvent::Left {
            left.insert(Life { process: record.p.clone(), inc: record.inc }, spot);
        }
        if *ev != ProcessEvent::Drain {
            continue;
        }
        let rest = &facts.records[place..];
        let over = rest.iter().find(|later| match &later.fact {
            Fact::Process { ev: ProcessEvent::Left | ProcessEvent::Exit, .. } => {
                later.p == record.p && later.inc == record.inc
            }
            Fact::Nemesis { kind, target, .. } => *target == record.p && is_death(kind),
            _ => false,
        });
        let by = record.mt.saturating_add(facts.bounds.drain);
        let in_time = match over {
            Some(over) => over.mt <= by,
            None => facts.end <= by,
        };
        let excused = facts.health.is_disturbed(&record.p, record.mt, by);
        findings.expect(in_time || excused, L6, ("", None), &[spot], || {
            format!("{} began to leave and did not end within its time", record.p)
        });
    }
    left
}
