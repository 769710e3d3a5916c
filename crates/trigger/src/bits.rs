//! Sets of small numbers as bits of words: bit `n` stands for `n`.

/// Returns the smallest member of `set` that is at least `from`, which may be 0 to 63.
pub(crate) fn next_member(set: u64, from: u32) -> Option<u32> {
    first_member(set & (u64::MAX << from))
}

/// Returns the smallest member of `set`.
pub(crate) fn first_member(set: u64) -> Option<u32> {
    (set != 0).then(|| set.trailing_zeros())
}

pub(crate) fn contains(set: u64, member: u32) -> bool {
    set >> member & 1 == 1
}

/// A set of numbers below 64 times `WORDS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WideSet<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> WideSet<WORDS> {
    pub(crate) fn new() -> WideSet<WORDS> {
        WideSet([0; WORDS])
    }

    pub(crate) fn insert(&mut self, member: usize) {
        self.0[member / 64] |= 1 << (member % 64);
    }

    pub(crate) fn contains(&self, member: usize) -> bool {
        self.0[member / 64] >> (member % 64) & 1 == 1
    }

    /// Returns the smallest member that is at least `from`.
    pub(crate) fn next_member(&self, from: usize) -> Option<usize> {
        let first = from / 64;
        let mut mask = u64::MAX << (from % 64);
        for (place, word) in self.0.iter().enumerate().skip(first) {
            if let Some(member) = first_member(word & mask) {
                return Some(place * 64 + member as usize);
            }
            mask = u64::MAX;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_in_order() {
        let set = 1 | 1 << 7 | 1 << 63;
        let cases = [(0, Some(0)), (1, Some(7)), (7, Some(7)), (8, Some(63)), (63, Some(63))];
        for (from, expected) in cases {
            assert_eq!(next_member(set, from), expected, "from {from}");
        }
        assert_eq!(next_member(set & !(1 << 63), 8), None);
        assert_eq!(first_member(0), None);
        assert!(contains(set, 7) && !contains(set, 8));
    }

    #[test]
    fn members_are_found_across_words() {
        let mut set = WideSet::<4>::new();
        let members = [0, 63, 64, 200];
        members.iter().for_each(|member| set.insert(*member));
        let cases = [
            (0, Some(0)),
            (1, Some(63)),
            (63, Some(63)),
            (64, Some(64)),
            (65, Some(200)),
            (200, Some(200)),
            (201, None),
            (256, None),
            (9_999, None),
        ];
        for (from, expected) in cases {
            assert_eq!(set.next_member(from), expected, "from {from}");
        }
        assert!((0..256).filter(|member| set.contains(*member)).eq(members));
    }
}
