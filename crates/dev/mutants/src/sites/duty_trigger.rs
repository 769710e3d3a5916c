//! Sites of `crates/coordination/src/duty/trigger.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"    cx.view.fits_config()
"#,
        to: r#"    cx.view.fits_config() || mutant::is(Mutant::AcceptanceTotalIgnored)
"#,
    },
    Site {
        from: r#"    let foreign_leader = cx.view.has_foreign_leader();
"#,
        to: r#"    let foreign_leader = cx.view.has_foreign_leader() && !mutant::is(Mutant::AcceptedForJavaLeader);
"#,
    },
    Site {
        from: r#"    if cx.view.has_foreign_leader() {
"#,
        to: r#"    if cx.view.has_foreign_leader() && !mutant::is(Mutant::RequestsLeftToJava) {
"#,
    },
    Site {
        from: r#"    by == cx.me.as_str() || (!is_there && cx.view.first_of_ours() == Some(cx.me))
"#,
        to: r#"    let mine = by == cx.me.as_str() || (!is_there && cx.view.first_of_ours() == Some(cx.me));
    mine || mutant::is(Mutant::RequestPassedByAnybody)
"#,
    },
    Site {
        from: r#"    trigger.value.parameter.as_ref()?;
"#,
        to: r#"    trigger.value.parameter.as_ref().filter(|_| !mutant::is(Mutant::UntoldAsked))?;
"#,
    },
    Site {
        from: r#"    let keeps = cx.view.has_foreign_leader();
"#,
        to: r#"    let keeps = cx.view.has_foreign_leader() && !mutant::is(Mutant::RequestsStayUnderJava);
"#,
    },
    Site {
        from: r#"    let nobodys = leads && !is_there;
"#,
        to: r#"    let nobodys = (leads && !is_there) || mutant::is(Mutant::RequestClearedByAnybody);
"#,
    },
];
