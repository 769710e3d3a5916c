//! Sites of `crates/coordination/src/protocol/ledger/fires.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        self.last_fire.or_else(before_first)
"#,
        to: r#"        let first = before_first().filter(|_| !mutant::is(Mutant::FirstFiresNotCaughtUp));
        self.last_fire.or(first)
"#,
    },
    Site {
        from: r#"        self.last_fire.max(noted)
"#,
        to: r#"        self.last_fire.max(noted).filter(|_| !mutant::is(Mutant::SettledIgnored))
"#,
    },
    Site {
        from: r#"        Self { last_fire: Some(fire), previous_fire, next_fire: next, next_config: None, ..self }
"#,
        to: r#"        let fire = if mutant::is(Mutant::LastFireKept) { previous_fire } else { Some(fire) };
        Self { last_fire: fire, previous_fire, next_fire: next, next_config: None, ..self }
"#,
    },
];
