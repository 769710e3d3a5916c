//! What a look at a finished history has found to be otherwise than expected.

use super::history_queries::{Account, Seen, ns};

/// Sentences about what was not as expected. Empty is well.
#[derive(Debug, Default)]
pub(crate) struct Findings(Vec<String>);

impl Findings {
    /// Notes a sentence unless something holds.
    pub(crate) fn expect(&mut self, holds: bool, sentence: impl FnOnce() -> String) {
        if !holds {
            self.0.push(sentence());
        }
    }

    pub(crate) fn into_sentences(self) -> Vec<String> {
        self.0
    }

    /// Expects that nobody took anything over, and that no run was given up.
    pub(crate) fn no_failover(&mut self, seen: &Seen<'_>) {
        for change in seen.ledger() {
            self.expect(change.loser().is_none(), || {
                format!(
                    "item {} was taken for left unfinished at revision {}, although no holder was gone",
                    change.item, change.zxid
                )
            });
        }
    }

    /// Expects that each fire of these items was begun exactly once, from the first to the last claim of each. What is
    /// run again by failover is no second beginning.
    pub(crate) fn each_fire_once(&mut self, seen: &Seen<'_>, items: std::ops::Range<u32>) {
        for item in items {
            let accounts = seen.accounts(item);
            self.expect(!accounts.is_empty(), || format!("item {item} was never claimed"));
            for pair in accounts.windows(2) {
                let [before, after] = pair else { continue };
                self.expect(after.first == before.last + seen.period_ms(), || {
                    format!(
                        "item {item}: after fire {} came fire {}; each must come once and in order",
                        before.last, after.first
                    )
                });
            }
            for account in &accounts {
                self.named_range(seen, item, account);
            }
        }
    }

    /// Expects that each fire of an item was begun at most once, and that what was left out is shown as a gap.
    pub(crate) fn each_fire_accounted(&mut self, seen: &Seen<'_>, item: u32) {
        let accounts = seen.accounts(item);
        for pair in accounts.windows(2) {
            let [before, after] = pair else { continue };
            let next = before.next.unwrap_or(before.last + seen.period_ms());
            let is_accounted = match after.gap_from {
                Some(gap) => gap == next && after.first > next,
                None => after.first == next,
            };
            self.expect(is_accounted, || {
                format!(
                    "item {item}: after fire {} came fire {} with a gap from {:?}; what was not run must be shown",
                    before.last, after.first, after.gap_from
                )
            });
        }
    }

    /// As [`each_fire_accounted`](Self::each_fire_accounted), for several items.
    pub(crate) fn each_fire_accounted_for_all(
        &mut self,
        seen: &Seen<'_>,
        items: std::ops::Range<u32>,
    ) {
        items.for_each(|item| self.each_fire_accounted(seen, item));
    }

    fn named_range(&mut self, seen: &Seen<'_>, item: u32, account: &Account) {
        let fires = (account.last - account.first) / seen.period_ms() + 1;
        self.expect(fires == i64::from(account.count), || {
            format!(
                "item {item}: a run stands for {} fires, but names {} to {}",
                account.count, account.first, account.last
            )
        });
    }

    /// Expects that whatever a process held when it went was first found lost and then run again for the same fire,
    /// under the next token, to a good end.
    pub(crate) fn lost_and_found(&mut self, seen: &Seen<'_>, p: &str, mt: u64) {
        let closed = seen.session_at(p, mt).and_then(|sid| seen.closed(sid));
        for lost in seen.held_at(p, mt) {
            let which =
                format!("item {} of {p} (fire {}, token {})", lost.item, lost.fire, lost.token);
            let swept = lost.found().map(|change| change.zxid);
            self.expect(swept.is_some(), || format!("{which} was not found lost"));
            if let (Some(swept), Some((_, closed))) = (swept, closed) {
                self.expect(swept > closed, || {
                    format!("{which} was found lost before its session had ended")
                });
            }
            let taken = lost.takeovers().next().map(|change| change.after.token);
            self.expect(taken == Some(lost.token + 1), || {
                format!("{which} was run again under token {taken:?}, not {}", lost.token + 1)
            });
            let outcome = lost.done().and_then(|done| done.after.outcome.clone());
            self.expect(outcome.as_deref() == Some("succeeded"), || {
                format!("{which} ended as {outcome:?}, not well")
            });
        }
    }

    /// Expects that runs of an item that stand for several fires name them all, and that misfires are run for the last
    /// fire that they stand for.
    pub(crate) fn misfires_are_named(&mut self, seen: &Seen<'_>, item: u32) {
        for account in seen.accounts(item) {
            self.named_range(seen, item, &account);
            if account.is_misfire {
                let run = seen
                    .runs()
                    .into_iter()
                    .find(|run| run.id.item == item && run.id.token == account.token);
                self.expect(run.is_none_or(|run| run.id.fire == account.last), || {
                    format!(
                        "item {item}: the misfire of {} to {} ran as {run:?}",
                        account.first, account.last
                    )
                });
            }
        }
    }

    /// Expects that every run of an item began within a quarter of a period of its fire, by its process's own clock.
    pub(crate) fn is_punctual(&mut self, seen: &Seen<'_>, item: u32) {
        for run in seen.runs().iter().filter(|run| run.id.item == item) {
            self.expect(run.lateness_ms() <= seen.period_ms() / 4, || {
                format!(
                    "item {item} of {} began fire {} with a delay of {} ms",
                    run.p,
                    run.id.fire,
                    run.lateness_ms()
                )
            });
        }
    }

    /// Expects that a process never began a run between two moments.
    pub(crate) fn begins_nothing(&mut self, seen: &Seen<'_>, p: &str, from: u64, to: u64) {
        for run in seen.runs().iter().filter(|run| run.p == p && run.began > from && run.began < to)
        {
            self.expect(false, || {
                format!(
                    "{p} began item {} of fire {} although it had no right to any more",
                    run.id.item, run.id.fire
                )
            });
        }
    }

    /// Expects that two moments are no further apart than recovery takes.
    pub(crate) fn in_time(&mut self, seen: &Seen<'_>, from: u64, to: Option<u64>, what: &str) {
        let in_time = to.is_some_and(|to| to <= from.saturating_add(ns(seen.recovery())));
        self.expect(in_time, || {
            let took = to.map(|to| to.saturating_sub(from) / 1_000_000);
            format!("{what} took {took:?} ms; at most {:?} is allowed", seen.recovery())
        });
    }
}
