//! Sites of `crates/coordination/src/java/records.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"    let java_leads = cx.view.has_java_leader();
"#,
        to: r#"    let java_leads = cx.view.has_java_leader() && !mutant::is(Mutant::RecordsLeftToJava);
"#,
    },
    Site {
        from: r#"    if let Some(handed_back) = ledger.handed_back(accounted) {
"#,
        to: r#"    let run_again = mutant::is(Mutant::JavaFiresRunAgain);
    if let Some(handed_back) = ledger.handed_back(accounted).filter(|_| !run_again) {
"#,
    },
    Site {
        from: r#"    if view.misfire
"#,
        to: r#"    if (view.misfire && !mutant::is(Mutant::JavaMisfiresForgotten))
"#,
    },
];
