//! Runs every target with random bytes and with changed seeds.

use crate::seeds;

use fuzz::target;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use seeds::seeds;

/// Input bytes, shown as a byte string literal.
struct Input(Vec<u8>);

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

/// Returns any bytes, a seed with some changes, or the beginning of one seed with the end of
/// another.
fn inputs(name: &'static str) -> impl Strategy<Value = Input> {
    let seeds: Vec<Vec<u8>> = seeds(name).into_iter().map(|(_, bytes)| bytes).collect();
    let edits = proptest::collection::vec((any::<Index>(), edit()), 0..6);
    let changed = (select(seeds.clone()), edits).prop_map(|(mut bytes, edits)| {
        edits.into_iter().for_each(|(place, edit)| edit.apply(&mut bytes, place));
        bytes
    });
    let joined = (select(seeds.clone()), select(seeds), any::<Index>(), any::<Index>()).prop_map(
        |(first, second, end, begin)| {
            let (end, begin) = (end.index(first.len() + 1), begin.index(second.len() + 1));
            [&first[..end], &second[begin..]].concat()
        },
    );
    let random = proptest::collection::vec(any::<u8>(), 0..400);
    prop_oneof![5 => changed, 2 => joined, 3 => random].prop_map(Input)
}

/// One change of a seed.
#[derive(Clone, Debug)]
enum Edit {
    Replace(u8),
    Insert(Vec<u8>),
    Remove(usize),
    Flip(u8),
}

fn edit() -> impl Strategy<Value = Edit> {
    let words = [
        "0",
        "1",
        "9",
        "-1",
        "59",
        "L",
        "W",
        "#",
        "/",
        ",",
        "*",
        "?",
        "=",
        " ",
        "\n",
        "\"",
        "{",
        "}",
        "[",
        "]",
        "null",
        "true",
        "4294967295",
        "18446744073709551615",
        "9223372036854775807",
        "1e400",
        "作业",
        "\u{e000}",
        "GMT",
        "@-@",
        "..",
        "22:00..06:00",
        "BEGIN:VEVENT\n",
        "RRULE:FREQ=DAILY\n",
        ";COUNT=3",
        "\0",
    ];
    prop_oneof![
        any::<u8>().prop_map(Edit::Replace),
        select(words.to_vec()).prop_map(|word| Edit::Insert(word.as_bytes().to_vec())),
        (1..12_usize).prop_map(Edit::Remove),
        (0..8_u8).prop_map(|bit| Edit::Flip(1 << bit)),
    ]
}

impl Edit {
    fn apply(self, bytes: &mut Vec<u8>, place: Index) {
        let at = place.index(bytes.len() + 1);
        match self {
            Self::Replace(byte) => bytes.iter_mut().skip(at).take(1).for_each(|b| *b = byte),
            Self::Flip(bits) => bytes.iter_mut().skip(at).take(1).for_each(|b| *b ^= bits),
            Self::Insert(word) => drop(bytes.splice(at..at, word)),
            Self::Remove(n) => drop(bytes.drain(at..(at + n).min(bytes.len()))),
        }
    }
}

macro_rules! properties {
    ($($name:ident: $cases:literal),+ $(,)?) => {
        $(proptest! {
            #![proptest_config(ProptestConfig::with_cases($cases))]

            #[test]
            fn $name(input in inputs(stringify!($name))) {
                let target = target(stringify!($name)).expect("the target exists");
                (target.run)(&input.0);
            }
        })+

        #[test]
        fn every_target_has_a_property() {
            let named = [$(stringify!($name)),+];
            let targets = fuzz::TARGETS.map(|target| target.name);
            assert_eq!(named, targets);
        }
    };
}

properties! {
    job_config: 4_000,
    item_parameters: 10_000,
    cron: 2_000,
    excluded_times: 3_000,
    time_zone: 4_000,
    names: 4_000,
    records: 3_000,
    feed: 2_000,
    limits: 2_000,
    history: 2_000,
}
