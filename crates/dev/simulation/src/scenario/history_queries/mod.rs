//! Queries on a history, the same for both backends.
//!
//! [`Seen`] holds the records so far. A running scenario queries only the records that processes
//! write themselves: runs, job events, sessions, faults. The registry's log (`ledger`, `tree`) is
//! queried when the history is complete: a real registry's log can be read reliably only then.

mod ledger;
mod runs;
mod tree;

use std::time::Duration;

use checker::history::{Fact, FaultOutcome, NemesisEvent, ProcessEvent, Record, SessionEvent};

pub(crate) use ledger::{Account, Backfilled, Change, Lost};
pub(crate) use runs::RunSeen;
pub(crate) use tree::AssignmentSeen;

/// Name of the job of all scenarios.
pub(crate) const JOB: &str = "job";

/// The records of a history, with the units of its backend.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    records: &'a [Record],
    period: Duration,
    session_timeout: Duration,
}

/// An installed fault: its time and its target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit<'a> {
    pub(crate) mt: u64,
    pub(crate) target: &'a str,
}

/// A job event of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventSeen<'a> {
    pub(crate) mt: u64,
    pub(crate) p: &'a str,
    pub(crate) text: &'a str,
}

impl<'a> Seen<'a> {
    /// Returns a view of these records for a backend with this period and session timeout.
    #[must_use]
    pub fn new(records: &'a [Record], period: Duration, session_timeout: Duration) -> Self {
        Self { records, period, session_timeout }
    }

    /// Returns a view without the first `mark` records.
    pub(crate) fn since(self, mark: usize) -> Self {
        Self { records: self.records.get(mark..).unwrap_or_default(), ..self }
    }

    pub(crate) fn records(&self) -> &'a [Record] {
        self.records
    }

    pub(crate) fn period(&self) -> Duration {
        self.period
    }

    /// Returns the period in milliseconds, the unit of scheduled fire times.
    pub(crate) fn period_ms(&self) -> i64 {
        i64::try_from(self.period.as_millis()).unwrap_or(i64::MAX)
    }

    /// Returns the maximum time in which other instances react to the loss of a process. It allows
    /// for the session timeout, a tick of the registry, and a period for elections, reshardings and
    /// a loaded machine.
    pub(crate) fn recovery(&self) -> Duration {
        self.session_timeout * 5 / 4 + self.period
    }

    pub(crate) fn session_timeout(&self) -> Duration {
        self.session_timeout
    }

    fn facts(&self) -> impl DoubleEndedIterator<Item = (&'a Record, &'a Fact)> + use<'a> {
        self.records.iter().map(|record| (record, &record.fact))
    }

    /// Returns the job events of this name, in the order in which they became known.
    pub(crate) fn events(
        &self,
        name: &'static str,
    ) -> impl DoubleEndedIterator<Item = EventSeen<'a>> + use<'a> {
        self.facts().filter_map(move |(record, fact)| {
            let Fact::Event { name: event, text, .. } = fact else { return None };
            (event == name).then_some(EventSeen { mt: record.mt, p: &record.p, text })
        })
    }

    /// Returns the installed faults of this kind, whether they last or not.
    pub(crate) fn hits(&self, kind: &'static str) -> impl Iterator<Item = Hit<'a>> + use<'a> {
        self.nemesis(kind, |ev| ev != NemesisEvent::End)
    }

    /// Returns the ends of faults of this kind.
    pub(crate) fn ends_of(&self, kind: &'static str) -> impl Iterator<Item = Hit<'a>> + use<'a> {
        self.nemesis(kind, |ev| ev == NemesisEvent::End)
    }

    fn nemesis(
        &self,
        wanted: &'static str,
        is_meant: fn(NemesisEvent) -> bool,
    ) -> impl Iterator<Item = Hit<'a>> + use<'a> {
        self.facts().filter_map(move |(record, fact)| {
            let Fact::Nemesis { ev, kind, target, outcome, .. } = fact else { return None };
            let installed = *outcome == FaultOutcome::Installed && kind == wanted;
            (installed && is_meant(*ev)).then_some(Hit { mt: record.mt, target })
        })
    }

    /// Returns the times of operator actions whose description begins with this text.
    pub(crate) fn operator_actions(
        &self,
        what: &'static str,
    ) -> impl Iterator<Item = u64> + use<'a> {
        self.facts().filter_map(move |(record, fact)| {
            let Fact::Operator { what: done, outcome } = fact else { return None };
            let installed = *outcome == FaultOutcome::Installed && done.starts_with(what);
            installed.then_some(record.mt)
        })
    }

    /// Returns the times at which a process recorded this event, such as the start of its shutdown.
    pub(crate) fn process(
        &self,
        p: &'a str,
        wanted: ProcessEvent,
    ) -> impl Iterator<Item = u64> + use<'a> {
        self.facts().filter_map(move |(record, fact)| {
            let Fact::Process { ev, .. } = fact else { return None };
            (*ev == wanted && record.p == p).then_some(record.mt)
        })
    }

    /// Returns the session changes of a process: time, change, session.
    pub(crate) fn sessions(
        &self,
        p: &'a str,
    ) -> impl Iterator<Item = (u64, SessionEvent, i64)> + use<'a> {
        self.facts().filter_map(move |(record, fact)| {
            let Fact::Session { ev, sid, .. } = fact else { return None };
            (record.p == p).then_some((record.mt, *ev, *sid))
        })
    }

    /// Returns the process that last became leader, unless it has lost the leadership since, or was
    /// killed.
    pub(crate) fn leader(&self) -> Option<&'a str> {
        let mut leader = None;
        for (record, fact) in self.facts() {
            if let Fact::Event { name, .. } = fact {
                if name == "became_leader" {
                    leader = Some(record.p.as_str());
                } else if name == "lost_leadership" {
                    leader = leader.filter(|leader| *leader != record.p);
                }
            }
        }
        let killed_since = |leader: &&str| {
            let leads_from = self.events("became_leader").rfind(|event| event.p == *leader);
            let from = leads_from.map_or(0, |event| event.mt);
            self.hits("crash").any(|hit| hit.target == *leader && hit.mt >= from)
        };
        leader.filter(|leader| !killed_since(leader))
    }

    /// Returns the number of instances in the last assignment.
    pub(crate) fn assigned_for(&self) -> Option<usize> {
        let event = self.events("resharded").next_back()?;
        let rest = event.text.strip_prefix("resharded for ")?;
        rest.split_once(' ')?.0.parse().ok()
    }

    /// Returns the time at which the last fault was healed.
    pub(crate) fn healed(&self) -> Option<u64> {
        let healed =
            |(record, fact): (&'a Record, &Fact)| matches!(fact, Fact::Healed).then_some(record.mt);
        self.facts().rev().find_map(healed)
    }

    /// Returns the fires that processes reported as missed: process, item (`None` for all items of
    /// the process), fire, reason.
    pub(crate) fn missed(
        &self,
    ) -> impl Iterator<Item = (&'a str, Option<u32>, i64, &'a str)> + use<'a> {
        self.facts().filter_map(|(record, fact)| {
            let Fact::Missed { item, fire, reason, .. } = fact else { return None };
            Some((record.p.as_str(), *item, *fire, reason.as_str()))
        })
    }

    /// Returns the effects at the resource: item, fire, token, and whether the effect was accepted.
    pub(crate) fn effects(&self) -> impl Iterator<Item = (u32, i64, u64, bool)> + use<'a> {
        self.facts().filter_map(|(_, fact)| {
            let Fact::Effect { run, accepted, .. } = fact else { return None };
            Some((run.item, run.fire, run.token, *accepted))
        })
    }
}

/// Converts a duration to nanoseconds, the unit of record times.
pub(crate) fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
