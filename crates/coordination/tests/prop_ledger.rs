//! Property tests of the ledger: its invariants hold after every sequence of steps.

use coordination::{
    CancelRequest, Claimant, FireTime, Ledger, LedgerState, ManualRequest, Outcome, RunSource,
};
use proptest::prelude::*;
use reg_center::Version;
use sharding::InstanceId;

#[derive(Clone, Copy, Debug)]
enum Step {
    /// `Failover` stands for a catch-up here, because a takeover is a step of its own.
    Claim(i64, RunSource, u8),
    Request(i64),
    Disable(bool),
    Cancel,
    Complete,
    Orphan,
    TakeOver(u8),
    Abandon,
    NoteMisfire(i64),
    Queue(i64, u32),
    RunQueued(u8),
    SkipDisabled(i64),
    Retire,
    Revive(i64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let fire = 0..40_i64;
    let who = 0..3_u8;
    let source = prop_oneof![
        Just(RunSource::Normal),
        Just(RunSource::Misfire),
        Just(RunSource::Manual),
        Just(RunSource::Failover),
    ];
    let step = prop_oneof![
        4 => (fire.clone(), source, who.clone()).prop_map(|(f, s, w)| Step::Claim(f, s, w)),
        1 => fire.clone().prop_map(Step::Request),
        1 => any::<bool>().prop_map(Step::Disable),
        1 => Just(Step::Cancel),
        3 => Just(Step::Complete),
        1 => Just(Step::Orphan),
        1 => who.prop_map(Step::TakeOver),
        1 => Just(Step::Abandon),
        1 => fire.clone().prop_map(Step::NoteMisfire),
        3 => (fire.clone(), 1..4_u32).prop_map(|(fire, max)| Step::Queue(fire, max)),
        2 => (0..3_u8).prop_map(Step::RunQueued),
        1 => fire.clone().prop_map(Step::SkipDisabled),
        1 => Just(Step::Retire),
        1 => fire.prop_map(Step::Revive),
    ];
    proptest::collection::vec(step, 0..60)
}

fn apply(ledger: &Ledger, step: Step) -> Option<Ledger> {
    let by = |who: u8| Claimant {
        holder: InstanceId::new(format!("10.0.0.{who}@-@{who}")),
        config: Version(0),
        now_ms: 0,
    };
    match step {
        Step::Claim(fire, RunSource::Normal, who) => {
            ledger.claim(&by(who), FireTime(fire), Some(FireTime(fire + 1)))
        }
        Step::Claim(_, RunSource::Misfire, who) => ledger.replay(&by(who), None),
        Step::Claim(_, RunSource::Manual | RunSource::Backfill, who) => ledger.answer(&by(who)),
        Step::Claim(fire, RunSource::Failover, who) => {
            ledger.catch_up(&by(who), FireTime(fire), None)
        }
        Step::Request(at) => ledger.with_request(ManualRequest {
            id: "r".into(),
            at: FireTime(2 * at + 1),
            parameter: None,
            past_fire: None,
        }),
        Step::Disable(disabled) => ledger.with_disabled(disabled),
        Step::Cancel => {
            let request = CancelRequest::new(ledger.token, "anna", "wrong month", 0)?;
            ledger.with_cancel_request(request)
        }
        Step::Complete => ledger.complete(Outcome::Succeeded, 0),
        Step::Orphan => ledger.orphan(),
        Step::TakeOver(who) => ledger.take_over(&by(who)),
        Step::Abandon => ledger.abandon(0),
        Step::NoteMisfire(fire) => ledger.note_misfire(FireTime(fire), None),
        Step::Queue(fire, max) => ledger.queue(FireTime(fire), None, max),
        Step::RunQueued(who) => ledger.run_queued(&by(who), None),
        Step::SkipDisabled(fire) => ledger.skip_disabled(FireTime(fire), None),
        Step::Retire => ledger.retire(),
        Step::Revive(born) => ledger.revive(Some(FireTime(born))),
    }
}

proptest! {
    #[test]
    fn tokens_and_fires_never_decrease_and_running_items_keep_their_holder(steps in steps()) {
        let mut ledger = Ledger::new(None);
        let mut normal_fires = std::collections::BTreeSet::new();
        for step in steps {
            let Some(next) = apply(&ledger, step) else { continue };
            prop_assert!(next.token >= ledger.token && next.last_fire >= ledger.last_fire);
            let begins = next.running().is_some() && ledger.running().is_none();
            prop_assert_eq!(next.token > ledger.token, begins, "each run has its own token");
            if let (Some(before), Some(after)) = (ledger.running(), next.running()) {
                prop_assert_eq!(&before.holder, &after.holder);
            }
            let started = next.running().filter(|_| begins);
            if let Some(run) = started.filter(|run| run.source == RunSource::Normal) {
                prop_assert!(normal_fires.insert(run.fire), "fire {} was claimed twice", run.fire);
            }
            if begins && next.running().is_some_and(|run| run.source != RunSource::Failover) {
                prop_assert!(!ledger.disabled, "a disabled item was claimed");
            }
            if ledger.cancels().is_some() && next.run().is_some() {
                prop_assert_eq!(next.run(), ledger.run(), "a run to be cancelled was continued");
                prop_assert_eq!(next.cancels(), ledger.cancels());
            }
            let is_cancelled = next.outcome == Some(Outcome::Cancelled);
            prop_assert!(!is_cancelled || next.cancel_request().is_some());
            if let Some(range) = next.misfire {
                prop_assert!(range.first <= range.last && range.count >= 1);
                prop_assert!(next.state != LedgerState::Retired);
            }
            prop_assert!(next.queued.is_sorted_by(|one, other| one < other));
            let range = next.misfire.filter(|_| !next.queued.is_empty());
            prop_assert_eq!(range.map(|it| it.first), next.queued.first().copied());
            prop_assert_eq!(range.map(|it| it.last), next.queued.last().copied());
            prop_assert_eq!(range.map_or(0, |it| it.count as usize), next.queued.len());
            prop_assert!(next.queued.len() <= 3, "the bound");
            ledger = next;
        }
    }

    #[test]
    fn settled_fire_is_never_claimed_or_noted_again(steps in steps(), fire in 0..40_i64) {
        let ledger = steps.into_iter().fold(Ledger::new(None), |ledger, step| {
            apply(&ledger, step).unwrap_or(ledger)
        });
        if ledger.has_settled(FireTime(fire)) {
            let holder = InstanceId::new("10.0.0.9@-@9");
            let by = Claimant { holder, config: Version(0), now_ms: 0 };
            let noted = ledger.misfire.is_some_and(|range| range.last >= FireTime(fire));
            let claimed = ledger.claim(&by, FireTime(fire), None);
            prop_assert!(noted || claimed.is_none());
            prop_assert_eq!(ledger.note_misfire(FireTime(fire), None), None);
            prop_assert_eq!(ledger.skip_disabled(FireTime(fire), None), None);
        }
    }
}
