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
        from: r#"    if let Some(handed_back) = accounted.and_then(|fire| ledger.handed_back(fire)) {
"#,
        to: r#"    let done = accounted.filter(|_| !mutant::is(Mutant::JavaFiresRunAgain));
    if let Some(handed_back) = done.and_then(|fire| ledger.handed_back(fire)) {
"#,
    },
    Site {
        from: r#"    let noted = accounted.filter(|_| view.misfire).and_then(|fire| ledger.noted_by_mark(fire));
"#,
        to: r#"    let marked = view.misfire && !mutant::is(Mutant::JavaMisfiresForgotten);
    let noted = accounted.filter(|_| marked).and_then(|fire| ledger.noted_by_mark(fire));
"#,
    },
];
