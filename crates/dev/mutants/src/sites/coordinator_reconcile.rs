//! Sites of `crates/coordination/src/coordinator/reconcile.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"            out.push(Command::Follow(self.scope_of_view()));
"#,
        to: r#"            if !mutant::is(Mutant::MissedChangeKept) {
                out.push(Command::Follow(self.scope_of_view()));
            }
"#,
    },
    Site {
        from: r#"        if earlier.is_empty() {
            self.reconcile.suspected = found;
            return;
        }
        let missed = found.common(&earlier);
"#,
        to: r#"        let at_once = mutant::is(Mutant::OneReadSuffices);
        if earlier.is_empty() && !at_once {
            self.reconcile.suspected = found;
            return;
        }
        let missed = if at_once { found } else { found.common(&earlier) };
"#,
    },
];
