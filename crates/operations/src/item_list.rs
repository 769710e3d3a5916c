//! Items as a text of numbers and ranges.

use std::collections::BTreeSet;

use coordination::MAX_SHARDING_TOTAL_COUNT;
use sharding::ShardingItem;

/// Valid values of a text of items.
const VALID: &str = "valid are item numbers and ranges, such as 0,3-5";

/// Reads items from numbers and ranges.
///
/// # Errors
/// The valid values, if the text has anything else, a range that goes down, or a number that no job
/// has.
///
/// # Examples
/// ```
/// let items = operations::parse_items("0,3-5")?;
/// assert_eq!(items.iter().map(|item| item.index()).collect::<Vec<_>>(), [0, 3, 4, 5]);
/// # Ok::<(), String>(())
/// ```
pub fn parse_items(text: &str) -> Result<BTreeSet<ShardingItem>, String> {
    let number = |text: &str| {
        let item = text.trim().parse().ok().filter(|item: &u32| *item < MAX_SHARDING_TOTAL_COUNT);
        item.ok_or_else(|| VALID.to_owned())
    };
    let mut items = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(VALID.to_owned());
        }
        items.extend((first..=last).map(ShardingItem::new));
    }
    Ok(items)
}

/// Returns ascending numbers of items as numbers and ranges; empty without any.
///
/// # Examples
/// ```
/// assert_eq!(operations::item_ranges(&[0, 3, 4, 5]), "0,3-5");
/// ```
#[must_use]
pub fn item_ranges(items: &[u32]) -> String {
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for n in items {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == *n => *last = *n,
            _ => spans.push((*n, *n)),
        }
    }
    let span = |(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    spans.iter().map(span).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_numbers_and_ranges() {
        let rows: [(&str, Option<&[u32]>); 9] = [
            ("0", Some(&[0])),
            ("0,3-5", Some(&[0, 3, 4, 5])),
            ("5, 3", Some(&[3, 5])),
            ("", None),
            ("1,", None),
            ("5-3", None),
            ("-1", None),
            ("a", None),
            ("0-100000", None),
        ];
        for (text, expected) in rows {
            let found = parse_items(text).ok();
            let found = found.map(|items| items.iter().map(|i| i.index()).collect::<Vec<_>>());
            assert_eq!(found.as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn items_are_written_as_they_are_read() {
        for (items, expected) in
            [(&[][..], ""), (&[7], "7"), (&[0, 1, 2], "0-2"), (&[1, 3, 4, 9], "1,3-4,9")]
        {
            assert_eq!(item_ranges(items), expected, "{items:?}");
        }
    }
}
