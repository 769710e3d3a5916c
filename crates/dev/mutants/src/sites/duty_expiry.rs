//! Sites of `crates/coordination/src/duty/expiry.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        self.since.remove(ip);
"#,
        to: r#"        if !mutant::is(Mutant::ReturnUnseen) {
            self.since.remove(ip);
        }
"#,
    },
    Site {
        from: r#"        ServerTtl::Enabled(_) => state == ServerState::Enabled && !config.disabled,
"#,
        to: r#"        ServerTtl::Enabled(_) => {
            (state == ServerState::Enabled && !config.disabled) || mutant::is(Mutant::HeldBackExpires)
        }
"#,
    },
    Site {
        from: r#"    if config.value.java.given_class().is_some() {
"#,
        to: r#"    if config.value.java.given_class().is_some() && !mutant::is(Mutant::JavaServerExpires) {
"#,
    },
];
