//! Following: which items this instance needs to be told of.
//!
//! An instance of a large job that has nothing to do but to run its own items follows these. Whatever is out of the ordinary makes it
//! follow all again: it leads, something waits to be taken over, Java instances are there, items are its own that it does not follow. So all
//! that it decides beyond its own items it decides by a view of everything.

use std::collections::BTreeSet;

use sharding::{InstanceId, ShardingItem};

use super::Coordinator;
use crate::view::followed::Followed;
use crate::{Command, JobConfig, Now};

/// The most items that are followed one by one: each is a few subscriptions.
const MOST_ITEMS: u32 = 100;
/// An instance with more than a part of all items follows all: of that many it needs to be told anyway.
const LEAST_GAIN: u32 = 2;

/// An instance that follows more than so many times what it owns follows its own items anew.
const MOST_WASTE: usize = 2;

impl Coordinator {
    /// Tells the shell to follow something else, if that is better.
    pub(super) fn follow(&mut self, now: Now, out: &mut Vec<Command>) {
        let followed = self.view.followed();
        if !self.connected || !self.view.is_synced() || followed != self.view.follows_next() {
            return;
        }
        let next = match followed.n_items() {
            None if self.is_calm(now) => self.own_items().map(Followed::Only),
            None => None,
            Some(_) if !self.shows_enough() => Some(Followed::All),
            Some(n) if n > MOST_WASTE * self.n_own_items() => self.own_items().map(Followed::Only),
            Some(_) => None,
        };
        if let Some(next) = next {
            out.push(Command::Follow(self.layout.scope(&next)));
            self.view.follow(next);
            self.calm_since = None;
        }
    }

    /// Returns true if nothing has been out of the ordinary for long enough.
    fn is_calm(&mut self, now: Now) -> bool {
        if !self.is_settled() {
            self.calm_since = None;
            return false;
        }
        let since = *self.calm_since.get_or_insert(now.mono);
        since + self.settings.following.after <= now.mono
    }

    /// Returns true if this instance has few of the items, and nothing else to know of: nothing is on its way from one to
    /// another, and nothing is left of a job that had more.
    fn is_settled(&self) -> bool {
        let Some(me) = self.me.as_ref().filter(|me| self.is_in_order(me)) else { return false };
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

    /// Returns the items of this instance, unless something is under way here, or runs, or may have begun, that is of another item.
    fn own_items(&self) -> Option<BTreeSet<ShardingItem>> {
        let me = self.me.as_ref()?;
        let unknown_claims = self.local.maybe_claimed.keys().copied();
        let owned =
            self.local.runs.items().chain(unknown_claims).all(|item| self.view.item(item).is_of(me));
        let idle = owned && self.in_flight.is_empty() && self.in_doubt.is_empty();
        idle.then(|| self.view.items_of(me).map(|(item, _)| item).collect())
    }

    /// Returns true if the view shows all items, or all that are this instance's or will be, and there is nothing else that it has to
    /// know of. It sees each item that it loses; so it has all of them as long as it has as many as it should, or more, of which it has
    /// yet to see that they are lost.
    pub(super) fn shows_enough(&self) -> bool {
        if self.view.followed().is_all() {
            return true;
        }
        let Some(me) = self.me.as_ref().filter(|me| self.is_in_order(me)) else { return false };
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

    /// Returns true if nothing is going on for which an instance has to know of items that are not its own. Nothing is told of the
    /// items of a job that is not monitored, so that there is nothing to save.
    fn is_in_order(&self, me: &InstanceId) -> bool {
        let view = &self.view;
        let is_large = |config: &JobConfig| {
            config.sharding_total_count >= self.settings.following.own_from
                && config.catch_up.is_none()
                && config.monitor_execution
        };
        let leads = || view.leader() == Some(me) || view.term_of(me).is_some();
        let among_java = || view.has_java_leader() || view.takes_turns();
        let large = view.config().is_some_and(|config| is_large(config));
        large && !self.settings.calls_back && !leads() && !among_java() && !view.has_queue()
    }
}
