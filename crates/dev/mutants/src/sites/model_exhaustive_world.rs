//! Sites of `crates/dev/model/src/exhaustive/world.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"pub(super) struct World {
"#,
        to: r#"pub(super) struct World {
    /// The active mutant, if any.
    pub(super) mutant: Option<coordination::Mutant>,
"#,
    },
    Site {
        from: r#"        Self {
"#,
        to: r#"        Self {
            mutant: None,
"#,
    },
    Site {
        from: r#"            guards: Cache::new(14),
        }
    }
"#,
        to: r#"            guards: Cache::new(14),
        }
    }

    /// Returns the same system with a mutant.
    pub(super) fn without(mut self, mutant: coordination::Mutant) -> Self {
        self.mutant = Some(mutant);
        if super::mutants::reuses_ids(mutant) {
            for incarnations in &mut self.incarnations {
                let me = incarnations[0].me.clone();
                incarnations.iter_mut().for_each(|other| other.me = me.clone());
            }
        }
        self
    }

    /// Activates the mutant on this thread until the result is dropped.
    pub(super) fn activated(&self) -> Option<coordination::Activation> {
        self.mutant.map(|mutant| mutant.activate())
    }
"#,
    },
];
