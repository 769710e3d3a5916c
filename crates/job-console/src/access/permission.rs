//! Permissions, one for each kind of operation, and the roles that have them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Role of a caller. Each role has the permissions of the ones before it.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Role {
    /// Sees everything, and changes nothing.
    Viewer,
    /// Runs, pauses and moves the jobs that its pattern matches.
    Operator,
    /// Creates, configures and removes jobs, and repairs namespaces.
    Admin,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        })
    }
}

macro_rules! permissions {
    ($($(#[$doc:meta])* $name:ident = $word:literal for $role:ident;)*) => {
        /// Permission to use one kind of operation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Permission {
            $($(#[$doc])* $name,)*
        }

        impl Permission {
            /// All permissions.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Returns the name, such as `run`.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }

            /// Returns the lowest role that has the permission.
            #[must_use]
            pub fn least_role(self) -> Role {
                match self {
                    $(Self::$name => Role::$role,)*
                }
            }
        }
    };
}

permissions! {
    /// See jobs, servers, history, findings and audit records.
    View = "view" for Viewer;
    /// Request runs of items.
    Run = "run" for Operator;
    /// Cancel runs.
    Cancel = "cancel" for Operator;
    /// Pause and resume servers.
    Pause = "pause" for Operator;
    /// Disable and enable servers and items.
    Disable = "disable" for Operator;
    /// Drain a server.
    Drain = "drain" for Operator;
    /// Shut down instances.
    ShutDown = "shut-down" for Operator;
    /// Silence an expectation, and end its silence.
    Silence = "silence" for Operator;
    /// Change a configuration.
    Configure = "configure" for Admin;
    /// Create a job from a template.
    Create = "create" for Admin;
    /// Remove a job or a server.
    Remove = "remove" for Admin;
    /// Apply the repair of a finding.
    Repair = "repair" for Admin;
    /// Import configurations.
    Import = "import" for Admin;
}

impl Permission {
    /// Returns true if operations with this permission change the registry.
    #[must_use]
    pub fn changes(self) -> bool {
        self != Self::View
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
