//! Sites of `crates/coordination/src/view/queries.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"            let moves = self.is_pending(*item);
            total.is_some_and(|total| item.index() < total) && !moves
"#,
    to: r#"            let under_java = mutant::is(Mutant::PendingUnderJava);
            let moves = self.is_pending(*item) || (under_java && self.next_owner(*item).is_some());
            let stays = !moves || mutant::is(Mutant::PendingClaimable);
            let surplus = mutant::is(Mutant::SurplusClaimed);
            total.is_some_and(|total| item.index() < total || surplus) && stays
"#,
}];
