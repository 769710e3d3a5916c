//! Sites of `crates/dev/model/src/exhaustive/walk.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"    let mut shadow = Shadow::new(world, &state);
"#,
        to: r#"    // A mutant can change the outcome of a plan in one of the two registries only.
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
