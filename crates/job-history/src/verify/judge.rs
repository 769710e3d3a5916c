//! The judge: a pure function from the expected fires and the records to verdicts.
//!
//! | record of the fire | verdict |
//! |---|---|
//! | two completed runs | run twice |
//! | a run that ended | run |
//! | missed, in a gap, replaced by a later run | missed |
//! | a run without an end | open if the registry shows it, else unexplained |
//! | none, but a gap, an instance or the registry has a reason | missed |
//! | none | open if it is young or waits for a limit, else unexplained |
//! | not run or unexplained, but a backfill ran it later | run |
//! | any, but the schedule has no such fire | unexplained |

use coordination::{FireTime, Ledger, LedgerState};
use jiff::Timestamp;
use sharding::ShardingItem;

use super::evidence::{Background, Evidence, time};
use super::expected::{Expected, ExpectedFire, TooManyFires};
use super::registry_facts::RegistryFacts;
use super::{JudgedFire, Verdict};
use crate::{DropRecord, FireRecord};

/// Age up to which a fire without a record may have one that is on its way, in milliseconds.
///
/// A writer tries again after at most 30 s.
pub(super) const YOUNG_MS: i64 = 60_000;

/// Verdict and its reason.
type Ruling = (Verdict, Option<String>);

/// Inputs of the verdicts of a window.
#[derive(Clone, Copy)]
pub(super) struct Judge<'a> {
    pub(super) expected: &'a Expected,
    pub(super) registry: &'a RegistryFacts,
    pub(super) background: &'a Background,
    pub(super) evidence: &'a Evidence,
}

impl Judge<'_> {
    /// Judges the fires of the window from `from_ms` to before `until_ms`, in the order of time and
    /// item.
    pub(super) fn fires(&self, window: (i64, i64)) -> Result<Vec<JudgedFire>, TooManyFires> {
        let records = || self.evidence.records.values();
        let runs = records().filter(|it| is_scheduled_run(it)).map(|it| {
            let (fire, began) = (it.fire, it.began.unwrap_or(it.fire));
            (fire.as_millisecond(), began.as_millisecond())
        });
        let expected = self.expected.in_window(window, runs)?;
        let mut judged: Vec<_> =
            expected.values().flat_map(|fire| self.expected_fire(fire)).collect();
        judged.extend(records().filter_map(|record| {
            let fire = expected.get(&record.fire.as_millisecond());
            let is_expected = fire.is_some_and(|fire| record.item.index() < fire.items);
            (!is_expected).then(|| self.unexpected(record, fire))
        }));
        judged.sort_by_key(|fire| (fire.fire, fire.item));
        Ok(judged)
    }

    fn expected_fire(&self, fire: &ExpectedFire) -> impl Iterator<Item = JudgedFire> {
        let fire = *fire;
        (0..fire.items).filter_map(move |item| {
            let record = self.evidence.records.get(&(fire.fire_ms, item));
            let (verdict, reason) = match record {
                Some(record) => self.recorded(record),
                None if !fire.is_owed => return None,
                None => self.unrecorded(&fire, item),
            };
            let (verdict, reason) = self.with_backfill(fire.fire_ms, item, (verdict, reason));
            let (at, item) = (time(fire.fire_ms), ShardingItem::new(item));
            Some(JudgedFire { fire: at, item, verdict, reason, record: record.cloned() })
        })
    }

    /// Replaces the verdict of a fire that was not run by that of the backfill that ran it later.
    fn with_backfill(&self, fire_ms: i64, item: u32, ruling: Ruling) -> Ruling {
        let backfill = self.evidence.backfills.get(&(fire_ms, item));
        let (Verdict::Missed | Verdict::Unexplained, Some(run)) = (ruling.0, backfill) else {
            return ruling;
        };
        let (verdict, of_run) = self.recorded(run);
        let text = match verdict {
            Verdict::Run => format!("a backfill ran it later, at {}", run.fire),
            Verdict::Open => format!("a backfill of {} is not done with it", run.fire),
            Verdict::RunTwice | Verdict::Missed | Verdict::Unexplained => return ruling,
        };
        let parts: Vec<_> = [Some(text), of_run, ruling.1].into_iter().flatten().collect();
        (verdict, Some(parts.join("; ")))
    }

    /// Judges a record that the schedule does not explain: a manual request, or a fire of an
    /// unknown schedule. `fire` is the expected one of this time, which the item does not have.
    fn unexpected(&self, record: &FireRecord, fire: Option<&ExpectedFire>) -> JudgedFire {
        let fire_ms = record.fire.as_millisecond();
        let is_known = self.expected.is_known_at(fire_ms);
        let (verdict, reason) = if is_scheduled_run(record) && is_known {
            let what = match fire {
                Some(ExpectedFire { items: 1, .. }) => "the job had 1 item then".to_owned(),
                Some(fire) => format!("the job had {} items then", fire.items),
                None => "the schedule has no fire at this time".to_owned(),
            };
            (
                Verdict::Unexplained,
                Some(self.with_doubt(format!("it was run, but {what}"), fire_ms)),
            )
        } else {
            self.recorded(record)
        };
        let (fire, item) = (record.fire, record.item);
        JudgedFire { fire, item, verdict, reason, record: Some(record.clone()) }
    }

    fn recorded(&self, record: &FireRecord) -> Ruling {
        if let Some(reason) = two_runs(record) {
            return (Verdict::RunTwice, Some(reason));
        }
        let reason = record.reason.clone();
        match record.outcome.as_str() {
            "succeeded" | "failed" | "panicked" | "timed_out" | "interrupted" | "cancelled" => {
                (Verdict::Run, note_of_run(record))
            }
            "missed" | "gap" | "disabled" => (Verdict::Missed, reason),
            "misfired" => self.misfired(record),
            // Version 0.1 has written this for a run that ended as interrupted without failover.
            "orphaned" if !record.failover => (Verdict::Run, reason),
            "running" | "unknown" | "orphaned" => self.without_end(record),
            word => {
                (Verdict::Unexplained, Some(format!("{word} is an outcome of a later version")))
            }
        }
    }

    fn misfired(&self, record: &FireRecord) -> Ruling {
        let fire = record.fire.as_millisecond();
        let ledger = self.ledger(record.item);
        let waits = "the item was still running; the fire waits for the end of that run";
        if ledger.is_some_and(|it| it.queued.contains(&FireTime(fire))) {
            return (Verdict::Open, Some(waits.to_owned()));
        }
        let run = self.evidence.run_after(record);
        // A queued fire gets a run of its own: no other run of the queue stands for it.
        let is_queued = |run: &FireRecord| {
            self.expected.is_queued_at(fire)
                && self.expected.is_queued_at(run.fire.as_millisecond())
        };
        if let Some(run) = run.filter(|run| !is_queued(run)) {
            let reason =
                format!("the item was still running; its run of {} stands for this fire", run.fire);
            return (Verdict::Missed, Some(reason));
        }
        let noted = ledger.filter(|it| it.queued.is_empty()).and_then(|it| it.misfire);
        if noted.is_some_and(|it| (it.first.0..=it.last.0).contains(&fire)) {
            return (Verdict::Open, Some(waits.to_owned()));
        }
        let reason = if run.is_some() {
            "the item was still running; the fire waited for a run of its own, and none is recorded"
        } else {
            "the item was still running, and no later run of the item is recorded"
        };
        (Verdict::Unexplained, Some(reason.to_owned()))
    }

    /// Judges a run whose outcome is not recorded.
    fn without_end(&self, record: &FireRecord) -> Ruling {
        if record.last_completed.is_some() {
            let reason =
                "the code has ended; the history has no proof that the registry recorded it";
            return (Verdict::Run, Some(reason.to_owned()));
        }
        let fire = record.fire.as_millisecond();
        let mut runs = self.slots(record.item).filter_map(|it| Some((it.run()?, &it.state)));
        match runs.find(|(run, _)| run.fire.0 == fire) {
            Some((run, LedgerState::Orphan(_))) => (
                Verdict::Open,
                Some(format!("{} is gone; its run waits for a takeover", run.holder)),
            ),
            Some((run, _)) => (Verdict::Open, Some(format!("it is running on {}", run.holder))),
            None => {
                let instance = record.instance.as_ref().or(record.former_holder.as_ref());
                let instance = instance.map(ToString::to_string).unwrap_or_default();
                let reason = record.reason.as_deref();
                let reason = reason.unwrap_or("the registry does not show the run any more");
                let reason = format!("no end of the run on {instance} is recorded: {reason}");
                (Verdict::Unexplained, Some(reason))
            }
        }
    }

    /// Judges a fire without a record of its own.
    fn unrecorded(&self, fire: &ExpectedFire, item: u32) -> Ruling {
        let fire_ms = fire.fire_ms;
        if let Some(gap) = self.evidence.gap_with(fire_ms, item) {
            return (Verdict::Missed, Some(gap.reason.clone()));
        }
        if let Some(reason) = self.evidence.missed_by_owner(fire_ms, item) {
            return (Verdict::Missed, Some(format!("an instance missed it: {reason}")));
        }
        let record = self.registry.records.get(&item);
        if let Some(record) = record.filter(|_| self.expected.is_monitored(fire)) {
            if record.gaps.iter().any(|gap| (gap.first.0..gap.until.0).contains(&fire_ms)) {
                let reason = "no instance ran it, as the record of the item in the registry shows";
                return (Verdict::Missed, Some(reason.to_owned()));
            }
            let is_settled = record.settled_until().is_some_and(|settled| settled.0 >= fire_ms);
            if !is_settled && self.expected.has_fixed_delay(fire) {
                return (Verdict::Open, Some("the fire waits for the run of this item".to_owned()));
            }
            if !is_settled {
                return self.unsettled(record, ShardingItem::new(item), fire_ms);
            }
        }
        if !self.expected.is_monitored(fire) && self.is_due(fire_ms) {
            return (Verdict::Open, Some("it is due now".to_owned()));
        }
        if self.may_be_on_its_way(fire_ms, item) {
            let reason = "it is younger than a minute: its record may be on its way";
            return (Verdict::Open, Some(reason.to_owned()));
        }
        (Verdict::Unexplained, Some(self.what_is_unknown(fire, record)))
    }

    /// Judges a fire after the last one that the registry has settled.
    fn unsettled(&self, record: &Ledger, item: ShardingItem, fire_ms: i64) -> Ruling {
        let why = &self.registry.why;
        if self.is_due(fire_ms) {
            return (Verdict::Open, Some("it is due now".to_owned()));
        }
        let why = if record.disabled { Some("the item is disabled") } else { why.as_deref() };
        let last = record.settled_until().map_or("none yet".to_owned(), |fire| fire.to_string());
        let since = format!("the last fire that the registry has settled is {last}");
        match why {
            Some(why) => (Verdict::Missed, Some(format!("{since}; now {why}"))),
            None if self.slots(item).any(Ledger::is_busy) => {
                (Verdict::Open, Some(format!("{since}; the item is still running")))
            }
            None if let Some(limit) = self.awaited_limit(fire_ms) => {
                (Verdict::Open, Some(format!("{since}; {limit}")))
            }
            None => (Verdict::Unexplained, Some(format!("{since}, and no reason is on record"))),
        }
    }

    /// Returns the limit for which a fire waits: it stays due until the next fire.
    fn awaited_limit(&self, fire_ms: i64) -> Option<&str> {
        let is_last = self.registry.last_fire_ms.is_some_and(|last| last <= fire_ms);
        self.registry.limit.as_deref().filter(|_| is_last)
    }

    /// Returns true if the fire may not have begun yet, and is not late.
    fn is_due(&self, fire_ms: i64) -> bool {
        self.registry.now_ms.saturating_sub(fire_ms) < self.registry.grace_ms
    }

    /// Returns true if the fire is young, and no later record of the item shows that the store is
    /// up to date.
    fn may_be_on_its_way(&self, fire_ms: i64, item: u32) -> bool {
        let is_young = self.registry.now_ms.saturating_sub(fire_ms) < YOUNG_MS;
        is_young && self.background.latest.get(&item).is_none_or(|latest| *latest <= fire_ms)
    }

    fn what_is_unknown(&self, fire: &ExpectedFire, record: Option<&Ledger>) -> String {
        let fire_ms = fire.fire_ms;
        let mut parts = vec!["the history has no record of it".to_owned()];
        let lost = self.background.drops.iter().filter(|drop| is_near(drop, fire_ms));
        let lost: u64 = lost.map(|drop| drop.dropped).sum();
        if lost > 0 {
            parts.push(format!("{lost} records of that time were lost"));
        }
        if self.evidence.reports.contains_key(&fire_ms) {
            parts.push("no run shows that the item was of an instance that missed it".to_owned());
        }
        if !self.expected.is_monitored(fire) {
            parts.push("the job is not monitored, so missed fires are not recorded".to_owned());
        } else if record.is_none() {
            parts.push("the registry has no record of the item".to_owned());
        } else {
            parts.push("the registry shows later fires of the item".to_owned());
        }
        if self.registry.may_have_java {
            parts.push("Java instances record their runs in other tables".to_owned());
        }
        self.with_doubt(parts.join("; "), fire_ms)
    }

    fn with_doubt(&self, reason: String, fire_ms: i64) -> String {
        match self.expected.doubt_at(fire_ms) {
            Some(doubt) => format!("{reason}; {doubt}"),
            None => reason,
        }
    }

    /// Returns the records of all slots of an item.
    fn slots(&self, item: ShardingItem) -> impl Iterator<Item = &Ledger> {
        let further = self.registry.further_slots.get(&item.index());
        self.ledger(item).into_iter().chain(further.into_iter().flatten())
    }

    fn ledger(&self, item: ShardingItem) -> Option<&Ledger> {
        self.registry.records.get(&item.index())
    }
}

/// Returns true if a scheduled fire was run. Manual requests have an odd number of milliseconds.
fn is_scheduled_run(record: &FireRecord) -> bool {
    record.token.is_some() && record.fire.as_millisecond() % 1_000 == 0
}

/// Returns the two completed runs of a fire, in words.
fn two_runs(record: &FireRecord) -> Option<String> {
    let (first, last) = (record.first_completed.as_ref()?, record.last_completed.as_ref()?);
    (first != last).then(|| {
        format!(
            "completed by {} with token {} and by {} with token {}",
            first.instance, first.token, last.instance, last.token
        )
    })
}

fn note_of_run(record: &FireRecord) -> Option<String> {
    let former = record.former_holder.as_ref();
    let taken = former.filter(|former| Some(*former) != record.instance.as_ref());
    let taken = taken.map(|former| format!("taken over from {former}"));
    let notes: Vec<String> = [taken, record.reason.clone()].into_iter().flatten().collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// Returns true if records of the time of a fire are among the lost ones.
fn is_near(drop: &DropRecord, fire_ms: i64) -> bool {
    let ms = Timestamp::as_millisecond;
    ms(drop.first) <= fire_ms.saturating_add(YOUNG_MS) && fire_ms <= ms(drop.last)
}
