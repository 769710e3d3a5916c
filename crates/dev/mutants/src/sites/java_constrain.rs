//! Sites of `crates/coordination/src/java/constrain.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"    if abdicates && cx.view.is_mixed() {
"#,
        to: r#"    if abdicates && cx.view.is_mixed() && !mutant::is(Mutant::WordForgotten) {
"#,
    },
    Site {
        from: r#"    if plan.duty == Duty::Release {
"#,
        to: r#"    if plan.duty == Duty::Release && !mutant::is(Mutant::JavaMarksReleased) {
"#,
    },
    Site {
        from: r#"            vec![Step { node: step.node, op }, Step::mark_alive(item)]
"#,
        to: r#"            let mut steps = vec![Step { node: step.node, op }, Step::mark_alive(item)];
            if mutant::is(Mutant::AliveUnmarked) {
                steps.pop();
            }
            steps
"#,
    },
];
