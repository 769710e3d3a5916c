//! Sites of `crates/coordination/src/operator.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        Some(version) => Op::Put { path, data, expect: Expect::Version(version) },
"#,
        to: r#"        Some(_) if mutant::is(Mutant::OperatorWriteUnguarded) => {
            Op::Put { path, data, expect: Expect::Exists }
        }
        Some(version) => Op::Put { path, data, expect: Expect::Version(version) },
"#,
    },
    Site {
        from: r#"            OperatorStep::Remove(node, version) => {
                Op::Delete { path: self.path(node), expect: Expect::Version(*version) }
            }
"#,
        to: r#"            OperatorStep::Remove(node, _) if mutant::is(Mutant::OperatorRemovalUnguarded) => {
                Op::Delete { path: self.path(node), expect: Expect::Exists }
            }
            OperatorStep::Remove(node, version) => {
                Op::Delete { path: self.path(node), expect: Expect::Version(*version) }
            }
"#,
    },
];
