//! Sites of `crates/coordination/src/coordinator/follow.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        since + self.settings.following.after <= now.mono
"#,
        to: r#"        since + self.settings.following.after <= now.mono || mutant::is(Mutant::NarrowedAtOnce)
"#,
    },
    Site {
        from: r#"        let sees_coming = coming().all(|item| self.view.followed().has(item));
"#,
        to: r#"        let sees_coming = coming().all(|item| self.view.followed().has(item));
        let sees_coming = sees_coming || mutant::is(Mutant::ComingUnfollowed);
"#,
    },
    Site {
        from: r#"        let as_many = count.is_some_and(|count| count <= n_staying + coming().count());
"#,
        to: r#"        let as_many = count.is_some_and(|count| count <= n_staying + coming().count());
        let as_many = as_many || mutant::is(Mutant::CountsIgnored);
"#,
    },
    Site {
        from: r#"                && config.slots() == 1
                && !view.further_slots().any(|(_, slot)| slot.is_busy())
"#,
        to: r#"                && ((config.slots() == 1
                    && !view.further_slots().any(|(_, slot)| slot.is_busy()))
                    || mutant::is(Mutant::ParallelNarrow))
"#,
    },
    Site {
        from: r#"                && config.monitor_execution
"#,
        to: r#"                && (config.monitor_execution || mutant::is(Mutant::UnmonitoredNarrow))
"#,
    },
    Site {
        from: r#"        let leads = || view.leader() == Some(me) || view.term_of(me).is_some();
        let among_java = || view.has_java_leader() || view.takes_turns();
"#,
        to: r#"        let leads = || {
            let leads = view.leader() == Some(me) || view.term_of(me).is_some();
            leads && !mutant::is(Mutant::LedByAPart)
        };
        let among_java = || {
            let among_java = view.has_java_leader() || view.takes_turns();
            among_java && !mutant::is(Mutant::JavaUnfollowed)
        };
        let queue = || view.has_queue() && !mutant::is(Mutant::QueueUnfollowed);
"#,
    },
    Site {
        from: r#"        large && !self.settings.calls_back && !leads() && !among_java() && !view.has_queue()
"#,
        to: r#"        large && !self.settings.calls_back && !leads() && !among_java() && !queue()
"#,
    },
];
