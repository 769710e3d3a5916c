//! The contract suite on the in-memory registry.

mod memory;

use memory::on_an_empty_registry;
use reg_center::contract::Case;

reg_center::contract_tests!(run);

fn run(case: &Case) {
    on_an_empty_registry(async |harness| case.run(harness).await);
}

#[test]
fn every_guarantee_of_the_front_page_has_a_case() {
    let readme = include_str!("../README.md");
    let guarantees = readme.split("## Guarantees").nth(1).unwrap().split("\n## ").next().unwrap();
    let numbered = |line: &str| line.split_once(". **").and_then(|(n, _)| n.parse::<u8>().ok());
    let promised: std::collections::BTreeSet<u8> =
        guarantees.lines().filter_map(numbered).collect();
    let tested = reg_center::contract::cases().iter().map(|case| case.guarantee).collect();
    assert_eq!(promised, tested);
    assert!(promised.len() >= 11);
}
