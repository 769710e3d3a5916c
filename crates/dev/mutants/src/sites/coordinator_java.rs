//! Sites of `crates/coordination/src/coordinator/java.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"            if !self.waits_at(latch) {
"#,
        to: r#"            let kept = known.is_some() && mutant::is(Mutant::TurnWaitKept);
            if !self.waits_at(latch) && !kept {
"#,
    },
    Site {
        from: r#"        self.local.announced = announced.then(wait);
"#,
        to: r#"        let kept = self.local.announced.is_some() && mutant::is(Mutant::AnnouncementWaitKept);
        self.local.announced = (announced || kept).then(wait);
"#,
    },
    Site {
        from: r#"        let ends = ends.min();
        let fire = self.local.near_fire;
"#,
        to: r#"        let ends = ends.min().filter(|_| !mutant::is(Mutant::PatienceUnwatched));
        let fire = self.local.near_fire.filter(|_| !mutant::is(Mutant::NearFiresUnwatched));
"#,
    },
];
