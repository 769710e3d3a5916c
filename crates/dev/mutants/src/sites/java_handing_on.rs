//! Sites of `crates/coordination/src/java/handing_on.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"    if !cx.view.is_mixed() || cx.view.is_resharding_announced() {
"#,
        to: r#"    let announced = cx.view.is_resharding_announced() && !mutant::is(Mutant::AskedBesideFlags);
    if !cx.view.is_mixed() || announced || mutant::is(Mutant::JavaNotAsked) {
"#,
    },
    Site {
        from: r#"    ledger.request.as_ref().is_some_and(|request| request.parameter.is_some())
"#,
        to: r#"    let has_parameter = ledger.request.as_ref().is_some_and(|request| request.parameter.is_some());
    has_parameter && !mutant::is(Mutant::UntoldHandedOn)
"#,
    },
    Site {
        from: r#"    !runs && cx.view.run_request_of(instance).is_none()
"#,
        to: r#"    let idle = !runs || mutant::is(Mutant::AskedBesideRun);
    idle && cx.view.run_request_of(instance).is_none()
"#,
    },
];
