//! Sites of `crates/coordination/src/duty/sweep.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"    let unregistered = view.holders().filter(|(holder, _)| !view.is_registered(holder));
"#,
        to: r#"    let unregistered = view.holders().filter(|(holder, _)| {
        !view.is_registered(holder) || mutant::is(Mutant::SweepIgnoresInstances)
    });
"#,
    },
    Site {
        from: r#"            LedgerState::Orphan(_) if !is_wanted => None,
"#,
        to: r#"            LedgerState::Orphan(_) if !is_wanted && !mutant::is(Mutant::OrphansStay) => None,
"#,
    },
];
