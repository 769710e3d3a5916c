//! Sites of `crates/coordination/src/duty/group.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"            (Some(_), None) => Some(0),
"#,
        to: r#"            (Some(_), None) if mutant::is(Mutant::UnknownGroupUnlimited) => None,
            (Some(_), None) => Some(0),
"#,
    },
    Site {
        from: r#"                dealt(free, others, ahead)
"#,
        to: r#"                if mutant::is(Mutant::LineIgnored) { free } else { dealt(free, others, ahead) }
"#,
    },
    Site {
        from: r#"            self.left = left.checked_sub(1);
"#,
        to: r#"            let uncounted = mutant::is(Mutant::GroupRunsUncounted).then_some(0);
            self.left = left.checked_sub(1).or(uncounted);
"#,
    },
    Site {
        from: r#"            steps.push(Step::group_limits_unchanged(name, group.limits_version()));
"#,
        to: r#"            if !mutant::is(Mutant::GroupLimitsUnchecked) {
                steps.push(Step::group_limits_unchanged(name, group.limits_version()));
            }
"#,
    },
    Site {
        from: r#"            if let Some(rate) = self.limits.start_rate {
"#,
        to: r#"            let records = !mutant::is(Mutant::GroupStartsUnrecorded);
            if let Some(rate) = self.limits.start_rate.filter(|_| records) {
"#,
    },
    Site {
        from: r#"    let max = if group.has_newer_starts() { 0 } else { rate.max };
"#,
        to: r#"    let newer = group.has_newer_starts() && !mutant::is(Mutant::NewerGroupStartsReplaced);
    let max = if newer { 0 } else { rate.max };
"#,
    },
    Site {
        from: r#"    if cx.local.claims.in_flight || waits_for(cx, group) {
"#,
        to: r#"    if cx.local.claims.in_flight || waits_for(cx, group) || mutant::is(Mutant::LineKept) {
"#,
    },
];
