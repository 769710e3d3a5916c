//! Claims and takeovers: the claimant, its item, and the configuration. S1, S1a, S2, S3, S10, S11,
//! S17, S19, S20. S23 is in `group`.

use crate::Property::{S1, S1a, S2, S3, S10, S11, S17, S19, S20};
use crate::docs::{Ledger, Run, Source, StartRate, Starts, State};
use crate::names::Name;
use crate::replay::job::{Server, count_at};
use crate::replay::judge::{Judge, Write};
use crate::slot::Slot;
use crate::tree::Kind;

/// Least difference of clocks up to which the starts of a faster clock count, in milliseconds.
const MIN_TOLERANCE_MS: i64 = 60_000;

impl Judge<'_> {
    /// Judges a claim: idle to running.
    pub(crate) fn claim(&mut self, i: Slot, before: &Ledger, after: &Ledger) {
        let Some(run) = after.run else { return };
        self.within_slots(i, &run);
        if i.is_first() {
            self.claim_of(i, before, after, run);
        } else {
            let (before, after) = self.beside(i, before, after, &run);
            self.queue(i, &before, &after);
            self.claim_of(i, &before, &after, run);
        }
    }

    /// Judges a claim by its run and the fires of its item.
    fn claim_of(&mut self, i: Slot, before: &Ledger, after: &Ledger, run: Run) {
        self.expect(run.source != Source::Failover, S1, Some(i), |_| {
            format!("fire {} was taken over although the item had no orphaned run", run.fire)
        });
        self.owned(i, &run);
        self.enabled(i, &run, before);
        self.admitted(i, &run);
        self.configured(i, after);
        self.limited(i, &run);
        self.counted(i, &run);
        self.grouped(i, after.token, &run);
        self.parameter_is_requested(i, before, &run);
        match run.source {
            Source::Normal | Source::Misfire => self.scheduled(i, before, after, &run),
            Source::Manual | Source::Backfill => {
                self.last_stays(i, before, after);
                self.notes_stay(i, before, after);
            }
            Source::Failover => {}
        }
    }

    /// Judges that the claimant owns the item in the session that writes, and that the item is not
    /// pending.
    fn owned(&mut self, i: Slot, run: &Run) {
        let owner = self.job.items.get(&i.item).and_then(|item| item.owner);
        let pending = self.job.pending(i.item);
        let total = self.job.config().map_or(0, |config| config.total);
        // While the stored configuration is unusable, each instance follows the last usable one
        // that it has seen.
        let known = self.job.is_readable();
        let wrong = match owner {
            _ if !self.job.is_registered_by(run.holder, self.txn.sid) => {
                Some("the claimant is not registered in this session".to_owned())
            }
            Some(owner) if owner != run.holder => {
                Some(format!("the item belongs to {}", self.text(owner)))
            }
            None => Some("the item has no owner".to_owned()),
            Some(_) if pending.is_some() => Some("the item is pending".to_owned()),
            Some(_) if known && !self.job.fits_config() => {
                Some("the assignment was made for another number of items".to_owned())
            }
            Some(_) if known && i.item >= total => Some(format!("the job has {total} items")),
            Some(_) => None,
        };
        self.expect(wrong.is_none(), S2, Some(i), |judge| {
            format!("{}: {}", judge.run(Some(*run)), wrong.unwrap_or_default())
        });
    }

    /// Judges that the server is enabled and, unless the claim is a takeover, that the item is
    /// enabled.
    fn enabled(&mut self, i: Slot, run: &Run, before: &Ledger) {
        let server = self.job.server_of(run.holder, self.names);
        let wrong = match server {
            None => Some("its server is unknown"),
            Some(Server::Disabled) => Some("its server is disabled"),
            Some(Server::Paused) => Some("its server is paused"),
            Some(Server::Enabled) if before.disabled && run.source != Source::Failover => {
                Some("the item is disabled")
            }
            Some(Server::Enabled) => None,
        };
        self.expect(wrong.is_none(), S10, Some(i), |judge| {
            format!("{}: {}", judge.run(Some(*run)), wrong.unwrap_or_default())
        });
    }

    /// Judges that the claim names the configuration of this revision, if it names one.
    fn configured(&mut self, i: Slot, after: &Ledger) {
        let Some(named) = after.config else { return };
        let current = self.job.config.as_ref().map(|config| config.version);
        self.expect(current == i32::try_from(named).ok(), S11, Some(i), |_| {
            format!("claimed under configuration {named}; the registry has {current:?}")
        });
    }

    /// Judges that a run of a limited job takes a permit below the limit in the transaction of its
    /// claim, and that no other run has it. So there are never more runs than the limit, except for
    /// those that began under a greater one.
    fn limited(&mut self, i: Slot, run: &Run) {
        let limit = self.job.config().and_then(|config| config.cluster_concurrency);
        let Some(limit) = limit.filter(|_| self.job.is_readable()) else { return };
        let wrong = match run.permit {
            None => Some("it has no permit".to_owned()),
            Some(permit) if permit >= limit => Some(format!("it has the permit {permit}")),
            Some(permit) => {
                let taken = self.txn.writes.iter().any(
                    |write| matches!(write, Write::Mark(Kind::Permit(it), true) if *it == permit),
                );
                let other =
                    self.job.slots().filter(|(slot, _)| *slot != i).find_map(|(slot, state)| {
                        let run = state.running_ledger()?.run?;
                        let lives = state.claimed_in.is_some_and(|s| !self.sessions.is_closed(s));
                        (run.permit == Some(permit) && lives).then_some(slot)
                    });
                if let Some(other) = other {
                    Some(format!("item {other} has the same permit, {permit}"))
                } else {
                    (!taken).then(|| format!("it did not take its permit, {permit}"))
                }
            }
        };
        self.expect(wrong.is_none(), S17, Some(i), |judge| {
            let wrong = wrong.unwrap_or_default();
            format!("{} under a limit of {limit}: {wrong}", judge.run(Some(*run)))
        });
    }

    /// Judges that the transaction of a claim adds its runs to the last starts, keeps the others of
    /// the period, and does not exceed the rate. Times are those of the record.
    fn counted(&mut self, i: Slot, run: &Run) {
        let rate = self.job.config().and_then(|config| config.start_rate);
        let Some(rate) = rate.filter(|_| self.job.is_readable()) else { return };
        let logged = self.txn.writes.iter().find_map(|write| {
            if let Write::Starts(Some(Ok(starts))) = write { Some(starts) } else { None }
        });
        let wrong = match logged {
            None => Some("its start was not recorded".to_owned()),
            Some(starts) => self.wrong_starts(starts, &self.job.starts, rate),
        };
        self.expect(wrong.is_none(), S20, Some(i), |judge| {
            let wrong = wrong.unwrap_or_default();
            let StartRate { max, period_ms } = rate;
            format!("{} at a rate of {max} in {period_ms} ms: {wrong}", judge.run(Some(*run)))
        });
    }

    /// Returns what is wrong with the last starts that the transaction writes in place of `before`.
    pub(crate) fn wrong_starts(
        &self,
        starts: &Starts,
        before: &Starts,
        rate: StartRate,
    ) -> Option<String> {
        let more = |&&(at, count): &&(i64, u32)| count > count_at(before, at);
        let added: u32 = starts.iter().map(|&(at, n)| n.saturating_sub(count_at(before, at))).sum();
        let runs = self.txn.writes.iter().filter(|write| {
            matches!(write, Write::Ledger(slot, Some(Ok(after))) if self.begins(*slot, after))
        });
        let runs = runs.count();
        if added as usize != runs {
            return Some(format!("{runs} runs began, and {added} starts were added"));
        }
        let &(now, _) = starts.iter().rev().find(more)?;
        // The starts of a faster clock count, and new ones are added to the last of them. A start
        // that lies further ahead comes from a wrong clock.
        let is_new = count_at(before, now) == 0;
        let horizon = if is_new { now + MIN_TOLERANCE_MS } else { now };
        let counts = |at: i64| at > now - rate.period_ms && at <= horizon;
        let begun: u32 = starts.iter().filter(|(at, _)| counts(*at)).map(|(_, n)| n).sum();
        if begun > rate.max {
            return Some(format!("{begun} runs began in the period"));
        }
        let counting = before.iter().filter(|(at, _)| counts(*at));
        let ahead = before.iter().filter(|(at, _)| *at > horizon).take(rate.max as usize);
        let mut kept = counting.chain(ahead);
        let lost = kept.find(|(at, count)| count_at(starts, *at) < *count);
        lost.map(|(at, _)| format!("the starts at {at} do not count any more"))
    }

    /// Returns true if a run of the slot begins with this record.
    fn begins(&self, slot: Slot, after: &Ledger) -> bool {
        let before = self.job.slot(slot).and_then(|slot| slot.ledger);
        after.state == State::Running && before.is_none_or(|before| before.token < after.token)
    }

    /// Judges that a run has the parameter of the manual request that it answers, and that other
    /// runs have none.
    fn parameter_is_requested(&mut self, i: Slot, before: &Ledger, run: &Run) {
        let manual = matches!(run.source, Source::Manual | Source::Backfill);
        let request = before.request.filter(|request| manual && request.at == run.fire);
        let requested = request.and_then(|request| request.parameter);
        self.expect(run.parameter == requested, S3, Some(i), |judge| {
            let text = |parameter: Option<Name>| parameter.map_or("none", |name| judge.text(name));
            format!(
                "{} has the parameter {:?}; its request has {:?}",
                judge.run(Some(*run)),
                text(run.parameter),
                text(requested)
            )
        });
        let past_fire = request.and_then(|request| request.past_fire);
        self.expect(run.past_fire == past_fire, S19, Some(i), |judge| {
            let (text, of) = (judge.run(Some(*run)), run.past_fire);
            format!("{text} is for the past fire {of:?}; its request has {past_fire:?}")
        });
    }

    /// Judges a scheduled fire: it was not claimed before, and the record names the fires that it
    /// stands for and the previous fire.
    fn scheduled(&mut self, i: Slot, before: &Ledger, after: &Ledger, run: &Run) {
        let later = run.source == Source::Misfire || before.last < Some(run.fire);
        let (first, last) = run.span();
        let covered = self.job.items.get(&i.item).map(|item| &item.covered);
        let done = covered.and_then(|covered| covered.range(..=last).next_back());
        let done = done.filter(|(_, end)| **end >= first);
        self.expect(later && done.is_none(), S1a, Some(i), |judge| {
            let done =
                done.map(|(first, last)| format!(", although {first} to {last} had been claimed"));
            format!("{} after {:?}{}", judge.run(Some(*run)), before.last, done.unwrap_or_default())
        });
        let named = run.merged.is_none_or(|range| {
            range.first <= range.last && range.last == run.fire && range.count >= 1
        });
        self.expect(named, S3, Some(i), |judge| {
            let range = run.merged.map(|range| (range.first, range.last, range.count));
            format!(
                "{} stands for {range:?}; valid is a range that ends with its fire",
                judge.run(Some(*run))
            )
        });
        let expected = before.last.max(Some(run.fire));
        self.expect(after.last == expected, S3, Some(i), |judge| {
            format!("{} left the last fire at {:?}", judge.run(Some(*run)), after.last)
        });
        if after.last != before.last {
            self.previous(i, before, after);
        }
        self.notes_covered(i, before, after, (first, last));
    }

    /// Judges that each noted fire is still noted, or is among the fires that the claim stands for.
    fn notes_covered(&mut self, i: Slot, before: &Ledger, after: &Ledger, span: (i64, i64)) {
        let Some(noted) = before.misfire else { return };
        let remains = after.misfire.map_or((i64::MAX, i64::MIN), |now| (now.first, now.last));
        let within = |fire: i64, (first, last): (i64, i64)| first <= fire && fire <= last;
        let kept = [noted.first, noted.last]
            .into_iter()
            .all(|fire| within(fire, span) || within(fire, remains));
        self.expect(kept, S3, Some(i), |_| {
            format!(
                "the noted fires {} to {} were lost; the claim stands for {} to {}",
                noted.first, noted.last, span.0, span.1
            )
        });
    }

    /// Judges a takeover: a registered instance claims the same fire under the next token.
    pub(crate) fn takeover(&mut self, i: Slot, before: &Ledger, after: &Ledger) {
        let (Some(left), Some(run)) = (before.run, after.run) else { return };
        let same = run.source == Source::Failover
            && run.fire == left.fire
            && run.merged == left.merged
            && run.parameter == left.parameter
            && run.past_fire == left.past_fire
            && after.last == before.last;
        self.expect(same, S1, Some(i), |judge| {
            format!(
                "{} was orphaned, and {} was claimed instead of the same fire",
                judge.run(Some(left)),
                judge.run(Some(run))
            )
        });
        self.expect(self.job.is_registered_by(run.holder, self.txn.sid), S2, Some(i), |judge| {
            format!("{}: the claimant is not registered in this session", judge.run(Some(run)))
        });
        self.enabled(i, &run, before);
        self.admitted(i, &run);
        self.configured(i, after);
        self.limited(i, &run);
        self.counted(i, &run);
        self.grouped(i, after.token, &run);
        self.notes_stay(i, before, after);
    }
}
