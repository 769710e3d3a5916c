//! Sites of `crates/coordination/src/coordinator/reply.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"            Reply::Conflict(conflict) => self.conflicted(&plan, conflict),
"#,
        to: r#"            Reply::Conflict(conflict) => self.conflicted(&plan, conflict),
            Reply::Unknown if mutant::is(Mutant::DoubtsForgotten) => {}
"#,
    },
    Site {
        from: r#"        if plan.takes_over() {
"#,
        to: r#"        if plan.takes_over() && !mutant::is(Mutant::PatienceKept) {
"#,
    },
    Site {
        from: r#"        if plan.steps.iter().any(Step::registers) {
"#,
        to: r#"        let registers = plan.steps.iter().any(Step::registers);
        if registers && !mutant::is(Mutant::RegistrationInDoubtForgotten) {
"#,
    },
    Site {
        from: r#"        let Some(step) = plan.steps.get(conflict.index) else { return };
"#,
        to: r#"        let noticed = !mutant::is(Mutant::AbsentMarksUnnoticed);
        let Some(step) = plan.steps.get(conflict.index).filter(|_| noticed) else { return };
"#,
    },
    Site {
        from: r#"        if self.local.runs.get(item).is_some_and(is_it) {
"#,
        to: r#"        if self.local.runs.get(item).is_some_and(is_it) || mutant::is(Mutant::LaterRunUnmarked) {
"#,
    },
    Site {
        from: r#"    fn note_removed_marks(&mut self, plan: &Plan) {
"#,
        to: r#"    fn note_removed_marks(&mut self, plan: &Plan) {
        if mutant::is(Mutant::RemovedMarksForgotten) {
            return;
        }
"#,
    },
];
