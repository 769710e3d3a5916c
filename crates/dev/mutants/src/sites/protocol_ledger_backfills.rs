//! Sites of `crates/coordination/src/protocol/ledger/backfills.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"        Some(Self { backfilled: Some(Arc::new(Backfilled { id, fire })), ..requested })
"#,
    to: r#"        if mutant::is(Mutant::BackfillNotNoted) {
            return Some(requested);
        }
        Some(Self { backfilled: Some(Arc::new(Backfilled { id, fire })), ..requested })
"#,
}];
