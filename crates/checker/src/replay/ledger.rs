//! State changes of a ledger record: the allowed ones, and who may make them. S1, S1a, S3, S6, S7,
//! S15, S21, S22. Writes of a run beside it: S16. Further slots: S24, in `slots`.

use crate::Property::{S1, S1a, S3, S4, S6, S7, S11, S15, S16, S21, S22};
use crate::docs::{Counts, Ledger, Outcome, Request, Run, State};
use crate::replay::job::SlotState;
use crate::replay::judge::Judge;
use crate::slot::Slot;

impl Judge<'_> {
    /// Judges one change of a record. Returns true if only the leader may make it.
    pub(crate) fn ledger(
        &mut self,
        i: Slot,
        slot: &SlotState,
        before: &Ledger,
        after: &Ledger,
    ) -> bool {
        self.order(i, before, after);
        self.slot_fields(i, before, after);
        self.counts(i, before, after);
        if i.is_first() && self.begins_beside(i.item).is_some() {
            self.settles_beside(i, before, after);
            return false;
        }
        self.cancellation(i, before, after);
        self.queue(i, before, after);
        self.past_fire(i, before, after);
        match (before.state, after.state) {
            (State::Idle, State::Running) => self.claim(i, before, after),
            (State::Orphan, State::Running) => self.takeover(i, before, after),
            (State::Running, State::Running) if before.token != after.token => {
                return self.taken_at_once(i, slot, before, after);
            }
            (State::Running, State::Running) | (State::Orphan, State::Orphan) => {
                self.same_run(i, before, after);
            }
            (State::Running, State::Orphan) => return self.orphaned(i, slot, before, after),
            (State::Running, State::Idle) => return self.ended(i, slot, before, after),
            (State::Orphan, State::Idle) => {
                self.abandoned(i, before, after);
                return true;
            }
            (State::Idle, State::Idle) => self.stays_idle(i, before, after),
            (State::Idle, State::Retired) => {
                let in_force = self.job.config().map_or(0, |config| config.total);
                self.expect(i.item >= in_force, S4, Some(i), |_| {
                    format!("the item was retired while the job has {in_force} items")
                });
                self.further_slots_are_idle(S7, i.item, "was retired");
                return true;
            }
            (State::Retired, State::Idle) => return true,
            (State::Retired, State::Retired) => {}
            (State::Running | State::Orphan, State::Retired) => {
                self.violate(
                    S7,
                    Some(i),
                    "the item was retired while a run was unfinished".to_owned(),
                );
            }
            (State::Idle | State::Retired, State::Orphan) | (State::Retired, State::Running) => {
                let message =
                    format!("the state went from {:?} to {:?}", before.state, after.state);
                self.violate(S1, Some(i), message);
            }
        }
        false
    }

    /// Judges that tokens and last fires never decrease, and that tokens change with claims only.
    fn order(&mut self, i: Slot, before: &Ledger, after: &Ledger) {
        let starts = after.state == State::Running
            && (before.state != State::Running || before.token != after.token);
        let (old, new) = (before.token, after.token);
        let ordered = if starts { new > old } else { new == old };
        self.expect(ordered, S1, Some(i), |_| {
            let valid = if starts { "more than" } else { "exactly" };
            format!("the token went from {old} to {new}; valid is {valid} {old}")
        });
        self.expect(after.last >= before.last, S1a, Some(i), |_| {
            format!("the last fire went back from {:?} to {:?}", before.last, after.last)
        });
        let same = |other: &Request| before.request.is_none_or(|known| known.id != other.id);
        let kept = after.request == before.request || after.request.as_ref().is_none_or(same);
        self.expect(kept, S3, Some(i), |_| "the waiting manual request was changed".to_owned());
    }

    /// Judges that the end of a run is counted once, by its outcome, and nothing else.
    fn counts(&mut self, i: Slot, before: &Ledger, after: &Ledger) {
        let Some(counted) = after.runs else { return };
        let old = before.runs.unwrap_or_default();
        let ends = before.is_busy() && !after.is_busy();
        let outcome = after.outcome.filter(|_| ends);
        let is_success = outcome == Some(Outcome::Succeeded);
        let is_failure =
            matches!(outcome, Some(Outcome::Failed | Outcome::Panicked | Outcome::TimedOut));
        let expected = Counts {
            succeeded: old.succeeded.saturating_add(u64::from(is_success)),
            failed: old.failed.saturating_add(u64::from(is_failure)),
        };
        self.expect(counted == expected, S7, Some(i), |_| {
            format!("{old:?} became {counted:?} after a run with the outcome {outcome:?}")
        });
    }

    /// Judges that a run whose cancellation is requested is not continued and ends as cancelled,
    /// unless its code returned, and that no other run ends so. The record of a cancelled run has
    /// the outcome `interrupted` and keeps the request.
    fn cancellation(&mut self, i: Slot, before: &Ledger, after: &Ledger) {
        if !before.is_busy() {
            return;
        }
        let (wanted, kept) = (before.cancel_request(), after.cancel_request());
        let ends = !after.is_busy();
        let interrupted = ends && after.outcome == Some(Outcome::Interrupted);
        if wanted.is_none() {
            self.expect(!interrupted || kept.is_none(), S15, Some(i), |judge| {
                format!("{} ended as cancelled without a request", judge.run(before.run))
            });
            return;
        }
        let goes_on = !ends && after.state == before.state && after.run == before.run;
        self.expect(ends || (goes_on && kept == wanted), S15, Some(i), |judge| {
            let (old, new) = (judge.run(before.run), judge.run(after.run));
            format!("{old} is to be cancelled, and its record became {:?}: {new}", after.state)
        });
        self.expect(!interrupted || kept == wanted, S15, Some(i), |judge| {
            format!("{} was to be cancelled, and the record lost that", judge.run(before.run))
        });
    }

    fn same_run(&mut self, i: Slot, before: &Ledger, after: &Ledger) {
        if before.run != after.run {
            let message = format!(
                "{} was replaced by {}; valid is a new run only after the end of the former one",
                self.run(before.run),
                self.run(after.run)
            );
            self.violate(S1, Some(i), message);
        }
        self.expect(before.config == after.config, S11, Some(i), |_| {
            format!(
                "the configuration of the run went from {:?} to {:?}",
                before.config, after.config
            )
        });
        self.last_stays(i, before, after);
        self.notes_stay(i, before, after);
        self.overlap(i, before, after);
    }

    /// Judges the note of a fire that met a run: it requests the cancellation if the job cancels
    /// overlaps, unless the run answers a request or stands for noted fires.
    fn overlap(&mut self, i: Slot, before: &Ledger, after: &Ledger) {
        if before.misfire == after.misfire || !self.job.is_readable() {
            return;
        }
        let Some((i, before, after)) = self.met(i, before, after) else { return };
        let Some(run) = before.run else { return };
        let (wanted, requested) = (before.cancel_request(), after.cancel_request());
        let cancels = self.job.config().is_some_and(|config| config.cancels_overlaps);
        let shall_end = cancels && !run.is_requested && run.merged.is_none();
        let valid = wanted.is_some() || requested.is_some() == shall_end;
        self.expect(valid, S21, Some(i), |judge| {
            let run = judge.run(Some(run));
            if shall_end {
                format!("{run} goes on beside a later fire, and the job cancels overlaps")
            } else {
                format!("{run} is to be cancelled for a later fire, to which it does not yield")
            }
        });
    }

    /// Returns the first busy slot of an item, which is the one that a fire meets, with its record
    /// before and after the transaction.
    fn met(&self, i: Slot, before: &Ledger, after: &Ledger) -> Option<(Slot, Ledger, Ledger)> {
        if before.is_busy() {
            return Some((i, *before, *after));
        }
        self.job.items.get(&i.item)?.further.iter().find_map(|(number, slot)| {
            let busy = slot.ledger.filter(Ledger::is_busy)?;
            let slot = Slot { number: *number, ..i };
            Some((slot, busy, self.record_after(slot).unwrap_or(busy)))
        })
    }

    /// Judges the queue. In a job that has one, a note appends its fire while there is room, and a
    /// scheduled run begins for the first fire alone. Elsewhere one run stands for all noted fires.
    pub(crate) fn queue(&mut self, i: Slot, before: &Ledger, after: &Ledger) {
        let Some(config) = self.job.config().filter(|_| self.job.is_readable()) else { return };
        let limit = config.queue_limit;
        let (old, new) = (self.queued(before), self.queued(after));
        let last = |ledger: &Ledger| ledger.misfire.map(|noted| noted.last);
        let noted = last(after).filter(|fire| Some(*fire) > last(before));
        let is_merged = old.is_empty() && before.misfire.is_some();
        let begun = after.run.filter(|run| before.state == State::Idle && !run.is_requested);
        let valid = match (noted, begun, limit) {
            (Some(fire), _, Some(limit)) if !is_merged => {
                old.len() < limit && new.split_last() == Some((&fire, &*old))
            }
            (None, Some(run), Some(_)) if !old.is_empty() => {
                run.merged.is_none() && old.split_first() == Some((&run.fire, &*new))
            }
            (Some(_), _, _) | (None, Some(_), _) => new.is_empty(),
            (None, None, _) => new == old || after.state == State::Retired,
        };
        self.expect(valid, S22, Some(i), |judge| {
            let run = judge.run(after.run);
            format!("the queue {old:?} became {new:?} with {run}; the job's bound is {limit:?}")
        });
    }

    /// Returns the queued fires of a record, ascending.
    fn queued(&self, ledger: &Ledger) -> Vec<i64> {
        let fires = ledger.queued.map_or("", |name| self.text(name)).split(',');
        fires.filter_map(|fire| fire.parse().ok()).collect()
    }

    /// Judges that noted misfires stay noted until a run stands for them.
    pub(crate) fn notes_stay(&mut self, i: Slot, before: &Ledger, after: &Ledger) {
        let Some(noted) = before.misfire else { return };
        let kept =
            after.misfire.is_some_and(|now| now.first <= noted.first && now.last >= noted.last);
        self.expect(kept, S3, Some(i), |_| {
            format!(
                "the noted fires {} to {} were lost, and no run stands for them",
                noted.first, noted.last
            )
        });
    }

    pub(crate) fn last_stays(&mut self, i: Slot, before: &Ledger, after: &Ledger) {
        // A write of both records copies the last fire of the item into that of a further slot.
        let of_item = if i.is_first() { None } else { self.record_after(Slot::first(i.item)) };
        let is_copied = of_item.is_some_and(|item| item.last == after.last);
        self.expect(after.last == before.last || is_copied, S3, Some(i), |_| {
            format!("the last fire went from {:?} to {:?} without a claim", before.last, after.last)
        });
    }

    /// Judges the progress of a run: the run holds the item under this token, and its process
    /// writes.
    pub(crate) fn progress(&mut self, i: Slot, token: &Result<u64, String>) {
        let slot = self.job.slot(i);
        let running = slot.and_then(SlotState::running_ledger);
        let wrong = match token {
            Err(error) => Some(format!("the progress cannot be read: {error}")),
            Ok(token) => match running {
                None => Some(format!("progress under token {token} while no run is in progress")),
                Some(ledger) if ledger.token != *token => Some(format!(
                    "progress under token {token} beside {} under token {}",
                    self.run(ledger.run),
                    ledger.token
                )),
                Some(ledger) if !slot.is_some_and(|slot| self.is_holder(slot)) => Some(format!(
                    "session {} wrote the progress of {}, which it does not hold",
                    self.txn.sid,
                    self.run(ledger.run)
                )),
                Some(_) => None,
            },
        };
        self.expect(wrong.is_none(), S16, Some(i), |_| wrong.unwrap_or_default());
    }

    /// Judges running to orphan: by the holder, or by the leader after the end of the holder's
    /// session.
    fn orphaned(&mut self, i: Slot, slot: &SlotState, before: &Ledger, after: &Ledger) -> bool {
        let unchanged = before.run == after.run;
        self.expect(unchanged, S1, Some(i), |judge| {
            format!("{} was orphaned as {}", judge.run(before.run), judge.run(after.run))
        });
        self.last_stays(i, before, after);
        self.notes_stay(i, before, after);
        self.gone_or_holder(i, slot, before)
    }

    /// Judges running to running: the leader takes over in one write, after the end of the holder's
    /// session.
    fn taken_at_once(
        &mut self,
        i: Slot,
        slot: &SlotState,
        before: &Ledger,
        after: &Ledger,
    ) -> bool {
        self.takeover(i, before, after);
        self.holder_is_gone(i, slot, before);
        true
    }

    /// Returns true if the holder of the run writes.
    ///
    /// It may write in a later session than that of the claim: the same start of its process
    /// remembers the run.
    fn is_holder(&self, slot: &SlotState) -> bool {
        slot.claimed_in.is_some_and(|claimed| self.sessions.is_same_process(claimed, self.txn.sid))
    }

    /// Returns true if the writer is not the holder, so that it must be the leader.
    fn gone_or_holder(&mut self, i: Slot, slot: &SlotState, before: &Ledger) -> bool {
        if self.is_holder(slot) {
            self.judged(S6);
            return false;
        }
        self.holder_is_gone(i, slot, before);
        true
    }

    fn holder_is_gone(&mut self, i: Slot, slot: &SlotState, before: &Ledger) {
        let lives = slot.claimed_in.is_some_and(|session| !self.sessions.is_closed(session));
        self.expect(!lives, S6, Some(i), |judge| {
            format!(
                "session {} gave up {} while the session of its holder, {}, lives",
                judge.txn.sid,
                judge.run(before.run),
                slot.claimed_in.unwrap_or_default()
            )
        });
    }

    /// Judges running to idle: by the holder, or by the leader if failover is off.
    fn ended(&mut self, i: Slot, slot: &SlotState, before: &Ledger, after: &Ledger) -> bool {
        self.last_stays(i, before, after);
        self.notes_stay(i, before, after);
        if self.is_holder(slot) {
            self.judged(S7);
            return false;
        }
        self.expect(after.outcome == Some(Outcome::Interrupted), S7, Some(i), |judge| {
            format!(
                "{} was completed as {:?} by session {}, which does not hold it",
                judge.run(before.run),
                after.outcome,
                judge.txn.sid
            )
        });
        self.failover_is_off(i, before);
        self.gone_or_holder(i, slot, before)
    }

    fn abandoned(&mut self, i: Slot, before: &Ledger, after: &Ledger) {
        self.last_stays(i, before, after);
        self.notes_stay(i, before, after);
        self.expect(after.outcome == Some(Outcome::Interrupted), S7, Some(i), |judge| {
            format!("{} was orphaned and completed without a takeover", judge.run(before.run))
        });
        self.failover_is_off(i, before);
    }

    /// Judges that a run is given up without a takeover only if failover is off, the item is not in
    /// force, or the run is to be cancelled.
    fn failover_is_off(&mut self, i: Slot, before: &Ledger) {
        let mut configs = self.job.configs_to_lead_by().peekable();
        let known = configs.peek().is_some();
        let wanted =
            known && configs.all(|config| config.is_failover_on() && i.item < config.total);
        let is_cancelled = before.cancel_request().is_some();
        self.expect(!wanted || is_cancelled, S7, Some(i), |judge| {
            format!("{} was given up although failover is on", judge.run(before.run))
        });
    }

    /// Judges idle to idle: a note of the leader, or a skipped fire of a disabled item.
    ///
    /// An instance may skip a fire if it cannot have seen yet that the item was enabled since the
    /// fire before.
    fn stays_idle(&mut self, i: Slot, before: &Ledger, after: &Ledger) {
        if !i.is_first() {
            return self.last_stays(i, before, after);
        }
        self.notes_stay(i, before, after);
        self.overlap(i, before, after);
        if after.last == before.last {
            return;
        }
        let since = self.spot.mt.saturating_sub(self.bounds.epsilon);
        let item = self.job.items.get(&i.item);
        let advanced = item.and_then(|item| item.advanced_at);
        let since = advanced.map_or(since, |advanced| advanced.min(since));
        let recently = item.is_some_and(|item| item.enabled_at.is_some_and(|at| at >= since));
        let disabled = before.disabled || item.is_some_and(|item| item.disabled) || recently;
        let accounted = after.outcome == Some(Outcome::Disabled) && disabled;
        self.expect(accounted, S3, Some(i), |_| {
            format!(
                "the last fire went from {:?} to {:?} as {:?} without a run, and the item is not disabled",
                before.last, after.last, after.outcome
            )
        });
        self.previous(i, before, after);
    }

    /// Judges that a record whose last fire advances names the previous fire: the fires in between
    /// were missed.
    pub(crate) fn previous(&mut self, i: Slot, before: &Ledger, after: &Ledger) {
        self.expect(after.previous == before.last, S3, Some(i), |_| {
            format!(
                "the record names {:?} as the fire before {:?}; it was {:?}",
                after.previous, after.last, before.last
            )
        });
    }

    pub(crate) fn run(&self, run: Option<Run>) -> String {
        match run {
            None => "no run".to_owned(),
            Some(run) => {
                format!("{} {} by {}", run.source.as_str(), run.fire, self.text(run.holder))
            }
        }
    }
}
