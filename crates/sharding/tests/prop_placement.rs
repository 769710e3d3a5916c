//! `PLACEMENT` against exhaustive search, and its laws.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use sharding::{
    Assignment, InstanceAttributes, InstanceId, MinimalMovement, Placement, PlacementRules,
    ShardingItem, ShardingStrategy, StrategyInput,
};

use crate::cluster::clusters;

/// An input with attributes and rules.
#[derive(Clone, Debug)]
struct Cluster {
    job_name: String,
    instances: Vec<InstanceId>,
    attributes: BTreeMap<InstanceId, InstanceAttributes>,
    rules: PlacementRules,
    previous: Assignment,
    total: u32,
}

impl Cluster {
    fn input(&self) -> StrategyInput<'_> {
        StrategyInput::new(&self.job_name, &self.instances, self.total)
            .with_previous(&self.previous)
            .with_attributes(&self.attributes)
            .with_rules(&self.rules)
    }

    fn place(&self) -> Assignment {
        Placement.assign(&self.input())
    }

    fn attributes_of(&self, id: &InstanceId) -> &InstanceAttributes {
        self.input().attributes_of(id)
    }

    /// Returns the same cluster after its items were placed.
    fn settled(self) -> Self {
        Self { previous: self.place(), ..self }
    }

    fn zone(&self, instance: usize) -> Option<&str> {
        self.attributes_of(&self.instances[instance]).zone()
    }

    /// Returns the share of an instance as numerator and denominator.
    fn share(&self, instance: usize) -> (u64, u64) {
        let weight = |n: usize| u64::from(self.attributes_of(&self.instances[n]).weight());
        let total = u64::from(self.total);
        let all = 0..self.instances.len();
        if !self.rules.has_even_zones() {
            return (total * weight(instance), all.map(weight).sum());
        }
        let zone = self.zone(instance);
        let of_zone = all.clone().filter(|n| self.zone(*n) == zone).map(weight).sum::<u64>();
        let mut zones: Vec<_> = all.map(|n| self.zone(n)).collect();
        zones.sort_unstable();
        zones.dedup();
        (total * weight(instance), of_zone * zones.len() as u64)
    }

    /// Returns true if the loads of all instances and of all zones are their shares, rounded up or
    /// down.
    fn has_shares(&self, loads: &[u64]) -> bool {
        let mut zones: BTreeMap<_, (u64, Vec<(u64, u64)>)> = BTreeMap::new();
        for (instance, &load) in loads.iter().enumerate() {
            let share = self.share(instance);
            if !is_rounded(load, share) {
                return false;
            }
            let zone = zones.entry(self.zone(instance)).or_default();
            zone.0 += load;
            zone.1.push(share);
        }
        zones.values().all(|(load, shares)| {
            // The instances of a zone have the same denominator.
            let denominator = shares[0].1;
            is_rounded(*load, (shares.iter().map(|share| share.0).sum(), denominator))
        })
    }

    fn loads(&self, assignment: &Assignment) -> Vec<u64> {
        let load = |id| assignment.items_of(id).len() as u64;
        self.instances.iter().map(load).collect()
    }

    /// Returns the number of items that move at least, among all assignments with these shares.
    fn fewest_moves(&self) -> usize {
        let count = self.instances.len();
        let before: Vec<_> = (0..self.total)
            .map(|item| {
                let owner = self.previous.owner(ShardingItem::new(item))?;
                self.instances.iter().position(|id| id == owner)
            })
            .collect();
        let digits = |number: usize| -> Vec<usize> {
            let rest = std::iter::successors(Some(number), |rest| Some(rest / count));
            rest.map(|rest| rest % count).take(self.total as usize).collect()
        };
        (0..count.pow(self.total))
            .map(digits)
            .filter(|owners| {
                let load = |n| owners.iter().filter(|&&owner| owner == n).count() as u64;
                self.has_shares(&(0..count).map(load).collect::<Vec<_>>())
            })
            .map(|owners| {
                owners.iter().zip(&before).filter(|&(to, from)| Some(*to) != *from).count()
            })
            .min()
            .expect("shares can always be rounded")
    }

    fn moved(&self, after: &Assignment) -> usize {
        let owner = |item| self.previous.owner(ShardingItem::new(item)).cloned();
        let before = Assignment::from_owners((0..self.total).map(owner));
        after.moves_from(&before).len()
    }
}

fn is_rounded(load: u64, (numerator, denominator): (u64, u64)) -> bool {
    load == numerator / denominator || load == numerator.div_ceil(denominator)
}

const IDS: [&str; 6] = ["f", "e", "d", "c", "b", "a"];

prop_compose! {
    fn attributes()(weight in 1..=5_u32, zone in 0..4_usize, disk in 0..3_usize) -> InstanceAttributes {
        let mut attributes = InstanceAttributes::default().with_weight(weight).unwrap();
        if let Some(zone) = ["x", "y", "z"].get(zone) {
            attributes = attributes.with_zone(*zone).unwrap();
        }
        if let Some(disk) = ["ssd", "hdd"].get(disk) {
            attributes = attributes.with_label("disk", *disk).unwrap();
        }
        attributes
    }
}

prop_compose! {
    /// One to four of six instances, and up to `most` items.
    fn clusters_of(most: u32, rules: &'static [&'static str])(
        instances in proptest::sample::subsequence(&IDS, 1..=4),
        given in vec(attributes(), IDS.len()),
        rules in proptest::sample::select(rules),
        total in 0..=most,
        previous in vec(0..8_usize, 0..=most as usize + 1),
    ) -> Cluster {
        let owner = |n: usize| IDS.get(n).map(|&id| id.into());
        Cluster {
            job_name: "any".to_owned(),
            instances: instances.into_iter().map(InstanceId::from).collect(),
            attributes: IDS.into_iter().map(InstanceId::from).zip(given).collect(),
            rules: PlacementRules::parse(rules).unwrap(),
            previous: Assignment::from_owners(previous.into_iter().map(owner)),
            total,
        }
    }
}

const ZONES: &[&str] = &["", "zones even"];
const RULES: &[&str] = &[
    "",
    "require disk=ssd",
    "require disk!=ssd; prefer zone=x",
    "avoid disk=hdd; zones even",
    "pin 0..1 zone=x; pin 3 disk=ssd",
    "require disk=ssd|hdd; avoid zone=x; pin 2..4 zone=y; pin 0 disk=hdd; zones even",
];

/// Returns the first condition of the rules that no other owner of the item would violate, in the
/// words of the documentation.
fn violation(cluster: &Cluster, item: ShardingItem, owner: Option<&InstanceId>) -> Option<String> {
    let rules = &cluster.rules;
    let able: Vec<_> = cluster
        .instances
        .iter()
        .map(|id| cluster.attributes_of(id))
        .filter(|attributes| rules.unmet(attributes).is_none())
        .collect();
    let Some(owner) = owner else {
        return (!able.is_empty()).then(|| "an able instance gets no item".to_owned());
    };
    let owner = cluster.attributes_of(owner);
    if let Some(unmet) = rules.unmet(owner) {
        return Some(format!("{unmet} is required"));
    }
    let mut others = able;
    if let Some(pin) = rules.pin(item)
        && others.iter().any(|it| pin.matches(it))
    {
        if !pin.matches(owner) {
            return Some(format!("pinned to {pin}"));
        }
        others.retain(|it| pin.matches(it));
    }
    for preferred in rules.preferred() {
        if others.iter().any(|it| preferred.matches(it)) {
            if !preferred.matches(owner) {
                return Some(format!("{preferred} is preferred"));
            }
            others.retain(|it| preferred.matches(it));
        }
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn loads_are_shares_of_instances_and_zones(cluster in clusters_of(40, ZONES)) {
        let loads = cluster.loads(&cluster.place());
        prop_assert!(cluster.has_shares(&loads), "{loads:?}");
    }

    #[test]
    fn no_assignment_with_these_shares_moves_fewer_items(mut cluster in clusters_of(5, ZONES)) {
        // With fewer items than instances a hash decides; see the next test.
        cluster.total = cluster.total.max(u32::try_from(cluster.instances.len()).unwrap());
        let placed = cluster.place();
        prop_assert_eq!(cluster.moved(&placed), cluster.fewest_moves(), "{:?}", placed);
    }

    #[test]
    fn joining_instance_takes_only_what_it_owns_of_few_items(cluster in clusters_of(3, &[""])) {
        let n_instances = u32::try_from(cluster.instances.len()).unwrap();
        let attributes = cluster.attributes.keys().cloned().map(|id| (id, InstanceAttributes::default()));
        let (attributes, total) = (attributes.collect(), cluster.total.min(n_instances - 1));
        let cluster = Cluster { attributes, total, ..cluster };
        let mut joined = cluster.settled();
        joined.instances.push("new".into());
        for moved in joined.place().moves_from(&joined.previous) {
            prop_assert_eq!(moved.to, Some("new".into()));
        }
    }

    #[test]
    fn rules_hold_for_each_item(cluster in clusters_of(9, RULES)) {
        let placed = cluster.place();
        for (item, owner) in placed.iter() {
            let violation = violation(&cluster, item, owner);
            prop_assert_eq!(violation, None, "item {} of {:?}", item, placed);
        }
    }

    #[test]
    fn no_item_moves_without_a_change(cluster in clusters_of(12, RULES)) {
        let settled = cluster.settled();
        prop_assert_eq!(&settled.place(), &settled.previous);
    }

    #[test]
    fn order_of_the_instances_does_not_matter(cluster in clusters_of(12, RULES)) {
        let mut reversed = cluster.clone();
        reversed.instances.reverse();
        prop_assert_eq!(cluster.place(), reversed.place());
    }

    #[test]
    fn each_item_has_a_reason_that_fits(cluster in clusters_of(12, RULES)) {
        let placed = cluster.place();
        let reasons = Placement.explain(&cluster.input(), &placed);
        prop_assert_eq!(reasons.len(), cluster.total as usize);
        for ((item, owner), reason) in placed.iter().zip(reasons) {
            let stays = owner.is_some() && owner == cluster.previous.owner(item);
            let text = reason.to_string();
            if cluster.rules.pin(item).is_none() && owner.is_some() {
                prop_assert_eq!(text == "kept where it was", stays, "{}: {}", item, text);
                prop_assert_eq!(text.starts_with("moved:") || text == "first owner", !stays);
            }
        }
    }

    #[test]
    fn without_attributes_it_moves_as_little_as_minimal_movement(mut cluster in clusters()) {
        cluster.total = cluster.total.max(u32::try_from(cluster.instances.len()).unwrap());
        let owner = |item| cluster.previous.as_ref()?.owner(ShardingItem::new(item)).cloned();
        let before = Assignment::from_owners((0..cluster.total).map(owner));
        let moves = |after: Assignment| after.moves_from(&before).len();
        let placed = moves(Placement.assign(&cluster.input()));
        prop_assert_eq!(placed, moves(MinimalMovement.assign(&cluster.input())));
    }
}

/// Returns the number of single-item jobs on each instance.
fn jobs_on(
    instances: &[InstanceId],
    given: &BTreeMap<InstanceId, InstanceAttributes>,
) -> Vec<usize> {
    let owners: Vec<_> = (0..1_000)
        .map(|n| {
            let name = format!("report-{n}");
            let input = StrategyInput::new(&name, instances, 1).with_attributes(given);
            Placement.assign(&input).owner(ShardingItem::new(0)).cloned().unwrap()
        })
        .collect();
    let count = |id| owners.iter().filter(|owner| *owner == id).count();
    instances.iter().map(count).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The bound is five standard deviations of a fair choice.
    #[test]
    fn single_item_jobs_spread_by_weight(
        weights in vec(1..=4_u32, 2..=10),
        incarnation in any::<u32>(),
    ) {
        let ids = (0..weights.len()).map(|n| InstanceId::new(format!("10.0.0.{n}@-@{incarnation}")));
        let instances: Vec<_> = ids.collect();
        let weighted = |weight| InstanceAttributes::default().with_weight(weight).unwrap();
        let attributes = instances.iter().cloned().zip(weights.iter().copied().map(weighted)).collect();
        let sum = f64::from(weights.iter().sum::<u32>());
        for (jobs, weight) in jobs_on(&instances, &attributes).into_iter().zip(weights) {
            let share = f64::from(weight) / sum;
            let deviation = (1_000.0 * share * (1.0 - share)).sqrt();
            let difference = (jobs as f64 - 1_000.0 * share).abs();
            prop_assert!(difference <= 5.0 * deviation, "{jobs} jobs, share {share}");
        }
    }
}
