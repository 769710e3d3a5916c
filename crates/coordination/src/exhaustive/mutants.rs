//! The model must notice each mutant that its table says it does, and no other.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use stateright::{Checker, HasDiscoveries, Model};

use super::grounds::grounds;
use super::walk::walk;
use super::world::World;
use crate::{MUTANTS, Mutant, Watcher};

/// What breaks: the rule, and where.
type Found = (&'static str, &'static str, usize);

/// Explores one ground after the other until a rule is broken. One thread explores, so that the first rule found is
/// always the same.
fn hunt(mutant: Mutant) -> Option<Found> {
    explore(mutant).or_else(|| wander(mutant))
}

/// A walk that does not come to rest is a livelock, which the search does not see.
fn wander(mutant: Mutant) -> Option<Found> {
    grounds().into_iter().find_map(|ground| {
        let name = ground.scope.name;
        let world = World::new(ground.scope).without(mutant);
        let failed = (0..40).find(|seed| walk(&world, *seed, 1_000).is_err());
        failed.map(|_| ("L it comes to rest", name, 1_000))
    })
}

fn explore(mutant: Mutant) -> Option<Found> {
    grounds().into_iter().filter(|ground| !ground.nightly).find_map(|ground| {
        let name = ground.scope.name;
        let world = World::new(ground.scope).without(mutant);
        let checker = world.checker().finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
        let (rule, path) = checker.discoveries().into_iter().min_by_key(|(rule, _)| *rule)?;
        Some((rule, name, path.into_actions().len()))
    })
}

/// Returns what is wrong with the outcome, if anything.
fn fault(property: &str, watcher: Watcher, found: Option<Found>) -> Option<&'static str> {
    match (watcher, found) {
        (Watcher::Model, None) => Some("the model does not notice"),
        (Watcher::Model, Some((rule, _, _))) if !rule.starts_with(property) => {
            Some("another property breaks")
        }
        (Watcher::Simulation, Some(_)) => Some("the model notices as well"),
        (Watcher::Nobody(_), Some(_)) => Some("it is not redundant"),
        (Watcher::Model, Some(_)) | (Watcher::Simulation | Watcher::Nobody(_), None) => None,
    }
}

#[test]
#[ignore = "takes ten minutes; `cargo xtask mutants` runs it"]
#[expect(
    clippy::disallowed_methods,
    reason = "only the environment can say which mutants are meant"
)]
fn mutants_are_noticed() {
    let only = std::env::var("MUTANTS").unwrap_or_default();
    let meant =
        |mutant: Mutant| only.is_empty() || only.split(',').any(|o| o == format!("{mutant:?}"));
    let rows: Vec<_> = MUTANTS.iter().filter(|(mutant, _, _)| meant(*mutant)).collect();
    let (next, faults) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((mutant, property, watcher)) = rows.get(next.fetch_add(1, Ordering::Relaxed))
        {
            let started = Instant::now();
            let found = hunt(*mutant);
            let seconds = started.elapsed().as_secs_f64();
            let fault = fault(property, *watcher, found);
            let what = match (found, watcher) {
                (Some((rule, name, steps)), _) => format!("{rule} [{name}, {steps} moves]"),
                (None, Watcher::Nobody(why)) => format!("redundant: {why}"),
                (None, Watcher::Model | Watcher::Simulation) => "not noticed".to_owned(),
            };
            let note = fault.map_or(String::new(), |fault| format!("  <-- {fault}"));
            println!("model: {mutant:?}: {what} ({seconds:.1} s){note}");
            if let Some(fault) = fault {
                faults.lock().expect("no thread panics here").push(format!("{mutant:?}: {fault}"));
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    let faults = faults.into_inner().expect("all threads have ended");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
