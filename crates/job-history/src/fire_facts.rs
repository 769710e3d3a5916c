//! What is known of one fire of one item. Facts arrive from several instances, in any order, some twice: putting them
//! together gives the same whole whatever the order.

use std::fmt;

use coordination::Outcome;

/// How a fire of an item ended, or where it stands.
///
/// | word | meaning | final |
/// |---|---|---|
/// | `succeeded`, `failed`, `panicked`, `interrupted`, … | the words of [`Outcome`]: a run ended so, and that is recorded | yes, unless it was interrupted and somebody takes it over |
/// | `running` | a run has begun, and its end is not known here | no |
/// | `unknown` | a run has begun and is over, but no end is recorded in this store: its process was killed, or wrote it elsewhere | no |
/// | `orphaned` | the instance that ran it is gone; the reason says whether somebody shall take it over | only without failover |
/// | `missed` | it is not run, with the reason | yes |
/// | `misfired` | it met the item running; the next run of the item whose source is `MISFIRE` makes up for it | yes |
/// | `gap` | it and those after it, up to `gap_until`, were not run, and no instance says why | yes, unless the job catches up |
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FireOutcome(String);

impl FireOutcome {
    /// Makes an outcome of its word, which may be one of a newer program.
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

    /// Returns every word that this program knows, in the order of the table.
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

/// Everything known of one fire of one item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FireFacts {
    /// The run with the greatest token.
    pub(crate) run: Option<RunFacts>,
    /// The last time that a run of it was found without its holder.
    pub(crate) left: Option<Left>,
    pub(crate) missed: Option<Missed>,
    pub(crate) misfired: bool,
    pub(crate) gap: Option<GapFacts>,
}

/// Fires that were not run, this one being the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GapFacts {
    /// The exclusive end.
    pub(crate) until_ms: i64,
    /// How many fires, if that is known.
    pub(crate) count: Option<i64>,
}

/// A run. Of one token there is one run, but for those that are not monitored: they all have token 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunFacts {
    pub(crate) token: i64,
    pub(crate) instance: String,
    pub(crate) source: String,
    pub(crate) began_ms: Option<i64>,
    pub(crate) ended_ms: Option<i64>,
    /// How it ended, once that is recorded.
    pub(crate) settled: Option<String>,
    pub(crate) cause: Option<String>,
}

/// A run whose holder was gone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Left {
    pub(crate) at_ms: i64,
    pub(crate) by: String,
    pub(crate) failover: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Missed {
    pub(crate) at_ms: i64,
    pub(crate) reason: String,
}

impl FireFacts {
    /// Adds what somebody else knows.
    pub(crate) fn merge(self, other: Self) -> Self {
        Self {
            run: match (self.run, other.run) {
                (Some(one), Some(two)) => Some(one.merge(two)),
                (one, two) => one.or(two),
            },
            left: self.left.max(other.left),
            missed: self.missed.max(other.missed),
            misfired: self.misfired || other.misfired,
            gap: self.gap.max(other.gap),
        }
    }

    /// Returns the one outcome that all of it amounts to, with the reason if there is one.
    pub(crate) fn outcome(&self) -> (FireOutcome, Option<String>) {
        if let Some(run) = &self.run {
            return match (&run.settled, &self.left) {
                (Some(outcome), _) => (FireOutcome::new(outcome), run.cause.clone()),
                (None, Some(left)) if left.by == run.instance => left.outcome(),
                (None, _) => (FireOutcome::running(), None),
            };
        }
        if let Some(missed) = &self.missed {
            return (FireOutcome::missed(), Some(missed.reason.clone()));
        }
        if let Some(left) = &self.left {
            return left.outcome();
        }
        if self.misfired {
            let reason = "the item was still running, and runs for it afterwards";
            return (FireOutcome::misfired(), Some(reason.to_owned()));
        }
        (
            FireOutcome::gap(),
            Some("no instance was there, or none could reach the registry".to_owned()),
        )
    }
}

impl Left {
    fn outcome(&self) -> (FireOutcome, Option<String>) {
        let after = if self.failover { "to be taken over" } else { "not to be taken over" };
        (FireOutcome::orphaned(), Some(format!("left unfinished by {}: {after}", self.by)))
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

/// The end is told by the code first, and by its record later.
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

        let left = (0..3_i64, word(), any::<bool>());
        let left = left.prop_map(|(at_ms, by, failover)| Left { at_ms, by, failover });
        let missed = (0..3_i64, word()).prop_map(|(at_ms, reason)| Missed { at_ms, reason });
        (of(run()), of(left), of(missed), any::<bool>(), of(0..3_i64)).prop_map(
            |(run, left, missed, misfired, gap)| FireFacts {
                run,
                left,
                missed,
                misfired,
                gap: gap.map(|until_ms| GapFacts { until_ms, count: Some(until_ms) }),
            },
        )
    }

    proptest! {
        #[test]
        fn the_order_in_which_facts_arrive_changes_nothing(a in facts(), b in facts(), c in facts()) {
            let left = a.clone().merge(b.clone()).merge(c.clone());
            prop_assert_eq!(&left, &a.clone().merge(b.clone().merge(c.clone())));
            prop_assert_eq!(&left, &c.merge(b.merge(a.clone())));
            prop_assert_eq!(&a, &a.clone().merge(a.clone()), "a fact that arrives twice");
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
    fn one_outcome_comes_of_all_facts() {
        let left = |by: &str, failover| FireFacts {
            left: Some(Left { at_ms: 5, by: by.to_owned(), failover }),
            ..FireFacts::default()
        };
        let missed = || FireFacts {
            missed: Some(Missed { at_ms: 5, reason: "the item is retired".to_owned() }),
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
                vec![run_of(1, "a", None), left("a", true)],
                "orphaned",
                Some("left unfinished by a: to be taken over"),
            ),
            (
                "for good",
                vec![left("a", false)],
                "orphaned",
                Some("left unfinished by a: not to be taken over"),
            ),
            (
                "taken over",
                vec![run_of(1, "a", None), left("a", true), run_of(2, "b", None)],
                "running",
                None,
            ),
            (
                "finished by another",
                vec![run_of(2, "b", Some("succeeded")), left("a", true)],
                "succeeded",
                Some("the disk is full"),
            ),
            (
                "misfired",
                vec![misfired()],
                "misfired",
                Some("the item was still running, and runs for it afterwards"),
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
                Some("no instance was there, or none could reach the registry"),
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
