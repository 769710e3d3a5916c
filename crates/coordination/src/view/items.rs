//! What is known of a job's items, kept so that whoever looks for something to do looks at those items alone that have it: not at those
//! at rest, nor at all that run.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::ops::RangeInclusive;

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

    /// Returns true if it has a sign; then it is not at rest.
    fn has(&self, sign: Attention) -> bool {
        let ledger = self.ledger.as_ref().map(|ledger| &ledger.value);
        match sign {
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
            Attention::LastingMark => self.lasting.is_some() || self.failovering.is_some(),
        }
    }
}

/// Something by which an item may need somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Attention {
    /// It has no owner.
    Unowned,
    /// It has no record, not even one that cannot be read.
    Unrecorded,
    /// Its run was left unfinished.
    Orphaned,
    /// An operator wants a run.
    Requested,
    /// Fires were noted for it, or it is shown as having misfired.
    Misfired,
    /// It is shown as waiting to be taken over.
    Queued,
    /// Its record does not say what its node says about being disabled.
    DisablingChanged,
    /// A mark that goes with no session names who runs it, or has taken it over.
    LastingMark,
}

impl Attention {
    const ALL: [Self; 8] = [
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

/// Where an item is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Resting,
    Restless,
}

/// What an item is found by.
struct Marks {
    /// Nothing is kept of an item of which nothing is known.
    place: Option<Place>,
    owner: Option<InstanceId>,
    /// Who runs it, by its record.
    holder: Option<InstanceId>,
    settled_until: Option<FireTime>,
    signs: [bool; Attention::ALL.len()],
}

impl Marks {
    fn of(view: &ItemView) -> Self {
        let is_known = view != ItemView::NOTHING;
        let place = if view.is_at_rest() { Place::Resting } else { Place::Restless };
        let holder = view.ledger.as_ref().and_then(|ledger| ledger.value.running());
        Self {
            place: is_known.then_some(place),
            owner: view.owner.as_ref().map(|owner| owner.value.clone()),
            holder: holder.map(|run| run.holder.clone()),
            settled_until: view.settled_until(),
            signs: Attention::ALL.map(|sign| is_known && view.has(sign)),
        }
    }
}

/// Items by an instance; instances without any are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ByInstance(BTreeMap<InstanceId, BTreeSet<ShardingItem>>);

impl ByInstance {
    /// Lets an id use the memory of the one that is known, if there is one: many items name few instances.
    fn share(&self, id: &mut InstanceId) {
        if let Some((known, _)) = self.0.get_key_value(id) {
            *id = known.clone();
        }
    }

    fn relocate(&mut self, item: ShardingItem, from: Option<InstanceId>, to: Option<InstanceId>) {
        if from == to {
            return;
        }
        if let Some(from) = from
            && let Some(items) = self.0.get_mut(&from)
        {
            items.remove(&item);
            if items.is_empty() {
                self.0.remove(&from);
            }
        }
        if let Some(to) = to {
            self.0.entry(to).or_default().insert(item);
        }
        if self.0.is_empty() {
            // Emptied, it would keep room for some.
            self.0 = BTreeMap::new();
        }
    }
}

/// Some of the items, and the last fire that each has settled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Part {
    /// Boxed, because most jobs have a few items, and a map makes room for eleven at once.
    views: BTreeMap<ShardingItem, Box<ItemView>>,
    by_fire: BTreeSet<(Option<FireTime>, ShardingItem)>,
}

impl Part {
    fn get(&self, item: ShardingItem) -> Option<&ItemView> {
        self.views.get(&item).map(|view| &**view)
    }

    fn iter(&self) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.views.iter().map(|(item, view)| (*item, &**view))
    }

    fn from(&self, first: ShardingItem) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.views.range(first..).map(|(item, view)| (*item, &**view))
    }

    /// Returns those that have not settled a fire, in ascending order.
    fn unsettled(&self, fire: FireTime) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        let earlier = || self.by_fire.range(..(Some(fire), ShardingItem::new(0)));
        let items = || earlier().map(|(_, item)| *item);
        let (first, last) = (earlier().next(), earlier().next_back());
        // Mostly all have settled the same fire as their last.
        let in_order = first.map(|(fire, _)| fire) == last.map(|(fire, _)| fire);
        let sorted = || {
            let mut items: Vec<_> = items().collect();
            items.sort_unstable();
            items
        };
        let sorted = (!in_order).then(sorted).into_iter().flatten();
        let items = in_order.then(items).into_iter().flatten().chain(sorted);
        items.filter_map(|item| Some((item, self.get(item)?)))
    }
}

/// The items of which anything is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Items {
    resting: Part,
    /// Those that are not at rest.
    restless: Part,
    by_owner: ByInstance,
    /// By who runs them.
    by_holder: ByInstance,
    by_attention: BTreeSet<(Attention, ShardingItem)>,
}

impl Items {
    pub(crate) fn get(&self, item: ShardingItem) -> Option<&ItemView> {
        self.restless.get(item).or_else(|| self.resting.get(item))
    }

    pub(crate) fn len(&self) -> usize {
        self.resting.views.len() + self.restless.views.len()
    }

    pub(crate) fn last(&self) -> Option<ShardingItem> {
        let last = |part: &Part| part.views.last_key_value().map(|(item, _)| *item);
        last(&self.resting).max(last(&self.restless))
    }

    /// Returns how many items of a range something is known of.
    pub(crate) fn n_within(&self, items: RangeInclusive<ShardingItem>) -> usize {
        let count = |part: &Part| part.views.range(items.clone()).count();
        count(&self.resting) + count(&self.restless)
    }

    /// Returns the first and the last of the last fires of all items. An item at rest has settled no fire beyond its last one,
    /// because none is noted for it.
    pub(crate) fn last_fires(&self) -> Option<(FireTime, FireTime)> {
        let ever = (Some(FireTime(i64::MIN)), ShardingItem::new(0));
        let mut resting = self.resting.by_fire.range(ever..).filter_map(|(fire, _)| *fire);
        let resting = resting.next().into_iter().chain(resting.next_back());
        let restless =
            self.restless().filter_map(|(_, view)| view.ledger.as_ref()?.value.last_fire);
        let fires = resting.chain(restless).map(|fire| (fire, fire));
        fires.reduce(|(first, last), (fire, _)| (first.min(fire), last.max(fire)))
    }

    /// Returns the items from this one on, in ascending order.
    pub(crate) fn from(
        &self,
        first: ShardingItem,
    ) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        merged(self.resting.from(first), self.restless.from(first))
    }

    /// Returns the items that are not at rest, in ascending order.
    pub(crate) fn restless(&self) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.restless.iter()
    }

    /// Returns the items that have not settled a fire, in ascending order.
    pub(crate) fn unsettled(
        &self,
        fire: FireTime,
    ) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        merged(self.resting.unsettled(fire), self.restless.unsettled(fire))
    }

    /// Returns those of them that are not at rest.
    pub(crate) fn restless_unsettled(
        &self,
        fire: FireTime,
    ) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.restless.unsettled(fire)
    }

    /// Returns the items that have a sign, in ascending order.
    pub(crate) fn with(&self, sign: Attention) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        let (first, last) = (ShardingItem::new(0), ShardingItem::new(u32::MAX));
        let items = self.by_attention.range((sign, first)..=(sign, last));
        items.filter_map(|(_, item)| Some((*item, self.get(*item)?)))
    }

    /// Returns true if an item has a sign.
    pub(crate) fn any_with(&self, sign: Attention) -> bool {
        self.with(sign).next().is_some()
    }

    /// Returns the items of an owner, in ascending order.
    pub(crate) fn of(&self, owner: &InstanceId) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        let items = self.by_owner.0.get(owner).into_iter().flatten();
        items.filter_map(|item| Some((*item, self.get(*item)?)))
    }

    /// Returns how many items an instance owns.
    pub(crate) fn n_of(&self, owner: &InstanceId) -> usize {
        self.by_owner.0.get(owner).map_or(0, BTreeSet::len)
    }

    /// Returns those who own items.
    pub(crate) fn owners(&self) -> impl Iterator<Item = &InstanceId> {
        self.by_owner.0.keys()
    }

    /// Returns those who run items, by the items' records, with what they run.
    pub(crate) fn holders(&self) -> impl Iterator<Item = (&InstanceId, &BTreeSet<ShardingItem>)> {
        self.by_holder.0.iter()
    }

    /// Changes an item, and forgets it once nothing is known of it any more.
    pub(crate) fn change(&mut self, item: ShardingItem, change: impl FnOnce(&mut ItemView)) {
        let known = self.restless.views.remove(&item).or_else(|| self.resting.views.remove(&item));
        let mut view = known.unwrap_or_default();
        let before = Marks::of(&view);
        change(&mut view);
        if let Some(owner) = &mut view.owner {
            self.by_owner.share(&mut owner.value);
        }
        let after = Marks::of(&view);
        if let Some(place) = after.place {
            self.part(place).views.insert(item, view);
        }
        self.note(item, before, after);
    }

    fn part(&mut self, place: Place) -> &mut Part {
        match place {
            Place::Resting => &mut self.resting,
            Place::Restless => &mut self.restless,
        }
    }

    /// Notes by what an item is found from now on.
    fn note(&mut self, item: ShardingItem, before: Marks, after: Marks) {
        if (before.place, before.settled_until) != (after.place, after.settled_until) {
            if let Some(place) = before.place {
                let part = self.part(place);
                part.by_fire.remove(&(before.settled_until, item));
                if part.views.is_empty() {
                    // Emptied, it would keep room for some.
                    *part = Part::default();
                }
            }
            if let Some(place) = after.place {
                self.part(place).by_fire.insert((after.settled_until, item));
            }
        }
        let signs = before.signs.into_iter().zip(after.signs);
        for (sign, (had, has)) in Attention::ALL.into_iter().zip(signs) {
            if has && !had {
                self.by_attention.insert((sign, item));
            } else if had && !has {
                self.by_attention.remove(&(sign, item));
            }
        }
        if self.by_attention.is_empty() {
            self.by_attention = BTreeSet::new();
        }
        self.by_owner.relocate(item, before.owner, after.owner);
        self.by_holder.relocate(item, before.holder, after.holder);
    }
}

/// Makes one of two ascending sequences of different items.
pub(crate) fn merged<T>(
    one: impl Iterator<Item = (ShardingItem, T)>,
    other: impl Iterator<Item = (ShardingItem, T)>,
) -> impl Iterator<Item = (ShardingItem, T)> {
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
    use crate::{Claimant, ManualRequest};

    /// What happens to an item.
    #[derive(Clone, Copy, Debug)]
    enum Act {
        Own(u8),
        Leave,
        Settle(i64),
        NoRecord,
        Begin(u8),
        Orphan,
        Ask,
        Disable(bool),
        Mark(bool),
        Queue(bool),
        Misfire(bool),
        Name(bool),
        FailOver(bool),
        Damage,
        Retire,
    }

    fn acts() -> impl Strategy<Value = Vec<(u32, Act)>> {
        let act = prop_oneof![
            (0..3_u8).prop_map(Act::Own),
            Just(Act::Leave),
            (1..4_i64).prop_map(Act::Settle),
            Just(Act::NoRecord),
            (0..3_u8).prop_map(Act::Begin),
            Just(Act::Orphan),
            Just(Act::Ask),
            any::<bool>().prop_map(Act::Disable),
            any::<bool>().prop_map(Act::Mark),
            any::<bool>().prop_map(Act::Queue),
            any::<bool>().prop_map(Act::Misfire),
            any::<bool>().prop_map(Act::Name),
            any::<bool>().prop_map(Act::FailOver),
            Just(Act::Damage),
            Just(Act::Retire),
        ];
        vec((0..5_u32, act), 0..60)
    }

    fn instance(n: u8) -> InstanceId {
        InstanceId::new(format!("instance-{n}"))
    }

    fn write(view: &mut ItemView, next: impl FnOnce(&Ledger) -> Option<Ledger>) {
        if let Some(ledger) = &mut view.ledger
            && let Some(next) = next(&ledger.value)
        {
            ledger.value = next;
        }
    }

    fn apply(view: &mut ItemView, act: Act) {
        let version = Version(0);
        match act {
            Act::Own(n) => {
                view.owner = Some(Versioned { value: instance(n), version });
            }
            Act::Leave => view.owner = None,
            Act::Settle(fire) => {
                let value = Ledger::new(Some(FireTime(fire)));
                (view.ledger, view.unreadable) = (Some(Versioned { value, version }), false);
            }
            Act::NoRecord => (view.ledger, view.unreadable) = (None, false),
            Act::Damage => (view.ledger, view.unreadable) = (None, true),
            Act::Retire => write(view, Ledger::retire),
            Act::Begin(n) => {
                let by = Claimant { holder: instance(n), config: version, now_ms: 0 };
                write(view, |ledger| ledger.claim(&by, FireTime(3), None));
            }
            Act::Orphan => write(view, Ledger::orphan),
            Act::Ask => {
                let request = ManualRequest { id: "r".into(), at: FireTime(9), parameter: None };
                write(view, |ledger| ledger.with_request(request));
            }
            Act::Disable(disabled) => view.disabled = disabled,
            Act::Mark(running) => view.running = running,
            Act::Queue(queued) => view.queued = queued,
            Act::Misfire(misfire) => view.misfire = misfire,
            Act::Name(named) => view.lasting = named.then(|| instance(0)),
            Act::FailOver(named) => view.failovering = named.then(|| instance(1)),
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
                    let restless = all().filter(|(_, view)| unsettled(view) && !view.is_at_rest());
                    prop_assert!(items.restless_unsettled(fire).eq(restless), "{fire}");
                }
                let owners: BTreeSet<_> =
                    plain.values().filter_map(|v| Some(&v.owner.as_ref()?.value)).collect();
                for owner in &owners {
                    let owned = || all().filter(|(_, view)| view.is_of(owner));
                    prop_assert!(items.of(owner).eq(owned()), "{owner}");
                    prop_assert_eq!(items.n_of(owner), owned().count());
                }
                prop_assert!(items.owners().eq(owners));
                let mut holders: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
                for (item, view) in all() {
                    if let Some(run) = view.ledger.as_ref().and_then(|l| l.value.running()) {
                        holders.entry(&run.holder).or_default().insert(item);
                    }
                }
                prop_assert!(items.holders().eq(holders.iter().map(|(id, items)| (*id, items))));
                for sign in Attention::ALL {
                    let having = || all().filter(|(_, view)| view.has(sign));
                    prop_assert!(items.with(sign).eq(having()), "{sign:?}");
                    prop_assert_eq!(items.any_with(sign), having().next().is_some(), "{:?}", sign);
                }
                prop_assert_eq!((items.len(), items.last()), (plain.len(), plain.keys().last().copied()));
                let fires = || plain.values().filter_map(|v| v.ledger.as_ref()?.value.last_fire);
                prop_assert_eq!(items.last_fires(), fires().min().zip(fires().max()));
                let some = ShardingItem::new(1)..=ShardingItem::new(3);
                prop_assert_eq!(items.n_within(some.clone()), plain.range(some).count());
                prop_assert_eq!(items.get(item), plain.get(&item));
            }
        }
    }

    #[test]
    fn signs_say_what_an_item_needs_somebody_for() {
        let idle = || ItemView {
            owner: Some(Versioned { value: instance(0), version: Version(0) }),
            ledger: Some(Versioned { value: Ledger::new(None), version: Version(0) }),
            ..ItemView::default()
        };
        let after = |acts: &[Act]| {
            let mut view = idle();
            acts.iter().for_each(|act| apply(&mut view, *act));
            view
        };
        let rows = [
            (vec![], vec![]),
            (vec![Act::Mark(true)], vec![]),
            (vec![Act::Begin(1)], vec![]),
            (vec![Act::Leave], vec![Attention::Unowned]),
            (vec![Act::NoRecord], vec![Attention::Unrecorded]),
            (vec![Act::Damage], vec![]),
            (vec![Act::Begin(1), Act::Orphan], vec![Attention::Orphaned]),
            (vec![Act::Ask], vec![Attention::Requested]),
            (vec![Act::Misfire(true)], vec![Attention::Misfired]),
            (vec![Act::Queue(true)], vec![Attention::Queued]),
            (vec![Act::Disable(true)], vec![Attention::DisablingChanged]),
            (vec![Act::Name(true)], vec![Attention::LastingMark]),
            (vec![Act::FailOver(true)], vec![Attention::LastingMark]),
            (vec![Act::Retire, Act::Leave], vec![Attention::Unowned]),
        ];
        for (acts, expected) in rows {
            let view = after(&acts);
            let signs: Vec<_> = Attention::ALL.into_iter().filter(|sign| view.has(*sign)).collect();
            assert_eq!(signs, expected, "{acts:?}");
        }
    }
}
