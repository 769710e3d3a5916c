//! Data of the nodes of servers and instances.

use bytes::Bytes;
use reg_center::Node;
use sharding::InstanceId;

use super::layout::Layout;
use super::yaml;
use crate::{Dialect, ServerState, server_of, shortened};

/// Data of an enabled server's node in 3.x. In 2.1.5 the node is empty.
pub const ENABLED: &str = "ENABLED";
/// Data of a disabled server's node.
pub(crate) const DISABLED: &str = "DISABLED";
/// Data of a paused server's node: its instances keep their items and start no runs. Java instances
/// read it as enabled in 2.1.5 and as disabled in 3.x.
pub(crate) const PAUSED: &str = "PAUSED";
/// Mark of a Rust instance in its node: the data in 2.1.5, a comment in the data in 3.x.
///
/// Java instances ignore it. It is in the node itself, because the view may show any other node
/// earlier or later.
pub const RUST_MARK: &str = "RUST";
/// Data of an instance's node after an operator's request to run now, in 2.1.5.
pub const TRIGGER: &str = "TRIGGER";

impl Layout {
    /// Returns the data of a server's node.
    pub(crate) fn server_data(&self, state: ServerState) -> &'static str {
        match (state, self.dialect()) {
            (ServerState::Enabled, Dialect::V2) => "",
            (ServerState::Enabled, Dialect::V3) => ENABLED,
            (ServerState::Paused, _) => PAUSED,
            (ServerState::Disabled, _) => DISABLED,
        }
    }

    /// Returns the data of a mark that names the holder of a run. In 2.1.5 such marks are empty.
    pub(crate) fn holder_data(&self, holder: &InstanceId) -> Bytes {
        match self.dialect() {
            Dialect::V2 => Bytes::new(),
            Dialect::V3 => holder.as_str().to_owned().into(),
        }
    }

    /// Returns the data of an instance's node. Java instances of 3.x fail on any additional field,
    /// so the mark of a Rust instance is a comment.
    pub(crate) fn instance_data(&self, id: &InstanceId) -> String {
        match self.dialect() {
            Dialect::V2 => RUST_MARK.to_owned(),
            Dialect::V3 => {
                let mut yaml = yaml::Writer::default();
                yaml.text("jobInstanceId", id.as_str());
                if let Some(ip) = server_of(id) {
                    yaml.text("serverIp", ip.as_str());
                }
                yaml.finish() + "# " + RUST_MARK + "\n"
            }
        }
    }

    /// Returns true if an instance with this data in its node is a Java instance.
    ///
    /// `TRIGGER` has replaced the data, so it proves nothing and counts as no Java instance.
    pub(crate) fn is_of_java(&self, data: &[u8]) -> bool {
        let last_line = data.trim_ascii_end().rsplit(|byte| *byte == b'\n').next();
        let not_java = [RUST_MARK.as_bytes(), TRIGGER.as_bytes()];
        match self.dialect() {
            Dialect::V2 => !not_java.contains(&data),
            Dialect::V3 => last_line != Some(b"# RUST"),
        }
    }

    /// Returns true if this node is the leftover of a late request through the Java API of 2.1.5.
    ///
    /// The API re-creates the node of an instance that is gone, and no session owns it. No other
    /// program creates such a node.
    pub(crate) fn is_left_behind(&self, node: &Node) -> bool {
        let known = node.data.is_empty() || node.data == TRIGGER.as_bytes();
        self.dialect() == Dialect::V2 && node.stat.owner.is_none() && known
    }
}

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
