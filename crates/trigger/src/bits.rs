//! Sets of small numbers as bits of a word: bit `n` stands for `n`.

/// The smallest member of `set` that is at least `from`, which may be 0 to 63.
pub(crate) fn next_member(set: u64, from: u32) -> Option<u32> {
    first_member(set & (u64::MAX << from))
}

/// The smallest member of `set`.
pub(crate) fn first_member(set: u64) -> Option<u32> {
    (set != 0).then(|| set.trailing_zeros())
}

pub(crate) fn contains(set: u64, member: u32) -> bool {
    set >> member & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_in_order() {
        let set = 1 << 0 | 1 << 7 | 1 << 63;
        let cases = [(0, Some(0)), (1, Some(7)), (7, Some(7)), (8, Some(63)), (63, Some(63))];
        for (from, expected) in cases {
            assert_eq!(next_member(set, from), expected, "from {from}");
        }
        assert_eq!(next_member(set & !(1 << 63), 8), None);
        assert_eq!(first_member(0), None);
        assert!(contains(set, 7) && !contains(set, 8));
    }
}
