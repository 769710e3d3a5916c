//! Sites of `crates/coordination/src/coordinator/status.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        let of_job = self.view.starts_again_at(present_ms);
        let of_group = self.view.group_starts_again_at(present_ms);
"#,
        to: r#"        let of_job = self.view.starts_again_at(present_ms);
        let of_job = of_job.filter(|_| !mutant::is(Mutant::StartsNotAwaited));
        let of_group = self.view.group_starts_again_at(present_ms);
        let of_group = of_group.filter(|_| !mutant::is(Mutant::GroupStartsNotAwaited));
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
