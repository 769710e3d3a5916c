//! Histories: the checker accepts any input.

use checker::{History, Options, check};

/// Reads `bytes` as the lines of one file and judges them.
pub fn run(bytes: &[u8]) {
    let history = History::from_bytes("any.jsonl", bytes);
    let report = check(&history, &Options::default());
    // Unreadable lines are reported, and such a history is never valid.
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
    assert!(history.records().len() <= lines, "there are more records than lines");
    if !history.problems().is_empty() {
        assert_ne!(report.verdict, checker::Verdict::Valid, "{:?}", history.problems());
    }
    let again = check(&history, &Options::default());
    assert_eq!(format!("{report:?}"), format!("{again:?}"), "the same history is judged the same");
}
