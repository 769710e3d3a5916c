//! Sites of `crates/coordination/src/coordinator/status.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        let (_, at_ms) = self.view.starts_again_at(present_ms)?;
"#,
        to: r#"        let (_, at_ms) = self.view.starts_again_at(present_ms)?;
        if mutant::is(Mutant::StartsNotAwaited) {
            return None;
        }
"#,
    },
    Site {
        from: r#"        me.is_some_and(|(me, session)| self.view.is_registered_elsewhere(me, session))
"#,
        to: r#"        me.is_some_and(|(me, session)| self.view.is_registered_elsewhere(me, session))
            && !mutant::is(Mutant::NamesakeIgnored)
"#,
    },
];
