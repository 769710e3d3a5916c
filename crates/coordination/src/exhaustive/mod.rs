//! Every interleaving of a small cluster: the duties themselves, explored by stateright.
#![expect(
    clippy::wildcard_enum_match_arm,
    clippy::type_complexity,
    clippy::disallowed_methods,
    reason = "a harness for tests: most steps mean nothing to it, and it says how long it took"
)]

mod acts;
mod cache;
mod commits;
mod faults;
mod grounds;
mod judge;
mod label;
mod moves;
#[cfg(feature = "mutants")]
mod mutants;
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
