//! Items as ranges of neighbours, for events.

use std::fmt;

use sharding::ShardingItem;

/// Items as ranges of neighbours, in ascending order. Beyond [`MAX_RANGES`](Self::MAX_RANGES)
/// ranges, the further items are only counted.
///
/// # Examples
/// ```
/// use coordination::ItemRanges;
/// use sharding::ShardingItem;
///
/// let items: ItemRanges = [7, 0, 1, 2].map(ShardingItem::new).into_iter().collect();
/// assert_eq!(items.to_string(), "0-2, 7");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemRanges {
    /// First and last item of each range.
    ranges: Vec<(u32, u32)>,
    /// Number of items that are in no range.
    more: usize,
}

impl ItemRanges {
    /// Maximum number of ranges.
    pub const MAX_RANGES: usize = 20;
}

impl FromIterator<ShardingItem> for ItemRanges {
    fn from_iter<T: IntoIterator<Item = ShardingItem>>(items: T) -> Self {
        let mut items: Vec<u32> = items.into_iter().map(ShardingItem::index).collect();
        items.sort_unstable();
        items.dedup();
        let mut all = Self::default();
        for item in items {
            let is_full = all.ranges.len() == Self::MAX_RANGES;
            match all.ranges.last_mut() {
                Some((_, last)) if all.more == 0 && *last + 1 == item => *last = item,
                _ if is_full => all.more += 1,
                _ => all.ranges.push((item, item)),
            }
        }
        all
    }
}

impl fmt::Display for ItemRanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (first, last)) in self.ranges.iter().enumerate() {
            f.write_str(if n == 0 { "" } else { ", " })?;
            if first == last { write!(f, "{first}")? } else { write!(f, "{first}-{last}")? }
        }
        if self.more > 0 { write!(f, " and {} more", self.more) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(items: impl IntoIterator<Item = u32>) -> String {
        items.into_iter().map(ShardingItem::new).collect::<ItemRanges>().to_string()
    }

    #[test]
    fn neighbours_are_one_range_and_further_ranges_are_counted() {
        assert_eq!(text([]), "");
        assert_eq!(text([3]), "3");
        assert_eq!(text([4, 1, 2, 0, 2]), "0-2, 4");
        assert_eq!(text(0..100_000), "0-99999");
        let ranges = |n: u32| text((0..n).map(|n| 2 * n));
        assert!(ranges(20).ends_with(", 36, 38"), "{}", ranges(20));
        assert!(ranges(23).ends_with(", 36, 38 and 3 more"), "{}", ranges(23));
        let last_grows = text((0..40).step_by(2).chain([39, 50]));
        assert!(last_grows.ends_with(", 36, 38-39 and 1 more"), "{last_grows}");
    }
}
