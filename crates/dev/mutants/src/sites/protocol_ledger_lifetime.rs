//! Sites of `crates/coordination/src/protocol/ledger/lifetime.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"            outcome: self.outcome.filter(|outcome| *outcome != Outcome::Disabled),
            ..self.clone()
"#,
    to: r#"            outcome: self.outcome.filter(|outcome| *outcome != Outcome::Disabled),
            ..if mutant::is(Mutant::RetiredForgotten) { Self::new(settled) } else { self.clone() }
"#,
}];
