//! Placement by weights, zones, labels and pins.

mod rank;
mod shares;

use std::collections::BTreeMap;

use self::rank::{Ranks, ranks};
use self::shares::{Candidate, quotas};
use super::minimal_movement::{distinct_descending, surviving_owners};
use super::{ShardingStrategy, StrategyInput};
use crate::placement::reason::by_former_owner;
use crate::{
    Assignment, InstanceAttributes, InstanceId, PlacementReason, PlacementRules, Selector,
    ShardingItem,
};

/// `PLACEMENT`, not part of ElasticJob: shares by weight within zones, required and preferred
/// labels, pins, and as few moves as these permit.
///
/// 1. Instances that do not meet a required condition own nothing. Of the remaining ones, each
///    preference in turn leaves those that meet it, if there are any.
/// 2. Each instance gets its share of the items, by weight, rounded up or down. The share of a
///    zone is that of its instances, or the same for all zones, rounded up or down as well.
/// 3. Pinned items come first. They count towards the share of their owner, and an owner that is
///    above its share gets no further items.
/// 4. An instance keeps its lowest items. Shares are rounded so that as few items as possible
///    move. If a job has fewer items than instances, they are rounded by a hash of the job's name
///    and the instance, so that the items of many such jobs spread by weight.
///
/// The result does not depend on the order of the instances. Without attributes and rules, and
/// with at least as many items as instances, it moves as few items as
/// [`MinimalMovement`](crate::MinimalMovement).
///
/// Java instances do not know this strategy.
///
/// # Examples
///
/// ```
/// use std::collections::BTreeMap;
/// use sharding::{InstanceAttributes, Placement, ShardingStrategy, StrategyInput};
///
/// let instances = ["b".into(), "a".into()];
/// let twice = InstanceAttributes::default().with_weight(2)?;
/// let attributes = BTreeMap::from([("b".into(), twice)]);
/// let input = StrategyInput::new("report", &instances, 9).with_attributes(&attributes);
/// let assignment = Placement.assign(&input);
/// assert_eq!(assignment.items_of(&"b".into()).len(), 6);
/// # Ok::<(), sharding::InvalidPlacement>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Placement;

impl ShardingStrategy for Placement {
    fn name(&self) -> &str {
        "PLACEMENT"
    }

    fn assign(&self, input: &StrategyInput<'_>) -> Assignment {
        let instances = distinct_descending(input.instances);
        let cluster = Cluster::of(input, &instances);
        let before = surviving_owners(input, &instances);
        let mut placing = Placing {
            cluster: &cluster,
            before: &before,
            owner_of: vec![None; input.total_count as usize],
            loads: vec![0; instances.len()],
        };
        for group in cluster.groups(input.total_count) {
            placing.distribute(&group);
        }
        Assignment::from_positions(&instances, placing.owner_of.into_iter())
    }

    fn applies_rules(&self) -> bool {
        true
    }

    fn explain(&self, input: &StrategyInput<'_>, assignment: &Assignment) -> Vec<PlacementReason> {
        let instances = distinct_descending(input.instances);
        let cluster = Cluster::of(input, &instances);
        let zones = ZoneCounts { input, assignment, counts: zone_counts(input, assignment) };
        assignment.iter().map(|(item, owner)| cluster.reason(&zones, item, owner)).collect()
    }
}

/// The instances with their attributes, and the rules of the job.
struct Cluster<'a> {
    instances: &'a [&'a InstanceId],
    attributes: Vec<&'a InstanceAttributes>,
    rules: &'a PlacementRules,
    ranks: Ranks,
    job_name: &'a str,
}

/// Items that the same instances may own.
struct Group {
    items: Vec<u32>,
    /// Positions of the instances.
    candidates: Vec<u32>,
}

impl<'a> Cluster<'a> {
    fn of(input: &StrategyInput<'a>, instances: &'a [&'a InstanceId]) -> Self {
        let attributes: Vec<_> = instances.iter().map(|id| input.attributes_of(id)).collect();
        let ranks = ranks(input.job_name, instances, &attributes);
        let (rules, job_name) = (input.rules(), input.job_name);
        Self { instances, attributes, rules, ranks, job_name }
    }

    /// Returns the instances that meet the condition of a pin, all required conditions, and the
    /// preferences as far as any instance meets them.
    fn candidates(&self, pin: Option<&Selector>) -> Vec<u32> {
        let of = |position: &u32| self.attributes[*position as usize];
        let may_own = |position: &u32| {
            self.rules.unmet(of(position)).is_none()
                && pin.is_none_or(|pin| pin.matches(of(position)))
        };
        let mut candidates: Vec<u32> =
            (0_u32..).zip(self.instances).map(|(n, _)| n).filter(may_own).collect();
        for preferred in self.rules.preferred() {
            if candidates.iter().any(|position| preferred.matches(of(position))) {
                candidates.retain(|position| preferred.matches(of(position)));
            }
        }
        candidates
    }

    /// Returns the items in the order in which they are placed: those with the fewest candidates
    /// first, and all items without an effective pin last.
    fn groups(&self, total: u32) -> Vec<Group> {
        let mut pinned: BTreeMap<&Selector, Group> = BTreeMap::new();
        let mut is_pinned = vec![false; total as usize];
        for (first, last, selector) in self.rules.pins().take_while(|(first, ..)| *first < total) {
            let group = pinned.entry(selector).or_insert_with(|| Group {
                items: Vec::new(),
                candidates: self.candidates(Some(selector)),
            });
            if group.candidates.is_empty() {
                continue;
            }
            for item in first..=last.min(total - 1) {
                group.items.push(item);
                is_pinned[item as usize] = true;
            }
        }
        let mut groups: Vec<_> =
            pinned.into_values().filter(|group| !group.items.is_empty()).collect();
        groups.sort_by_key(|group| (group.candidates.len(), group.items.first().copied()));
        let free = (0..total).filter(|item| !is_pinned[*item as usize]);
        groups.push(Group { items: free.collect(), candidates: self.candidates(None) });
        groups
    }

    fn reason(
        &self,
        zones: &ZoneCounts<'_, '_>,
        item: ShardingItem,
        owner: Option<&InstanceId>,
    ) -> PlacementReason {
        let input = zones.input;
        if let (Some(pin), Some(owner)) = (self.rules.pin(item), owner) {
            let is_met = pin.matches(input.attributes_of(owner));
            let reason = if is_met { PlacementReason::Pinned } else { PlacementReason::PinUnmet };
            return reason(pin.clone());
        }
        let plain = by_former_owner(input, item, owner);
        let is_share = matches!(plain, PlacementReason::Joined | PlacementReason::Balanced);
        let former = input.previous.and_then(|previous| previous.owner(item));
        let (true, Some(former), Some(owner)) = (is_share, former, owner) else { return plain };
        let (from, to) = (input.attributes_of(former), input.attributes_of(owner));
        // The first preference that only the new owner meets has excluded the former one.
        let decisive = self.rules.preferred().iter().find(|it| it.matches(from) != it.matches(to));
        if let Some(preferred) = decisive.filter(|it| it.matches(to)) {
            return PlacementReason::Preferred(preferred.clone());
        }
        match from.zone().filter(|zone| zones.has_shrunk(zone) && to.zone() != Some(zone)) {
            Some(zone) => PlacementReason::ZoneFull(zone.to_owned()),
            None => plain,
        }
    }
}

/// Number of items of each zone before and after.
struct ZoneCounts<'i, 'a> {
    input: &'i StrategyInput<'a>,
    assignment: &'i Assignment,
    counts: BTreeMap<&'i str, (u32, u32)>,
}

impl ZoneCounts<'_, '_> {
    fn has_shrunk(&self, zone: &str) -> bool {
        // A job that shrinks has fewer items in each zone, which says nothing about shares.
        let same_total = self
            .input
            .previous
            .is_some_and(|previous| previous.total_count() <= self.assignment.total_count());
        same_total && self.counts.get(zone).is_some_and(|(before, after)| after < before)
    }
}

fn zone_counts<'i>(
    input: &'i StrategyInput<'_>,
    assignment: &'i Assignment,
) -> BTreeMap<&'i str, (u32, u32)> {
    let mut counts: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    let before = input.previous.into_iter().flat_map(Assignment::iter);
    for zone in before.filter_map(|(_, owner)| input.attributes_of(owner?).zone()) {
        counts.entry(zone).or_default().0 += 1;
    }
    for zone in assignment.iter().filter_map(|(_, owner)| input.attributes_of(owner?).zone()) {
        counts.entry(zone).or_default().1 += 1;
    }
    counts
}

/// State of the placement of one job.
struct Placing<'a> {
    cluster: &'a Cluster<'a>,
    /// Former owner of each item, if that instance still exists.
    before: &'a [Option<u32>],
    owner_of: Vec<Option<u32>>,
    /// Number of items of each instance.
    loads: Vec<u32>,
}

impl Placing<'_> {
    /// Gives the items of a group to its candidates. The loads count towards their shares.
    fn distribute(&mut self, group: &Group) {
        let former = |item: &u32| self.before[*item as usize];
        let mut held = vec![0_u32; self.loads.len()];
        for owner in group.items.iter().filter_map(former) {
            held[owner as usize] += 1;
        }
        let cluster = self.cluster;
        let candidate = |&position: &u32| {
            let (index, attributes) = (position as usize, cluster.attributes[position as usize]);
            Candidate {
                weight: attributes.weight(),
                zone: attributes.zone(),
                load: self.loads[index],
                held: held[index],
                rank: cluster.ranks.of(position),
            }
        };
        let candidates: Vec<_> = group.candidates.iter().map(candidate).collect();
        let n_items = u32::try_from(group.items.len()).expect("items are numbered by u32");
        let zone_ranks = |zone: Option<&str>| rank::zone_score(cluster.job_name, zone);
        let even = cluster.rules.has_even_zones().then_some(zone_ranks);
        let quotas = quotas(&candidates, n_items, even);
        let mut free = vec![0_u32; self.loads.len()];
        for (&position, quota) in group.candidates.iter().zip(quotas) {
            free[position as usize] = quota;
            self.loads[position as usize] += quota;
        }
        for &item in &group.items {
            let Some(owner) = self.before[item as usize] else { continue };
            if let Some(left) = free[owner as usize].checked_sub(1) {
                free[owner as usize] = left;
                self.owner_of[item as usize] = Some(owner);
            }
        }
        let mut by_rank = group.candidates.clone();
        by_rank.sort_unstable_by_key(|position| cluster.ranks.of(*position));
        let mut owners = by_rank
            .into_iter()
            .flat_map(|position| std::iter::repeat_n(position, free[position as usize] as usize));
        for &item in &group.items {
            let owner = &mut self.owner_of[item as usize];
            if owner.is_none() {
                *owner = owners.next();
            }
        }
    }
}

#[cfg(test)]
mod tests;
