//! State of the session and of the registration that it owns.

/// State of the session of this instance. All of it ends with the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SessionState {
    /// True while the session surely lives. Written by events of the connection; read before runs
    /// are claimed or started.
    pub lease: bool,
    /// True if the view has shown this incarnation as registered. Written by observations of the
    /// view; read by the membership duty.
    pub(crate) was_registered: bool,
    /// True if this incarnation may be registered although the view does not show it. Written by
    /// replies; read by the membership duty and when the instance leaves.
    pub(crate) maybe_registered: bool,
    /// True while the reply to the registration is due, which brings the registry's time. Written
    /// by observations of the view; read before runs start and before a resharding.
    pub(crate) awaits_time: bool,
}

impl SessionState {
    /// Records a new session, which is not registered yet.
    pub(crate) fn begin(&mut self) {
        self.was_registered = false;
        self.maybe_registered = false;
    }

    /// Records the end of the session.
    pub(super) fn lose(&mut self) {
        self.lease = false;
        self.begin();
    }
}
