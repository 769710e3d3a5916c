//! Model checking of the real duties: stateright explores every interleaving of a small cluster.
//!
//! `cargo xtask test` explores two systems completely: 3 processes, 3 items and 1 fire, and
//! 2 processes, 2 items and 2 fires, each with one crash and one expired session.
//! `exhaustive_grounds` and `exhaustive_nightly` explore more: operator actions, lost replies and
//! callbacks. A search that is cut off fails.
//!
//! Three reductions keep the number of states small and preserve all behaviour:
//!
//! - A version is either current or stale (`registry`).
//! - A plan that its process would decide again is not stored (`settle`).
//! - An observation of the view that starts nothing happens at once.
//!
//! There is no symmetry reduction: strategies and takeovers order processes and items by name.
#![expect(
    clippy::wildcard_enum_match_arm,
    clippy::type_complexity,
    reason = "a test harness: most commands and nodes do not concern it"
)]

mod cache;
mod commits;
mod delivery;
mod faults;
mod fingerprint;
mod grounds;
mod judge;
mod label;
mod moves;
mod operator;
mod quiescence;
mod registry;
mod scope;
mod settle;
mod state;
mod tests;
mod walk;
mod world;

use promises::Breach;
use stateright::{Model, Property};

use label::Move;
use state::State;
use world::World;

/// States live for microseconds, so that the search takes a fifth longer with the system allocator.
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
                [$(Property::always(Breach::ALL[$index].1, is_kept::<$index>)),*]
            };
        }
        // The length of the array keeps a new property from being left out.
        let all: [Property<Self>; Breach::ALL.len()] = rules!(
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        );
        all.into()
    }
}

fn is_kept<const RULE: usize>(_: &World, state: &State) -> bool {
    state.breach != Some(Breach::ALL[RULE].0)
}
