//! Sites of `crates/coordination/src/protocol/ledger/requests.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"        let free = self.request.is_none();
"#,
    to: r#"        let free = self.request.is_none() || mutant::is(Mutant::RequestReplaced);
"#,
}];
