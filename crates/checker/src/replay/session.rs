//! Sessions, their owners and their ends.

use std::collections::BTreeMap;

/// A session of the registry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Session {
    /// Process that opened the session, if known; empty for operators and the harness.
    pub(crate) owner: Option<String>,
    /// Process start that reported the session as its own.
    pub(crate) process_start: Option<ProcessStart>,
    /// Time at which the registry opened the session, if its log has it.
    pub(crate) opened: Option<u64>,
    /// Time at which the registry ended the session.
    pub(crate) closed: Option<u64>,
}

/// One start of a process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProcessStart {
    pub(crate) process: String,
    pub(crate) inc: u32,
}

/// All sessions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sessions(BTreeMap<i64, Session>);

impl Sessions {
    pub(crate) fn entry(&mut self, sid: i64) -> &mut Session {
        self.0.entry(sid).or_default()
    }

    pub(crate) fn get(&self, sid: i64) -> Option<&Session> {
        self.0.get(&sid)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (i64, &Session)> {
        self.0.iter().map(|(sid, session)| (*sid, session))
    }

    pub(crate) fn is_closed(&self, sid: i64) -> bool {
        self.get(sid).is_some_and(|session| session.closed.is_some())
    }

    /// Returns true for sessions of operators and of the harness, whose writes are not judged.
    pub(crate) fn is_operator(&self, sid: i64) -> bool {
        self.get(sid).is_some_and(|session| session.owner.as_deref() == Some(""))
    }

    /// Returns true if both are one session, or sessions of one process start.
    ///
    /// If a process was stopped before it could report its session, its name decides.
    pub(crate) fn is_same_process(&self, one: i64, other: i64) -> bool {
        let process_start = |sid| self.get(sid).and_then(|session| session.process_start.as_ref());
        one == other
            || match (process_start(one), process_start(other)) {
                (Some(one), Some(other)) => one == other,
                _ => self.process_of(one).is_some_and(|p| self.process_of(other) == Some(p)),
            }
    }

    /// Returns the name of the process that a session belongs to.
    pub(crate) fn process_of(&self, sid: i64) -> Option<&str> {
        let session = self.get(sid)?;
        let said =
            session.process_start.as_ref().map(|process_start| process_start.process.as_str());
        said.or(session.owner.as_deref()).filter(|name| !name.is_empty())
    }
}
