//! Facts about one fire of one item.
//!
//! Several instances report facts, in any order and some twice. The merge of all facts does not
//! depend on the order.

use coordination::Outcome;

use crate::FireOutcome;

/// All known facts about one fire of one item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FireFacts {
    /// The run with the greatest token.
    pub(crate) run: Option<RunFacts>,
    /// Past fire that the runs repeat, if they are of a backfill.
    pub(crate) past_fire_ms: Option<i64>,
    /// The last time that the leader found a run without its holder.
    pub(crate) orphan: Option<OrphanFacts>,
    pub(crate) missed: Option<MissedFacts>,
    pub(crate) misfired: bool,
    pub(crate) gap: Option<GapFacts>,
    /// Completed run with the smallest token.
    pub(crate) first_completed: Option<RunKey>,
    /// Completed run with the greatest token. It differs from the first one if the fire ran twice.
    pub(crate) last_completed: Option<RunKey>,
}

/// Identity of a run of a fire. The instance distinguishes unmonitored runs, which have no token.
// The derived order decides the merge: the field order matters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RunKey {
    pub(crate) token: i64,
    pub(crate) instance: String,
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
            past_fire_ms: self.past_fire_ms.max(other.past_fire_ms),
            orphan: self.orphan.max(other.orphan),
            missed: self.missed.max(other.missed),
            misfired: self.misfired || other.misfired,
            gap: self.gap.max(other.gap),
            first_completed: [self.first_completed, other.first_completed]
                .into_iter()
                .flatten()
                .min(),
            last_completed: self.last_completed.max(other.last_completed),
        }
    }

    /// Adds the end of its run, unless the run was cut short or skipped.
    pub(crate) fn with_end(mut self, outcome: Outcome) -> Self {
        if !outcome.is_cut_short() && outcome != Outcome::Disabled {
            let run = self.run.as_ref();
            let key = run.map(|run| RunKey { token: run.token, instance: run.instance.clone() });
            (self.first_completed, self.last_completed) = (key.clone(), key);
        }
        self
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
            let reason = "the item was still running; a later run of source MISFIRE covers it";
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
        let key =
            || of((0..3_i64, word()).prop_map(|(token, instance)| RunKey { token, instance }));
        let past = of(0..3_i64);
        (of(run()), past, of(orphan), of(missed), any::<bool>(), of(0..3_i64), key(), key())
            .prop_map(
                |(
                    run,
                    past_fire_ms,
                    orphan,
                    missed,
                    misfired,
                    gap,
                    first_completed,
                    last_completed,
                )| FireFacts {
                    run,
                    past_fire_ms,
                    orphan,
                    missed,
                    misfired,
                    gap: gap.map(|until_ms| GapFacts { until_ms, count: Some(until_ms) }),
                    first_completed,
                    last_completed,
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

    #[test]
    fn two_completed_runs_of_a_fire_are_both_kept() {
        let ended = |token, instance, outcome| run_of(token, instance, None).with_end(outcome);
        let runs = [
            ended(2, "b", Outcome::Failed),
            ended(1, "a", Outcome::Succeeded),
            ended(3, "c", Outcome::Interrupted),
            ended(4, "d", Outcome::Cancelled),
        ];
        let all = runs.into_iter().reduce(FireFacts::merge).unwrap();
        let key = |token, instance: &str| Some(RunKey { token, instance: instance.to_owned() });
        assert_eq!((all.first_completed, all.last_completed), (key(1, "a"), key(2, "b")));
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
                Some("the item was still running; a later run of source MISFIRE covers it"),
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
