//! All tests of the workspace itself, as one program.

mod layers;
mod tidy;
