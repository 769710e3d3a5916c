//! Sites of `crates/coordination/src/duty/claim.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        if waits_for_next(config, due, ledger) || cx.view.awaits_end(ledger) {
"#,
        to: r#"        let awaits_end = cx.view.awaits_end(ledger) && !mutant::is(Mutant::EndNotAwaited);
        if waits_for_next(config, due, ledger) || awaits_end {
"#,
    },
    Site {
        from: r#"            let is_noted = config.misfire && own.ledger.misfire.is_some();
"#,
        to: r#"            let is_noted = config.misfire
                && own.ledger.misfire.is_some()
                && !mutant::is(Mutant::BackfillBeforeMisfire);
"#,
    },
    Site {
        from: r#"        if own.view.is_disabled() {
"#,
        to: r#"        if own.view.is_disabled() && !mutant::is(Mutant::DisabledUnnoticed) {
"#,
    },
    Site {
        from: r#"        if is_queued(config, ledger) {
"#,
        to: r#"        if is_queued(config, ledger) && !mutant::is(Mutant::QueueOvertaken) {
"#,
    },
    Site {
        from: r#"        if ledger.misfire.is_none()
"#,
        to: r#"        if (ledger.misfire.is_none() || mutant::is(Mutant::CaughtUpBesideMisfires))
"#,
    },
    Site {
        from: r#"    catches_up && due.missed.is_none()
"#,
        to: r#"    catches_up && due.missed.is_none() && !mutant::is(Mutant::CaughtUpUntold)
"#,
    },
    Site {
        from: r#"    due.missed_after(ledger.owes_after()?)
"#,
        to: r#"    due.missed_after(ledger.owes_after()?).filter(|_| !mutant::is(Mutant::NotCaughtUp))
"#,
    },
    Site {
        from: r#"        if !own.view.is_disabled() {
"#,
        to: r#"        if !own.view.is_disabled() || mutant::is(Mutant::DisabledUnnoticed) {
"#,
    },
    Site {
        from: r#"    claim(cx, "a manual request waits", items.filter(OwnItem::is_in_first_slot), next)
"#,
        to: r#"    let anywhere = mutant::is(Mutant::RequestInFurtherSlot);
    let items = items.filter(|own| own.is_in_first_slot() || anywhere);
    claim(cx, "a manual request waits", items, next)
"#,
    },
    Site {
        from: r#"        if !own.ledger.disabled {
"#,
        to: r#"        if !own.ledger.disabled && !mutant::is(Mutant::RequestDroppedEarly) {
"#,
    },
];
