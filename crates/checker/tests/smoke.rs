//! The story of a cluster that behaves.

mod story;

use checker::Verdict;
use story::Story;

#[test]
fn a_cluster_that_behaves_is_found_to() {
    let mut story = Story::cluster(3);
    story.round(1).round(2).heal().round(3).at(39.0);
    let report = story.judge();
    assert_eq!(report.verdict, Verdict::Valid, "{report}");
    println!("{report}");
}
