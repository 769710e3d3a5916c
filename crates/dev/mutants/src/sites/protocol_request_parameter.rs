//! Sites of `crates/coordination/src/protocol/request_parameter.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"        self.0.len().saturating_mul(items) <= MAX_REQUEST_BYTES
"#,
    to: r#"        let fits = self.0.len().saturating_mul(items) <= MAX_REQUEST_BYTES;
        fits || mutant::is(Mutant::ParametersWithoutBound)
"#,
}];
