//! What is explored: completely, or not at all. A search that is cut off is an error.

use std::time::Instant;

use stateright::{Checker, HasDiscoveries, Model};

use super::grounds::{beginning, grounds, three_by_three, two_fires};
use super::rule::Breach;
use super::scope::Scope;
use super::walk::walk;
use super::world::World;

/// Explores everything that a scope allows and returns the rules that are broken, with the moves that lead there.
fn broken(scope: Scope) -> Vec<(&'static str, String)> {
    let name = scope.name;
    let started = Instant::now();
    let search =
        || World::new(scope.clone()).checker().threads(2).finish_when(HasDiscoveries::AnyFailures);
    // States that follow each other share most of what they are made of, which is worked out once; breadth first, a
    // million others would come in between.
    let checker = search().spawn_dfs().join();
    assert!(checker.is_done(), "{name}: the search was cut off");
    println!(
        "{name}: states {} unique {} seconds {:.1}",
        checker.state_count(),
        checker.unique_state_count(),
        started.elapsed().as_secs_f64(),
    );
    if checker.discoveries().is_empty() {
        return Vec::new();
    }
    // Again, for the shortest way there.
    let checker = search().spawn_bfs().join();
    let mut broken: Vec<_> = checker.discoveries().into_iter().collect();
    broken.sort_by_key(|(rule, _)| *rule);
    let trace = |path: stateright::Path<_, super::label::Move>| {
        let last = format!("{:?}", path.last_state());
        let moves = path.into_actions().into_iter().map(|taken| format!("  {taken:?}\n"));
        moves.collect::<String>() + &last
    };
    broken.into_iter().map(|(rule, path)| (rule, trace(path))).collect()
}

fn assert_kept(scope: Scope) {
    let name = scope.name;
    if let Some((rule, trace)) = broken(scope).into_iter().next() {
        panic!("{name}: broken: {rule}\n{trace}");
    }
}

#[test]
fn exhaustive_smallest() {
    assert_kept(Scope::new("2 processes, 1 item, 1 fire, 1 crash", 2, 1, 1).faults(1, 0));
    assert_kept(Scope { settled: false, ..Scope::new("beginning of 2", 2, 1, 0) });
}

#[test]
#[ignore = "takes minutes; for the night"]
fn exhaustive_beginning() {
    assert_kept(beginning());
}

#[test]
#[ignore = "takes minutes; `cargo xtask test` runs it beside the other steps"]
fn exhaustive_two_fires() {
    assert_kept(two_fires());
}

#[test]
#[ignore = "takes minutes; `cargo xtask test` runs it beside the other steps"]
fn exhaustive_three_by_three() {
    assert_kept(three_by_three());
}

#[test]
#[ignore = "takes minutes; for the night"]
fn exhaustive_grounds() {
    grounds().into_iter().filter(|ground| !ground.nightly).for_each(|g| assert_kept(g.scope));
}

#[test]
#[ignore = "takes half an hour; for the night"]
fn exhaustive_nightly() {
    grounds().into_iter().filter(|ground| ground.nightly).for_each(|g| assert_kept(g.scope));
}

/// Nobody but the resource can keep a run that has lost its session from writing after its successor.
#[test]
fn without_a_fence_a_stale_effect_is_accepted() {
    let unfenced = Scope::new("2 processes, 1 item, no fence", 2, 1, 1).faults(0, 1);
    let found = broken(Scope { fence: false, ..unfenced });
    let rules: Vec<_> = found.iter().map(|(rule, _)| *rule).collect();
    let expected = Breach::ALL.iter().find(|(breach, _)| *breach == Breach::Effects);
    assert_eq!(rules, [expected.expect("the rule is in the table").1]);
    println!("{}", found[0].1);
}

#[test]
fn a_few_walks_come_to_rest_and_agree_with_the_registry() {
    walk_all(3);
}

#[test]
#[ignore = "takes half a minute; `cargo xtask test` runs it beside the other steps"]
fn every_walk_comes_to_rest_and_agrees_with_the_registry() {
    walk_all(100);
}

#[test]
#[ignore = "takes minutes; `cargo xtask nightly` runs it"]
fn each_of_many_walks_comes_to_rest_and_agrees_with_the_registry() {
    walk_all(1_000);
}

fn walk_all(walks: u64) {
    for ground in grounds() {
        let world = World::new(ground.scope);
        let walked = (0..walks).map(|seed| walk(&world, seed, 3_000));
        let steps: usize =
            walked.map(|steps| steps.unwrap_or_else(|f| panic!("{}: {}", f.rule, f.text))).sum();
        println!("{}: {walks} walks, {steps} steps", world.scope.name);
    }
}
