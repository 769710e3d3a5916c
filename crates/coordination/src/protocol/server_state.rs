//! State of a server, as set by operators.

use std::fmt;

/// State of a server, as set by operators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ServerState {
    /// Its instances get items and run them.
    #[default]
    Enabled,
    /// Its instances keep their items and start no runs.
    Paused,
    /// Its instances get no items.
    Disabled,
}

impl fmt::Display for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Enabled => "enabled",
            Self::Paused => "paused",
            Self::Disabled => "disabled",
        })
    }
}
