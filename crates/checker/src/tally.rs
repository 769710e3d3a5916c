//! Number of checks of each promise.

use crate::Property;
use crate::property::N_PROPERTIES;

/// Counts per property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tally([u64; N_PROPERTIES]);

impl Default for Tally {
    fn default() -> Self {
        Self([0; N_PROPERTIES])
    }
}

impl Tally {
    pub(crate) fn judged(&mut self, property: Property) {
        self.0[property as usize] += 1;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(count, more)| *count += more);
    }

    pub(crate) fn of(&self, property: Property) -> u64 {
        self.0[property as usize]
    }
}
