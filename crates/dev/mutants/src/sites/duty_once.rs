//! Sites of `crates/coordination/src/duty/once.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"                ledger.last_fire.filter(|_| ledger.has_ended_after(ended.at))
"#,
        to: r#"                let ends = mutant::is(Mutant::EndedBesideRun);
                ledger.last_fire.filter(|_| ledger.has_ended_after(ended.at) || ends)
"#,
    },
    Site {
        from: r#"    let at = FireTime(cx.present_ms()).max(fire.unwrap_or(FireTime(i64::MIN)));
"#,
        to: r#"    let at = FireTime(cx.present_ms()).max(fire.unwrap_or(FireTime(i64::MIN)));
    let at = if mutant::is(Mutant::EndBeforeFire) { FireTime(cx.present_ms()) } else { at };
"#,
    },
    Site {
        from: r#"    if !cx.settings.calls_back || !cx.view.fits_config() {
"#,
        to: r#"    if !cx.settings.calls_back
        || !(cx.view.fits_config() || mutant::is(Mutant::CallbackTotalIgnored))
    {
"#,
    },
    Site {
        from: r#"    if stage == OnceStage::Completed {
"#,
        to: r#"    if stage == OnceStage::Completed && !mutant::is(Mutant::CompletedFirst) {
"#,
    },
    Site {
        from: r#"        Some(last) if !last.done && cx.view.is_registered(&last.holder) => None,
"#,
        to: r#"        Some(last)
            if !last.done
                && cx.view.is_registered(&last.holder)
                && !mutant::is(Mutant::CallbackBesideHolder) =>
        {
            None
        }
"#,
    },
    Site {
        from: r#"        Some(last) if last.fire >= reached => None,
"#,
        to: r#"        Some(last) if last.fire >= reached && !mutant::is(Mutant::CalledAgain) => None,
"#,
    },
    Site {
        from: r#"    cx.view.further_slots_of(item).any(|(_, slot)| slot.is_busy())
"#,
        to: r#"    let runs = cx.view.further_slots_of(item).any(|(_, slot)| slot.is_busy());
    runs && !mutant::is(Mutant::CompletedBesideFurtherRun)
"#,
    },
    Site {
        from: r#"    progress.min().flatten()
"#,
        to: r#"    if mutant::is(Mutant::CalledEarly) { progress.max() } else { progress.min() }.flatten()
"#,
    },
    Site {
        from: r#"    let last = ledger.last_fire?;
"#,
        to: r#"    let last = ledger.last_fire?;
    if mutant::is(Mutant::CompletedBesideRun) {
        return Some(last);
    }
"#,
    },
    Site {
        from: r#"        None if ledger.misfire.is_some_and(|range| range.first <= last) => None,
"#,
        to: r#"        None if ledger.misfire.is_some_and(|range| range.first <= last)
            && !mutant::is(Mutant::CompletedBesideMisfires) =>
        {
            None
        }
"#,
    },
];
