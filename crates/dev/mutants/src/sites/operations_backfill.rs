//! Sites of `crates/operations/src/act/backfill.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"    if let Some(open) = log.open() {
        let (id, done, total)"#,
    to: r#"    if let Some(open) = log.open().filter(|_| !mutant::is(Mutant::SecondBackfillAccepted)) {
        let (id, done, total)"#,
}];
