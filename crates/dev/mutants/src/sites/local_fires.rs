//! Sites of `crates/coordination/src/local/fires.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"        let mut later = self.missed.iter().flatten().copied().filter(|fire| *fire > since);
"#,
    to: r#"        let mut later = self.missed.iter().flatten().copied().filter(|fire| *fire > since);
        if mutant::is(Mutant::CaughtUpBackwards) {
            return Some((later.next_back()?, self.at));
        }
"#,
}];
