//! Sites of `crates/coordination/src/duty/membership.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        Phase::Active if !registered && !cx.local.session.was_registered => register(cx),
        Phase::Active if registered && !server_known => Some(add_server(cx)),
"#,
        to: r#"        Phase::Active
            if !registered && (!cx.local.session.was_registered || mutant::is(Mutant::RegisteredAgain)) =>
        {
            register(cx)
        }
        Phase::Active if registered && !server_known => {
            Some(add_server(cx)).filter(|_| !mutant::is(Mutant::ServerForgotten))
        }
"#,
    },
    Site {
        from: r#"        Phase::Draining if registered && !cx.view.is_draining(cx.me) => Some(drain(cx)),
"#,
        to: r#"        Phase::Draining if registered && !cx.view.is_draining(cx.me) => {
            Some(drain(cx)).filter(|_| !mutant::is(Mutant::DrainUnmarked))
        }
"#,
    },
    Site {
        from: r#"    cx.view.config()?;
"#,
        to: r#"    if cx.view.config().is_none() && !mutant::is(Mutant::RegisteredUnconfigured) {
        return None;
    }
"#,
    },
    Site {
        from: r#"    let needs_name = !cx.view.is_named(cx.me);
"#,
        to: r#"    let needs_name = !cx.view.is_named(cx.me) || mutant::is(Mutant::NamedAgain);
"#,
    },
];
