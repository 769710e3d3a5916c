//! Sites of `crates/coordination/src/java/election.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        None if eligible => return stand_in_turn(cx),
        Some(leader) if leader == cx.me && !eligible => abdicate(cx),
"#,
        to: r#"        None if eligible || mutant::is(Mutant::UnavailableStand) => return stand_in_turn(cx),
        Some(leader) if leader == cx.me && !eligible => {
            abdicate(cx).filter(|_| !mutant::is(Mutant::NoAbdication))
        }
"#,
    },
    Site {
        from: r#"        Turn::Mine(leave) | Turn::Impatient(leave) => Some(stand_sealed(cx).step(leave)),
"#,
        to: r#"        Turn::Mine(leave) | Turn::Impatient(leave) => {
            Some(stand_sealed(cx).step_if(!mutant::is(Mutant::TurnKept), || leave))
        }
"#,
    },
    Site {
        from: r#"    stand(cx).step_if(cx.view.takes_turns(), "#,
        to: r#"    let seals = cx.view.takes_turns() && !mutant::is(Mutant::LeadershipUnsealed);
    stand(cx).step_if(seals, "#,
    },
    Site {
        from: r#"    let unsealed = cx.view.leader_version() == Some(Version(0)) && cx.view.takes_turns();
"#,
        to: r#"    let unsealed = cx.view.leader_version() == Some(Version(0)) && cx.view.takes_turns() && !mutant::is(Mutant::LeadershipUnsealed);
"#,
    },
];
