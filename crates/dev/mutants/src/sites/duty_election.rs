//! Sites of `crates/coordination/src/duty/election.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"        None if is_eligible(cx) => Some(stand(cx)),
        Some(leader) if leader == cx.me && !is_eligible(cx) => abdicate(cx),
"#,
    to: r#"        None if is_eligible(cx) || mutant::is(Mutant::UnavailableStand) => Some(stand(cx)),
        Some(leader) if leader == cx.me && !is_eligible(cx) => {
            abdicate(cx).filter(|_| !mutant::is(Mutant::NoAbdication))
        }
"#,
}];
