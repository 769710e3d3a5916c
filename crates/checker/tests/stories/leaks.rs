//! L7: no leak of sessions or feeds in the registry, and no removal of a server that is needed.

use checker::Property::{L1, L3, L7, S3, S9};
use checker::history::{Fact, ProcessEvent, SessionEvent};
use serde_json::json;

use crate::story::Story;
use crate::story::verdict::{assert_bad, assert_good};

#[test]
fn l7_sessions_and_feeds_return_to_a_constant() {
    assert_bad(
        L7,
        &[L1, L3, S3, S9],
        &[
            ("a process opens a new session and the old one stays", |s| {
                s.round(1).heal().at(12.0).opens("b", 900).uses("b", 900);
                s.rounds_of_all(2..5).at(59.0);
            }),
            ("two sessions are opened at once, and the unused one stays", |s| {
                s.round(1).heal().at(12.0).opens("b", 900);
                let sid = s.sid("b");
                s.uses("b", sid).rounds_of_all(2..5).at(59.0);
            }),
            ("a process is killed and its session stays", |s| {
                s.round(1).crash("b").heal().at(20.01).claim("a", 0, 2).done("a", 0).at(59.0);
            }),
            ("a process has ended and its session stays", |s| {
                s.round(1).heal().drain("b").process("b", ProcessEvent::Exit).at(59.0);
            }),
            ("a session holds more feeds than before", |s| {
                s.held("a", 1).held("b", 1).round(1).crash("b").at(16.0).expire("b").assign(&["a"]);
                s.heal().rounds_of_all(2..3).held("a", 2).rounds_of_all(3..4).held("a", 2);
            }),
        ],
    );
    assert_good(
        L7,
        &[
            ("the old session ends in time", |s| {
                s.round(1).begin("partition", "b").at(15.0).expire("b").over("partition", "b");
                s.heal().connect("b").assign(&["a", "b"]).rounds_of_all(2..6).at(59.0);
            }),
            ("two sessions are opened at once, and the unused one ends", |s| {
                s.at(2.5).opens("b", 900);
                let sid = s.sid("b");
                s.uses("b", sid).round(1).closes(900).heal().rounds_of_all(2..5);
            }),
            ("killed at the end", |s| {
                s.round(1).heal().rounds_of_all(2..5).crash("b").at(49.0);
            }),
            ("as many feeds as before", |s| {
                s.held("a", 1).held("b", 2).round(1).crash("b").at(16.0).expire("b").join("b");
                s.assign(&["a", "b"]).held("b", 4).heal().rounds_of_all(2..4).held("b", 2);
            }),
            ("a feed of a reconciliation in progress at the end", |s| {
                s.held("a", 1).held("b", 1).round(1).crash("b").at(16.0).expire("b").assign(&["a"]);
                s.heal().rounds_of_all(2..3).held("a", 1).rounds_of_all(3..4).held("a", 2);
            }),
        ],
    );
}

/// Server of no instance.
const IDLE: &str = "/j/servers/10.0.0.9";

#[test]
fn l7_only_servers_without_instances_expire() {
    assert_bad(
        L7,
        &[],
        &[
            ("the leader removes the server of an instance", |s| {
                s.at(9.0).removes("a", "/j/servers/10.0.0.2");
            }),
            ("the server is disabled", |s| {
                s.write("operator", IDLE, Some("DISABLED")).removes("a", IDLE);
            }),
            ("the server is paused", |s| {
                s.write("operator", IDLE, Some("PAUSED")).removes("a", IDLE);
            }),
            ("an instance that comes back would create the server as disabled", |s| {
                s.write("operator", IDLE, Some("")).configure(|c| c["disabled"] = json!(true));
                s.removes("a", IDLE);
            }),
            ("no server expires", |s| {
                s.write("operator", IDLE, Some("DISABLED"));
                s.configure(|c| c["serverTtl"] = json!("off")).removes("a", IDLE);
            }),
        ],
    );
    assert_good(
        L7,
        &[
            ("the server is idle", |s| {
                s.write("operator", IDLE, Some("")).removes("a", IDLE);
            }),
            ("disabled servers expire, too", |s| {
                s.write("operator", IDLE, Some("DISABLED"));
                s.configure(|c| c["serverTtl"] = json!("90m all")).removes("a", IDLE);
            }),
            ("an operator removes a disabled server", |s| {
                s.write("operator", IDLE, Some("DISABLED")).write("operator", IDLE, None);
            }),
        ],
    );
}

impl Story {
    /// An instance removes a server as the leader of the last term.
    pub(crate) fn removes(&mut self, p: &str, server: &str) -> &mut Self {
        let ops =
            vec![self.check("/j/coordination/term"), self.put(self.sid(p), server, None, false)];
        self.commit(p, ops)
    }

    fn rounds_of_all(&mut self, fires: std::ops::Range<i64>) -> &mut Self {
        for k in fires {
            self.round(k);
        }
        self
    }

    fn opens(&mut self, p: &str, sid: i64) -> &mut Self {
        self.says("registry", Fact::SessionOpened { sid, owner: p.to_owned() })
    }

    /// A process reports its session.
    fn uses(&mut self, p: &str, sid: i64) -> &mut Self {
        let (ev, instance) = (SessionEvent::Connected, None);
        self.says(p, Fact::Session { ev, sid, instance })
    }

    fn closes(&mut self, sid: i64) -> &mut Self {
        let zxid = self.next_revision();
        self.says("registry", Fact::SessClose { zxid, sid, ephemerals: Vec::new() })
    }

    /// The registry reports the number of feeds of a process's session.
    fn held(&mut self, p: &str, feeds: u64) -> &mut Self {
        let sid = self.sid(p);
        self.says("registry", Fact::Held { sid, feeds })
    }
}
