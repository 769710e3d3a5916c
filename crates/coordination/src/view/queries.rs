//! Items and their assignment.

use std::collections::BTreeSet;
use std::fmt;

use sharding::{Assignment, InstanceId, ShardingItem, StrategyRegistry};

use super::JobView;
use reg_center::Version;

use super::config::ConfigState;
use super::items::{Attention, ItemView};
use crate::duty::resharding;
use crate::wire::NodeKind;
use crate::{FireTime, JobConfig};

impl JobView {
    /// Returns what is known of an item; nothing, if it was never heard of.
    #[must_use]
    pub fn item(&self, item: ShardingItem) -> &ItemView {
        self.items.get(item).unwrap_or(ItemView::NOTHING)
    }

    /// Returns the items of which anything is known, in ascending order.
    pub fn items(&self) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.items.from(ShardingItem::new(0))
    }

    /// Returns the items that are not at rest, in ascending order: all but those that have an owner and an idle record, with
    /// nothing shown, noted, asked for or disabled.
    pub(crate) fn restless_items(&self) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.items.restless()
    }

    /// Returns the items that have a sign, in ascending order: where none has, none is looked at.
    pub(crate) fn items_with(
        &self,
        sign: Attention,
    ) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.items.with(sign)
    }

    /// Returns true if an item has a sign.
    pub(crate) fn any_with(&self, sign: Attention) -> bool {
        self.items.any_with(sign)
    }

    /// Returns those who run items, by the items' records, with what they run.
    pub(crate) fn holders(&self) -> impl Iterator<Item = (&InstanceId, &BTreeSet<ShardingItem>)> {
        self.items.holders()
    }

    /// Returns the items that still need something for this fire, as far as their records tell, in ascending order: whoever asks
    /// does not look at all the others that have settled it and are at rest.
    pub(crate) fn unsettled_items(
        &self,
        fire: FireTime,
    ) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.items.unsettled(fire)
    }

    /// Returns those of them that are not at rest.
    pub(crate) fn restless_unsettled_items(
        &self,
        fire: FireTime,
    ) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.items.restless_unsettled(fire)
    }

    /// Returns true if something is known of each item of a job with so many, and of no other.
    pub(crate) fn has_exactly(&self, total_count: u32) -> bool {
        usize::try_from(total_count) == Ok(self.items.len())
            && self.items.last().is_none_or(|last| last.index() < total_count)
    }

    /// Returns true if something is known of each item of a job with so many, and of others only that they are retired.
    pub(crate) fn has_no_other(&self, total_count: u32) -> bool {
        let mut beyond = self.items_from(ShardingItem::new(total_count));
        self.n_unknown(total_count) == 0 && !beyond.any(|(_, view)| view.is_surplus())
    }

    /// Counts the items below `total_count` of which nothing is known.
    pub(crate) fn n_unknown(&self, total_count: u32) -> usize {
        let beyond = self.items_from(ShardingItem::new(total_count)).count();
        (0..total_count).count() - (self.items.len() - beyond)
    }

    /// Counts the items from `first` to `last` of which nothing is known.
    pub(crate) fn n_unknown_within(&self, first: ShardingItem, last: ShardingItem) -> usize {
        (first.index()..=last.index()).count() - self.items.n_within(first..=last)
    }

    /// Returns the first and the last of the last fires of all items.
    pub(crate) fn last_fires(&self) -> Option<(FireTime, FireTime)> {
        self.items.last_fires()
    }

    /// Returns the items from this one on of which anything is known, in ascending order.
    pub(crate) fn items_from(
        &self,
        first: ShardingItem,
    ) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.items.from(first)
    }

    /// Returns true if an item is shown as waiting for somebody to take it over.
    pub(crate) fn has_queue(&self) -> bool {
        self.any_with(Attention::Queued)
    }

    /// Returns how many items an instance owns.
    pub(crate) fn count_of(&self, owner: &InstanceId) -> usize {
        self.items.n_of(owner)
    }

    /// Returns those who own items.
    pub(crate) fn owners(&self) -> impl Iterator<Item = &InstanceId> {
        self.items.owners()
    }

    /// Returns the items that belong to `me`, those that are to move to somebody else included.
    pub fn items_of<'a>(
        &'a self,
        me: &'a InstanceId,
    ) -> impl Iterator<Item = (ShardingItem, &'a ItemView)> {
        self.items.of(me)
    }

    /// Returns where the items would be if these instances were the available ones and `config` in force: by the code by
    /// which a leader of ours decides. `now_ms` is the wall time in milliseconds since 1970 UTC, which one strategy
    /// looks at. Which of the busy items would wait is not told.
    ///
    /// # Errors
    /// What is wrong with the strategy or its answer.
    pub fn assignment_for(
        &self,
        members: &[InstanceId],
        config: &JobConfig,
        strategies: &StrategyRegistry,
        now_ms: i64,
    ) -> Result<Assignment, String> {
        let mut members = members.to_vec();
        sharding::sort_descending(&mut members);
        resharding::preview(self, strategies, config, &members, now_ms)
    }

    /// Returns who an item that has yet to move shall belong to.
    #[must_use]
    pub fn next_owner(&self, item: ShardingItem) -> Option<&InstanceId> {
        self.assignment.as_ref()?.value.pending.get(item)
    }

    /// Returns true if the item belongs to `me`, or will as soon as it can move.
    pub(crate) fn is_meant_for(&self, item: ShardingItem, me: &InstanceId) -> bool {
        let owner = self.item(item).owner.as_ref().map(|owner| &owner.value);
        self.next_owner(item).or(owner) == Some(me)
    }

    /// Returns those of these items that `me` may claim: its own, except those that are to move to somebody else, and none
    /// while the assignment is for another number of items. Under a Java leader: its own, unless all are about to be
    /// assigned anew.
    pub(crate) fn claimable_by<'a>(
        &'a self,
        me: &'a InstanceId,
        items: impl Iterator<Item = (ShardingItem, &'a ItemView)>,
    ) -> impl Iterator<Item = (ShardingItem, &'a ItemView)> {
        let foreign = self.has_java_leader();
        let fits = match foreign {
            true => !self.is_java_assigning(),
            false => self.fits_config(),
        };
        let total = self.config().filter(|_| fits).map(|c| c.sharding_total_count);
        let mine = items.filter(|(_, view)| view.is_of(me));
        mine.filter(move |(item, _)| {
            let moves = !foreign && self.next_owner(*item).is_some();
            total.is_some_and(|total| item.index() < total) && !moves
        })
    }

    /// Returns those of these items whose fires `me` accounts for: its own, and those of an owner that is gone if they are
    /// to be its own.
    pub(crate) fn accounted_by<'a>(
        &'a self,
        me: &'a InstanceId,
        items: impl Iterator<Item = (ShardingItem, &'a ItemView)>,
    ) -> impl Iterator<Item = (ShardingItem, &'a ItemView)> {
        let total = self.config().map_or(0, |config| config.sharding_total_count);
        items.filter(move |(item, view)| match &view.owner {
            _ if item.index() >= total => false,
            Some(owner) if owner.value == *me => true,
            Some(owner) => !self.is_registered(&owner.value) && self.next_owner(*item) == Some(me),
            None => false,
        })
    }
}

/// Questions of the driver, which waits until the view shows a commit.
impl JobView {
    /// Returns the version that the view shows of a node that has one of these records: below any version if the node is absent.
    /// `None` if nothing waits for nodes of this kind.
    #[expect(clippy::wildcard_enum_match_arm, reason = "other nodes are written with one of these")]
    pub(crate) fn shown_version(&self, node: &NodeKind) -> Option<Option<Version>> {
        match node {
            NodeKind::Ledger(item) => Some(self.item(*item).ledger.as_ref().map(|l| l.version)),
            NodeKind::Owner(item) => Some(self.item(*item).owner.as_ref().map(|o| o.version)),
            NodeKind::Assignment => Some(self.assignment_version()),
            NodeKind::Term => Some(self.term().map(|term| term.version)),
            NodeKind::Once => Some(self.once().map(|once| once.version)),
            // The instance that left a handled request may have removed it since.
            NodeKind::TriggerRequest(id) => self.trigger_request(id).map(|r| Some(r.version)),
            _ => None,
        }
    }

    /// Returns whether the view shows a node. `None` for nodes that nothing waits for: they are written together with one of
    /// these, whose version says enough.
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
    /// Draws the view, one fact a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.config {
            ConfigState::Absent => writeln!(f, "no configuration")?,
            ConfigState::Invalid { reason, .. } => writeln!(f, "configuration unusable: {reason}")?,
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
        for (item, view) in self.items() {
            let owner = view.owner.as_ref().map_or("nobody", |owner| owner.value.as_str());
            let ledger = view.ledger.as_ref().map_or("no record".into(), |l| l.value.summary());
            let disabled = if view.disabled { ", disabled" } else { "" };
            writeln!(f, "item {item} of {owner}: {ledger}{disabled}")?;
        }
        Ok(())
    }
}
