//! Valid histories with random damage: the checker never panics, and never accepts a contradiction.

use checker::history::{Fact, Record};
use checker::{History, Options, Verdict, check};
use proptest::prelude::*;

use crate::story::{Story, fire};

/// Returns a valid history with many kinds of events.
fn good() -> Vec<Record> {
    let mut s = Story::cluster(3);
    s.round(1).at(20.01).claim("a", 0, 2).claim("b", 1, 2).claim("a", 2, 2).effect(0, true);
    s.at(21.0)
        .done("a", 0)
        .done("a", 2)
        .crash("b")
        .at(26.0)
        .expire("b")
        .orphan("a", 1)
        .take_over("a", 1);
    s.assign(&["a"]).at(27.0).effect(1, true).done("a", 1).assign(&["a"]).at(28.0).join("c");
    s.assign_by("a", &["a", "c"])
        .at(30.01)
        .claim("a", 0, 3)
        .claim("c", 1, 3)
        .claim("a", 2, 3)
        .at(31.0);
    s.done("a", 0)
        .done("a", 2)
        .at(40.01)
        .note("c", 1, 4)
        .claim("a", 0, 4)
        .claim("a", 2, 4)
        .at(41.0);
    s.done("a", 0)
        .done("a", 2)
        .done("c", 1)
        .claim_as("c", 1, "MISFIRE", fire(4))
        .at(42.0)
        .done("c", 1);
    s.heal()
        .round(5)
        .drain("c")
        .assign_by("a", &["a"])
        .leave("c")
        .assign_by("a", &["a"])
        .round(6)
        .at(69.0);
    let report = s.judge();
    assert_eq!(report.verdict, Verdict::Valid, "{report}");
    s.records
}

fn verdict(records: Vec<Record>) -> Verdict {
    check(&History::from_records(records), &Options::default()).verdict
}

#[test]
fn lost_repeated_or_swapped_record_is_never_accepted() {
    let good = good();
    // The last record of a source can be missing without a trace, because a kill can lose it.
    let is_last = |place: usize| {
        !good[place + 1..]
            .iter()
            .any(|later| (&later.p, later.inc) == (&good[place].p, good[place].inc))
    };
    for place in 0..good.len() {
        let mut lost = good.clone();
        lost.remove(place);
        if !is_last(place) {
            assert_ne!(verdict(lost), Verdict::Valid, "without record {place}: {:?}", good[place]);
        }
        let mut repeated = good.clone();
        repeated.insert(place, good[place].clone());
        assert_ne!(verdict(repeated), Verdict::Valid, "twice record {place}: {:?}", good[place]);
    }
    let same = |a: &Record, b: &Record| (&a.p, a.inc) == (&b.p, b.inc);
    for place in 0..good.len() {
        let Some(next) = (place + 1..good.len()).find(|next| same(&good[place], &good[*next]))
        else {
            continue;
        };
        let mut swapped = good.clone();
        swapped.swap(place, next);
        assert_ne!(verdict(swapped), Verdict::Valid, "records {place} and {next} are swapped");
    }
}

/// Returns the operations of a registry record as JSON.
fn text_of(record: &Record) -> String {
    let Fact::Reg { ops, .. } = &record.fact else { return String::new() };
    serde_json::to_string(ops).unwrap()
}

/// Replaces a text in the operations of a registry record. Returns true if it occurs.
fn alter(record: &mut Record, from: &str, to: &str) -> bool {
    let Fact::Reg { ops, .. } = &mut record.fact else { return false };
    let text = serde_json::to_string(ops).unwrap();
    let altered = text.replacen(from, to, 1);
    let changed = altered != text;
    if changed {
        *ops = serde_json::from_str(&altered).unwrap();
    }
    changed
}

#[test]
fn altered_record_is_never_accepted() {
    let good = good();
    // Old text, new text, and a text that the record must contain for the change to matter.
    let rows = [
        (r#"\"token\":2"#, r#"\"token\":9"#, ""),
        (r#"\"token\":3"#, r#"\"token\":1"#, ""),
        (r#"\"state\":\"running\""#, r#"\"state\":\"retired\""#, ""),
        (r#"\"state\":\"running\""#, r#"\"state\":\"orphan\""#, ""),
        (r#"\"state\":\"idle\""#, r#"\"state\":\"running\""#, r#"\"fire\""#),
        (r#"\"NORMAL\""#, r#"\"FAILOVER\""#, r#"\"running\""#),
        (r#"\"NORMAL\""#, r#"\"MANUAL\""#, r#"\"running\""#),
        (r#"\"holder\":\"10.0.0.1"#, r#"\"holder\":\"10.0.0.7"#, r#"\"running\""#),
        (r#"\"config\":0"#, r#"\"config\":4"#, r#"\"running\""#),
        (r#""ver":1"#, r#""ver":2"#, ""),
    ];
    for (from, to, about) in rows {
        let mut tried = 0;
        for place in 0..good.len() {
            let mut altered = good.clone();
            if !text_of(&good[place]).contains(about) || !alter(&mut altered[place], from, to) {
                continue;
            }
            tried += 1;
            assert_ne!(verdict(altered), Verdict::Valid, "{from} -> {to} in {:?}", good[place]);
        }
        assert!(tried > 0, "{from} does not occur");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let report = check(&History::from_bytes("bytes", &bytes), &Options::default());
        prop_assert_eq!(report.verdict, Verdict::Unknown);
    }

    #[test]
    fn flipped_bytes_of_a_history_never_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let lines: Vec<_> = good().iter().map(|r| serde_json::to_string(r).unwrap()).collect();
        let mut bytes = lines.join("\n").into_bytes();
        for (place, byte) in &flips {
            let place = place.index(bytes.len());
            bytes[place] = *byte;
        }
        let options = Options { blind: true, deduplicated: true, ..Options::default() };
        let report = check(&History::from_bytes("bytes", &bytes), &options);
        prop_assert!(!report.to_string().is_empty());
    }

    #[test]
    fn records_in_any_order_never_panic_and_are_not_accepted(
        seed in prop::collection::vec(any::<prop::sample::Index>(), 40),
    ) {
        let mut records = good();
        for pair in seed.chunks(2) {
            let (a, b) = (pair[0].index(records.len()), pair[1].index(records.len()));
            let (mt, other) = (records[a].mt, records[b].mt);
            (records[a].mt, records[b].mt) = (other, mt);
        }
        // Exchanged times alone keep the order within each source, so that the history may still be
        // valid.
        let report = check(&History::from_records(records.clone()), &Options::default());
        prop_assert!(!report.to_string().is_empty());
        records.reverse();
        prop_assert_ne!(verdict(records), Verdict::Valid);
    }
}
