//! The lock of the concurrent parts. `tests/concurrency` compiles the same parts with another one, under which every
//! order of steps can be tried.

pub(crate) use parking_lot::Mutex;
