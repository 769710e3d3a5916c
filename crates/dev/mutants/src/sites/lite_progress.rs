//! Sites of `crates/lite/src/progress.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"            let next = clock.monotonic().saturating_add(INTERVAL);
"#,
    to: r#"            let interval = if mutant::is(Mutant::ProgressUnbounded) {
                Duration::ZERO
            } else {
                INTERVAL
            };
            let next = clock.monotonic().saturating_add(interval);
"#,
}];
