//! Following: which items this instance needs to be told of.
//!
//! An instance of a large job that has nothing to do but to run its own items follows these. Whatever is out of the ordinary makes it
//! follow all again: it leads, something waits to be taken over, Java instances are there, items are its own that it does not follow. So all
//! that it decides beyond its own items it decides by a view of everything.

use std::collections::BTreeSet;

use sharding::{InstanceId, ShardingItem};

use super::Coordinator;
use crate::followed::Followed;
use crate::mutant::{self, Mutant};
use crate::{Command, Now};

/// The most items that are followed one by one: each is a few subscriptions.
const MOST_ITEMS: u32 = 100;
/// An instance with more than a part of all items follows all: of that many it needs to be told anyway.
const LEAST_GAIN: u32 = 2;

impl Coordinator {
    /// Tells the shell to follow something else, if that is better.
    pub(super) fn follow(&mut self, now: Now, out: &mut Vec<Command>) {
        if !self.connected || !self.view.is_synced() || self.view.followed() != &self.told_to_follow
        {
            return;
        }
        let next = if self.told_to_follow.is_all() {
            let calm = self.is_calm(now);
            calm.then(|| self.few_items()).flatten().map(Followed::Only)
        } else {
            (!self.has_all_it_needs()).then_some(Followed::All)
        };
        if let Some(next) = next {
            out.push(Command::Follow(self.layout.scope(&next)));
            self.view.follow(next.clone());
            self.told_to_follow = next;
            self.calm_since = None;
        }
    }

    /// Returns true if nothing has been out of the ordinary for long enough.
    fn is_calm(&mut self, now: Now) -> bool {
        if !self.me.as_ref().is_some_and(|me| self.is_in_order(me)) {
            self.calm_since = None;
            return false;
        }
        let since = *self.calm_since.get_or_insert(now.mono);
        since + self.settings.following.after <= now.mono || mutant::is(Mutant::NarrowedAtOnce)
    }

    /// Returns the items of this instance, if they are few and nothing is under way.
    fn few_items(&self) -> Option<BTreeSet<ShardingItem>> {
        let me = self.me.as_ref()?;
        let record = &self.view.assignment()?.value;
        let count = *record.counts.get(me)?;
        let few = count <= MOST_ITEMS && count.saturating_mul(LEAST_GAIN) <= record.total_count;
        let complete = usize::try_from(count) == Ok(self.view.count_of(me));
        // Nothing is on its way from one to another, and nothing is left of a job that had more.
        let settled = record.pending.is_empty() && self.view.has_exactly(record.total_count);
        let all = few && complete && settled && self.is_idle();
        all.then(|| self.view.items_of(me).map(|(item, _)| item).collect())
    }

    /// Returns true if all items that are this instance's, or will be, are among those that it follows, and there is nothing else that
    /// it has to know of. It sees each item that it loses; so it has all of them as long as it has as many as it should.
    fn has_all_it_needs(&self) -> bool {
        let Some(me) = self.me.as_ref().filter(|me| self.is_in_order(me)) else { return false };
        let Some(assignment) = self.view.assignment() else { return false };
        let record = &assignment.value;
        let comes = |(item, next): &(&ShardingItem, &InstanceId)| {
            *next == me && !self.view.item(**item).is_of(me)
        };
        let goes = |item| record.pending.get(&item).is_some_and(|next| next != me);
        let n_coming = record.pending.iter().filter(comes).count();
        let n_staying = self.view.items_of(me).filter(|(item, _)| !goes(*item)).count();
        let count = record.counts.get(me).and_then(|count| usize::try_from(*count).ok());
        count == Some(n_staying + n_coming) || mutant::is(Mutant::CountsIgnored)
    }

    /// Returns true if nothing is going on for which an instance has to know of items that are not its own.
    fn is_in_order(&self, me: &InstanceId) -> bool {
        let view = &self.view;
        let large = view.config().is_some_and(|config| {
            config.sharding_total_count >= self.settings.following.own_from
                && config.catch_up.is_none()
        });
        let leads = view.leader() == Some(me) || view.term_of(me).is_some();
        let leads = leads && !mutant::is(Mutant::LedByAPart);
        let among_java = view.takes_turns() || view.has_foreign_leader();
        let among_java = among_java && !mutant::is(Mutant::JavaUnfollowed);
        let queue = view.has_queue() && !mutant::is(Mutant::QueueUnfollowed);
        large && !self.settings.calls_back && !leads && !among_java && !queue
    }

    /// Returns true if nothing is under way here, and all that runs here, or may have begun here, is of items that this instance owns.
    fn is_idle(&self) -> bool {
        let owned = |item: &ShardingItem| {
            self.me.as_ref().is_some_and(|me| self.view.item(*item).is_of(me))
        };
        let doubted = self.local.maybe_claimed.keys();
        let known = self.local.runs.keys().chain(doubted).all(owned);
        known && self.in_flight.is_empty() && self.unsure.is_empty()
    }
}
