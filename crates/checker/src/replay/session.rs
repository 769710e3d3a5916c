//! Sessions: whose they are, and until when they live.

use std::collections::BTreeMap;

/// A session of the registry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Session {
    /// The process that opened it, if that is known; empty for operators and the harness.
    pub(crate) owner: Option<String>,
    /// The life of the process that said so itself.
    pub(crate) life: Option<Life>,
    /// When the registry opened it, if its log says so.
    pub(crate) opened: Option<u64>,
    /// When the registry ended it.
    pub(crate) closed: Option<u64>,
}

/// One life of one process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Life {
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

    /// Returns true for sessions of operators and of the harness: they may write what they like.
    pub(crate) fn is_operator(&self, sid: i64) -> bool {
        self.get(sid).is_some_and(|session| session.owner.as_deref() == Some(""))
    }

    /// Returns true if both are one session, or sessions of one life of a process. Where a process has not said which
    /// life it is, its name decides: it may be stopped before it can.
    pub(crate) fn is_same_life(&self, one: i64, other: i64) -> bool {
        let life = |sid| self.get(sid).and_then(|session| session.life.as_ref());
        one == other
            || match (life(one), life(other)) {
                (Some(one), Some(other)) => one == other,
                _ => self.process_of(one).is_some_and(|p| self.process_of(other) == Some(p)),
            }
    }

    /// Returns the name of the process that a session belongs to.
    pub(crate) fn process_of(&self, sid: i64) -> Option<&str> {
        let session = self.get(sid)?;
        let said = session.life.as_ref().map(|life| life.process.as_str());
        said.or(session.owner.as_deref()).filter(|name| !name.is_empty())
    }
}
