//! Sites of `crates/coordination/src/wire/run_nodes.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"        let txn = Txn::new().check_version(path, record.stat.version);
"#,
    to: r#"        let txn = if mutant::is(Mutant::RunWritesUnguarded) {
            Txn::new()
        } else {
            Txn::new().check_version(path, record.stat.version)
        };
"#,
}];
