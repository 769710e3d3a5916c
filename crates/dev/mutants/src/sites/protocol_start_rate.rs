//! Sites of `crates/coordination/src/protocol/start_rate.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        let counts = |(at, _): &&(i64, u32)| *at > after && *at <= horizon_ms;
"#,
        to: r#"        let horizon_ms =
            if mutant::is(Mutant::FutureStartsCounted) { i64::MAX } else { horizon_ms };
        let counts = |(at, _): &&(i64, u32)| *at > after && *at <= horizon_ms;
"#,
    },
    Site {
        from: r#"        let ahead = self.starts.iter().filter(|(at, _)| *at > horizon_ms).copied();
"#,
        to: r#"        let keeps = |at: i64| at > horizon_ms && !mutant::is(Mutant::FutureStartsDropped);
        let ahead = self.starts.iter().filter(|(at, _)| keeps(*at)).copied();
"#,
    },
];
