//! Sites of `crates/dev/model/src/exhaustive/world.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"pub(super) struct World {
"#,
        to: r#"pub(super) struct World {
    /// What is left out, if anything.
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

    /// The same system without one guard or rule.
    pub(super) fn without(mut self, mutant: coordination::Mutant) -> Self {
        self.mutant = Some(mutant);
        if super::mutants::reuses_ids(mutant) {
            for lives in &mut self.sitters {
                let me = lives[0].me.clone();
                lives.iter_mut().for_each(|life| life.me = me.clone());
            }
        }
        self
    }

    /// Makes what this thread does do without what is left out, as long as the result lives.
    pub(super) fn activated(&self) -> Option<coordination::Activation> {
        self.mutant.map(|mutant| mutant.activate())
    }
"#,
    },
];
