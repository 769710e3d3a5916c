//! Sites of `crates/coordination/src/java/records.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        Self { memory, java_leads: view.has_java_leader() }
"#,
        to: r#"        let java_leads = view.has_java_leader() && !mutant::is(Mutant::RecordsLeftToJava);
        Self { memory, java_leads }
"#,
    },
    Site {
        from: r#"        if let Some(handed_back) = ledger.handed_back(accounted) {
"#,
        to: r#"        let done = Some(accounted).filter(|_| !mutant::is(Mutant::JavaFiresRunAgain));
        if let Some(handed_back) = done.and_then(|fire| ledger.handed_back(fire)) {
"#,
    },
    Site {
        from: r#"        if view.misfire {
"#,
        to: r#"        if view.misfire && !mutant::is(Mutant::JavaMisfiresForgotten) {
"#,
    },
];
