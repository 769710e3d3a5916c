//! Sites of `crates/coordination/src/duty/permits.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"        self.left = self.left.checked_sub(1)?;
"#,
    to: r#"        self.left = match self.left.checked_sub(1) {
            None if mutant::is(Mutant::PermitsUncounted) => return Some(begun.with_permit(limit)),
            left => left?,
        };
"#,
}];
