//! Sites of `crates/coordination/src/duty/once.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
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
