//! Sites of `crates/coordination/src/coordinator/status.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"        me.is_some_and(|(me, session)| self.view.is_registered_elsewhere(me, session))
"#,
    to: r#"        me.is_some_and(|(me, session)| self.view.is_registered_elsewhere(me, session))
            && !mutant::is(Mutant::NamesakeIgnored)
"#,
}];
