//! Sites of `crates/coordination/src/duty/claim.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        if own.view.is_disabled() {
"#,
        to: r#"        if own.view.is_disabled() && !mutant::is(Mutant::DisabledUnnoticed) {
"#,
    },
    Site {
        from: r#"        let before = config.catch_up.and(ledger.last_fire).and_then(|last| due.missed_after(last));
"#,
        to: r#"        let before = config.catch_up.and(ledger.last_fire).and_then(|last| due.missed_after(last));
        let before = before.filter(|_| !mutant::is(Mutant::NotCaughtUp));
"#,
    },
    Site {
        from: r#"            Some((fire, next)) if ledger.misfire.is_none() => {
"#,
        to: r#"            Some((fire, next))
                if ledger.misfire.is_none() || mutant::is(Mutant::CaughtUpBesideMisfires) =>
            {
"#,
    },
    Site {
        from: r#"    catches_up && due.missed.is_none()
"#,
        to: r#"    catches_up && due.missed.is_none() && !mutant::is(Mutant::CaughtUpUntold)
"#,
    },
    Site {
        from: r#"    let next = |own: &OwnItem<'_>| match own.view.is_disabled() {
        true if own.ledger.disabled => own.ledger.drop_request(),
"#,
        to: r#"    let unnoticed = mutant::is(Mutant::DisabledUnnoticed);
    let unsure = mutant::is(Mutant::RequestDroppedEarly);
    let next = |own: &OwnItem<'_>| match own.view.is_disabled() && !unnoticed {
        true if own.ledger.disabled || unsure => own.ledger.drop_request(),
"#,
    },
];
