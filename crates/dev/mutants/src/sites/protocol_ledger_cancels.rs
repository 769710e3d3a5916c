//! Sites of `crates/coordination/src/protocol/ledger/cancels.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        self.cancel.as_deref().filter(|request| request.token() == self.token)
"#,
        to: r#"        self.cancel.as_deref().filter(|request| {
            request.token() == self.token || mutant::is(Mutant::CancelTokenIgnored)
        })
"#,
    },
    Site {
        from: r#"        self.is_busy() && self.cancel_request().is_none()
"#,
        to: r#"        self.is_busy()
            && (self.cancel_request().is_none() || mutant::is(Mutant::CancelledRunContinued))
"#,
    },
    Site {
        from: r#"        let is_requested = self.cancel_request().is_some();
"#,
        to: r#"        let is_requested =
            self.cancel_request().is_some() || mutant::is(Mutant::CancelledUnasked);
"#,
    },
    Site {
        from: r#"        if !yields || self.cancel_request().is_some() {
"#,
        to: r#"        let has_request =
            self.cancel_request().is_some() && !mutant::is(Mutant::CancelRequestReplaced);
        if !yields || has_request {
"#,
    },
];
