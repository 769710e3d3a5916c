//! Sites of `crates/coordination/src/view/mod.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"use crate::wire::{self, Layout, NodeKind};
"#,
        to: r#"use crate::wire::{self, Layout, NodeKind};
use crate::mutant::{self, Mutant};
"#,
    },
    Site {
        from: r#"        let lenient = dialect == Dialect::V2;
"#,
        to: r#"        let lenient = dialect == Dialect::V2 || mutant::is(Mutant::UnknownServersEnabled);
"#,
    },
    Site {
        from: r#"                self.incoming = Some(Box::new(incoming));
"#,
        to: r#"                match mutant::is(Mutant::SnapshotsShownInPart) {
                    true => *self = incoming,
                    false => self.incoming = Some(Box::new(incoming)),
                }
"#,
    },
    Site {
        from: r#"                }
                Ok(())
"#,
        to: r#"                }
                self.synced |= mutant::is(Mutant::SnapshotsShownInPart);
                Ok(())
"#,
    },
    Site {
        from: r#"                if asked {
"#,
        to: r#"                if asked && !mutant::is(Mutant::AskedTakenForOurs) {
"#,
    },
    Site {
        from: r#"        let left_behind = view.lasting.as_ref().is_some_and(|holder| !self.is_registered(holder));
"#,
        to: r#"        let left_behind = view.lasting.as_ref().is_some_and(|holder| !self.is_registered(holder));
        let left_behind = left_behind && !mutant::is(Mutant::LastingMarksTrusted);
"#,
    },
    Site {
        from: r#"        let begun = view.running || view.queued;
"#,
        to: r#"        let begun = (view.running || view.queued) && !mutant::is(Mutant::TakersSeenEverywhere);
"#,
    },
    Site {
        from: r#"        self.is_mixed() || comes
"#,
        to: r#"        self.is_mixed() || (comes && !mutant::is(Mutant::ComersIgnored))
"#,
    },
    Site {
        from: r#"        let greatest = numbers.max();
"#,
        to: r#"        let greatest = numbers.max().filter(|_| !mutant::is(Mutant::PlacesUncounted));
"#,
    },
    Site {
        from: r#"        Some(config).filter(|_| sure)
"#,
        to: r#"        Some(config).filter(|_| sure || mutant::is(Mutant::LedByOlderConfig))
"#,
    },
    Site {
        from: r#"            true => !self.is_java_assigning(),
            false => self.fits_config(),
"#,
        to: r#"            true => !self.is_java_assigning() || mutant::is(Mutant::JavaFlagsIgnored),
            false => self.fits_config() || mutant::is(Mutant::TotalIgnored),
"#,
    },
    Site {
        from: r#"            let moves = !foreign && self.next_owner(*item).is_some();
            total.is_some_and(|total| item.index() < total) && !moves
"#,
        to: r#"            let bound = !foreign || mutant::is(Mutant::PendingUnderJava);
            let moves = bound && self.next_owner(*item).is_some();
            let stays = !moves || mutant::is(Mutant::PendingClaimable);
            let surplus = mutant::is(Mutant::SurplusClaimed);
            total.is_some_and(|total| item.index() < total || surplus) && stays
"#,
    },
];
