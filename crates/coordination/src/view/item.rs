//! The view of one item.

use sharding::InstanceId;

use super::marks::MarksView;
use crate::{FireTime, Ledger, LedgerState, Versioned};

/// The view of one sharding item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemView {
    /// Owner.
    pub owner: Option<Versioned<InstanceId>>,
    /// Ledger record.
    pub ledger: Option<Versioned<Ledger>>,
    /// The record is damaged, or has a format version that this program cannot read. No instance of
    /// this version changes the item until the record is repaired.
    pub unreadable: bool,
    /// Marks of its runs.
    pub marks: MarksView,
    /// The mark `misfire` exists.
    pub misfire: bool,
    /// The item is in the failover queue.
    pub queued: bool,
    /// An operator has disabled the item.
    pub disabled: bool,
}

impl ItemView {
    pub(crate) const NOTHING: &'static Self = &Self {
        owner: None,
        ledger: None,
        unreadable: false,
        marks: MarksView::NONE,
        misfire: false,
        queued: false,
        disabled: false,
    };

    /// Returns true if an operator has disabled the item, even if the record does not show it yet.
    #[must_use]
    pub fn is_disabled(&self) -> bool {
        self.disabled || self.ledger.as_ref().is_some_and(|ledger| ledger.value.disabled)
    }

    /// Returns true if the item has an owner or a record that is not retired. A job without this
    /// item needs neither.
    #[must_use]
    pub fn is_surplus(&self) -> bool {
        let retired = |ledger: &Ledger| ledger.state == LedgerState::Retired;
        self.owner.is_some() || self.ledger.as_ref().is_some_and(|ledger| !retired(&ledger.value))
    }

    /// Returns the record without its version.
    pub(crate) fn record(&self) -> Option<&Ledger> {
        self.ledger.as_ref().map(|ledger| &ledger.value)
    }

    pub(crate) fn owner_id(&self) -> Option<&InstanceId> {
        self.owner.as_ref().map(|owner| &owner.value)
    }

    pub(crate) fn is_of(&self, instance: &InstanceId) -> bool {
        self.owner_id() == Some(instance)
    }

    /// Returns true if no duty has an action for the item before the next fire or its next owner:
    /// it has an owner and an idle record, and no marks, misfires or requests, and is not disabled.
    pub(super) fn is_at_rest(&self) -> bool {
        let Self { owner, ledger, unreadable, marks, misfire, queued, disabled } = self;
        let is_marked = *marks != MarksView::NONE || *misfire || *queued || *disabled;
        let at_rest = ledger.as_ref().is_some_and(|ledger| ledger.value.is_at_rest());
        owner.is_some() && at_rest && !*unreadable && !is_marked
    }

    /// Returns true if a run holds the item or waits for a takeover, if an unknown run has a mark,
    /// or if the record is unreadable.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        match &self.ledger {
            // An unreadable record may show a run.
            _ if self.unreadable => true,
            Some(ledger) => {
                ledger.value.is_busy() || (self.marks.shows_run() && ledger.value.is_idle())
            }
            None => self.marks.shows_run(),
        }
    }

    pub(super) fn settled_until(&self) -> Option<FireTime> {
        self.record()?.settled_until()
    }

    /// Returns true if the item needs this attention. Such an item is not at rest.
    pub(super) fn has(&self, reason: Attention) -> bool {
        let ledger = self.record();
        match reason {
            Attention::Unowned => self.owner.is_none(),
            Attention::Unrecorded => ledger.is_none() && !self.unreadable,
            Attention::Orphaned => {
                ledger.is_some_and(|l| matches!(l.state, LedgerState::Orphan(_)))
            }
            Attention::Requested => ledger.is_some_and(|ledger| ledger.request.is_some()),
            Attention::Misfired => {
                self.misfire || ledger.is_some_and(|ledger| ledger.misfire.is_some())
            }
            Attention::Queued => self.queued,
            Attention::DisablingChanged => {
                ledger.is_some_and(|ledger| ledger.disabled != self.disabled)
            }
            Attention::LastingMark => self.marks.any_lasting(),
        }
    }
}

/// Reason why an item needs attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Attention {
    /// It has no owner.
    Unowned,
    /// It has no record, not even an unreadable one.
    Unrecorded,
    /// Its run is orphaned.
    Orphaned,
    /// A manual request waits for it.
    Requested,
    /// Its record or a mark shows a misfire.
    Misfired,
    /// It is in the failover queue.
    Queued,
    /// Its record and its `disabled` node differ.
    DisablingChanged,
    /// A persistent mark names its holder, or the instance that took it over.
    LastingMark,
}

impl Attention {
    pub(super) const ALL: [Self; 8] = [
        Self::Unowned,
        Self::Unrecorded,
        Self::Orphaned,
        Self::Requested,
        Self::Misfired,
        Self::Queued,
        Self::DisablingChanged,
        Self::LastingMark,
    ];
}
