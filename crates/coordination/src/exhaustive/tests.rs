use std::time::Instant;

use stateright::{Checker, HasDiscoveries, Model};

use super::label::Move;
use super::scope::{Act, Scope};
use super::state::State;
use super::world::World;

impl World {
    pub(super) fn first_state(&self) -> State {
        let mut state = self.beginning();
        if !self.scope.settled {
            return state;
        }
        let calm = World::new(Scope { fires: 0, ..Scope::new("calm", self.scope.processes, self.scope.items, 0) });
        loop {
            let next = calm.moves(&state).into_iter().find(|m: &Move| !m.optional);
            match next {
                Some(step) => state = step.next,
                None => return state,
            }
        }
    }
}

pub(super) fn explore(scope: Scope, threads: usize) {
    let name = scope.name;
    let started = Instant::now();
    let checker = World::new(scope).checker().threads(threads).finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    println!("{name}: states {} unique {} depth {} seconds {:.1} done {}", checker.state_count(), checker.unique_state_count(), checker.max_depth(), started.elapsed().as_secs_f64(), checker.is_done());
    for (rule, path) in checker.discoveries() {
        println!("--- {rule}");
        let states = path.clone().into_states();
        for action in path.into_actions() {
            println!("  {action:?}");
        }
        println!("{:?}", states.last());
    }
}

#[test]
fn exhaustive_try() {
    let rows = std::env::var("ROWS").unwrap_or_default();
    let rows: Vec<u8> = rows.split(',').filter_map(|x| x.parse().ok()).collect();
    if let [p, i, f, c, e, l] = rows[..] {
        let mut scope = Scope::new("try", p.into(), i.into(), f).faults(c, e);
        scope.lost_replies = l;
        scope.settled = std::env::var("START").is_err();
        scope.calls_back = std::env::var("CALLS").is_ok();
        if let Ok(acts) = std::env::var("ACTS") {
            scope.acts = acts.parse().unwrap();
            scope.choices = vec![Act::DisableServer(0), Act::PauseServer(0), Act::EnableServer(0), Act::DisableItem(0), Act::EnableItem(0), Act::Request, Act::Shrink, Act::Grow, Act::FailoverOff, Act::Remove(0), Act::Drain(0), Act::Trigger(0)];
        }
        explore(scope, 2);
    }
}

/// Small systems in which, together, everything happens that the model knows.
fn hunting_grounds() -> Vec<Scope> {
    let acts = vec![
        Act::DisableServer(0), Act::PauseServer(0), Act::DisableItem(0), Act::EnableItem(0),
        Act::Request, Act::Shrink, Act::FailoverOff, Act::Remove(0), Act::Drain(0), Act::Trigger(0),
    ];
    let with = |scope: Scope, acts: u8, choices: Vec<Act>| Scope { acts, choices, ..scope };
    vec![
        Scope::new("1 crash, 1 expiry", 2, 2, 1).faults(1, 1),
        with(Scope::new("1 act", 2, 2, 1), 1, acts.clone()),
        Scope { lost_replies: 1, ..Scope::new("1 lost reply, 1 expiry", 2, 2, 1).faults(0, 1) },
        Scope { settled: false, ..Scope::new("beginning", 2, 2, 0).faults(1, 1) },
        Scope { calls_back: true, ..Scope::new("callbacks", 2, 2, 1).faults(1, 0) },
        with(Scope::new("shrink and grow", 2, 2, 1), 2, vec![Act::Shrink, Act::Grow]),
        with(Scope::new("an item is disabled and enabled", 2, 2, 1), 2, vec![Act::DisableItem(0), Act::EnableItem(0)]),
        with(Scope { lost_replies: 1, ..Scope::new("1 act, 1 lost reply", 2, 2, 1) }, 1, acts.clone()),
        with(Scope::new("1 act, 1 crash", 2, 2, 1).faults(1, 0), 1, acts.clone()),
        with(Scope::new("2 acts", 2, 2, 1), 2, acts.clone()),
        Scope::new("2 fires, 1 crash", 2, 2, 2).faults(1, 0),
        Scope::new("3 processes, 1 crash", 3, 3, 1).faults(1, 0),
        with(Scope::new("2 fires, 1 act", 2, 2, 2), 1, acts.clone()),
        with(Scope::new("1 act, 1 expiry", 2, 2, 1).faults(0, 1), 1, acts),
        Scope { calls_back: true, ..Scope::new("callbacks, 2 fires", 2, 1, 2).faults(1, 0) },
    ]
}

#[test]
fn exhaustive_grounds() {
    let only: usize = std::env::var("FROM").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    for scope in hunting_grounds().into_iter().skip(only) {
        explore(scope, 2);
    }
}

#[cfg(feature = "mutants")]
#[test]
fn mutants_try() {
    use crate::MUTANTS;
    let only = std::env::var("ONLY").unwrap_or_default();
    for (mutant, _, _) in MUTANTS.iter().filter(|m| only.is_empty() || only.split(',').any(|o| format!("{:?}", m.0) == o)) {
        let started = Instant::now();
        let mut found = None;
        let mut states = 0;
        let quick = std::env::var("QUICK").is_ok();
        let big = ["2 acts", "2 fires, 1 act", "1 act, 1 expiry"];
        for scope in hunting_grounds().into_iter().filter(|s| !quick || !big.contains(&s.name)) {
            let name = scope.name;
            let checker = World::new(scope).without(*mutant).checker().threads(2).finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
            states += checker.unique_state_count();
            if let Some((rule, path)) = checker.discoveries().into_iter().next() {
                if !only.is_empty() {
                    for action in path.clone().into_actions() { println!("  {action:?}"); }
                }
                found = Some((name, rule, path.into_actions().len()));
                break;
            }
        }
        let seconds = started.elapsed().as_secs_f64();
        match found {
            Some((scope, rule, steps)) => println!("{mutant:?}: {rule} [{scope}] {steps} steps, {states} states {seconds:.1} s"),
            None => println!("{mutant:?}: SURVIVES {states} states {seconds:.1} s"),
        }
    }
}
