//! Sites of `crates/coordination/src/duty/release.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"    if cx.local.phase != Phase::Draining {
"#,
        to: r#"    if cx.local.phase != Phase::Draining || mutant::is(Mutant::DoubtsUnsettled) {
"#,
    },
    Site {
        from: r#"    let ledger = view.ledger.as_ref().filter(|l| l.value.is_held(&run.holder, run.token))?;
"#,
        to: r#"    let ledger = view.ledger.as_ref().filter(|l| {
        mutant::is(Mutant::ForeignRelease) || l.value.is_held(&run.holder, run.token)
    })?;
"#,
    },
    Site {
        from: r#"    steps.extend(run.shows_running.then(|| Step::unmark_running(item)));
"#,
        to: r#"    let shown = run.shows_running && !mutant::is(Mutant::MarksStay);
    steps.extend(shown.then(|| Step::unmark_running(item)));
"#,
    },
    Site {
        from: r#"    let record = if put_back {
"#,
        to: r#"    let record = if put_back && !mutant::is(Mutant::TokensGoBack) {
"#,
    },
];
