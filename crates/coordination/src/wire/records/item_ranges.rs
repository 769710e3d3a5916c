//! Items as inclusive ranges, so that a record of many items stays small.

use std::collections::BTreeSet;

use sharding::ShardingItem;

/// Inclusive ranges of items: first and last item of each.
pub(super) type RangesDoc = Vec<(u32, u32)>;

/// Encodes ascending items as ranges.
pub(super) fn encode_items(items: impl IntoIterator<Item = ShardingItem>) -> RangesDoc {
    let mut ranges = RangesDoc::new();
    for item in items {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == item.index() => *last += 1,
            _ => ranges.push((item.index(), item.index())),
        }
    }
    ranges
}

/// Decodes ascending ranges below `end`.
pub(super) fn decode_items(ranges: &RangesDoc, end: u32) -> Result<BTreeSet<ShardingItem>, String> {
    check_ranges(ranges, end)?;
    Ok(ranges.iter().flat_map(|(first, last)| *first..=*last).map(ShardingItem::new).collect())
}

/// Checks that ranges are ascending and below `end`. No item then occurs twice, so a damaged record
/// cannot expand to more items than the job has.
pub(super) fn check_ranges(ranges: &RangesDoc, end: u32) -> Result<(), String> {
    let mut from = 0;
    for (first, last) in ranges {
        if *first < from || last < first || *last >= end {
            return Err(format!("items {first} to {last} are no range within {from}..{end}"));
        }
        from = last + 1;
    }
    Ok(())
}
