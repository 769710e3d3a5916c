//! Sites of `crates/coordination/src/coordinator/reporting.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        let mut gaps: Vec<Gap> = known.chain(&written.gaps).copied().collect();
"#,
        to: r#"        let mut gaps: Vec<Gap> = known.chain(&written.gaps).copied().collect();
        if mutant::is(Mutant::OthersGapsUnreported) {
            gaps.retain(|gap| before.is_none_or(|ledger| !ledger.gaps.contains(gap)));
        }
"#,
    },
    Site {
        from: r#"            (MissReason::Superseded, Some(outage)) => MissReason::RegistryUnreachable(outage),
"#,
        to: r#"            (MissReason::Superseded, Some(outage)) if !mutant::is(Mutant::OutageUnnamed) => {
                MissReason::RegistryUnreachable(outage)
            }
"#,
    },
    Site {
        from: r#"                (false, true) => MissReason::QueueFull,
"#,
        to: r#"                (false, true) if !mutant::is(Mutant::FullQueueUnnamed) => MissReason::QueueFull,
                (false, true) => *reason_of_fire,
"#,
    },
    Site {
        from: r#"                (false, false) if is_held_back => MissReason::LimitReached,
"#,
        to: r#"                (false, false) if is_held_back && !mutant::is(Mutant::ReachedLimitUnnamed) => {
                    MissReason::LimitReached
                }
"#,
    },
    Site {
        from: r#"        if let Some(missed) = self.local.fires.missed_by_all.take() {
"#,
        to: r#"        let missed = self.local.fires.missed_by_all.take();
        if let Some(missed) = missed.filter(|_| !mutant::is(Mutant::LaterItemsUnreported)) {
"#,
    },
    Site {
        from: r#"    if before.disabled {
"#,
        to: r#"    let handed_on = request.parameter.is_none();
    if before.disabled || (handed_on && mutant::is(Mutant::HandedOnReportedAsMissed)) {
"#,
    },
];
