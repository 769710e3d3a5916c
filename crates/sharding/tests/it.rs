//! All tests from outside, as one program.

mod cluster;
mod golden;
mod golden_vectors;
mod prop_assignment;
mod prop_minimal_movement;
mod prop_parameters;
mod prop_placement;
mod prop_strategies;
