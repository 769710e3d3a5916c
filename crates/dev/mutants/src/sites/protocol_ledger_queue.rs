//! Sites of `crates/coordination/src/protocol/ledger/queue.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        let waits_behind = self.is_idle() && !self.disabled && !self.queued.is_empty();
"#,
        to: r#"        let waits_behind = self.is_idle()
            && !self.disabled
            && !self.queued.is_empty()
            && !mutant::is(Mutant::IdleQueueClosed);
"#,
    },
    Site {
        from: r#"        self.queued.len() >= usize::try_from(max).unwrap_or(usize::MAX)
"#,
        to: r#"        self.queued.len() >= usize::try_from(max).unwrap_or(usize::MAX)
            && !mutant::is(Mutant::QueueUnbounded)
"#,
    },
];
