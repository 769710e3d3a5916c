//! Rows of placements and reasons.

use std::collections::BTreeMap;

use super::super::testing::{assignment, instances};
use super::*;

/// Returns attributes from a text such as `a weight=2, b zone=x`.
fn attributes(text: &str) -> BTreeMap<InstanceId, InstanceAttributes> {
    let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    entries
        .map(|entry| {
            let (id, attributes) = entry.split_once(' ').unwrap();
            (id.into(), attributes.parse().unwrap())
        })
        .collect()
}

/// Returns the owners, one letter each, and the reason of each item.
fn place(
    (before, letters, total): (&str, &str, u32),
    given: &str,
    rules: &str,
) -> (String, Vec<String>) {
    let (previous, instances, attributes) =
        (assignment(before), instances(letters), attributes(given));
    let rules = PlacementRules::parse(rules).unwrap();
    let input = StrategyInput::new("any", &instances, total)
        .with_previous(&previous)
        .with_attributes(&attributes)
        .with_rules(&rules);
    let placed = Placement.assign(&input);
    let owners = placed.iter().map(|(_, owner)| owner.map_or("-", InstanceId::as_str)).collect();
    let reasons = Placement.explain(&input, &placed);
    (owners, reasons.iter().map(ToString::to_string).collect())
}

#[test]
fn items_are_placed_by_weights_zones_labels_and_pins() {
    let ssd = "a disk=ssd, b disk=ssd, c disk=hdd";
    let rows = [
        ("no change", ("aabbcc", "cba", 6), "", "", "aabbcc"),
        ("one instance leaves", ("aaabbcc", "ba", 7), "", "", "aaabbbb"),
        ("a duplicate counts once", ("aabb", "aab", 4), "", "", "aabb"),
        ("no instances", ("ab", "", 2), "", "", "--"),
        ("no items", ("ab", "ba", 0), "", "", ""),
        ("weights", ("bbbaaa", "ba", 6), "a weight=2", "", "bbaaaa"),
        (
            "a zone is lost",
            ("aabbccdd", "dc", 8),
            "a zone=x, b zone=x, c zone=y, d zone=z",
            "",
            "ccddccdd",
        ),
        (
            "even zones",
            ("abcabc", "abc", 6),
            "a zone=x, b zone=x, c zone=y",
            "zones even",
            "abccbc",
        ),
        ("a required label", ("abcabc", "abc", 6), ssd, "require disk=ssd", "abbaba"),
        ("no instance has a required label", ("ab", "ab", 2), ssd, "require disk=nvme", "--"),
        ("a preferred label", ("abcabc", "abc", 6), ssd, "prefer disk=hdd", "cccccc"),
        (
            "no instance has a preferred label",
            ("abcabc", "abc", 6),
            ssd,
            "prefer disk=nvme",
            "abcabc",
        ),
        ("a label to avoid", ("abcabc", "abc", 6), ssd, "avoid disk=ssd", "cccccc"),
        ("all have the label to avoid", ("abab", "ab", 4), ssd, "avoid disk=ssd", "abab"),
        ("a pin", ("ab", "ab", 2), ssd, "pin 1 disk=hdd", "ab"),
        ("a pin moves an item", ("aabb", "cba", 4), ssd, "pin 0 disk=hdd", "cabb"),
        ("pins above the share", ("abab", "ab", 4), "a k=v", "pin 0..2 k=v", "aaab"),
        ("all pinned", ("abab", "ab", 4), "a k=v", "pin 0..9 k=v", "aaaa"),
        (
            "a pin that a required label excludes",
            ("ab", "ab", 2),
            "a k=v, b disk=ssd",
            "require disk=ssd; pin 0 k=v",
            "bb",
        ),
    ];
    for (case, cluster, given, rules, expected) in rows {
        assert_eq!(place(cluster, given, rules).0, expected, "{case}");
    }
}

#[test]
fn each_item_has_its_reason() {
    let (owners, reasons) = place(
        ("aabbddc", "cba", 7),
        "a zone=x, b zone=x, c zone=y",
        "zones even; pin 6 zone=y; pin 0 server=10.0.0.7",
    );
    assert_eq!(owners, "aabbccc", "{reasons:?}");
    let expected = [
        "no available instance has server=10.0.0.7",
        "kept where it was",
        "kept where it was",
        "kept where it was",
        "moved: its owner is not available",
        "moved: its owner is not available",
        "pinned to zone=y",
    ];
    assert_eq!(reasons, expected);
    let rows = [
        ("-", "a", "", "", "first owner"),
        ("a", "", "", "", "no instance may own it"),
        ("aa", "ba", "b zone=y", "", "moved: an instance joined"),
        ("aaab", "ba", "b k=v", "", "moved: its owner is above its share"),
        ("ab", "ba", "b k=v", "prefer k=v", "moved: k=v is preferred"),
        ("ab", "ba", "b k=v", "require k=v", "moved: k=v is required"),
        ("aaab", "ba", "a zone=x, b zone=y", "", "moved: zone x is full"),
    ];
    for (before, letters, given, rules, reason) in rows {
        let total = u32::try_from(before.len()).unwrap();
        let (owners, reasons) = place((before, letters, total), given, rules);
        assert!(reasons.iter().any(|it| it == reason), "{owners} {reasons:?} lack {reason}");
    }
}

/// The order is a part of the protocol: another one would move items at an update.
#[test]
fn ranks_of_instances_never_change() {
    let ids = ["10.0.0.1@-@1", "10.0.0.2@-@2", "10.0.0.3@-@3", "10.0.0.4@-@4"];
    let ids = ids.map(InstanceId::from);
    let owner_of = |job: &str| {
        let placed = Placement.assign(&StrategyInput::new(job, &ids, 1));
        placed.owner(ShardingItem::new(0)).unwrap().as_str().bytes().last().unwrap() - b'0'
    };
    let owners: Vec<_> = (0..16).map(|n| owner_of(&format!("job-{n}"))).collect();
    assert_eq!(owners, [4, 2, 4, 1, 4, 2, 1, 4, 3, 2, 2, 2, 1, 4, 1, 4]);
}
