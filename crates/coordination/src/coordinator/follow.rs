//! Following: which items this instance needs to be told of.
//!
//! An instance of a large job that has nothing to do but to run its own items follows these. Whatever is out of the ordinary makes it
//! follow all again: it leads, something waits to be taken over, Java instances are there, items are its own that it does not follow. So all
//! that it decides beyond its own items it decides by a view of everything.

use std::collections::BTreeSet;
use std::time::Duration;

use sharding::{InstanceId, ShardingItem};

use super::Coordinator;
use crate::followed::Followed;
use crate::local::Phase;
use crate::{Command, Now};

/// The most items that are followed one by one: each is a few subscriptions.
const MOST_ITEMS: u32 = 100;
/// An instance with more than a part of all items follows all: of that many it needs to be told anyway.
const LEAST_GAIN: u32 = 2;
/// How long an instance follows all before it follows less: one thing that is out of the ordinary leads to another, and each
/// beginning costs a snapshot.
const CALM: Duration = Duration::from_secs(5);

impl Coordinator {
    /// Tells the shell to follow something else, if that is better.
    pub(super) fn follow(&mut self, now: Now, out: &mut Vec<Command>) {
        if !self.connected || !self.view.is_synced() || self.view.followed() != &self.following {
            return;
        }
        let next = match &self.following {
            Followed::All if *self.wide_since.get_or_insert(now.mono) + CALM > now.mono => None,
            Followed::All => self.few_items().map(Followed::Only),
            Followed::Only(items) => (!self.needs_no_more_than(items)).then_some(Followed::All),
        };
        if let Some(next) = next {
            out.push(Command::Follow(self.layout.scope(&next)));
            self.view.follow(next.clone());
            self.following = next;
            self.wide_since = None;
        }
    }

    /// Returns the items that this instance can do with, if they are few and all is in order.
    fn few_items(&self) -> Option<BTreeSet<ShardingItem>> {
        let me = self.me.as_ref()?;
        let record = &self.view.assignment()?.value;
        let count = *record.counts.get(me)?;
        let few = count <= MOST_ITEMS && count.saturating_mul(LEAST_GAIN) <= record.total_count;
        let complete = usize::try_from(count) == Ok(self.view.count_of(me));
        // Nothing is on its way from one to another, and nothing is left of a job that had more.
        let settled = record.pending.is_empty() && self.view.has_exactly(record.total_count);
        let idle =
            self.in_flight.is_empty() && self.unsure.is_empty() && self.is_idle_elsewhere(me);
        let all = few && complete && settled && idle && self.is_in_order(me);
        all.then(|| self.view.items_of(me).map(|(item, _)| item).collect())
    }

    /// Returns true if all that this instance needs to know of is within these items.
    fn needs_no_more_than(&self, items: &BTreeSet<ShardingItem>) -> bool {
        let Some(me) = self.me.as_ref().filter(|me| self.is_in_order(me)) else { return false };
        let Some(assignment) = self.view.assignment() else { return false };
        let record = &assignment.value;
        let mut coming =
            record.pending.iter().filter(|(_, next)| *next == me).map(|(item, _)| *item);
        let n_coming = coming.clone().filter(|item| !self.view.item(*item).is_of(me)).count();
        let goes = |item| self.view.next_owner(item).is_some_and(|next| next != me);
        let n_stay = self.view.items_of(me).filter(|(item, _)| !goes(*item)).count();
        let count = record.counts.get(me).and_then(|count| usize::try_from(*count).ok());
        count == Some(n_stay + n_coming) && coming.all(|item| items.contains(&item))
    }

    /// Returns true if nothing is going on for which an instance would have to know of items that are not its own.
    fn is_in_order(&self, me: &InstanceId) -> bool {
        let view = &self.view;
        let config = view.config().filter(|_| view.has_usable_config() && view.fits_config());
        let large = config.is_some_and(|config| {
            config.sharding_total_count >= self.settings.narrow_from && config.catch_up.is_none()
        });
        let member =
            self.local.phase == Phase::Active && self.is_available() && !self.settings.calls_back;
        let led_by_others =
            view.leader().is_none_or(|leader| leader != me) && view.term_of(me).is_none();
        let alone = !view.takes_turns() && !view.has_foreign_leader();
        large && member && led_by_others && alone && !view.has_queue()
    }

    /// Returns true if all runs here, and all that may have begun here, are of items that this instance owns.
    fn is_idle_elsewhere(&self, me: &InstanceId) -> bool {
        let running = self.local.runs.keys();
        let doubted = self.local.maybe_claimed.keys();
        running.chain(doubted).all(|item| self.view.item(*item).is_of(me))
    }
}
