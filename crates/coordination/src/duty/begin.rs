//! Beginnings of plans: the guards that each authority needs.

use super::context::Context;
use crate::Duty;
use crate::plan::{Authority, Plan, Step};

impl Plan {
    /// Begins a plan of an instance that need not be registered. Only the session fences it.
    pub(crate) fn as_session(duty: Duty, reason: impl Into<String>) -> Self {
        Self::new(duty, Authority::Session, reason)
    }

    /// Begins a plan of a registered instance. It conflicts once this incarnation is over.
    pub(crate) fn as_instance(duty: Duty, cx: &Context<'_>, reason: impl Into<String>) -> Self {
        let plan = Self::new(duty, Authority::Instance, reason);
        plan.step(Step::instance_registered(cx.me.clone()))
    }

    /// Begins a plan that starts runs; see [`Self::starting`]. `None` while the server or the
    /// configuration is unknown.
    pub(crate) fn as_starter(
        duty: Duty,
        cx: &Context<'_>,
        reason: impl Into<String>,
    ) -> Option<Self> {
        Self::as_instance(duty, cx, reason).starting(cx)
    }

    /// Adds the guards of a plan that starts runs. It conflicts if an operator disabled the server
    /// or the configuration changed. `None` while either is unknown.
    ///
    /// A server that is removed and added again has its first version again, so its version alone
    /// proves nothing. Each addition also raises a counter that never decreases.
    pub(crate) fn starting(self, cx: &Context<'_>) -> Option<Self> {
        let server = cx.view.server_version(cx.server)?;
        let config = cx.view.config_version()?;
        Some(
            self.step(Step::server_unchanged(cx.server.clone(), server))
                .step(Step::no_server_added(cx.view.servers_added()))
                .step(Step::config_unchanged(config)),
        )
    }

    /// Begins a plan of the leader. It conflicts once another leader was elected. `None` unless
    /// this instance leads and sees all items.
    pub(crate) fn as_leader(
        duty: Duty,
        cx: &Context<'_>,
        reason: impl Into<String>,
    ) -> Option<Self> {
        // Behind a narrow watch the view lacks items that the leader must decide about.
        if !cx.shows_all() {
            return None;
        }
        let term = cx.view.term_of(cx.me)?;
        let plan = Self::as_instance(duty, cx, reason).step(Step::term_unchanged(term));
        Some(Self { authority: Authority::Leader, ..plan })
    }

    /// Begins a plan about items that this instance owns or accounts for. It also conflicts if
    /// items were resharded.
    pub(crate) fn as_owner(
        duty: Duty,
        cx: &Context<'_>,
        reason: impl Into<String>,
    ) -> Option<Self> {
        let plan = Self::as_starter(duty, cx, reason)?;
        let assignment = cx.view.assignment_version().map(Step::assignment_unchanged);
        Some(Self { authority: Authority::Owner, ..plan.steps(assignment) })
    }
}
