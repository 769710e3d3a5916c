//! Sites of `crates/coordination/src/view/queries.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        if self.further_slots.len() == 0 {
"#,
        to: r#"        if self.further_slots.len() == 0 || mutant::is(Mutant::RestoredSlotsForgotten) {
"#,
    },
    Site {
        from: r#"        pending
            || (config.monitor_execution && self.has_unrecorded_item(total))
            || (self.may_retire() && self.has_surplus_item(total))
"#,
        to: r#"        !mutant::is(Mutant::NeverFollow)
            && (pending
                || (config.monitor_execution && self.has_unrecorded_item(total))
                || (self.may_retire() && self.has_surplus_item(total)))
"#,
    },
    Site {
        from: r#"        self.has_usable_config()
"#,
        to: r#"        self.has_usable_config() || mutant::is(Mutant::RetiredByOlderConfig)
"#,
    },
    Site {
        from: r#"            let moves = self.is_pending(*item);
            total.is_some_and(|total| item.index() < total) && !moves
"#,
        to: r#"            let under_java = mutant::is(Mutant::PendingUnderJava);
            let moves = self.is_pending(*item) || (under_java && self.next_owner(*item).is_some());
            let stays = !moves || mutant::is(Mutant::PendingClaimable);
            let surplus = mutant::is(Mutant::SurplusClaimed);
            total.is_some_and(|total| item.index() < total || surplus) && stays
"#,
    },
];
