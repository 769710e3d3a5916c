//! Every interleaving of a small cluster: the duties themselves, explored by stateright.
//!
//! `cargo xtask test` explores two systems to the end: 3 processes, 3 items and 1 fire, and 2 processes, 2 items and 2
//! fires, each with one crash and one expired session. Others, in which operators act, replies are lost and callbacks are
//! called, are explored by `exhaustive_grounds` and `exhaustive_nightly`. A search that is cut off fails.
//!
//! What keeps the states few leaves nothing out: versions are only ever *as now* or *as before* (`registry`), plans that
//! a process would decide again anyway are not kept (`settle`), and a look at the view that starts nothing comes at once.
//! Nothing else is merged: processes and items are told apart, because strategies and takers order them by their names.
#![expect(
    clippy::wildcard_enum_match_arm,
    clippy::type_complexity,
    reason = "a harness for tests: most steps mean nothing to it"
)]

mod acts;
mod cache;
mod commits;
mod faults;
mod grounds;
mod judge;
mod label;
mod moves;
mod print;
mod quiet;
mod registry;
mod rule;
mod scope;
mod settle;
mod state;
mod telling;
mod tests;
mod walk;
mod world;

use stateright::{Model, Property};

use label::Move;
use rule::Breach;
use state::State;
use world::World;

/// States live for microseconds: with the system's allocator the search takes a fifth longer.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

impl Model for World {
    type State = State;
    type Action = Move;

    fn init_states(&self) -> Vec<State> {
        vec![self.first_state()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Move>) {
        actions.extend(self.moves(state));
    }

    fn next_state(&self, _: &State, action: Move) -> Option<State> {
        Some(action.next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        macro_rules! rules {
            ($($index:literal)*) => {
                vec![$(Property::always(Breach::ALL[$index].1, is_kept::<$index>)),*]
            };
        }
        rules!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21)
    }
}

fn is_kept<const RULE: usize>(_: &World, state: &State) -> bool {
    state.breach != Some(Breach::ALL[RULE].0)
}
