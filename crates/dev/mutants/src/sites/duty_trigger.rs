//! Sites of `crates/coordination/src/duty/trigger.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"    if !cx.view.fits_config() {
        return None;
    }
    let accepted "#,
        to: r#"    if !cx.view.fits_config() && !mutant::is(Mutant::AcceptanceTotalIgnored) {
        return None;
    }
    let accepted "#,
    },
    Site {
        from: r#"    if !cx.view.fits_config() {
        return None;
    }
    let config"#,
        to: r#"    if !cx.view.fits_config() && !mutant::is(Mutant::AcceptanceTotalIgnored) {
        return None;
    }
    let config"#,
    },
    Site {
        from: r#"    trigger.value.parameter.as_ref()?;
"#,
        to: r#"    trigger.value.parameter.as_ref().filter(|_| !mutant::is(Mutant::UntoldAsked))?;
"#,
    },
    Site {
        from: r#"    by == cx.me.as_str() || (leads && !is_registered)
"#,
        to: r#"    by == cx.me.as_str() || (leads && !is_registered) || mutant::is(Mutant::RequestClearedByAnyInstance)
"#,
    },
];
