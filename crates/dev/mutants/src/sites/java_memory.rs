//! Sites of `crates/coordination/src/java/memory.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        ends.chain(self.inference.next_decision()).chain(self.near_fire).min()
"#,
        to: r#"        let ends = ends.filter(|_| !mutant::is(Mutant::PatienceUnwatched));
        let near_fire = self.near_fire.filter(|_| !mutant::is(Mutant::NearFiresUnwatched));
        ends.chain(self.inference.next_decision()).chain(near_fire).min()
"#,
    },
    Site {
        from: r#"            if !around.me.is_some_and(|me| waits_at(around.view, me, latch)) {
"#,
        to: r#"            let kept = known.is_some() && mutant::is(Mutant::TurnWaitKept);
            if !around.me.is_some_and(|me| waits_at(around.view, me, latch)) && !kept {
"#,
    },
    Site {
        from: r#"        self.announced = announced.then(wait);
"#,
        to: r#"        let kept = self.announced.is_some() && mutant::is(Mutant::AnnouncementWaitKept);
        self.announced = (announced || kept).then(wait);
"#,
    },
];
