//! Checks which mutants the model notices: those that the table assigns to it, and no redundant
//! one.

use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs};

use coordination::{MUTANTS, Mutant, Row, Watcher};
use stateright::{Checker, HasDiscoveries, Model};

use super::grounds::{Ground, grounds};
use super::walk::walk;
use super::world::World;

/// Number of walks through each system before the complete exploration.
const WALKS: u64 = 100;
/// Number of walks through each system for a redundant mutant, of which all pass.
const WALKS_IF_REDUNDANT: u64 = 25;
/// Maximum number of steps of a walk.
const LONGEST_WALK: usize = 1_000;

/// Returns true if the mutant gives all incarnations of a process the same id.
pub(super) fn reuses_ids(mutant: Mutant) -> bool {
    mutant == Mutant::IdsReused
}

/// Id of a violated property, with the place where it was found.
struct Found {
    rule: &'static str,
    place: String,
}

impl Found {
    fn new(rule: &'static str, place: String) -> Self {
        Self { rule: rule.split(' ').next().unwrap_or(rule), place }
    }
}

/// Walks through every system, which is quick. If no walk fails and the table assigns the mutant to
/// the model, explores the small systems completely.
fn hunt(row: &Row) -> Option<Found> {
    let mutant = row.mutant;
    let walks = if row.watcher.reason().is_some() { WALKS_IF_REDUNDANT } else { WALKS };
    let walked = grounds().into_iter().find_map(|ground| walk_through(mutant, ground, walks));
    let small = || grounds().into_iter().filter(|g| !g.nightly && row.watcher == Watcher::Model);
    walked.or_else(|| small().find_map(|ground| explore(mutant, ground)))
}

/// Searches for a walk that fails with the mutant and passes without. Walks also notice a system
/// that never becomes quiescent, which the exploration cannot.
fn walk_through(mutant: Mutant, ground: Ground, walks: u64) -> Option<Found> {
    let name = ground.scope.name;
    let original = World::new(ground.scope.clone());
    let world = World::new(ground.scope).without(mutant);
    (0..walks).find_map(|seed| {
        let fault = walk(&world, seed, LONGEST_WALK).err()?;
        walk(&original, seed, LONGEST_WALK).ok()?;
        Some(Found::new(fault.rule, format!("walk {seed} of \"{name}\"")))
    })
}

/// Explores on one thread, so that the first violation found is always the same.
fn explore(mutant: Mutant, ground: Ground) -> Option<Found> {
    let name = ground.scope.name;
    let world = World::new(ground.scope).without(mutant);
    let checker = world.checker().finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let (rule, path) = checker.discoveries().into_iter().min_by_key(|(rule, _)| *rule)?;
    let moves = path.into_actions().len();
    Some(Found::new(rule, format!("{moves} moves of \"{name}\"")))
}

/// Returns the difference between the outcome and the table, if any.
fn fault(row: &Row, found: Option<&Found>) -> Option<String> {
    let what = match (row.watcher, found) {
        (Watcher::Model, None) => "is not noticed".to_owned(),
        (Watcher::Model, Some(found)) if !row.properties.contains(&found.rule) => {
            format!("breaks {} in {}", found.rule, found.place)
        }
        (watcher, Some(found)) if watcher.reason().is_some() => {
            format!("is not redundant: {} in {}", found.rule, found.place)
        }
        _ => return None,
    };
    Some(format!("{:?} {what}", row.mutant))
}

/// Tries the mutants that `MUTANTS` names, separated by commas, or those of the model and the
/// redundant ones.
///
/// The file `MUTANTS_FILE` gets a line `name<TAB>property<TAB>where` for each mutant. The property
/// is `-` if none is violated.
#[test]
#[ignore = "takes long; `cargo xtask mutants` runs it"]
fn mutants_are_noticed() {
    let only = env::var("MUTANTS").unwrap_or_default();
    let named = |mutant: Mutant| only.split(',').any(|name| name == format!("{mutant:?}"));
    let left = |row: &Row| row.watcher == Watcher::Model || row.watcher.reason().is_some();
    let meant = |row: &&Row| if only.is_empty() { left(row) } else { named(row.mutant) };
    let rows: Vec<_> = MUTANTS.iter().filter(meant).collect();
    let file = env::var("MUTANTS_FILE").ok();
    let file = file.map(|path| fs::File::create(path).expect("the file can be written"));
    let (next, outcome) = (AtomicUsize::new(0), Mutex::new((file, Vec::new())));
    let work = || {
        while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
            let found = hunt(row);
            let (rule, place) = found.as_ref().map_or(("-", "-"), |f| (f.rule, &f.place));
            let line = format!("{:?}\t{rule}\t{place}", row.mutant);
            println!("{line}");
            let (file, faults) = &mut *outcome.lock().expect("no thread panics here");
            if let Some(file) = file {
                writeln!(file, "{line}").expect("the file can be written");
            }
            faults.extend(fault(row, found.as_ref()));
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    let (_, faults) = outcome.into_inner().expect("all threads have ended");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
