//! Sites of `crates/dev/model/src/exhaustive/moves.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"        }
        let mut drafts = Vec::new();
"#,
    to: r#"        }
        let _active = self.activated();
        let mut drafts = Vec::new();
"#,
}];
