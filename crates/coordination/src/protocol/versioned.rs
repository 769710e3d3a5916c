//! Values of nodes with the versions that guards check.

use reg_center::Version;

/// A value with the version of its node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Versioned<T> {
    /// Value of the node.
    pub value: T,
    /// Version of the node, for the guards of writes that rely on the value.
    pub version: Version,
}
