//! Sites of `crates/coordination/src/view/members.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"            && self.unmet_condition(id).is_none()
"#,
    to: r#"            && (self.unmet_condition(id).is_none() || mutant::is(Mutant::UnmetConditionIgnored))
"#,
}];
