//! Questions to a history, the same for both backends.
//!
//! [`Seen`] holds what is known so far. While a scenario runs it asks only for what processes write themselves: runs,
//! job events, sessions, faults. What the registry did (`ledger`, `tree`) is asked when the history is complete, because
//! a real registry's log is read for certain only after the run.

mod ledger;
mod runs;
mod tree;

use std::time::Duration;

use checker::history::{Fact, FaultOutcome, NemesisEvent, ProcessEvent, Record, SessionEvent};

pub(crate) use ledger::{Account, Change, Lost};
pub(crate) use runs::RunSeen;
pub(crate) use tree::AssignmentSeen;

/// The name of the job that all scenarios are about.
pub(crate) const JOB: &str = "job";

/// Everything that is known of a run, with the units that the backend measures in.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    records: &'a [Record],
    period: Duration,
    session_timeout: Duration,
}

/// A fault, or an operator's act: when, against whom, and how it is described.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit<'a> {
    pub(crate) mt: u64,
    pub(crate) target: &'a str,
}

/// A job event of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told<'a> {
    pub(crate) mt: u64,
    pub(crate) p: &'a str,
    pub(crate) text: &'a str,
}

impl<'a> Seen<'a> {
    /// Looks at records of a backend with this period and session timeout.
    #[must_use]
    pub fn new(records: &'a [Record], period: Duration, session_timeout: Duration) -> Self {
        Self { records, period, session_timeout }
    }

    /// Returns the records from the `mark`th one known on.
    pub(crate) fn since(self, mark: usize) -> Self {
        Self { records: self.records.get(mark..).unwrap_or_default(), ..self }
    }

    pub(crate) fn records(&self) -> &'a [Record] {
        self.records
    }

    pub(crate) fn period(&self) -> Duration {
        self.period
    }

    /// Returns the period in milliseconds, as scheduled times count.
    pub(crate) fn period_ms(&self) -> i64 {
        i64::try_from(self.period.as_millis()).unwrap_or(i64::MAX)
    }

    /// Returns how long after a process is gone others can have noticed and reacted: the session, a tick of the
    /// registry, and a period for elections, reshardings and a loaded machine.
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
    pub(crate) fn told(
        &self,
        name: &'static str,
    ) -> impl DoubleEndedIterator<Item = Told<'a>> + use<'a> {
        self.facts().filter_map(move |(record, fact)| {
            let Fact::Event { name: told, text, .. } = fact else { return None };
            (told == name).then_some(Told { mt: record.mt, p: &record.p, text })
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

    /// Returns when operators did something whose description begins so.
    pub(crate) fn acts(&self, what: &'static str) -> impl Iterator<Item = u64> + use<'a> {
        self.facts().filter_map(move |(record, fact)| {
            let Fact::Operator { what: done, outcome } = fact else { return None };
            let installed = *outcome == FaultOutcome::Installed && done.starts_with(what);
            installed.then_some(record.mt)
        })
    }

    /// Returns when a process told that it began to leave, had left …
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

    /// Returns what a process learned about its sessions: when, what, which session.
    pub(crate) fn sessions(
        &self,
        p: &'a str,
    ) -> impl Iterator<Item = (u64, SessionEvent, i64)> + use<'a> {
        self.facts().filter_map(move |(record, fact)| {
            let Fact::Session { ev, sid, .. } = fact else { return None };
            (record.p == p).then_some((record.mt, *ev, *sid))
        })
    }

    /// Returns who said last that it leads, unless it has said since that it does not, or was killed.
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
            let leads_from = self.told("became_leader").rfind(|told| told.p == *leader);
            let from = leads_from.map_or(0, |told| told.mt);
            self.hits("crash").any(|hit| hit.target == *leader && hit.mt >= from)
        };
        leader.filter(|leader| !killed_since(leader))
    }

    /// Returns for how many instances the last assignment was made.
    pub(crate) fn assigned_for(&self) -> Option<usize> {
        let told = self.told("resharded").next_back()?;
        let rest = told.text.strip_prefix("resharded for ")?;
        rest.split_once(' ')?.0.parse().ok()
    }

    /// Returns when the last fault was healed.
    pub(crate) fn healed(&self) -> Option<u64> {
        let healed =
            |(record, fact): (&'a Record, &Fact)| matches!(fact, Fact::Healed).then_some(record.mt);
        self.facts().rev().find_map(healed)
    }

    /// Returns what processes reported as missed: who, item (`None` for all of its own), fire, reason.
    pub(crate) fn missed(
        &self,
    ) -> impl Iterator<Item = (&'a str, Option<u32>, i64, &'a str)> + use<'a> {
        self.facts().filter_map(|(record, fact)| {
            let Fact::Missed { item, fire, reason, .. } = fact else { return None };
            Some((record.p.as_str(), *item, *fire, reason.as_str()))
        })
    }

    /// Returns the effects that the resource took or refused: item, fire, token, whether it was accepted.
    pub(crate) fn effects(&self) -> impl Iterator<Item = (u32, i64, u64, bool)> + use<'a> {
        self.facts().filter_map(|(_, fact)| {
            let Fact::Effect { run, accepted, .. } = fact else { return None };
            Some((run.item, run.fire, run.token, *accepted))
        })
    }
}

/// Converts to the nanoseconds that records count in.
pub(crate) fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
