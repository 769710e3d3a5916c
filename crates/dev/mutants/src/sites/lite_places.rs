//! Sites of `crates/lite/src/places.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"                    self.jobs.push_back(queue);
"#,
        to: r#"                    if mutant::is(Mutant::PlacesOutOfTurn) {
                        self.jobs.push_front(queue);
                    } else {
                        self.jobs.push_back(queue);
                    }
"#,
    },
    Site {
        from: r#"                    Some(wait) if wait.grant.is_closed() => {}
                    other => break other,
"#,
        to: r#"                    Some(wait)
                        if wait.grant.is_closed() && !mutant::is(Mutant::GoneWaitTakesTurn) => {}
                    other => break other,
"#,
    },
];
