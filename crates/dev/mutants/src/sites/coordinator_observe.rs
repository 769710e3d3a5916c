//! Sites of `crates/coordination/src/coordinator/observe.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        let is_compared = config.max_time_diff != MaxTimeDiff::Off;
"#,
        to: r#"        let is_compared = config.max_time_diff != MaxTimeDiff::Off;
        let is_compared = is_compared && !mutant::is(Mutant::ChangesDatedWhenSeen);
"#,
    },
    Site {
        from: r#"        let Some(fire) = in_future else { return };
"#,
        to: r#"        let Some(fire) = in_future.filter(|_| !mutant::is(Mutant::FutureFireKept)) else { return };
"#,
    },
    Site {
        from: r#"        let idle = self.local.phase == Phase::Draining && !self.local.is_busy();
"#,
        to: r#"        let idle = self.local.phase == Phase::Draining && !self.local.is_busy();
        let leftovers = leftovers && !mutant::is(Mutant::LeftBehind);
"#,
    },
    Site {
        from: r#"        let newcomer = self.local.fires.last_seen.is_none() && self.local.is_active();
"#,
        to: r#"        let newcomer = self.local.fires.last_seen.is_none() && self.local.is_active();
        let newcomer = newcomer && !mutant::is(Mutant::NewcomerWaits);
"#,
    },
    Site {
        from: r#"        let alone = self.is_alone();
"#,
        to: r#"        let alone = self.is_alone() || mutant::is(Mutant::DueTakenBesideJava);
"#,
    },
    Site {
        from: r#"        let is_credible = |at: &FireTime| at.0 <= horizon;
"#,
        to: r#"        let is_credible = |at: &FireTime| at.0 <= horizon || mutant::is(Mutant::FutureDueTaken);
"#,
    },
    Site {
        from: r#"        if has_seen_fire || !self.may_find_fires(now) {
"#,
        to: r#"        let has_seen_fire = has_seen_fire || mutant::is(Mutant::LastFireForgotten);
        if has_seen_fire || !self.may_find_fires(now) {
"#,
    },
    Site {
        from: r#"        let delay = config.jitter_ms.map_or(0, i64::from);
"#,
        to: r#"        let delay = config.jitter_ms.filter(|_| !mutant::is(Mutant::LastFireBeforeItsDelay));
        let delay = delay.map_or(0, i64::from);
"#,
    },
    Site {
        from: r#"    fn observe_triggers(&mut self, now: Now, out: &mut Vec<Command>) {
"#,
        to: r#"    fn observe_triggers(&mut self, now: Now, out: &mut Vec<Command>) {
        let again = mutant::is(Mutant::RequestLeftAgain);
"#,
    },
    Site {
        from: r#"            let arrived = view.trigger_request(id).is_some();
"#,
        to: r#"            let arrived = view.trigger_request(id).is_some() && !again;
"#,
    },
    Site {
        from: r#"        let mine = dropped.filter(|(_, trigger)| java::clears_requests_of(&cx, &trigger.value.by));
"#,
        to: r#"        let mine = dropped.filter(|(_, trigger)| java::clears_requests_of(&cx, &trigger.value.by));
        let mine = mine.filter(|_| !mutant::is(Mutant::DropsUntold));
"#,
    },
];
