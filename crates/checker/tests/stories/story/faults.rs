//! Faults and healing.

use checker::history::{Fact, FaultOutcome, NemesisEvent};

use super::Story;

impl Story {
    pub(crate) fn nemesis(&mut self, ev: NemesisEvent, kind: &str, target: &str) -> &mut Self {
        let (kind, target) = (kind.to_owned(), target.to_owned());
        let outcome = FaultOutcome::Installed;
        self.says("nemesis", Fact::Nemesis { ev, kind, target, outcome, why: String::new() })
    }

    pub(crate) fn crash(&mut self, p: &str) -> &mut Self {
        self.nemesis(NemesisEvent::Point, "crash", p)
    }

    pub(crate) fn begin(&mut self, kind: &str, p: &str) -> &mut Self {
        self.nemesis(NemesisEvent::Begin, kind, p)
    }

    /// Shifts the clock of a process by a number of milliseconds from now on.
    pub(crate) fn skew(&mut self, p: &str, ms: i64) -> &mut Self {
        let (kind, target, why) = ("skew".to_owned(), p.to_owned(), format!("ms={ms}"));
        let (ev, outcome) = (NemesisEvent::Begin, FaultOutcome::Installed);
        self.says("nemesis", Fact::Nemesis { ev, kind, target, outcome, why })
    }

    pub(crate) fn over(&mut self, kind: &str, p: &str) -> &mut Self {
        self.nemesis(NemesisEvent::End, kind, p)
    }

    /// The registry ends the session of a process.
    pub(crate) fn expire(&mut self, p: &str) -> &mut Self {
        let sid = self.sid(p);
        let gone: Vec<_> = self
            .ephemerals
            .iter()
            .filter(|(_, of)| **of == sid)
            .map(|(path, _)| path.clone())
            .collect();
        for path in &gone {
            self.versions.remove(path);
            self.ephemerals.remove(path);
        }
        let zxid = self.next_revision();
        self.says("registry", Fact::SessClose { zxid, sid, ephemerals: gone })
    }

    pub(crate) fn heal(&mut self) -> &mut Self {
        self.says("nemesis", Fact::Healed)
    }
}
