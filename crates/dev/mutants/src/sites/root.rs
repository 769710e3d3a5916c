//! Sites of `crates/coordination/src/lib.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"mod local;
"#,
        to: r#"mod local;
pub mod mutant;
"#,
    },
    Site {
        from: r#"pub use local::Phase;
"#,
        to: r#"pub use local::Phase;
pub use mutant::{Activation, MUTANTS, Mutant, Row, SELECTED_BY, Story, Watcher};
"#,
    },
    Site {
        from: r#"pub use view::{Anomaly, ConfigCheck, ConfigState, JobView};
"#,
        to: r#"pub use view::{Anomaly, ConfigCheck, ConfigState, JobView};

// The tests of the story files use this name, and one of them is also compiled as a test here.
#[cfg(test)]
extern crate self as coordination;
"#,
    },
];
