//! Sites of `crates/coordination/src/duty/backfill.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"        let next = ledger.value.drop_request().filter(|_| !goes_on)?;
"#,
    to: r#"        let goes_on = goes_on || mutant::is(Mutant::BackfillNotWithdrawn);
        let next = ledger.value.drop_request().filter(|_| !goes_on)?;
"#,
}];
