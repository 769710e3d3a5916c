//! Sites of `crates/coordination/src/wire/data.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"        let lenient = dialect == Dialect::V2;
"#,
    to: r#"        let lenient = dialect == Dialect::V2 || mutant::is(Mutant::UnknownServersEnabled);
"#,
}];
