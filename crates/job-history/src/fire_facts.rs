//! Facts about one fire of one item.
//!
//! Several instances report facts, in any order and some twice. The merge of all facts does not
//! depend on the order.

use std::fmt;

use coordination::Outcome;

/// Outcome of a fire of an item, or its present state.
///
/// | word | meaning | final |
/// |---|---|---|
/// | the words of [`Outcome`] | the last run was completed with this outcome | yes [^1] |
/// | `running` | a run has begun, and this store has no end of it | no |
/// | `unknown` | a run is over, and this store has no end of it [^2] | no |
/// | `orphaned` | the holder is gone, and another instance takes the run over | no |
/// | `missed` | missed fire; the reason says why | yes |
/// | `misfired` | the fire met a busy item; the next run of source `MISFIRE` stands for it | yes |
/// | `gap` | no instance ran the fires up to `gap_until`, or gave a reason | yes [^3] |
///
/// [^1]: Except `interrupted`, if another instance takes the run over.
///
/// [^2]: Its process was killed, or wrote the end to another store.
///
/// [^3]: Unless the job catches up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FireOutcome(String);

impl FireOutcome {
    /// Creates an outcome from its word, which may be unknown to this version.
    pub fn new(word: impl Into<String>) -> Self {
        Self(word.into())
    }

    /// Returns `running`.
    #[must_use]
    pub fn running() -> Self {
        Self::new("running")
    }

    /// Returns `unknown`.
    #[must_use]
    pub fn unknown() -> Self {
        Self::new("unknown")
    }

    /// Returns all words that this version knows, in the order of the table.
    ///
    /// # Examples
    /// ```
    /// use job_history::FireOutcome;
    ///
    /// assert!(FireOutcome::words().contains(&"timed_out"));
    /// ```
    #[must_use]
    pub fn words() -> [&'static str; 12] {
        use Outcome::{Disabled, Failed, Interrupted, Panicked, Succeeded, TimedOut};
        let [a, b, c, d, e, f] =
            [Succeeded, Failed, Panicked, TimedOut, Interrupted, Disabled].map(Outcome::as_str);
        [a, b, c, d, e, f, "running", "unknown", "orphaned", "missed", "misfired", "gap"]
    }

    /// Returns `orphaned`.
    #[must_use]
    pub fn orphaned() -> Self {
        Self::new("orphaned")
    }

    /// Returns `missed`.
    #[must_use]
    pub fn missed() -> Self {
        Self::new("missed")
    }

    /// Returns `misfired`.
    #[must_use]
    pub fn misfired() -> Self {
        Self::new("misfired")
    }

    /// Returns `gap`.
    #[must_use]
    pub fn gap() -> Self {
        Self::new("gap")
    }

    /// Returns the word.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Outcome> for FireOutcome {
    fn from(outcome: Outcome) -> Self {
        Self::new(outcome.as_str())
    }
}

impl fmt::Display for FireOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// All known facts about one fire of one item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FireFacts {
    /// The run with the greatest token.
    pub(crate) run: Option<RunFacts>,
    /// The last time that the leader found a run without its holder.
    pub(crate) orphan: Option<OrphanFacts>,
    pub(crate) missed: Option<MissedFacts>,
    pub(crate) misfired: bool,
    pub(crate) gap: Option<GapFacts>,
}

/// A gap that begins with this fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GapFacts {
    /// Exclusive end.
    pub(crate) until_ms: i64,
    /// Number of fires, if known.
    pub(crate) count: Option<i64>,
}

/// A run. Each token has one run, except token 0, which all unmonitored runs have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunFacts {
    pub(crate) token: i64,
    pub(crate) instance: String,
    pub(crate) source: String,
    pub(crate) began_ms: Option<i64>,
    pub(crate) ended_ms: Option<i64>,
    /// Recorded outcome; `None` until the run is completed.
    pub(crate) settled: Option<String>,
    pub(crate) cause: Option<String>,
}

/// An orphaned run.
// The derived order decides the merge: the field order matters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OrphanFacts {
    pub(crate) at_ms: i64,
    pub(crate) holder: String,
    pub(crate) failover: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MissedFacts {
    pub(crate) at_ms: i64,
    pub(crate) reason: String,
}

impl FireFacts {
    /// Merges the facts of two instances.
    pub(crate) fn merge(self, other: Self) -> Self {
        Self {
            run: match (self.run, other.run) {
                (Some(one), Some(two)) => Some(one.merge(two)),
                (one, two) => one.or(two),
            },
            orphan: self.orphan.max(other.orphan),
            missed: self.missed.max(other.missed),
            misfired: self.misfired || other.misfired,
            gap: self.gap.max(other.gap),
        }
    }

    /// Returns the outcome that follows from all facts, and its reason if there is one.
    pub(crate) fn outcome(&self) -> (FireOutcome, Option<String>) {
        if let Some(run) = &self.run {
            return match (&run.settled, &self.orphan) {
                (Some(outcome), _) => (FireOutcome::new(outcome), run.cause.clone()),
                (None, Some(orphan)) if orphan.holder == run.instance => orphan.outcome(),
                (None, _) => (FireOutcome::running(), None),
            };
        }
        if let Some(missed) = &self.missed {
            return (FireOutcome::missed(), Some(missed.reason.clone()));
        }
        if let Some(orphan) = &self.orphan {
            return orphan.outcome();
        }
        if self.misfired {
            let reason = "the item was still running; a later run of source MISFIRE stands for it";
            return (FireOutcome::misfired(), Some(reason.to_owned()));
        }
        (FireOutcome::gap(), Some("no instance lived, or none could reach the registry".to_owned()))
    }
}

impl OrphanFacts {
    fn outcome(&self) -> (FireOutcome, Option<String>) {
        // Without failover the run ends, and the record of the item has this outcome.
        let (outcome, next) = if self.failover {
            (FireOutcome::orphaned(), "another instance takes the run over")
        } else {
            (FireOutcome::new(Outcome::Interrupted.as_str()), "the run is not taken over")
        };
        (outcome, Some(format!("the holder {} is gone; {next}", self.holder)))
    }
}

impl RunFacts {
    fn merge(self, other: Self) -> Self {
        let rank = |run: &Self| (run.token, run.instance.clone());
        match rank(&self).cmp(&rank(&other)) {
            std::cmp::Ordering::Less => other,
            std::cmp::Ordering::Greater => self,
            std::cmp::Ordering::Equal => Self {
                token: self.token,
                instance: self.instance,
                source: self.source.max(other.source),
                began_ms: earlier(self.began_ms, other.began_ms),
                ended_ms: earlier(self.ended_ms, other.ended_ms),
                settled: self.settled.max(other.settled),
                cause: self.cause.max(other.cause),
            },
        }
    }
}

/// Returns the earlier time: the end of the code is reported before the completion.
fn earlier(one: Option<i64>, two: Option<i64>) -> Option<i64> {
    [one, two].into_iter().flatten().min()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn word() -> impl Strategy<Value = String> {
        prop::sample::select(vec!["a".to_owned(), "b".to_owned(), "c".to_owned()])
    }

    fn run() -> impl Strategy<Value = RunFacts> {
        let ms = || prop::option::of(0..4_i64);
        let text = || prop::option::of(word());
        (0..3_i64, word(), word(), ms(), ms(), text(), text()).prop_map(
            |(token, instance, source, began_ms, ended_ms, settled, cause)| RunFacts {
                token,
                instance,
                source,
                began_ms,
                ended_ms,
                settled,
                cause,
            },
        )
    }

    fn facts() -> impl Strategy<Value = FireFacts> {
        use prop::option::of;

        let orphan = (0..3_i64, word(), any::<bool>());
        let orphan =
            orphan.prop_map(|(at_ms, holder, failover)| OrphanFacts { at_ms, holder, failover });
        let missed = (0..3_i64, word()).prop_map(|(at_ms, reason)| MissedFacts { at_ms, reason });
        (of(run()), of(orphan), of(missed), any::<bool>(), of(0..3_i64)).prop_map(
            |(run, orphan, missed, misfired, gap)| FireFacts {
                run,
                orphan,
                missed,
                misfired,
                gap: gap.map(|until_ms| GapFacts { until_ms, count: Some(until_ms) }),
            },
        )
    }

    proptest! {
        #[test]
        fn merge_is_associative_commutative_and_idempotent(
            a in facts(), b in facts(), c in facts()
        ) {
            let left = a.clone().merge(b.clone()).merge(c.clone());
            prop_assert_eq!(&left, &a.clone().merge(b.clone().merge(c.clone())));
            prop_assert_eq!(&left, &c.merge(b.merge(a.clone())));
            prop_assert_eq!(&a, &a.clone().merge(a.clone()), "a repeated fact changed the result");
        }
    }

    fn run_of(token: i64, instance: &str, settled: Option<&str>) -> FireFacts {
        let run = RunFacts {
            token,
            instance: instance.to_owned(),
            source: "NORMAL".to_owned(),
            began_ms: Some(1),
            ended_ms: None,
            settled: settled.map(str::to_owned),
            cause: settled.map(|_| "the disk is full".to_owned()),
        };
        FireFacts { run: Some(run), ..FireFacts::default() }
    }

    #[test]
    fn merged_facts_have_one_outcome() {
        let orphan = |holder: &str, failover| FireFacts {
            orphan: Some(OrphanFacts { at_ms: 5, holder: holder.to_owned(), failover }),
            ..FireFacts::default()
        };
        let missed = || FireFacts {
            missed: Some(MissedFacts { at_ms: 5, reason: "the item is retired".to_owned() }),
            ..FireFacts::default()
        };
        let misfired = || FireFacts { misfired: true, ..FireFacts::default() };
        let gap = || FireFacts {
            gap: Some(GapFacts { until_ms: 9, count: None }),
            ..FireFacts::default()
        };
        let rows: [(&str, Vec<FireFacts>, &str, Option<&str>); 10] = [
            ("begun", vec![run_of(1, "a", None)], "running", None),
            (
                "ended",
                vec![run_of(1, "a", None), run_of(1, "a", Some("failed"))],
                "failed",
                Some("the disk is full"),
            ),
            (
                "holder lost",
                vec![run_of(1, "a", None), orphan("a", true)],
                "orphaned",
                Some("the holder a is gone; another instance takes the run over"),
            ),
            (
                "holder lost without failover",
                vec![orphan("a", false)],
                "interrupted",
                Some("the holder a is gone; the run is not taken over"),
            ),
            (
                "taken over",
                vec![run_of(1, "a", None), orphan("a", true), run_of(2, "b", None)],
                "running",
                None,
            ),
            (
                "completed by another instance",
                vec![run_of(2, "b", Some("succeeded")), orphan("a", true)],
                "succeeded",
                Some("the disk is full"),
            ),
            (
                "misfired",
                vec![misfired()],
                "misfired",
                Some("the item was still running; a later run of source MISFIRE stands for it"),
            ),
            (
                "misfired and retired",
                vec![misfired(), missed()],
                "missed",
                Some("the item is retired"),
            ),
            (
                "no instance",
                vec![gap()],
                "gap",
                Some("no instance lived, or none could reach the registry"),
            ),
            (
                "caught up",
                vec![gap(), missed(), run_of(1, "a", Some("succeeded"))],
                "succeeded",
                Some("the disk is full"),
            ),
        ];
        for (case, facts, outcome, reason) in rows {
            let all = facts.into_iter().reduce(FireFacts::merge).unwrap();
            assert_eq!(
                all.outcome(),
                (FireOutcome::new(outcome), reason.map(str::to_owned)),
                "{case}"
            );
        }
    }
}
