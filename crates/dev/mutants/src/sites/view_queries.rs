//! Sites of `crates/coordination/src/view/queries.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"            true => !self.is_java_assigning(),
            false => self.fits_config(),
"#,
        to: r#"            true => !self.is_java_assigning() || mutant::is(Mutant::JavaFlagsIgnored),
            false => self.fits_config() || mutant::is(Mutant::TotalIgnored),
"#,
    },
    Site {
        from: r#"            let moves = !java_leads && self.next_owner(*item).is_some();
            total.is_some_and(|total| item.index() < total) && !moves
"#,
        to: r#"            let bound = !java_leads || mutant::is(Mutant::PendingUnderJava);
            let moves = bound && self.next_owner(*item).is_some();
            let stays = !moves || mutant::is(Mutant::PendingClaimable);
            let surplus = mutant::is(Mutant::SurplusClaimed);
            total.is_some_and(|total| item.index() < total || surplus) && stays
"#,
    },
];
