//! Findings: expectations about a finished history that do not hold.

use super::history_queries::{Account, Lost, Seen, ns};

/// Unmet expectations, each a sentence. An empty list means that all expectations hold.
#[derive(Debug, Default)]
pub(crate) struct Findings(Vec<String>);

impl Findings {
    /// Adds a sentence if the expectation does not hold.
    pub(crate) fn expect(&mut self, holds: bool, sentence: impl FnOnce() -> String) {
        if !holds {
            self.0.push(sentence());
        }
    }

    pub(crate) fn into_sentences(self) -> Vec<String> {
        self.0
    }

    /// Expects that no run was orphaned, given up or taken over.
    pub(crate) fn no_failover(&mut self, seen: &Seen<'_>) {
        for change in seen.ledger() {
            self.expect(change.former_holder().is_none(), || {
                format!(
                    "the run of item {} was orphaned at revision {}, although no holder was gone",
                    change.item, change.zxid
                )
            });
        }
    }

    /// Expects that each fire of these items was begun exactly once, between the first and the last
    /// claim of each item. Runs by failover do not count as a second beginning.
    pub(crate) fn each_fire_once(&mut self, seen: &Seen<'_>, items: std::ops::Range<u32>) {
        for item in items {
            let accounts = seen.accounts(item);
            self.expect(!accounts.is_empty(), || format!("item {item} was never claimed"));
            for pair in accounts.windows(2) {
                let [before, after] = pair else { continue };
                self.expect(after.first == before.last + seen.period_ms(), || {
                    format!(
                        "item {item}: fire {} was followed by fire {}; each fire must be run once and in order",
                        before.last, after.first
                    )
                });
            }
            for account in &accounts {
                self.range_matches_count(seen, item, account);
            }
        }
    }

    /// Expects that each fire of an item was begun at most once, and that gaps cover all other
    /// fires.
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
                    "item {item}: fire {} was followed by fire {} with a gap from {:?}; the gap must cover the fires between them",
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

    fn range_matches_count(&mut self, seen: &Seen<'_>, item: u32, account: &Account) {
        let fires = (account.last - account.first) / seen.period_ms() + 1;
        self.expect(fires == i64::from(account.count), || {
            format!(
                "item {item}: a run stands for {} fires, but its range is {} to {}",
                account.count, account.first, account.last
            )
        });
    }

    /// Expects that each run that a process held at this moment was orphaned, and then repeated
    /// successfully for the same fire under the next token.
    pub(crate) fn lost_runs_are_repeated(&mut self, seen: &Seen<'_>, p: &str, mt: u64) {
        seen.held_at(p, mt).iter().for_each(|lost| self.lost_run_is_repeated(seen, p, mt, lost));
    }

    /// As [`lost_runs_are_repeated`](Self::lost_runs_are_repeated), for one of the runs.
    pub(crate) fn lost_run_is_repeated(&mut self, seen: &Seen<'_>, p: &str, mt: u64, lost: &Lost) {
        let closed = seen.session_at(p, mt).and_then(|sid| seen.closed(sid));
        let which = format!("item {} of {p} (fire {}, token {})", lost.item, lost.fire, lost.token);
        let swept = lost.orphaned_by().map(|change| change.zxid);
        self.expect(swept.is_some(), || format!("{which} was not orphaned"));
        if let (Some(swept), Some((_, closed))) = (swept, closed) {
            self.expect(swept > closed, || {
                format!("{which} was orphaned before its session had ended")
            });
        }
        let taken = lost.takeovers().next().map(|change| change.after.token);
        self.expect(taken == Some(lost.token + 1), || {
            format!("{which} was run again under token {taken:?}, not {}", lost.token + 1)
        });
        let outcome = lost.completed_by().and_then(|done| done.after.outcome.clone());
        self.expect(outcome.as_deref() == Some("succeeded"), || {
            format!("{which} ended as {outcome:?}, not as succeeded")
        });
    }

    /// Expects that each run for several fires records their range, and that a misfire runs for the
    /// last fire of its range.
    pub(crate) fn misfires_have_ranges(&mut self, seen: &Seen<'_>, item: u32) {
        for account in seen.accounts(item) {
            self.range_matches_count(seen, item, &account);
            if account.is_misfire {
                let run = seen
                    .runs()
                    .into_iter()
                    .find(|run| run.id.item == item && run.id.token == account.token);
                self.expect(run.is_none_or(|run| run.id.fire == account.last), || {
                    format!(
                        "item {item}: the misfire of {} to {} was run as {run:?}",
                        account.first, account.last
                    )
                });
            }
        }
    }

    /// Expects that every run of an item began within a quarter of a period of its fire, by the
    /// clock of its process.
    pub(crate) fn starts_on_time(&mut self, seen: &Seen<'_>, item: u32) {
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

    /// Expects that a process began no run between two moments.
    pub(crate) fn starts_nothing(&mut self, seen: &Seen<'_>, p: &str, from: u64, to: u64) {
        for run in seen.runs().iter().filter(|run| run.p == p && run.began > from && run.began < to)
        {
            self.expect(false, || {
                format!(
                    "{p} began item {} of fire {}, although it must start nothing at that time",
                    run.id.item, run.id.fire
                )
            });
        }
    }

    /// Expects that two moments are at most the recovery time apart.
    pub(crate) fn in_time(&mut self, seen: &Seen<'_>, from: u64, to: Option<u64>, what: &str) {
        let in_time = to.is_some_and(|to| to <= from.saturating_add(ns(seen.recovery())));
        self.expect(in_time, || {
            let took = to.map(|to| to.saturating_sub(from) / 1_000_000);
            format!("{what} took {took:?} ms; at most {:?} is allowed", seen.recovery())
        });
    }
}
