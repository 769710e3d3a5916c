//! The lock of the concurrent modules. `tests/concurrency` compiles these modules with shuttle's
//! lock, under which it can try all interleavings.

pub(crate) use parking_lot::Mutex;
