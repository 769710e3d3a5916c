//! Sites of `crates/coordination/src/view/config.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"        Some(config).filter(|_| sure)
"#,
    to: r#"        Some(config).filter(|_| sure || mutant::is(Mutant::LedByOlderConfig))
"#,
}];
