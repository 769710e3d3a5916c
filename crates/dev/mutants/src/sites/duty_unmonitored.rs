//! Sites of `crates/coordination/src/duty/unmonitored.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        StartGate::Open if cx.view.is_java_assigning() => return Some(FireDecision::Wait),
"#,
        to: r#"        StartGate::Open
            if cx.view.is_java_assigning() && !mutant::is(Mutant::UnclaimedBesideFlags) =>
        {
            return Some(FireDecision::Wait);
        }
"#,
    },
    Site {
        from: r#"        | StartGate::NewerRecord => return None,
"#,
        to: r#"        | StartGate::NewerRecord
            if !mutant::is(Mutant::UnclaimedUnavailable) =>
        {
            return None;
        }
        _ => {}
"#,
    },
    Site {
        from: r#"        if view.is_disabled() {
"#,
        to: r#"        if view.is_disabled() && !mutant::is(Mutant::UnclaimedDisabled) {
"#,
    },
    Site {
        from: r#"        } else if cx.local.runs.has_item(item) {
"#,
        to: r#"        } else if cx.local.runs.has_item(item) && !mutant::is(Mutant::UnclaimedBesideRun) {
"#,
    },
];
