//! Sites of `crates/coordination/src/wire/records/ledger.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"            0 => FormatVersion::WRITTEN,
"#,
    to: r#"            0 => FormatVersion::WRITTEN,
            _ if mutant::is(Mutant::SlotsWrittenAsFormer) => FormatVersion::WRITTEN,
"#,
}];
