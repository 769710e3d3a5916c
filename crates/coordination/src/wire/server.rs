//! Data of a server's node.

use super::{DISABLED, ENABLED, PAUSED};
use crate::{Dialect, ServerState, shortened};

impl ServerState {
    /// Reads the data of a server node.
    ///
    /// An unknown text means the same as to Java instances: enabled in 2.1.5. In 3.x it means
    /// disabled, because they run nothing on such a server.
    pub(crate) fn read(dialect: Dialect, data: &[u8]) -> Result<Self, (Self, String)> {
        let lenient = dialect == Dialect::V2;
        match data {
            data if data == DISABLED.as_bytes() => Ok(Self::Disabled),
            data if data == PAUSED.as_bytes() => Ok(Self::Paused),
            data if lenient || data == ENABLED.as_bytes() => Ok(Self::Enabled),
            data => {
                let found = shortened(&String::from_utf8_lossy(data));
                let reason = format!(
                    "the node of the server has {found:?}, neither ENABLED, DISABLED nor PAUSED: \
                     the server counts as disabled, as for Java instances"
                );
                Err((Self::Disabled, reason))
            }
        }
    }
}
