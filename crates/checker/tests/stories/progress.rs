//! S16: valid and invalid writes of a run's progress.

use checker::Property::{L2, L4, S16};

use crate::story::verdict::{assert_bad, assert_good};

#[test]
fn s16_only_the_run_that_holds_the_item_writes_its_progress() {
    assert_bad(
        S16,
        &[L2, L4],
        &[
            ("another instance writes it", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).done("a", 0);
                s.progress("a", 1, None).done("b", 1).at(12.0);
            }),
            ("the run has ended", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).done("a", 0).done("b", 1);
                s.progress("b", 1, None).at(12.0);
            }),
            ("the run was taken over", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).done("a", 0).crash("b");
                s.at(15.0).expire("b").orphan("a", 1).take_over("a", 1).assign(&["a"]);
                s.progress("a", 1, Some(1)).at(16.0).done("a", 1);
            }),
            ("no instance has taken it over yet", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).done("a", 0).crash("b");
                s.at(15.0).expire("b").orphan("a", 1).progress("a", 1, None);
                s.take_over("a", 1).assign(&["a"]).at(16.0).done("a", 1);
            }),
        ],
    );
    assert_good(
        S16,
        &[
            ("the holder writes it", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).done("a", 0);
                s.progress("b", 1, None).progress("b", 1, None).done("b", 1).at(12.0);
            }),
            ("each item has its own, of its own holder", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).progress("a", 0, None);
                s.progress("b", 1, None).done("a", 0).progress("b", 1, None).done("b", 1).at(12.0);
            }),
            ("the next holder writes its own", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).done("a", 0).crash("b");
                s.at(15.0).expire("b").orphan("a", 1).take_over("a", 1).assign(&["a"]);
                s.progress("a", 1, None).at(16.0).done("a", 1);
            }),
        ],
    );
}
