//! Sites of `crates/coordination/src/view/apply.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
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
];
