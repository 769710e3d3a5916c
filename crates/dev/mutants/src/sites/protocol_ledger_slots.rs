//! Sites of `crates/coordination/src/protocol/ledger/slots.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        let (_, config_of_next) = changed.next_owed();
"#,
        to: r#"        let kept = |changed: Self| Self {
            last_fire: self.last_fire,
            previous_fire: self.previous_fire,
            next_fire: self.next_fire,
            next_config: self.next_config,
            ..changed
        };
        let unsettled = mutant::is(Mutant::SlotFireUnsettled);
        let changed = if unsettled { kept(changed) } else { changed };
        let (_, config_of_next) = changed.next_owed();
"#,
    },
    Site {
        from: r#"            misfire: changed.misfire,
"#,
        to: r#"            misfire: changed
                .misfire
                .or(self.misfire.filter(|_| mutant::is(Mutant::SlotMisfireKept))),
"#,
    },
];
