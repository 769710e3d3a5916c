//! Sites of `crates/coordination/src/duty/release.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"    if cx.local.phase != Phase::Draining {
"#,
        to: r#"    if cx.local.phase != Phase::Draining || mutant::is(Mutant::DoubtsUnsettled) {
"#,
    },
    Site {
        from: r#"    let ledger = view.ledger.as_ref().filter(|l| l.value.is_held(&run.holder, token))?;
"#,
        to: r#"    let ledger = view.ledger.as_ref().filter(|l| {
        mutant::is(Mutant::ForeignRelease) || l.value.is_held(&run.holder, token)
    })?;
"#,
    },
    Site {
        from: r#"    steps.extend(run.marks.left().removal(item));
"#,
        to: r#"    let kept = |step: &Step| {
        mutant::is(Mutant::MarksStay) && *step == Step::unmark_running(item)
    };
    steps.extend(run.marks.left().removal(item).filter(|step| !kept(step)));
"#,
    },
    Site {
        from: r#"    steps.extend(run.permit.map(Step::return_permit));
"#,
        to: r#"    let permit = run.permit.filter(|_| !mutant::is(Mutant::PermitKept));
    steps.extend(permit.map(Step::return_permit));
"#,
    },
    Site {
        from: r#"    steps.extend(run.group_permit.clone().map(Step::return_group_permit));
"#,
        to: r#"    if !mutant::is(Mutant::GroupPermitKept) {
        steps.extend(run.group_permit.clone().map(Step::return_group_permit));
    }
"#,
    },
    Site {
        from: r#"    if !put_back && marks.is_empty() && permit.is_empty() {
"#,
        to: r#"    let put_back = put_back && !mutant::is(Mutant::TokensGoBack);
    if !put_back && marks.is_empty() && permit.is_empty() {
"#,
    },
];
