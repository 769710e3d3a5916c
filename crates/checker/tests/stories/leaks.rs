//! L7: neither sessions nor feeds pile up in the registry.

use checker::Property::{L1, L3, L7, S3, S9};
use checker::history::{Fact, ProcessEvent};

use crate::story::{Story, assert_bad, assert_good};

#[test]
fn l7_sessions_and_feeds_return_to_a_constant() {
    assert_bad(
        L7,
        &[L1, L3, S3, S9],
        &[
            ("a process opens a new session and the old one stays", |s| {
                s.round(1)
                    .heal()
                    .at(12.0)
                    .says("registry", Fact::SessionOpened { sid: 900, owner: "b".into() });
                s.rounds_of_all(2..5).at(59.0);
            }),
            ("a process is killed and its session stays", |s| {
                s.round(1).crash("b").heal().at(20.01).claim("a", 0, 2).done("a", 0).at(59.0);
            }),
            ("a process has ended and its session stays", |s| {
                s.round(1).heal().drain("b").process("b", ProcessEvent::Exit).at(59.0);
            }),
            ("a session holds more feeds than before", |s| {
                s.held("a", 1).held("b", 1).round(1).crash("b").at(16.0).expire("b").deal(&["a"]);
                s.heal().rounds_of_all(2..4).held("a", 2);
            }),
        ],
    );
    assert_good(
        L7,
        &[
            ("the old session ends in time", |s| {
                s.round(1).begin("partition", "b").at(15.0).expire("b").over("partition", "b");
                s.heal().connect("b").deal(&["a", "b"]).rounds_of_all(2..6).at(59.0);
            }),
            ("killed at the end", |s| {
                s.round(1).heal().rounds_of_all(2..5).crash("b").at(49.0);
            }),
            ("as many feeds as before", |s| {
                s.held("a", 1).held("b", 2).round(1).crash("b").at(16.0).expire("b").join("b");
                s.deal(&["a", "b"]).held("b", 4).heal().rounds_of_all(2..4).held("b", 2);
            }),
        ],
    );
}

impl Story {
    fn rounds_of_all(&mut self, fires: std::ops::Range<i64>) -> &mut Self {
        for k in fires {
            self.round(k);
        }
        self
    }

    /// The registry says how many feeds the session of a process has.
    fn held(&mut self, p: &str, feeds: u64) -> &mut Self {
        let sid = self.sid(p);
        self.says("registry", Fact::Held { sid, feeds })
    }
}
