//! The strategies give the same results as those of ElasticJob.

use crate::golden;

use golden::Tally;

#[test]
fn every_vector_of_elasticjob_passes() {
    let files = [
        ("assignments", include_str!("../testdata/sharding-vectors.jsonl"), 2863),
        (
            "assignments by time",
            include_str!("../testdata/sharding-vectors-single-balance.jsonl"),
            280,
        ),
        ("orders of instances", include_str!("../testdata/children-sort-vectors.jsonl"), 200),
    ];
    let mut all = Tally::default();
    for (file, rows, expected) in files {
        let tally = Tally::of(file, rows);
        let all_passed = format!("{expected} passed, 0 failed, 0 skipped");
        assert_eq!(tally.to_string(), all_passed, "{file}: {:#?}", tally.remarks);
        all.add(tally);
    }
    assert_eq!(all.to_string(), "3343 passed, 0 failed, 0 skipped");
}

/// Tests the runner itself: a vector with one wrong value does not pass.
#[test]
fn wrong_vectors_do_not_pass() {
    const RIGHT: &str = r#"{"strategy":"ROUND_ROBIN","job_name":"a","hash":97,"instances":["y","x"],"total":3,"result":{"x":[0,2],"y":[1]}}"#;
    const THROWS: &str = r#"{"strategy":"ROUND_ROBIN","job_name":"polygenelubricants","hash":-2147483648,"instances":["z","y","x"],"total":4,"error":"java.lang.IndexOutOfBoundsException"}"#;
    const ORDER: &str = r#"{"children":["1","2"],"sorted_desc":["2","1"]}"#;
    let cases = [
        ("correct row", RIGHT.to_owned(), (1, 0, 0)),
        ("another hash", RIGHT.replace("97", "98"), (0, 1, 0)),
        ("another owner", RIGHT.replace("[0,2]", "[1,2]").replace("[1]", "[0]"), (0, 1, 0)),
        ("order in a list", RIGHT.replace("[0,2]", "[2,0]"), (0, 1, 0)),
        ("an item without owner", RIGHT.replace("[0,2]", "[0]"), (0, 1, 0)),
        ("an item with two owners", RIGHT.replace("[1]", "[1,2]"), (0, 1, 0)),
        ("an item too many", RIGHT.replace("[0,2]", "[0,2,3]"), (0, 1, 0)),
        ("an instance without list", RIGHT.replace(r#","y":[1]"#, ""), (0, 1, 0)),
        ("a field is missing", RIGHT.replace("total", "count"), (0, 1, 0)),
        ("a field has another type", RIGHT.replace("97", "null"), (0, 1, 0)),
        ("an unknown strategy", RIGHT.replace("ROUND_ROBIN", "RANDOM"), (0, 0, 1)),
        ("Java throws", THROWS.to_owned(), (1, 0, 0)),
        ("Java throws for another reason", THROWS.replace("IndexOutOf", "Any"), (0, 1, 0)),
        ("Java would not throw", THROWS.replace(r#""z","y""#, r#""y""#), (0, 1, 0)),
        ("correct order", ORDER.to_owned(), (1, 0, 0)),
        ("another order", ORDER.replace(r#"["2","1"]"#, r#"["1","2"]"#), (0, 1, 0)),
        ("not a vector", "{}".to_owned(), (0, 1, 0)),
        ("not JSON", "strategy".to_owned(), (0, 1, 0)),
        ("only blank lines", " \n\n".to_owned(), (0, 0, 0)),
        ("two rows", format!("{ORDER}\n{RIGHT}\n"), (2, 0, 0)),
    ];
    for (case, rows, expected) in cases {
        let tally = Tally::of(case, &rows);
        assert_eq!(
            (tally.passed, tally.failed, tally.skipped),
            expected,
            "{case}: {:?}",
            tally.remarks
        );
        assert_eq!(tally.remarks.len(), tally.failed + tally.skipped, "{case}");
    }
}
