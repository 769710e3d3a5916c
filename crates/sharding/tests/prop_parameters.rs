//! The parser of item parameters agrees with a transcription of ElasticJob's.

use std::collections::BTreeMap;

use proptest::prelude::*;
use sharding::{ParameterErrorReason, ShardingItemParameters};

/// Splits as Java's `String.split` by one character: empty pieces at the end are dropped, unless
/// the separator does not occur at all.
fn java_split(text: &str, separator: char) -> Vec<&str> {
    let mut pieces: Vec<_> = text.split(separator).collect();
    while pieces.last() == Some(&"") && text.contains(separator) {
        pieces.pop();
    }
    pieces
}

fn java_trim(text: &str) -> &str {
    text.trim_matches(|c: char| u32::from(c) <= 0x20)
}

/// Parses as ElasticJob. An error is true if an item is not an integer, and false for any other
/// format error.
fn transcribed(text: &str) -> Result<BTreeMap<i32, String>, bool> {
    let mut parameters = BTreeMap::new();
    if text.is_empty() {
        return Ok(parameters);
    }
    for pair in java_split(text, ',') {
        let parts = java_split(java_trim(pair), '=');
        let [item, value] = parts[..] else { return Err(false) };
        let item = java_trim(item).parse().map_err(|_| true)?;
        parameters.insert(item, java_trim(value).to_owned());
    }
    Ok(parameters)
}

/// Returns texts that are nearly lists of parameters.
fn texts() -> impl Strategy<Value = String> {
    let pair = "[ \t]?[-+]?[0-9]{0,3}[ =]{0,2}[a-c北 ]{0,3}[=;\u{3000} ]{0,2}";
    prop_oneof![
        proptest::collection::vec(pair, 0..4).prop_map(|pairs| pairs.join(",")),
        "[0-2=, a北\n-]{0,12}",
        "[0-9]{1,2}=[a-c]{1,3}(,[0-9]{1,2}=[a-c]{1,3}){0,5},?",
        any::<String>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn exactly_the_texts_that_java_accepts_are_accepted(text in texts()) {
        let parsed = ShardingItemParameters::parse(&text);
        let parsed = match &parsed {
            Ok(parameters) => Ok(parameters.iter().map(|(k, v)| (k, v.to_owned())).collect()),
            Err(error) => Err(error.reason == ParameterErrorReason::ItemNotAnInteger),
        };
        prop_assert_eq!(parsed, transcribed(&text));
    }

    #[test]
    fn parameters_survive_a_round_trip(text in texts()) {
        if let Ok(parameters) = ShardingItemParameters::parse(&text) {
            prop_assert_eq!(parameters.to_string().parse(), Ok(parameters));
        }
    }

    #[test]
    fn an_error_has_a_valid_span_and_takes_three_lines(text in texts()) {
        if let Err(error) = ShardingItemParameters::parse(&text) {
            prop_assert!(error.text.get(error.span.clone()).is_some(), "{:?}", error);
            prop_assert_eq!(error.to_string().matches('\n').count(), 2);
        }
    }
}
