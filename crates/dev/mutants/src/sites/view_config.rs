//! Sites of `crates/coordination/src/view/config.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        self.config.valid
"#,
        to: r#"        if mutant::is(Mutant::InvalidVersionInForce) {
            return self.config.stored;
        }
        self.config.valid
"#,
    },
    Site {
        from: r#"        sure.then_some(config)
"#,
        to: r#"        (sure || mutant::is(Mutant::LedByOlderConfig)).then_some(config)
"#,
    },
];
