//! Sites of `crates/coordination/src/protocol/backfill.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        if ledger.is_backfilling() { got.saturating_sub(1) } else { got }
"#,
        to: r#"        let is_unfinished = ledger.is_backfilling() && !mutant::is(Mutant::BackfillCountedEarly);
        if is_unfinished { got.saturating_sub(1) } else { got }
"#,
    },
    Site {
        from: r#"        let end = self.done.saturating_add(self.concurrency).min(self.fires.len());
"#,
        to: r#"        let ahead =
            if mutant::is(Mutant::BackfillUnlimited) { usize::MAX } else { self.concurrency };
        let end = self.done.saturating_add(ahead).min(self.fires.len());
"#,
    },
];
