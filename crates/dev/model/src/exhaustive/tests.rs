//! The explorations. A search that does not complete is an error.

use std::time::Instant;

use promises::Breach;
use stateright::{Checker, HasDiscoveries, Model};

use super::grounds::{beginning, grounds, three_by_three, two_fires};
use super::scope::{OperatorAction, Scope};
use super::walk::walk;
use super::world::World;

/// Explores a scope completely and returns the violated properties with a trace for each.
fn violations(scope: Scope) -> Vec<(&'static str, String)> {
    let name = scope.name;
    let started = Instant::now();
    let search =
        || World::new(scope.clone()).checker().threads(2).finish_when(HasDiscoveries::AnyFailures);
    // Depth first, because successive states share most of their parts: the caches hit more often.
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
    // Breadth first, for the shortest trace.
    let checker = search().spawn_bfs().join();
    let mut violated: Vec<_> = checker.discoveries().into_iter().collect();
    violated.sort_by_key(|(rule, _)| *rule);
    let trace = |path: stateright::Path<_, super::label::Move>| {
        let last = format!("{:?}", path.last_state());
        let moves = path.into_actions().into_iter().map(|taken| format!("  {taken:?}\n"));
        moves.collect::<String>() + &last
    };
    violated.into_iter().map(|(rule, path)| (rule, trace(path))).collect()
}

fn assert_holds(scope: Scope) {
    let name = scope.name;
    if let Some((rule, trace)) = violations(scope).into_iter().next() {
        panic!("{name}: violated: {rule}\n{trace}");
    }
}

#[test]
fn exhaustive_smallest() {
    assert_holds(Scope::new("2 processes, 1 item, 1 fire, 1 crash", 2, 1, 1).faults(1, 0));
    assert_holds(Scope { settled: false, ..Scope::new("beginning of 2", 2, 1, 0) });
    let cancelled = Scope::new("2 processes, 1 item, a cancellation, 1 crash", 2, 1, 1);
    assert_holds(Scope {
        operator_actions: 1,
        allowed_actions: vec![OperatorAction::Cancel(0)],
        ..cancelled.faults(1, 0)
    });
}

#[test]
#[ignore = "takes minutes; for the nightly run"]
fn exhaustive_beginning() {
    assert_holds(beginning());
}

#[test]
#[ignore = "takes ten minutes; for the nightly run"]
fn exhaustive_two_fires() {
    assert_holds(two_fires());
}

#[test]
#[ignore = "takes minutes; for the nightly run"]
fn exhaustive_three_by_three() {
    assert_holds(three_by_three());
}

#[test]
#[ignore = "takes minutes; `cargo xtask test` runs it beside the other steps"]
fn exhaustive_grounds() {
    grounds().into_iter().filter(|ground| !ground.nightly).for_each(|g| assert_holds(g.scope));
}

#[test]
#[ignore = "takes half an hour; for the nightly run"]
fn exhaustive_nightly() {
    grounds().into_iter().filter(|ground| ground.nightly).for_each(|g| assert_holds(g.scope));
}

/// Only the resource can reject the write of a run whose session has expired after its successor's.
#[test]
fn resource_without_fencing_accepts_stale_effect() {
    let unfenced = Scope::new("2 processes, 1 item, no fence", 2, 1, 1).faults(0, 1);
    let found = violations(Scope { fence: false, ..unfenced });
    let rules: Vec<_> = found.iter().map(|(rule, _)| *rule).collect();
    let expected = Breach::ALL.iter().find(|(breach, _)| *breach == Breach::Effects);
    assert_eq!(rules, [expected.expect("the property is in the table").1]);
    println!("{}", found[0].1);
}

#[test]
fn a_few_walks_come_to_rest_and_agree_with_the_registry() {
    walk_all(3);
}

#[test]
#[ignore = "takes a minute; `cargo xtask test` runs it beside the other steps"]
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
