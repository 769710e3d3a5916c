//! Sites of `crates/coordination/src/duty/own_item.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        self.own_items(unsettled).filter(move |own| !own.ledger.has_settled(fire))
"#,
        to: r#"        let java_counts = !mutant::is(Mutant::JavaRunReportedAsMissed);
        self.own_items(unsettled)
            .filter(move |own| !(java_counts && own.ledger.has_settled(fire)))
"#,
    },
    Site {
        from: r#"        let unsettled = restless.chain(self.view.resting_unsettled_items_with_runs(fire));
"#,
        to: r#"        let resting = self.view.resting_unsettled_items_with_runs(fire);
        let resting = resting.filter(|_| !mutant::is(Mutant::RestingItemForgotten));
        let unsettled = restless.chain(resting);
"#,
    },
    Site {
        from: r#"        if usize::try_from(allowed).is_ok_and(|allowed| runs >= allowed) {
"#,
        to: r#"        let runs = if mutant::is(Mutant::RunsBesideUncounted) { 0 } else { runs };
        if usize::try_from(allowed).is_ok_and(|allowed| runs >= allowed) {
"#,
    },
    Site {
        from: r#"        Some(run) if run.is_idle() && cx.local.runs.has(slot.key()) => SlotState::NotShown,
        Some(run) if run.is_idle() && shown.marks.shows_run() => SlotState::Blocked,
"#,
        to: r#"        Some(run)
            if run.is_idle()
                && cx.local.runs.has(slot.key())
                && !mutant::is(Mutant::UnrecordedRunUncounted) =>
        {
            SlotState::NotShown
        }
        Some(run)
            if run.is_idle()
                && shown.marks.shows_run()
                && !mutant::is(Mutant::MarkedSlotChosen) =>
        {
            SlotState::Blocked
        }
"#,
    },
    Site {
        from: r#"        let moves = cx.view.is_pending(self.item) || !self.view.is_of(cx.me);
"#,
        to: r#"        let moves = cx.view.is_pending(self.item) || !self.view.is_of(cx.me);
        let moves = moves && !mutant::is(Mutant::PendingSlotFree);
"#,
    },
    Site {
        from: r#"        if slots.iter().any(|(slot, ..)| is_unknown(*slot)) {
"#,
        to: r#"        let repeats = mutant::is(Mutant::UnknownRunRepeated);
        if slots.iter().any(|(slot, ..)| is_unknown(*slot)) && !repeats {
"#,
    },
    Site {
        from: r#"        self.ledger.is_idle() && !view.marks.shows_run() && !local.runs.has(key)
"#,
        to: r#"        let runs_here = local.runs.has(key) && !mutant::is(Mutant::LocalRunIgnored);
        let shown = view.marks.shows_run() && !mutant::is(Mutant::MarksIgnoredByClaims);
        self.ledger.is_idle() && !shown && !runs_here
"#,
    },
    Site {
        from: r#"            steps.extend(permit);
"#,
        to: r#"            let kept = permit.into_iter().filter(|_| !mutant::is(Mutant::PermitNotTaken));
            steps.extend(kept);
"#,
    },
    Site {
        from: r#"        waiting.sort_by_key(|own| (own.ledger.last_fire, own.item));
"#,
        to: r#"        if !mutant::is(Mutant::LimitedItemsUnsorted) {
            waiting.sort_by_key(|own| (own.ledger.last_fire, own.item));
        }
"#,
    },
];
