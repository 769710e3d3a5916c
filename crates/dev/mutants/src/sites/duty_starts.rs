//! Sites of `crates/coordination/src/duty/starts.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        let max = if cx.view.has_newer_starts() { 0 } else { rate.max };
"#,
        to: r#"        let newer = cx.view.has_newer_starts() && !mutant::is(Mutant::NewerStartsReplaced);
        let max = if newer { 0 } else { rate.max };
"#,
    },
    Site {
        from: r#"        if let Some((rate, _)) = self.left.filter(|_| begun > 0) {
"#,
        to: r#"        let records = begun > 0 && !mutant::is(Mutant::StartsUnrecorded);
        if let Some((rate, _)) = self.left.filter(|_| records) {
"#,
    },
    Site {
        from: r#"        let may_begin = *left > 0;
"#,
        to: r#"        let may_begin = *left > 0 || mutant::is(Mutant::StartsUncounted);
"#,
    },
];
