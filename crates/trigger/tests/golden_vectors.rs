//! Fire times equal those of Quartz 2.3.2.

use crate::golden;

use std::collections::BTreeSet;

use golden::Tally;

/// Rows noted as lenient pass if they are rejected. The following ones are accepted with Quartz's
/// fire times: each form in them is part of the documented grammar and occurs in rows without that
/// note.
const LENIENT: [&str; 23] = [
    "*/05 * * * * ?",
    "0 0 12 * * ? 2025-2025",
    "0 0 12 */0 * ?",
    "0 0 12 /0 * ?",
    "0 0 12 1 */0 ?",
    "0 0 12 1 12/0 ?",
    "0 0 12 15w * ?",
    "0 0 12 5-4 * ?",
    "0 0 12 5-5 * ?",
    "0 0 12 5W * ?",
    "0 0 12 ? * */0",
    "0 0 12 ? * /0",
    "0 0 12 ? * 1-7",
    "0 0 12 ? * 2#01",
    "0 0 12 ? * 2#1 ",
    "0 0 12 ? * 5#2",
    "0 0 12 ? * 7-1",
    "0 0 12 ? * 7-7",
    "0 0 12 ? * 7/0",
    "0 0 12 L-0 * ?",
    "0 0 12 L-00W * ?",
    "0 0 12 L-30 * ?",
    "59 59 23 L-29W * ?",
];

#[test]
fn every_vector_of_quartz_passes() {
    let rows = include_str!("../testdata/quartz-cron-vectors.jsonl");
    let mut tally = Tally::default();
    tally.add(Tally::of("quartz-cron-vectors.jsonl", rows));
    assert_eq!(tally.to_string(), "7808 passed, 0 failed, 31 skipped", "{:#?}", tally.remarks);
    let lenient: BTreeSet<_> = tally.lenient.iter().map(String::as_str).collect();
    assert_eq!(lenient, BTreeSet::from(LENIENT));
}

/// Tests the runner itself: a vector with one wrong value does not pass.
#[test]
fn wrong_vectors_do_not_pass() {
    const FIRES: &str = r#"{"expr":"0 0 12 * * ?","tz":"UTC","start":0,"valid":true,"next":[43200000,129600000],"ended":false}"#;
    const ENDS: &str = r#"{"expr":"0 0 12 1 1 ? 1970","tz":"UTC","start":0,"valid":true,"next":[43200000],"ended":true}"#;
    const INVALID: &str =
        r#"{"expr":"0 0 25 * * ?","tz":"UTC","start":0,"valid":false,"error":"any"}"#;
    const NOTED: &str = r#"{"expr":"5X * * * * ?","tz":"UTC","start":0,"valid":true,"next":[5000],"ended":false,"note":"quirk:lenient-parse"}"#;
    let cases = [
        ("correct row", FIRES.to_owned(), (1, 0, 0)),
        ("another time", FIRES.replace("129600000", "129601000"), (0, 1, 0)),
        ("another zone", FIRES.replace("UTC", "Asia/Shanghai"), (0, 1, 0)),
        ("no zone", FIRES.replace("UTC", "Mars"), (0, 1, 0)),
        ("another end", FIRES.replace("false", "true"), (0, 1, 0)),
        ("correct row with an end", ENDS.to_owned(), (1, 0, 0)),
        ("a fire time too many", ENDS.replace("[43200000]", "[43200000,129600000]"), (0, 1, 0)),
        ("invalid expression", INVALID.to_owned(), (1, 0, 0)),
        ("valid expression in an invalid row", INVALID.replace("25", "23"), (0, 1, 0)),
        ("invalid expression in a valid row", FIRES.replace("12", "24"), (0, 1, 0)),
        ("rejected and noted", NOTED.to_owned(), (1, 0, 0)),
        ("rejected and not noted", NOTED.replace("quirk:lenient-parse", "other"), (0, 1, 0)),
        ("accepted and noted", NOTED.replace("5X", "5"), (1, 0, 0)),
        ("accepted, noted and different", NOTED.replace("5X", "6"), (0, 1, 0)),
        ("artefact", NOTED.replace("quirk:lenient-parse", "artefact:any"), (0, 0, 1)),
        ("a field is missing", FIRES.replace("start", "begin"), (0, 1, 0)),
        ("a field has another type", FIRES.replace("\"UTC\"", "8"), (0, 1, 0)),
        ("not JSON", "0 0 12 * * ?".to_owned(), (0, 1, 0)),
        ("only blank lines", " \n\n".to_owned(), (0, 0, 0)),
        ("two rows", format!("{FIRES}\n{ENDS}\n"), (2, 0, 0)),
    ];
    for (case, rows, expected) in cases {
        let tally = Tally::of(case, &rows);
        let counts = (tally.passed, tally.failed, tally.skipped);
        assert_eq!(counts, expected, "{case}: {:?}", tally.remarks);
        assert_eq!(tally.remarks.len(), tally.failed + tally.skipped, "{case}");
    }
}
