//! Sites of `crates/dev/model/src/exhaustive/walk.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"    let mut shadow = Shadow::new(world, &state);
"#,
        to: r#"    // What is left out may make a plan fit that is refused in truth, or the other way round.
    let mut shadow = world.mutant.is_none().then(|| Shadow::new(world, &state));
"#,
    },
    Site {
        from: r#"        shadow.follow(world, &state, &next);
"#,
        to: r#"        if let Some(shadow) = &mut shadow {
            shadow.follow(world, &state, &next);
        }
"#,
    },
];
