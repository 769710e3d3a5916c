//! Sites of `crates/coordination/src/duty/own_item.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        self.ledger.is_idle() && !self.view.marks.shows_run() && !runs_here
"#,
        to: r#"        let runs_here = runs_here && !mutant::is(Mutant::LocalRunIgnored);
        let shown = self.view.marks.shows_run() && !mutant::is(Mutant::MarksIgnoredByClaims);
        self.ledger.is_idle() && !shown && !runs_here
"#,
    },
    Site {
        from: r#"            steps.extend(permit);
"#,
        to: r#"            let kept = permit.into_iter().filter(|_| !mutant::is(Mutant::PermitNotTaken));
            steps.extend(kept);
"#,
    },
    Site {
        from: r#"        waiting.sort_by_key(|own| (own.ledger.last_fire, own.item));
"#,
        to: r#"        if !mutant::is(Mutant::LimitedItemsUnsorted) {
            waiting.sort_by_key(|own| (own.ledger.last_fire, own.item));
        }
"#,
    },
];
