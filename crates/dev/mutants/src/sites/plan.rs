//! Sites of `crates/coordination/src/plan/mod.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        if !cx.view.has_foreign_leader() {
"#,
        to: r#"        if !cx.view.has_foreign_leader() || mutant::is(Mutant::KeptByLeadersOnly) {
"#,
    },
    Site {
        from: r#"        let is_first = cx.view.first_of_ours() == Some(cx.me);
"#,
        to: r#"        let is_first = cx.view.first_of_ours() == Some(cx.me) || mutant::is(Mutant::KeptByAnybody);
"#,
    },
    Site {
        from: r#"        self.confirm_gone.clone()
"#,
        to: r#"        let nodes = self.confirm_gone.iter().cloned();
        nodes.filter(|node| !mutant::is_unconfirmed(node)).collect()
"#,
    },
];
