//! Item parameters: `0=Beijing,1=Shanghai`.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use crate::{ParameterError, ParameterErrorReason as Reason, ShardingItem};

/// Parameters of the items, from `shardingItemParameters` of a job configuration.
///
/// The text is a list of `item=value` pairs separated by commas. The rules are those of ElasticJob:
///
/// - The empty text has no parameters. Commas at the end are ignored.
/// - Characters up to the space (U+0020) around a pair, an item and a value are removed.
/// - An item is an `i32`, with or without a sign. Items that the job does not have are accepted and
///   ignored, also negative ones.
/// - If an item occurs twice, the later value wins.
/// - A value contains neither `,` nor `=`. Equals signs at the end of a pair are ignored. A blank
///   value is only possible before such a sign: `0= =`.
///
/// One rule differs: an item consists of ASCII digits, while Java also accepts the digits of other
/// scripts.
///
/// `Display` writes the parameters in ascending order of the items. Parsing that text gives the
/// same parameters.
///
/// # Examples
///
/// ```
/// use sharding::{ShardingItem, ShardingItemParameters};
///
/// let parameters = ShardingItemParameters::parse(" 1 = Shanghai , 0 = Beijing,").unwrap();
/// assert_eq!(parameters.get(ShardingItem::new(0)), Some("Beijing"));
/// assert_eq!(parameters.get(ShardingItem::new(2)), None);
/// assert_eq!(parameters.to_string(), "0=Beijing,1=Shanghai");
/// ```
///
/// # Example: an invalid item
///
/// ```
/// use sharding::ShardingItemParameters;
///
/// let error = ShardingItemParameters::parse("0=Beijing,one=Shanghai").unwrap_err();
/// assert_eq!(&error.text[error.span.clone()], "one");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShardingItemParameters {
    by_item: BTreeMap<i32, String>,
}

impl ShardingItemParameters {
    /// Parses the text of a job configuration.
    ///
    /// # Errors
    ///
    /// Returns the first [`ParameterError`], which has the position of the error and the valid
    /// form.
    pub fn parse(text: &str) -> Result<Self, ParameterError> {
        let by_item = pairs(text)
            .map(|pair| parse_pair(text, pair))
            .collect::<Result<_, _>>()
            .map_err(|(span, reason)| ParameterError { text: text.to_owned(), span, reason })?;
        Ok(Self { by_item })
    }

    /// Returns the parameter of an item, or `None` if it has none.
    #[must_use]
    pub fn get(&self, item: ShardingItem) -> Option<&str> {
        let key = i32::try_from(item.index()).ok()?;
        self.by_item.get(&key).map(String::as_str)
    }

    /// Returns every item with its parameter, ascending.
    ///
    /// Includes items that no job can have, such as -1, because the text may have them.
    pub fn iter(&self) -> impl Iterator<Item = (i32, &str)> {
        self.by_item.iter().map(|(&key, value)| (key, value.as_str()))
    }

    /// Returns true if no item has a parameter.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_item.is_empty()
    }
}

impl FromStr for ShardingItemParameters {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Self, ParameterError> {
        Self::parse(text)
    }
}

impl fmt::Display for ShardingItemParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (key, value)) in self.iter().enumerate() {
            let comma = if position == 0 { "" } else { "," };
            // A blank value needs an equals sign behind it; see the rules above.
            let value = if value.is_empty() { " =" } else { value };
            write!(f, "{comma}{key}={value}")?;
        }
        Ok(())
    }
}

/// Position and reason of an error.
type Mistake = (Range<usize>, Reason);

/// Returns every pair of the text as a range of bytes, not yet trimmed; none if the text has only
/// commas.
fn pairs(text: &str) -> impl Iterator<Item = Range<usize>> {
    let text = text.trim_end_matches(',');
    let mut start = 0;
    (!text.is_empty()).then(|| text.split(',')).into_iter().flatten().map(move |pair| {
        let range = start..start + pair.len();
        start = range.end + 1;
        range
    })
}

fn parse_pair(text: &str, range: Range<usize>) -> Result<(i32, String), Mistake> {
    let pair = trimmed(text, range);
    if pair.is_empty() {
        return Err((pair, Reason::EmptyPair));
    }
    let end = pair.start + text[pair.clone()].trim_end_matches('=').len();
    let mut parts = text[pair.start..end].split('=');
    let key = parts.next().unwrap_or_default();
    let Some(value) = parts.next() else {
        return Err((pair.clone(), missing(pair.end > end)));
    };
    let key_end = pair.start + key.len();
    let value_end = key_end + 1 + value.len();
    if parts.next().is_some() {
        return Err((value_end..pair.end, Reason::SecondEqualsSign));
    }
    let key = trimmed(text, pair.start..key_end);
    let value = trimmed(text, key_end + 1..value_end);
    match text[key.clone()].parse() {
        Ok(item) => Ok((item, text[value].to_owned())),
        Err(_) => Err((key, Reason::ItemNotAnInteger)),
    }
}

fn missing(has_equals_sign: bool) -> Reason {
    if has_equals_sign { Reason::MissingValue } else { Reason::MissingEqualsSign }
}

/// Returns the range without the characters that Java's `String.trim` removes: those up to the
/// space.
fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let is_blank = |c: char| c <= ' ';
    let without_end = text[range.clone()].trim_end_matches(is_blank);
    let end = range.start + without_end.len();
    end - without_end.trim_start_matches(is_blank).len()..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_java_accepts_are_parsed_as_by_java() {
        type Row<'a> = (&'a str, &'a str, &'a [(i32, &'a str)]);
        let cases: [Row<'_>; 18] = [
            ("empty", "", &[]),
            ("two", "0=A,1=B", &[(0, "A"), (1, "B")]),
            ("blanks everywhere", " 0 = A , 1 = B ", &[(0, "A"), (1, "B")]),
            ("tabs and line ends are blanks", "0=A,\r\n\t1=B\n", &[(0, "A"), (1, "B")]),
            ("other white space is part of the value", "0=\u{3000}A", &[(0, "\u{3000}A")]),
            ("blanks inside a value", "0=New York", &[(0, "New York")]),
            ("not ASCII", "0=北京,1=🚀", &[(0, "北京"), (1, "🚀")]),
            ("a comma at the end", "0=A,", &[(0, "A")]),
            ("commas at the end", "0=A,,,", &[(0, "A")]),
            ("only commas", ",,", &[]),
            ("the later value wins", "0=A,0=B", &[(0, "B")]),
            ("beyond every total count", "5=x,2147483647=y", &[(5, "x"), (i32::MAX, "y")]),
            ("negative", "-1=x", &[(-1, "x")]),
            ("signs and leading zeros", "+1=x,-0=y,007=z", &[(0, "y"), (1, "x"), (7, "z")]),
            ("not in order", "1=B,0=A", &[(0, "A"), (1, "B")]),
            ("an equals sign at the end", "0=A=", &[(0, "A")]),
            ("equals signs at the end", "0=A==,1=B", &[(0, "A"), (1, "B")]),
            ("a blank value", "0= =,1=B", &[(0, ""), (1, "B")]),
        ];
        for (case, text, expected) in cases {
            let parameters = ShardingItemParameters::parse(text).expect(case);
            assert_eq!(parameters.iter().collect::<Vec<_>>(), expected, "{case}");
            assert_eq!(parameters.is_empty(), expected.is_empty(), "{case}");
            assert_eq!(parameters.to_string().parse(), Ok(parameters), "{case}");
        }
    }

    #[test]
    fn texts_that_java_rejects_are_errors_with_a_position() {
        let cases = [
            ("blank", " ", 0..0, Reason::EmptyPair),
            ("empty first pair", ",0=A", 0..0, Reason::EmptyPair),
            ("empty pair in the middle", "0=A,,1=B", 4..4, Reason::EmptyPair),
            ("blank last pair", "0=A, ", 4..4, Reason::EmptyPair),
            ("no equals sign", "0=A, 1 ,2=C", 5..6, Reason::MissingEqualsSign),
            ("no value", "0=,1=B", 0..2, Reason::MissingValue),
            ("a blank for a value", "0= ", 0..2, Reason::MissingValue),
            ("only equals signs", "==", 0..2, Reason::MissingValue),
            ("an equals sign in the value", "0=A=B", 3..5, Reason::SecondEqualsSign),
            ("two in a row", "0==B", 2..4, Reason::SecondEqualsSign),
            ("semicolons do not separate", "0=A;1=B", 5..7, Reason::SecondEqualsSign),
            ("not a number", "0=A, b =1", 5..6, Reason::ItemNotAnInteger),
            ("no item", "=A", 0..0, Reason::ItemNotAnInteger),
            ("too large", "2147483648=A", 0..10, Reason::ItemNotAnInteger),
            ("only a sign", "-=A", 0..1, Reason::ItemNotAnInteger),
            ("a blank inside", "1 2=A", 0..3, Reason::ItemNotAnInteger),
            ("a fraction", "1.0=A", 0..3, Reason::ItemNotAnInteger),
            ("digits of another script", "٣=A", 0..2, Reason::ItemNotAnInteger),
        ];
        for (case, text, span, reason) in cases {
            let text = text.to_owned();
            let expected = ParameterError { text: text.clone(), span, reason };
            assert_eq!(ShardingItemParameters::parse(&text), Err(expected), "{case}");
        }
    }

    #[test]
    fn get_returns_the_parameter_of_an_item() {
        let parameters: ShardingItemParameters = "-1=x,0=A,2147483647=y".parse().unwrap();
        let cases = [(0, Some("A")), (1, None), (i32::MAX.unsigned_abs(), Some("y"))];
        for (index, expected) in cases {
            assert_eq!(parameters.get(ShardingItem::new(index)), expected, "{index}");
        }
        assert_eq!(
            parameters.get(ShardingItem::new(u32::MAX)),
            None,
            "item u32::MAX is not item -1"
        );
    }
}
