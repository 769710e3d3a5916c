//! The model must notice each mutant that the table says it does, and none that nobody can.

use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs};

use coordination::{MUTANTS, Mutant, Row, Watcher};
use stateright::{Checker, HasDiscoveries, Model};

use super::grounds::{Ground, grounds};
use super::walk::walk;
use super::world::World;

/// How many walks each ground gets before everything is explored, how many for a mutant that nobody has to notice, which
/// gets all of them, and how long a walk is at most.
const WALKS: u64 = 100;
const WALKS_IN_VAIN: u64 = 25;
const LONGEST_WALK: usize = 1_000;

/// Returns true if the mutant gives all lives of a process the same id.
pub(super) fn reuses_ids(mutant: Mutant) -> bool {
    mutant == Mutant::IdsReused
}

/// What breaks, by its id, and where.
struct Found {
    rule: &'static str,
    place: String,
}

impl Found {
    fn new(rule: &'static str, place: String) -> Self {
        Self { rule: rule.split(' ').next().unwrap_or(rule), place }
    }
}

/// Walks through every ground, which is quick; then explores the small ones completely for what has to be found.
fn hunt(row: &Row) -> Option<Found> {
    let mutant = row.mutant;
    let walks = if row.watcher.reason().is_some() { WALKS_IN_VAIN } else { WALKS };
    let walked = grounds().into_iter().find_map(|ground| wander(mutant, ground, walks));
    let small = || grounds().into_iter().filter(|g| !g.nightly && row.watcher == Watcher::Model);
    walked.or_else(|| small().find_map(|ground| explore(mutant, ground)))
}

/// A walk that fails with everything in place says nothing. A walk also sees what the search does not: that something never comes to rest.
fn wander(mutant: Mutant, ground: Ground, walks: u64) -> Option<Found> {
    let name = ground.scope.name;
    let whole = World::new(ground.scope.clone());
    let world = World::new(ground.scope).without(mutant);
    (0..walks).find_map(|seed| {
        let fault = walk(&world, seed, LONGEST_WALK).err()?;
        walk(&whole, seed, LONGEST_WALK).ok()?;
        Some(Found::new(fault.rule, format!("walk {seed} of \"{name}\"")))
    })
}

/// One thread explores, so that the first rule found is always the same.
fn explore(mutant: Mutant, ground: Ground) -> Option<Found> {
    let name = ground.scope.name;
    let world = World::new(ground.scope).without(mutant);
    let checker = world.checker().finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let (rule, path) = checker.discoveries().into_iter().min_by_key(|(rule, _)| *rule)?;
    let moves = path.into_actions().len();
    Some(Found::new(rule, format!("{moves} moves of \"{name}\"")))
}

/// Returns in what the outcome differs from the table, if it does.
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

/// Looks for the mutants that `MUTANTS` names, separated by commas, or for those that it has to notice, or that nobody has to.
/// `MUTANTS_FILE` gets a line `name<TAB>property<TAB>where` for each; a property of `-` says that none breaks.
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
