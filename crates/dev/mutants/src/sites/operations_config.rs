//! Sites of `crates/operations/src/act/config.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"        if found != expected {
            return Err(Error::StaleConfig"#,
    to: r#"        if found != expected && !mutant::is(Mutant::StaleConfigReplaced) {
            return Err(Error::StaleConfig"#,
}];
