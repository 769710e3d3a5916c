//! What is known of a job's items, kept so that nobody who looks for something to do has to look at those that are at rest.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use reg_center::{Revision, SessionId};
use sharding::{InstanceId, ShardingItem};

use crate::view::Versioned;
use crate::{FireTime, Ledger, LedgerState};

/// What is known of one sharding item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemView {
    /// Who owns it.
    pub owner: Option<Versioned<InstanceId>>,
    /// Its record.
    pub ledger: Option<Versioned<Ledger>>,
    /// Its record cannot be read; nothing is done with the item until it is repaired.
    pub unreadable: bool,
    /// It is shown as running.
    pub running: bool,
    /// Who that mark names, if it does not go with a session.
    pub lasting: Option<InstanceId>,
    /// The session of who runs it lives, where the other mark does not tell.
    pub alive: bool,
    /// When the mark of its run was made.
    pub marked_at: Option<Revision>,
    /// The session that the mark of its run goes with, if it does.
    pub marked_by: Option<SessionId>,
    /// Who it is shown as taken over by, by a mark that does not go with a session.
    pub failovering: Option<InstanceId>,
    /// It is shown as having misfired.
    pub misfire: bool,
    /// Who it is shown as taken over by, by a mark that goes with that one's session.
    pub failover: Option<InstanceId>,
    /// It is shown as waiting for somebody to take it over.
    pub queued: bool,
    /// An operator wants it not to run.
    pub disabled: bool,
}

impl ItemView {
    pub(crate) const NOTHING: &'static Self = &Self {
        owner: None,
        ledger: None,
        unreadable: false,
        running: false,
        lasting: None,
        alive: false,
        marked_at: None,
        marked_by: None,
        failovering: None,
        misfire: false,
        failover: None,
        queued: false,
        disabled: false,
    };

    /// Returns true if an operator wants the item not to run, whether or not its record says so yet.
    #[must_use]
    pub fn is_disabled(&self) -> bool {
        self.disabled || self.ledger.as_ref().is_some_and(|ledger| ledger.value.disabled)
    }

    /// Returns true if something is left of it that a job without this item does not need: an owner, or a record that is not retired.
    #[must_use]
    pub fn is_surplus(&self) -> bool {
        let retired = |ledger: &Ledger| ledger.state == LedgerState::Retired;
        self.owner.is_some() || self.ledger.as_ref().is_some_and(|ledger| !retired(&ledger.value))
    }

    pub(crate) fn is_of(&self, instance: &InstanceId) -> bool {
        self.owner.as_ref().is_some_and(|owner| owner.value == *instance)
    }

    /// Returns true if nobody has anything to do at the item before the next fire, or before it moves: it has an owner and an idle
    /// record, and nothing is shown, noted, asked for or disabled.
    fn is_at_rest(&self) -> bool {
        let Self { owner, ledger, unreadable, running, lasting, alive, marked_at, .. } = self;
        let Self { marked_by, failovering, misfire, failover, queued, disabled, .. } = self;
        let shown = *running || *alive || *misfire || *queued || *disabled;
        let named = lasting.is_some() || failovering.is_some() || failover.is_some();
        let marked = marked_at.is_some() || marked_by.is_some();
        let at_rest = ledger.as_ref().is_some_and(|ledger| ledger.value.is_at_rest());
        owner.is_some() && at_rest && !(*unreadable || shown || named || marked)
    }

    /// Returns true if a run holds the item, or waits to be taken over, or somebody unknown shows it as running, or
    /// nobody can tell.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        match &self.ledger {
            _ if self.unreadable => true,
            Some(ledger) => ledger.value.is_busy() || (self.running && ledger.value.is_idle()),
            None => self.running,
        }
    }

    fn settled_until(&self) -> Option<FireTime> {
        self.ledger.as_ref()?.value.settled_until()
    }
}

/// The items of which anything is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Items {
    /// Boxed, because most jobs have a few items, and a map makes room for eleven at once.
    resting: BTreeMap<ShardingItem, Box<ItemView>>,
    /// Those that are not at rest.
    restless: BTreeMap<ShardingItem, Box<ItemView>>,
    /// Those that are, by the last fire that they have settled.
    settled: BTreeSet<(Option<FireTime>, ShardingItem)>,
    /// How many items each owner has.
    owners: BTreeMap<InstanceId, usize>,
}

impl Items {
    pub(crate) fn get(&self, item: ShardingItem) -> Option<&ItemView> {
        self.restless.get(&item).or_else(|| self.resting.get(&item)).map(|view| &**view)
    }

    pub(crate) fn len(&self) -> usize {
        self.resting.len() + self.restless.len()
    }

    pub(crate) fn last(&self) -> Option<ShardingItem> {
        let resting = self.resting.last_key_value().map(|(item, _)| *item);
        resting.max(self.restless.last_key_value().map(|(item, _)| *item))
    }

    /// Returns the items from this one on, in ascending order.
    pub(crate) fn from(
        &self,
        first: ShardingItem,
    ) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        merged(
            self.resting.range(first..).map(|(item, view)| (*item, &**view)),
            self.restless.range(first..).map(|(item, view)| (*item, &**view)),
        )
    }

    /// Returns the items that are not at rest, in ascending order.
    pub(crate) fn restless(&self) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.restless.iter().map(|(item, view)| (*item, &**view))
    }

    pub(crate) fn is_restless(&self, item: ShardingItem) -> bool {
        self.restless.contains_key(&item)
    }

    /// Returns the items that still need something for this fire, as far as their records tell, in ascending order.
    pub(crate) fn unsettled(
        &self,
        fire: FireTime,
    ) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        let earlier = self.settled.range(..(Some(fire), ShardingItem::new(0)));
        let mut resting: Vec<ShardingItem> = earlier.map(|(_, item)| *item).collect();
        resting.sort_unstable();
        let resting =
            resting.into_iter().filter_map(|item| Some((item, &**self.resting.get(&item)?)));
        let restless = self.restless().filter(move |(_, view)| view.settled_until() < Some(fire));
        merged(resting, restless)
    }

    /// Returns how many items an instance owns.
    pub(crate) fn count_of(&self, owner: &InstanceId) -> usize {
        self.owners.get(owner).copied().unwrap_or_default()
    }

    /// Returns those who own items.
    pub(crate) fn owners(&self) -> impl Iterator<Item = &InstanceId> {
        self.owners.keys()
    }

    /// Changes an item, and forgets it once nothing is known of it any more.
    pub(crate) fn change(&mut self, item: ShardingItem, change: impl FnOnce(&mut ItemView)) {
        let view = self.restless.entry(item).or_insert_with(|| {
            let view = self.resting.remove(&item).unwrap_or_default();
            self.settled.remove(&(view.settled_until(), item));
            view
        });
        let former = view.owner.as_ref().map(|owner| owner.value.clone());
        change(view);
        let owner = view.owner.as_ref().map(|owner| owner.value.clone());
        if **view == *ItemView::NOTHING {
            self.restless.remove(&item);
        } else if view.is_at_rest() {
            self.settled.insert((view.settled_until(), item));
            self.resting.extend(self.restless.remove_entry(&item));
        }
        if owner != former {
            self.count_owner(former, owner);
        }
    }

    fn count_owner(&mut self, former: Option<InstanceId>, owner: Option<InstanceId>) {
        if let Some(former) = former
            && let Some(count) = self.owners.get_mut(&former)
        {
            *count -= 1;
            if *count == 0 {
                self.owners.remove(&former);
            }
        }
        if let Some(owner) = owner {
            *self.owners.entry(owner).or_default() += 1;
        }
    }
}

/// Makes one of two ascending sequences of different items.
fn merged<'a>(
    one: impl Iterator<Item = (ShardingItem, &'a ItemView)>,
    other: impl Iterator<Item = (ShardingItem, &'a ItemView)>,
) -> impl Iterator<Item = (ShardingItem, &'a ItemView)> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some((first, _)), Some((second, _))) if second < first => other.next(),
        (Some(_), _) => one.next(),
        (None, _) => other.next(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use reg_center::Version;

    use super::*;

    /// What happens to an item.
    #[derive(Clone, Copy, Debug)]
    enum Act {
        Own(u8),
        Leave,
        Settle(i64),
        NoRecord,
        Mark(bool),
    }

    fn acts() -> impl Strategy<Value = Vec<(u32, Act)>> {
        let act = prop_oneof![
            (0..3_u8).prop_map(Act::Own),
            Just(Act::Leave),
            (1..4_i64).prop_map(Act::Settle),
            Just(Act::NoRecord),
            any::<bool>().prop_map(Act::Mark),
        ];
        vec((0..5_u32, act), 0..60)
    }

    fn apply(view: &mut ItemView, act: Act) {
        let version = Version(0);
        match act {
            Act::Own(n) => {
                let value = InstanceId::new(format!("instance-{n}"));
                view.owner = Some(Versioned { value, version });
            }
            Act::Leave => view.owner = None,
            Act::Settle(fire) => {
                let value = Ledger::new(Some(FireTime(fire)));
                view.ledger = Some(Versioned { value, version });
            }
            Act::NoRecord => view.ledger = None,
            Act::Mark(running) => view.running = running,
        }
    }

    proptest! {
        /// Whatever happens, all is found that a look at every item would find.
        #[test]
        fn what_is_kept_apart_is_found_again(acts in acts()) {
            let (mut items, mut plain) = (Items::default(), BTreeMap::new());
            for (index, act) in acts {
                let item = ShardingItem::new(index);
                items.change(item, |view| apply(view, act));
                let view: &mut ItemView = plain.entry(item).or_default();
                apply(view, act);
                plain.retain(|_, view| *view != ItemView::default());
                let all = || plain.iter().map(|(item, view)| (*item, view));
                prop_assert!(items.from(ShardingItem::new(0)).eq(all()));
                prop_assert!(items.from(item).eq(plain.range(item..).map(|(i, v)| (*i, v))));
                prop_assert!(items.restless().eq(all().filter(|(_, view)| !view.is_at_rest())));
                for fire in (0..5).map(FireTime) {
                    let unsettled = |view: &ItemView| match &view.ledger {
                        Some(ledger) => !ledger.value.has_settled(fire),
                        None => true,
                    };
                    let due = all().filter(|(_, view)| unsettled(view));
                    prop_assert!(items.unsettled(fire).eq(due), "{fire}");
                }
                let owners: BTreeSet<_> =
                    plain.values().filter_map(|v| Some(&v.owner.as_ref()?.value)).collect();
                prop_assert!(items.owners().eq(owners));
                prop_assert_eq!((items.len(), items.last()), (plain.len(), plain.keys().last().copied()));
                prop_assert_eq!(items.get(item), plain.get(&item));
            }
        }
    }
}
