//! An assignment agrees with a plain list of owners, and its moves transform one list into the
//! other.

use proptest::collection::vec;
use proptest::prelude::*;
use sharding::{Assignment, InstanceId, ShardingItem};

type Owners = Vec<Option<InstanceId>>;

fn owners() -> impl Strategy<Value = Owners> {
    let owner = |n: usize| ["a", "b", "c", "d", "e"].get(n).map(|&id| id.into());
    vec(0..6_usize, 0..40).prop_map(move |owners| owners.into_iter().map(owner).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn an_assignment_agrees_with_the_list(owners in owners(), requested in "[a-g]") {
        let assignment = Assignment::from_owners(owners.clone());
        let requested = InstanceId::new(requested);
        let items: Vec<_> = (0..)
            .zip(&owners)
            .filter(|(_, owner)| owner.as_ref() == Some(&requested))
            .map(|(item, _)| ShardingItem::new(item))
            .collect();
        prop_assert_eq!(assignment.items_of(&requested), items);
        prop_assert_eq!(assignment.is_total(), owners.iter().all(Option::is_some));
        let read: Owners = assignment.iter().map(|(_, owner)| owner.cloned()).collect();
        prop_assert_eq!(read, owners);
    }

    #[test]
    fn equality_agrees_with_the_lists(left in owners(), right in owners()) {
        let same = Assignment::from_owners(left.clone()) == Assignment::from_owners(right.clone());
        prop_assert_eq!(same, left == right);
    }

    #[test]
    fn moves_transform_the_previous_assignment_into_the_next(before in owners(), after in owners()) {
        let previous = Assignment::from_owners(before.clone());
        let next = Assignment::from_owners(after.clone());
        let mut moved = before;
        moved.resize(moved.len().max(after.len()), None);
        for step in next.moves_from(&previous) {
            let owner = &mut moved[step.item.index() as usize];
            prop_assert_eq!(&*owner, &step.from);
            prop_assert_ne!(&step.from, &step.to);
            *owner = step.to;
        }
        prop_assert!(moved.drain(after.len()..).all(|owner| owner.is_none()));
        prop_assert_eq!(moved, after);
    }
}
