//! Sites of `crates/coordination/src/start_gate.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        if !local.is_active() {
"#,
        to: r#"        let paused = view.server_state(server) == Some(ServerState::Paused)
            && !mutant::is(Mutant::PausedServerIgnored);
        if !local.is_active() && !mutant::is(Mutant::DrainingClaim) {
"#,
    },
    Site {
        from: r#"        } else if local.paused || view.server_state(server) == Some(ServerState::Paused) {
"#,
        to: r#"        } else if (local.paused && !mutant::is(Mutant::PauseIgnored)) || paused {
"#,
    },
    Site {
        from: r#"        } else if !local.session.lease {
"#,
        to: r#"        } else if !local.session.lease && !mutant::is(Mutant::ClaimedWithoutLease) {
"#,
    },
    Site {
        from: r#"        } else if !view.is_available(me) {
"#,
        to: r#"        } else if !view.is_available(me) && !mutant::is(Mutant::UnavailableClaim) {
"#,
    },
    Site {
        from: r#"        } else if local.session.awaits_time {
"#,
        to: r#"        } else if local.session.awaits_time && !mutant::is(Mutant::TimeUnawaited) {
"#,
    },
];
