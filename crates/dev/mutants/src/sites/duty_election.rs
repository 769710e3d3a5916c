//! Sites of `crates/coordination/src/duty/election.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        None if available => return stand_in_turn(cx),
        Some(leader) if leader == cx.me && !available => abdicate(cx),
"#,
        to: r#"        None if available || mutant::is(Mutant::UnavailableStand) => return stand_in_turn(cx),
        Some(leader) if leader == cx.me && !available => {
            abdicate(cx).filter(|_| !mutant::is(Mutant::NoAbdication))
        }
"#,
    },
    Site {
        from: r#"    cx.view.takes_turns()
"#,
        to: r#"    cx.view.takes_turns() && !mutant::is(Mutant::LeadershipUnsealed)
"#,
    },
];
