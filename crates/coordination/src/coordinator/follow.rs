//! Following: chooses the items that this instance watches.
//!
//! An instance of a large job that only runs its own items has a narrow watch: it follows these
//! items alone. It follows all items again if it leads, if an orphaned run waits for a takeover, if
//! Java instances take part, or if it owns items that it does not follow. So every decision beyond
//! its own items is made by a view of all items.

use std::collections::BTreeSet;

use sharding::{InstanceId, ShardingItem};

use super::Coordinator;
use crate::protocol::followed::Followed;
use crate::{Command, GroupName, GroupView, JobConfig, Now, PlaceInLine};

/// Maximum number of items in a narrow watch. Each item takes a few subscriptions.
const MOST_ITEMS: u32 = 100;
/// Minimum ratio of all items to own items for a narrow watch. Below it, the watch saves too
/// little.
const LEAST_GAIN: u32 = 2;

/// Maximum ratio of followed items to own items. Above it, the instance narrows its watch again.
const MOST_WASTE: usize = 2;

impl Coordinator {
    /// Asks the driver for a narrower or wider watch, if one is due.
    pub(super) fn follow(&mut self, now: Now, out: &mut Vec<Command>) {
        let followed = self.view.followed().clone();
        // While a change of the watch is pending, another one would act on an incomplete view.
        if !self.connected || !self.view.is_synced() || followed != *self.view.follows_next() {
            return;
        }
        if self.view.is_changing_group() {
            return;
        }
        let group = self.group_to_follow();
        let next = match followed.n_items() {
            None if self.is_calm(now) => self.own_items().map(Followed::Only),
            None => None,
            Some(_) if !self.shows_enough() => Some(Followed::All),
            Some(n) if n > MOST_WASTE * self.n_own_items() => self.own_items().map(Followed::Only),
            Some(_) => None,
        };
        if next.is_some() || group.as_ref() != self.view.next_group() {
            let next = next.unwrap_or(followed);
            out.push(Command::Follow(self.layout.scope(&next, group.as_ref())));
            self.view.follow(next);
            self.view.follow_group(group);
            self.calm_since = None;
        }
    }

    /// Returns the group whose nodes this instance watches: that of the configuration. It watches
    /// the former group until the job has left the line of that group, and that of a removed job
    /// until its runs have returned their permits.
    fn group_to_follow(&self) -> Option<GroupName> {
        let config = self.view.config();
        let shown = self.view.followed_group();
        let waits = shown.and_then(|group| group.place_of(&self.identity.job));
        let is_own = |place: &PlaceInLine| self.session.is_some() && place.session == self.session;
        let holds_permit = |group: &GroupView| {
            let mut permits =
                self.local.runs.iter().filter_map(|(_, run)| run.group_permit.as_ref());
            permits.any(|permit| permit.group == *group.name())
        };
        let is_needed = |group: &&GroupView| {
            waits.is_some_and(is_own) || (config.is_none() && holds_permit(group))
        };
        match shown.filter(is_needed) {
            Some(former) => Some(former.name().clone()),
            None => config.and_then(|config| config.group.clone()),
        }
    }

    /// Returns true if a narrow watch has been sufficient for the configured time.
    fn is_calm(&mut self, now: Now) -> bool {
        if !self.is_settled() {
            self.calm_since = None;
            return false;
        }
        let since = *self.calm_since.get_or_insert(now.mono);
        since + self.settings.following.after <= now.mono
    }

    /// Returns true if this instance owns few items and the view of them is complete.
    ///
    /// No item is pending, and no nodes are left of items beyond the number of items.
    fn is_settled(&self) -> bool {
        let Some(me) = self.me.as_ref().filter(|me| self.can_watch_narrowly(me)) else {
            return false;
        };
        let Some(assignment) = self.view.assignment() else { return false };
        let record = &assignment.value;
        let Some(count) = record.counts.get(me).copied() else { return false };
        let few = count <= MOST_ITEMS && count.saturating_mul(LEAST_GAIN) <= record.total_count;
        let complete = usize::try_from(count) == Ok(self.view.count_of(me));
        few && complete && record.pending.is_empty() && self.view.has_no_other(record.total_count)
    }

    fn n_own_items(&self) -> usize {
        self.me.as_ref().map_or(0, |me| self.view.count_of(me))
    }

    /// Returns the items of this instance.
    ///
    /// `None` if a plan is in flight, or if a run or a possible claim here is of an item of another
    /// instance: a narrow watch would hide the end of that run.
    fn own_items(&self) -> Option<BTreeSet<ShardingItem>> {
        let me = self.me.as_ref()?;
        if !self.in_flight.is_empty() || !self.in_doubt.is_empty() {
            return None;
        }
        let unknown_claims = self.local.claims.unstarted.keys().copied();
        let mut busy = self.local.runs.items().chain(unknown_claims);
        if busy.any(|item| !self.view.item(item).is_of(me)) {
            return None;
        }
        Some(self.view.items_of(me).map(|(item, _)| item).collect())
    }

    /// Returns true if the watch covers every item that this instance has to know of.
    ///
    /// A narrow watch covers the own items and the pending items that will move here. The instance
    /// sees each item that it loses. So the view lacks no own item if it shows at least as many as
    /// the assignment record counts.
    pub(super) fn shows_enough(&self) -> bool {
        if self.view.followed().is_all() {
            return true;
        }
        let Some(me) = self.me.as_ref().filter(|me| self.can_watch_narrowly(me)) else {
            return false;
        };
        let Some(assignment) = self.view.assignment() else { return false };
        let record = &assignment.value;
        let comes = |item: &ShardingItem| !self.view.item(*item).is_of(me);
        let coming = || record.pending.going_to(me).filter(comes);
        let sees_coming = coming().all(|item| self.view.followed().has(item));
        let goes = |item| record.pending.get(item).is_some_and(|next| next != me);
        let n_staying = self.view.items_of(me).filter(|(item, _)| !goes(*item)).count();
        let count = record.counts.get(me).and_then(|count| usize::try_from(*count).ok());
        let as_many = count.is_some_and(|count| count <= n_staying + coming().count());
        as_many && sees_coming
    }

    /// Returns true if a narrow watch can suffice.
    ///
    /// Leading, catch-up, callbacks, the failover queue and Java instances need all items, and a
    /// narrow watch does not cover the nodes of further slots. Items of a small or unmonitored job
    /// cause few changes, so a narrow watch would save nothing.
    fn can_watch_narrowly(&self, me: &InstanceId) -> bool {
        let view = &self.view;
        let is_large = |config: &JobConfig| {
            config.sharding_total_count >= self.settings.following.own_from
                && config.catch_up.is_none()
                && config.slots() == 1
                && !view.further_slots().any(|(_, slot)| slot.is_busy())
                && config.monitor_execution
        };
        let leads = || view.leader() == Some(me) || view.term_of(me).is_some();
        let among_java = || view.has_java_leader() || view.takes_turns();
        let large = view.config().is_some_and(|config| is_large(config));
        large && !self.settings.calls_back && !leads() && !among_java() && !view.has_queue()
    }
}
