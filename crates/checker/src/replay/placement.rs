//! Placement: required conditions, pins, preferences and shares. S18.

use std::collections::BTreeMap;

use crate::Property::S18;
use crate::docs::{Config, Run};
use crate::names::Name;
use crate::placement::{Attributes, Condition, Rules};
use crate::replay::judge::Judge;
use crate::slot::Slot;

impl Judge<'_> {
    /// Judges that the claimant of an item meets the required conditions of the job.
    pub(crate) fn admitted(&mut self, i: Slot, run: &Run) {
        // While the stored configuration is unusable, each instance follows the last usable one
        // that it has seen.
        let config = self.job.config().filter(|_| self.job.is_readable()).cloned();
        let Some(config) = config.filter(|config| !config.placement.required.is_empty()) else {
            return;
        };
        let attributes = self.attributes_of(run.holder);
        let unmet = config.placement.unmet(&attributes);
        self.expect(unmet.is_none(), S18, Some(i), |judge| {
            let text = unmet.map_or("", |condition| &condition.text);
            format!("{}: the claimant does not meet {text}", judge.run(Some(*run)))
        });
    }

    /// Judges the owners that an assignment gives to the items, next owners of pending items
    /// included.
    pub(crate) fn placed(&mut self) {
        let config = self.job.config().filter(|_| self.job.is_readable()).cloned();
        let Some((config, assignment)) = config.zip(self.job.assignment.clone()) else { return };
        if config.static_sharding || assignment.total != config.total {
            return;
        }
        let of = |id: &Name| (*id, self.attributes_of(*id));
        let members: BTreeMap<Name, Attributes> = assignment.members.iter().map(of).collect();
        let excluded = members.iter().find(|(_, it)| config.placement.unmet(it).is_some());
        self.expect(excluded.is_none(), S18, None, |judge| {
            let member = excluded.map_or("", |(id, _)| judge.text(*id));
            format!("the member {member} does not meet a required condition")
        });
        // A leader that lacks attributes assigns without them, and again once they are back.
        let is_overwritten = |id: &Name| self.job.overwritten.contains(id);
        if config.strategy != "PLACEMENT" || members.keys().any(is_overwritten) {
            return;
        }
        let mut loads: BTreeMap<Name, u64> = members.keys().map(|id| (*id, 0)).collect();
        let free = candidates(&config.placement, None, &members);
        for i in 0..config.total {
            let present = self.job.items.get(&i).and_then(|item| item.owner);
            let Some(owner) = assignment.pending.get(&i).copied().or(present) else { continue };
            *loads.entry(owner).or_default() += 1;
            let pinned = config.placement.pin(i);
            let pinned = pinned.map(|pin| candidates(&config.placement, Some(pin), &members));
            let may_own = pinned.as_ref().unwrap_or(&free);
            self.expect(may_own.contains(&owner), S18, Some(Slot::first(i)), |judge| {
                format!("the rules give the item to another instance than {}", judge.text(owner))
            });
        }
        if config.placement.pins.is_empty() {
            self.shared(&config, &free, &members, &loads);
        }
    }

    /// Judges that each instance and each zone has its share, rounded up or down.
    fn shared(
        &mut self,
        config: &Config,
        candidates: &[Name],
        members: &BTreeMap<Name, Attributes>,
        loads: &BTreeMap<Name, u64>,
    ) {
        let mut zones: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for id in candidates {
            let zone = zones.entry(members[id].zone()).or_default();
            *zone = (zone.0 + members[id].weight(), zone.1 + loads[id]);
        }
        let total = u64::from(config.total);
        let all: u64 = zones.values().map(|(weight, _)| weight).sum();
        let n_zones = zones.len() as u64;
        for id in candidates {
            let (weight, (of_zone, zone_load)) = (members[id].weight(), zones[members[id].zone()]);
            // The shares of the zone and of the instance, as numerator and denominator.
            let (zone, own) = if config.placement.even_zones {
                ((total, n_zones), (total * weight, n_zones * of_zone))
            } else {
                ((total * of_zone, all), (total * weight, all))
            };
            let load = loads[id];
            let is_fair = is_rounded(load, own) && is_rounded(zone_load, zone);
            self.expect(is_fair, S18, None, |judge| {
                let name = judge.text(*id);
                format!("{name} has {load} items, and its zone {zone_load}, which are not shares")
            });
        }
    }

    fn attributes_of(&self, id: Name) -> Attributes {
        self.job.attributes.get(&id).cloned().unwrap_or_default()
    }
}

/// Returns the instances that may own an item with this pin: the required conditions come first,
/// then the pin, then each preference that a remaining instance meets.
fn candidates(
    rules: &Rules,
    pin: Option<&Condition>,
    members: &BTreeMap<Name, Attributes>,
) -> Vec<Name> {
    let mut left: Vec<Name> =
        members.iter().filter(|(_, it)| rules.unmet(it).is_none()).map(|(id, _)| *id).collect();
    for condition in pin.into_iter().chain(&rules.preferred) {
        if left.iter().any(|id| condition.is_met(&members[id])) {
            left.retain(|id| condition.is_met(&members[id]));
        }
    }
    left
}

fn is_rounded(load: u64, (numerator, denominator): (u64, u64)) -> bool {
    load == numerator / denominator || load == numerator.div_ceil(denominator)
}
