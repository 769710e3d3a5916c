//! Sites of `crates/coordination/src/java/turn.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"    let takes_turns = cx.view.takes_turns();
"#,
        to: r#"    let takes_turns = cx.view.takes_turns() && !mutant::is(Mutant::TurnsIgnored);
"#,
    },
    Site {
        from: r#"    let is_first = cx.view.is_first_at(latch, cx.me);
"#,
        to: r#"    let is_first = cx.view.is_first_at(latch, cx.me) || mutant::is(Mutant::OutOfTurn);
"#,
    },
    Site {
        from: r#"    let waited = cx.local.java.latch_waits.get(&latch).is_some_and(|wait| wait.over);
"#,
        to: r#"    let waited = cx.local.java.latch_waits.get(&latch).is_some_and(|wait| wait.over);
    let waited = waited && !mutant::is(Mutant::WaitsForEver);
"#,
    },
    Site {
        from: r#"    if out_of_order { Turn::Rejoin(vec![leave, join()]) } else { Turn::Wait }
"#,
        to: r#"    if out_of_order && !mutant::is(Mutant::OutOfOrder) { Turn::Rejoin(vec![leave, join()]) } else { Turn::Wait }
"#,
    },
    Site {
        from: r#"    let name = cx.view.latch_node_of(latch, cx.me)?.to_owned();
"#,
        to: r#"    let name = cx.view.latch_node_of(latch, cx.me)?.to_owned();
    if mutant::is(Mutant::LineNotLeft) {
        return None;
    }
"#,
    },
];
