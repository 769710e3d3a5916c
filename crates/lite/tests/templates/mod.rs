//! Runtime jobs: creation from templates, removal, and failures.

mod errors;
mod faults;
mod life;
mod world;
