//! Sites of `crates/coordination/src/plan/mod.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"        self.confirm_gone.clone()
"#,
    to: r#"        let nodes = self.confirm_gone.iter().cloned();
        nodes.filter(|node| !mutant::is_unconfirmed(node)).collect()
"#,
}];
