use std::time::Instant;

use stateright::{Checker, HasDiscoveries, Model};

use super::moves::Move;
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
