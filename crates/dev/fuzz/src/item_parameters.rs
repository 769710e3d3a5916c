//! Item parameters, compared with a naive parser.

use std::collections::BTreeMap;

use sharding::{ShardingItem, ShardingItemParameters};

/// Reads `bytes` as item parameters; bytes that are not UTF-8 are skipped.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match (ShardingItemParameters::parse(text), naive(text)) {
        (Ok(parameters), Some(wanted)) => {
            let read: BTreeMap<i32, String> =
                parameters.iter().map(|(item, value)| (item, value.to_owned())).collect();
            assert_eq!(read, wanted, "{text:?}");
            assert_eq!(parameters.to_string().parse(), Ok(parameters.clone()), "{text:?}");
            for item in 0..4 {
                let value = wanted.get(&item).map(String::as_str);
                let item = ShardingItem::new(item.unsigned_abs());
                assert_eq!(parameters.get(item), value, "item {item} of {text:?}");
            }
        }
        (Err(error), None) => {
            assert_eq!(error.text, text);
            assert!(text.get(error.span.clone()).is_some(), "{error:?}");
        }
        (read, wanted) => {
            panic!("{text:?} is parsed as {read:?}, and by the naive parser as {wanted:?}")
        }
    }
}

/// Parses `item=value` pairs by hand.
///
/// Blanks (up to U+0020) around items and values are dropped. `=` at the end of a pair and `,` at
/// the end of the text are ignored. Of two values for one item the later one counts.
fn naive(text: &str) -> Option<BTreeMap<i32, String>> {
    let mut parameters = BTreeMap::new();
    let mut rest: Vec<char> = text.chars().collect();
    while rest.last() == Some(&',') {
        rest.pop();
    }
    if rest.is_empty() {
        return Some(parameters);
    }
    for pair in rest.split(|c| *c == ',') {
        let mut pair = without_blanks(pair);
        while let [shorter @ .., '='] = pair {
            pair = shorter;
        }
        let middle = pair.iter().position(|c| *c == '=')?;
        let (item, value) = (&pair[..middle], &pair[middle + 1..]);
        if value.contains(&'=') {
            return None;
        }
        let item: String = without_blanks(item).iter().collect();
        parameters.insert(integer(&item)?, without_blanks(value).iter().collect());
    }
    Some(parameters)
}

fn without_blanks(mut text: &[char]) -> &[char] {
    while let [first, rest @ ..] = text
        && u32::from(*first) <= 0x20
    {
        text = rest;
    }
    while let [rest @ .., last] = text
        && u32::from(*last) <= 0x20
    {
        text = rest;
    }
    text
}

/// Parses an `i32` digit by digit.
fn integer(text: &str) -> Option<i32> {
    let (sign, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => (-1, digits),
        [b'+', digits @ ..] | digits => (1, digits),
    };
    let mut value = 0_i64;
    for digit in digits {
        let digit = digit.is_ascii_digit().then(|| i64::from(digit - b'0'))?;
        value = value * 10 + digit;
        if value > 1 << 40 {
            return None;
        }
    }
    (!digits.is_empty()).then_some(())?;
    i32::try_from(sign * value).ok()
}
