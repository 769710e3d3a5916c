//! Sites of `crates/coordination/src/duty/trigger.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"    let config = cx.view.config().filter(|_| cx.view.fits_config())?;
    let plan = acceptance(cx, &triggered);
"#,
        to: r#"    let fits = cx.view.fits_config() || mutant::is(Mutant::AcceptanceTotalIgnored);
    let config = cx.view.config().filter(|_| fits)?;
    let plan = acceptance(cx, &triggered);
"#,
    },
    Site {
        from: r#"    let config = cx.view.config().filter(|_| cx.view.fits_config())?;
    waiting(cx)"#,
        to: r#"    let fits = cx.view.fits_config() || mutant::is(Mutant::AcceptanceTotalIgnored);
    let config = cx.view.config().filter(|_| fits)?;
    waiting(cx)"#,
    },
    Site {
        from: r#"    trigger.value.parameter.as_ref()?;
"#,
        to: r#"    trigger.value.parameter.as_ref().filter(|_| !mutant::is(Mutant::UntoldAsked))?;
"#,
    },
    Site {
        from: r#"    by == cx.me.as_str() || (leads && !is_there)
"#,
        to: r#"    by == cx.me.as_str() || (leads && !is_there) || mutant::is(Mutant::RequestClearedByAnyInstance)
"#,
    },
];
