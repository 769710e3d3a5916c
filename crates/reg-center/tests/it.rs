//! All tests from outside but the search through orders of threads, as one program.

mod answers;
#[cfg(feature = "contract")]
mod broken;
#[cfg(feature = "contract")]
mod contract;
#[cfg(feature = "contract")]
mod from_scratch;
#[cfg(feature = "contract")]
mod guide;
#[cfg(feature = "contract")]
mod memory;
#[cfg(feature = "contract")]
mod prop_memory;
#[cfg(feature = "contract")]
mod prop_model;
#[cfg(feature = "contract")]
mod sequences;
