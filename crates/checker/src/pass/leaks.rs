//! Leaks in the registry: sessions of processes that have ended, and watches. L7.

use std::collections::BTreeMap;

use super::overlap::is_kill;
use super::{Facts, Findings};
use crate::Property::L7;
use crate::history::{Fact, ProcessEvent, SessionEvent};
use crate::replay::session::Session;
use crate::replay::trace::Spot;

pub(super) fn pass(facts: &Facts<'_>, findings: &mut Findings) {
    let healed = facts.records.iter().find(|record| record.fact == Fact::Healed);
    let Some(healed) = healed.map(|record| record.mt) else { return };
    sessions(facts, healed, findings);
    feeds(facts, healed, findings);
}

/// Judges that each live process has one session, and that other processes have none.
fn sessions(facts: &Facts<'_>, healed: u64, findings: &mut Findings) {
    let faults = facts.faults.iter().filter(|fault| fault.is_real());
    let calm = faults.map(|fault| fault.until).fold(healed, u64::max);
    for (sid, session) in facts.replay.sessions.iter() {
        if session.closed.is_some() {
            continue;
        }
        let Some(opened) = session.opened else { continue };
        let Some(process) = facts.replay.sessions.process_of(sid) else { continue };
        let over = over(facts, process, (sid, session), opened);
        let by = over.map(|over| over.mt.max(calm).saturating_add(facts.bounds.recovery()));
        let leaks = by.is_some_and(|by| by < facts.end);
        findings.expect(!leaks, L7, ("", None), &over.into_iter().collect::<Vec<_>>(), || {
            format!("session {sid} of {process} still exists although no process uses it")
        });
    }
}

/// Returns the record from which on a process does not use a session any more.
///
/// From then on it used another session, had exited, or was killed.
fn over(
    facts: &Facts<'_>,
    process: &str,
    (sid, session): (i64, &Session),
    opened: u64,
) -> Option<Spot> {
    let first = facts.records.partition_point(|record| record.mt <= opened);
    let inc = session.process_start.as_ref().map(|process_start| process_start.inc);
    let over = facts.records[first..].iter().position(|record| match &record.fact {
        Fact::Session { ev: SessionEvent::Connected, sid: other, .. } => {
            record.p == process && *other != sid
        }
        Fact::Process { ev: ProcessEvent::Exit, .. } => {
            record.p == process && inc.is_none_or(|inc| inc == record.inc)
        }
        Fact::Nemesis { kind, target, .. } => target == process && is_kill(kind),
        _ => false,
    })?;
    let record = first + over;
    Some(Spot { record, mt: facts.records[record].mt, zxid: None })
}

/// Judges that no session holds more feeds in all records after the faults than the maximum before
/// the first fault. One record can have the feed of a reconciliation that is in progress.
fn feeds(facts: &Facts<'_>, healed: u64, findings: &mut Findings) {
    let first = facts.faults.iter().map(|fault| fault.from).min().unwrap_or(healed);
    let held = facts.records.iter().enumerate().filter_map(|(place, record)| match record.fact {
        Fact::Held { sid, feeds } => {
            Some((Spot { record: place, mt: record.mt, zxid: None }, sid, feeds))
        }
        _ => None,
    });
    let held: Vec<_> = held.collect();
    let before = held.iter().filter(|(spot, ..)| spot.mt <= first).map(|(.., feeds)| *feeds).max();
    let Some(most) = before else { return };
    let mut fewest: BTreeMap<i64, (u64, Spot)> = BTreeMap::new();
    for (spot, sid, feeds) in held.iter().filter(|(spot, ..)| spot.mt > healed) {
        let known = fewest.entry(*sid).or_insert((*feeds, *spot));
        if *feeds <= known.0 {
            *known = (*feeds, *spot);
        }
    }
    for (sid, (feeds, spot)) in fewest {
        findings.expect(feeds <= most, L7, ("", None), &[spot], || {
            format!("session {sid} holds {feeds} feeds; valid is at most {most}, the maximum before the first fault")
        });
    }
}
