//! Marks of an item in the view.

use reg_center::{Revision, SessionId};
use sharding::InstanceId;

/// The marks of an item, as the view shows them. Marks are nodes that show runs to Java instances
/// and operators.
///
/// Each field is one node. The changes of these nodes arrive in any order, and Java instances and
/// operators write them too. So the view can show each combination, also those that no Rust
/// instance writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarksView {
    /// The mark `running`.
    pub running: Option<RunningMark>,
    /// The ephemeral mark beside a persistent mark `running` exists: the holder's session lives.
    pub alive: bool,
    /// The session that owns that mark.
    pub alive_session: Option<SessionId>,
    /// Instance that took the item over, by the ephemeral mark `failover`.
    pub failover: Option<InstanceId>,
    /// Instance that took the item over, by the persistent mark `failovering` of 3.x.
    pub failovering: Option<InstanceId>,
}

/// The mark `running` of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningMark {
    /// Revision at which the mark was created.
    pub created: Revision,
    /// Holder of the run.
    pub holder: MarkHolder,
}

/// Holder of a run by its mark `running`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkHolder {
    /// Session that owns the ephemeral mark.
    Session(SessionId),
    /// Instance that a persistent mark names. Only the data shows the holder, because the mark
    /// outlasts the session.
    Instance(InstanceId),
}

impl MarksView {
    pub(crate) const NONE: Self = Self {
        running: None,
        alive: false,
        alive_session: None,
        failover: None,
        failovering: None,
    };

    /// Returns true if the mark `running` exists.
    #[must_use]
    pub fn shows_run(&self) -> bool {
        self.running.is_some()
    }

    /// Returns the revision at which the mark `running` was created.
    #[must_use]
    pub fn marked_at(&self) -> Option<Revision> {
        self.running.as_ref().map(|mark| mark.created)
    }

    /// Returns the session that owns the mark `running`, if the mark is ephemeral.
    #[must_use]
    pub fn session(&self) -> Option<SessionId> {
        match self.running.as_ref()?.holder {
            MarkHolder::Session(session) => Some(session),
            MarkHolder::Instance(_) => None,
        }
    }

    /// Returns the instance that the mark `running` names, if the mark outlasts its session.
    #[must_use]
    pub fn lasting_holder(&self) -> Option<&InstanceId> {
        match &self.running.as_ref()?.holder {
            MarkHolder::Instance(holder) => Some(holder),
            MarkHolder::Session(_) => None,
        }
    }

    /// Returns true if a mark outlasts the session of the instance that it names.
    pub(crate) fn any_lasting(&self) -> bool {
        self.lasting_holder().is_some() || self.failovering.is_some()
    }

    /// Returns true if a mark keeps other instances from taking the item's run over. `failovering`
    /// does not: it outlasts its session, and the sweep removes it.
    pub(crate) fn block_takeover(&self) -> bool {
        self.shows_run() || self.alive || self.failover.is_some()
    }
}
