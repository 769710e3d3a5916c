//! Sites of `crates/coordination/src/java/trigger.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        store(cx).or_else(|| accept(cx)).or_else(|| pass_to_instances(cx))
"#,
        to: r#"        if mutant::is(Mutant::AcceptedForJavaLeader) {
            store(cx).or_else(|| hand_over(cx)).or_else(|| pass_to_instances(cx))
        } else if mutant::is(Mutant::RequestsLeftToJava) {
            store(cx).or_else(|| accept(cx))
        } else {
            store(cx).or_else(|| accept(cx)).or_else(|| pass_to_instances(cx))
        }
"#,
    },
    Site {
        from: r#"    by == cx.me.as_str() || (!is_registered && cx.view.first_rust_instance() == Some(cx.me))
"#,
        to: r#"    let mine = by == cx.me.as_str() || (!is_registered && cx.view.first_rust_instance() == Some(cx.me));
    mine || mutant::is(Mutant::RequestPassedByAnyInstance)
"#,
    },
    Site {
        from: r#"    let java_leads = cx.view.has_java_leader();
"#,
        to: r#"    let java_leads = cx.view.has_java_leader() && !mutant::is(Mutant::RequestsStayUnderJava);
"#,
    },
];
