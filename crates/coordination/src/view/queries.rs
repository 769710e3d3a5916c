//! Queries about items and their assignment.

use std::collections::BTreeSet;
use std::fmt;

use reg_center::Version;
use sharding::{Assignment, InstanceId, ShardingItem};

use super::JobView;
use super::config::ConfigState;
use super::item::{Attention, ItemView};
use crate::wire::NodeKind;
use crate::{FireTime, JobConfig, MAX_SLOTS, Slot, Versioned};

impl JobView {
    /// Returns the view of an item, or of the slot with this key. It is empty for an unknown one.
    #[must_use]
    pub fn item(&self, key: ShardingItem) -> &ItemView {
        let all = if Slot::is_further(key) { &self.further_slots } else { &self.items };
        all.get(key).unwrap_or(ItemView::NOTHING)
    }

    /// Returns the known slots beside the first ones of the items, each with its number, record and
    /// marks. Their keys are in ascending order.
    pub fn further_slots(&self) -> impl Iterator<Item = (Slot, &ItemView)> {
        let all = self.further_slots.from(ShardingItem::new(0));
        all.map(|(key, view)| (Slot::of(key), view))
    }

    /// Returns the view of each slot of an item up to the last one that has a record, with its key,
    /// without the first one. A slot that the view does not show is empty.
    pub(crate) fn further_slots_of(
        &self,
        item: ShardingItem,
    ) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        let last = self.last_further_slot(item);
        let keys = (1..=last).map(move |number| Slot { item, number }.key());
        keys.map(|key| (key, self.item(key)))
    }

    /// Returns the number of the last slot of an item that has a record; 0 for the first one.
    ///
    /// The record of the item names it, but may be one from before that slot, which an operator has
    /// restored.
    pub(crate) fn last_further_slot(&self, item: ShardingItem) -> u32 {
        let ledger = self.item(item).ledger.as_ref();
        let recorded = ledger.map_or(0, |ledger| ledger.value.further_slots);
        if self.further_slots.len() == 0 {
            return recorded;
        }
        let is_shown =
            |number: &u32| self.further_slots.get(Slot { item, number: *number }.key()).is_some();
        (recorded + 1..MAX_SLOTS).rev().find(is_shown).unwrap_or(recorded)
    }

    /// Returns the slots that are not at rest: the items of which a slot is the first one, in
    /// ascending order, then all further slots.
    pub(crate) fn restless_slots(&self) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.items.restless().chain(self.further_slots.from(ShardingItem::new(0)))
    }

    /// Returns the slots that need this attention, first slots before further ones.
    pub(crate) fn slots_with(
        &self,
        attention: Attention,
    ) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.items.with(attention).chain(self.further_slots.with(attention))
    }

    /// Returns the known items, in ascending order.
    pub fn items(&self) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.items.from(ShardingItem::new(0))
    }

    /// Returns the items that are not at rest, in ascending order.
    ///
    /// An item at rest has an owner and an idle record, and no marks, misfires or requests, and is
    /// not disabled.
    pub(crate) fn restless_items(&self) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.items.restless()
    }

    /// Returns the items that need this attention, in ascending order. An index finds them.
    pub(crate) fn items_with(
        &self,
        attention: Attention,
    ) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.items.with(attention)
    }

    /// Returns true if a slot needs this attention.
    pub(crate) fn any_with(&self, attention: Attention) -> bool {
        self.slots_with(attention).next().is_some()
    }

    /// Returns the holders of runs by the records, with the slots that they run. A holder can come
    /// twice.
    pub(crate) fn holders(&self) -> impl Iterator<Item = (&InstanceId, &BTreeSet<ShardingItem>)> {
        self.items.holders().chain(self.further_slots.holders())
    }

    /// Returns the items that have not settled this fire by their records, in ascending order. An
    /// index finds them, so that settled items cost nothing.
    pub(crate) fn unsettled_items(
        &self,
        fire: FireTime,
    ) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.items.unsettled(fire)
    }

    /// Returns the items that have not settled this fire and are not at rest.
    pub(crate) fn restless_unsettled_items(
        &self,
        fire: FireTime,
    ) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.items.restless_unsettled(fire)
    }

    /// Returns the items at rest that have not settled this fire and have a run in a further slot.
    pub(crate) fn resting_unsettled_items_with_runs(
        &self,
        fire: FireTime,
    ) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        let running = self.further_slots().filter(|(_, view)| view.is_busy());
        let items: BTreeSet<_> = running.map(|(slot, _)| slot.item).collect();
        let known = items.into_iter().filter_map(|item| Some((item, self.items.get(item)?)));
        known.filter(move |(_, view)| view.is_at_rest() && view.settled_until() < Some(fire))
    }

    /// Returns true if the known items are those of a job with this number of items.
    pub(crate) fn has_exactly(&self, total_count: u32) -> bool {
        usize::try_from(total_count) == Ok(self.items.len())
            && self.items.last().is_none_or(|last| last.index() < total_count)
    }

    /// Returns true if all items of a job with this number of items are known, and all others are
    /// retired and without an owner.
    pub(crate) fn has_no_other(&self, total_count: u32) -> bool {
        let mut beyond = self.items_from(ShardingItem::new(total_count));
        self.n_unknown(total_count) == 0 && !beyond.any(|(_, view)| view.is_surplus())
    }

    /// Counts the unknown items below `total_count`.
    pub(crate) fn n_unknown(&self, total_count: u32) -> usize {
        let beyond = self.items_from(ShardingItem::new(total_count)).count();
        (0..total_count).count() - (self.items.len() - beyond)
    }

    /// Counts the unknown items from `first` to `last`.
    pub(crate) fn n_unknown_within(&self, first: ShardingItem, last: ShardingItem) -> usize {
        (first.index()..=last.index()).count() - self.items.n_within(first..=last)
    }

    /// Returns the latest last fire of all items.
    pub(crate) fn latest_fire(&self) -> Option<FireTime> {
        self.items.latest_fire()
    }

    /// Returns the exclusive lower bound of the fires that any item may have missed.
    pub(crate) fn owes_after(&self) -> Option<FireTime> {
        self.items.owes_after()
    }

    /// Returns the known items from this one on, in ascending order.
    pub(crate) fn items_from(
        &self,
        first: ShardingItem,
    ) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.items.from(first)
    }

    /// Returns true if the failover queue has an item.
    pub(crate) fn has_queue(&self) -> bool {
        self.any_with(Attention::Queued)
    }

    /// Returns the number of items that an instance owns.
    pub(crate) fn count_of(&self, owner: &InstanceId) -> usize {
        self.items.n_of(owner)
    }

    /// Returns the instances that own items.
    pub(crate) fn owners(&self) -> impl Iterator<Item = &InstanceId> {
        self.items.owners()
    }

    /// Returns the items that `me` owns, pending ones included.
    pub fn items_of<'a>(
        &'a self,
        me: &'a InstanceId,
    ) -> impl Iterator<Item = (ShardingItem, &'a ItemView)> {
        self.items.of(me)
    }

    /// Returns true if an item still has to be moved, recorded or retired.
    pub(crate) fn is_resharding_unfinished(&self, config: &JobConfig) -> bool {
        let total = config.sharding_total_count;
        let pending = self.assignment().is_some_and(|a| !a.value.pending.is_empty());
        pending
            || (config.monitor_execution && self.has_unrecorded_item(total))
            || (self.may_retire() && self.has_surplus_item(total))
    }

    fn has_unrecorded_item(&self, total_count: u32) -> bool {
        let first = self.items_with(Attention::Unrecorded).next();
        self.n_unknown(total_count) > 0 || first.is_some_and(|(item, _)| item.index() < total_count)
    }

    fn has_surplus_item(&self, total_count: u32) -> bool {
        self.items_from(ShardingItem::new(total_count)).any(|(_, view)| view.is_surplus())
    }

    /// Returns true if items may be retired: the stored configuration is usable. If it is not, the
    /// configuration in force is older, and an operator may have meant more items. Retiring can
    /// wait.
    pub(crate) fn may_retire(&self) -> bool {
        self.has_usable_config()
    }

    /// Returns the owners after all pending items have moved.
    pub(crate) fn planned_owners(&self, total_count: u32) -> Assignment {
        let owner = |item| self.item(item).owner_id();
        let items = (0..total_count).map(ShardingItem::new);
        Assignment::from_owners(
            items.map(|item| self.next_owner(item).or_else(|| owner(item)).cloned()),
        )
    }

    /// Returns the next owner of a pending item.
    #[must_use]
    pub fn next_owner(&self, item: ShardingItem) -> Option<&InstanceId> {
        self.assignment.as_ref()?.value.pending.get(item)
    }

    /// Returns true if `me` owns the item, or is its next owner.
    pub(crate) fn is_meant_for(&self, item: ShardingItem, me: &InstanceId) -> bool {
        let owner = self.item(item).owner_id();
        self.next_owner(item).or(owner) == Some(me)
    }

    /// Returns the items that `me` may claim: those that it owns, without pending ones. None while
    /// the assignment is for another number of items.
    ///
    /// Under a Java leader these are all items that `me` owns, unless the leader is about to
    /// reshard.
    pub(crate) fn claimable_by<'a>(
        &'a self,
        me: &'a InstanceId,
        items: impl Iterator<Item = (ShardingItem, &'a ItemView)>,
    ) -> impl Iterator<Item = (ShardingItem, &'a ItemView)> {
        let total = self.claimable_total();
        let mine = items.filter(|(_, view)| view.is_of(me));
        mine.filter(move |(item, _)| {
            // A run by the former owner would delay the move of a pending item.
            let moves = self.is_pending(*item);
            total.is_some_and(|total| item.index() < total) && !moves
        })
    }

    /// Returns the items whose fires `me` accounts for: those that it owns, and pending ones that
    /// it will get from a lost owner.
    pub(crate) fn accounted_by<'a>(
        &'a self,
        me: &'a InstanceId,
        items: impl Iterator<Item = (ShardingItem, &'a ItemView)>,
    ) -> impl Iterator<Item = (ShardingItem, &'a ItemView)> {
        let total = self.config().map_or(0, |config| config.sharding_total_count);
        items.filter(move |(item, view)| {
            item.index() < total && self.accounts_for(me, *item, view.owner.as_ref())
        })
    }

    fn accounts_for(
        &self,
        me: &InstanceId,
        item: ShardingItem,
        owner: Option<&Versioned<InstanceId>>,
    ) -> bool {
        let Some(Versioned { value: owner, .. }) = owner else { return false };
        // A lost owner reports no fires: the next owner accounts for them.
        owner == me || (!self.is_registered(owner) && self.next_owner(item) == Some(me))
    }
}

/// Queries of the coordinator, which waits until the view shows a commit.
impl JobView {
    /// Returns the version of a node whose writes a plan waits for: `Some(None)` if the node is
    /// absent. `None` for other nodes, and for a manual request that is gone.
    #[expect(clippy::wildcard_enum_match_arm, reason = "other nodes are written with one of these")]
    pub(crate) fn shown_version(&self, node: &NodeKind) -> Option<Option<Version>> {
        match node {
            NodeKind::Ledger(item) => Some(self.item(*item).ledger.as_ref().map(|l| l.version)),
            NodeKind::Owner(item) => Some(self.item(*item).owner.as_ref().map(|o| o.version)),
            NodeKind::Assignment => Some(self.assignment_version()),
            NodeKind::Term => Some(self.term().map(|term| term.version)),
            NodeKind::Once => Some(self.once().map(|once| once.version)),
            NodeKind::Backfills => Some(self.backfills.as_ref().map(|log| log.version)),
            NodeKind::Audit => Some(self.audit.as_ref().map(|audit| audit.version)),
            NodeKind::Waiting(id) => Some(self.waiting_version(id)),
            NodeKind::Starts => Some(self.starts_version()),
            NodeKind::Group(group, node) => self.shown_group_version(group, node),
            // The author of a handled request may have cleared it since.
            NodeKind::TriggerRequest(id) => self.trigger_request(id).map(|r| Some(r.version)),
            _ => None,
        }
    }

    /// Returns true if the view shows a node. `None` for nodes that no plan waits for: the version
    /// of another node in the same transaction is sufficient.
    #[expect(clippy::wildcard_enum_match_arm, reason = "other nodes are written with one of these")]
    pub(crate) fn shows_node(&self, node: &NodeKind) -> Option<bool> {
        match node {
            NodeKind::Instance(id) => Some(self.is_registered(id)),
            NodeKind::Draining(id) => Some(self.is_draining(id)),
            NodeKind::Latch(latch, name) => Some(self.has_latch_node(*latch, name)),
            NodeKind::Necessary => Some(self.is_necessary()),
            NodeKind::QueuedItem(item) => Some(self.item(*item).queued),
            NodeKind::Item(item) => Some(self.empty_items(*item).next() == Some(*item)),
            NodeKind::TriggerRequest(id) => Some(self.trigger_request(id).is_some()),
            _ => self.shown_version(node).map(|version| version.is_some()),
        }
    }
}

impl fmt::Display for JobView {
    /// Writes the view as text, one fact on each line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.config.state {
            ConfigState::Absent => writeln!(f, "no configuration")?,
            ConfigState::Invalid { reason, .. } => writeln!(f, "configuration invalid: {reason}")?,
            ConfigState::Valid(config) => {
                let config = &config.value;
                let cron = config.cron.as_deref().unwrap_or("on request");
                writeln!(f, "{}: {} items, {cron}", config.job_name, config.sharding_total_count)?;
            }
        }
        for id in self.instances.keys() {
            let leads = if self.leader() == Some(id) { ", leads" } else { "" };
            let state = if self.is_available(id) { "" } else { ", not available" };
            writeln!(f, "instance {id}{leads}{state}")?;
        }
        for (slot, view) in self.further_slots() {
            let ledger = view.ledger.as_ref().map_or("no record".into(), |l| l.value.summary());
            writeln!(f, "slot {slot}: {ledger}")?;
        }
        for (item, view) in self.items() {
            let owner = view.owner.as_ref().map_or("no owner", |owner| owner.value.as_str());
            let ledger = view.ledger.as_ref().map_or("no record".into(), |l| l.value.summary());
            let disabled = if view.disabled { ", disabled" } else { "" };
            writeln!(f, "item {item} ({owner}): {ledger}{disabled}")?;
        }
        Ok(())
    }
}
