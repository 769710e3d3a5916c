//! Data of the nodes of servers and instances.

use bytes::Bytes;
use reg_center::Node;
use sharding::{InstanceAttributes, InstanceId};

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
    /// so the mark of a Rust instance is a comment, and its attributes are another one.
    pub(crate) fn instance_data(&self, id: &InstanceId, attributes: &InstanceAttributes) -> String {
        match self.dialect() {
            Dialect::V2 => marked(attributes),
            Dialect::V3 => {
                let mut yaml = yaml::Writer::default();
                yaml.text("jobInstanceId", id.as_str());
                if let Some(ip) = server_of(id) {
                    yaml.text("serverIp", ip.as_str());
                }
                let comment = if attributes.is_default() {
                    String::new()
                } else {
                    format!("# {attributes}\n")
                };
                yaml.finish() + &comment + "# " + RUST_MARK + "\n"
            }
        }
    }

    /// Returns true if an instance with this data in its node is a Java instance.
    ///
    /// `TRIGGER` has replaced the data, so it proves nothing and counts as no Java instance.
    pub(crate) fn is_of_java(&self, data: &[u8]) -> bool {
        match self.dialect() {
            Dialect::V2 => attributes_after_mark(data).is_none() && data != TRIGGER.as_bytes(),
            Dialect::V3 => lines_from_the_end(data).next() != Some(b"# RUST"),
        }
    }

    /// Returns the attributes in the data of an instance's node; the defaults for Java instances.
    ///
    /// # Errors
    /// The text is not valid, for example because a later version wrote it.
    pub(crate) fn attributes_in(&self, data: &[u8]) -> Result<InstanceAttributes, String> {
        if self.is_of_java(data) {
            return Ok(InstanceAttributes::default());
        }
        let text = match self.dialect() {
            Dialect::V2 => attributes_after_mark(data),
            Dialect::V3 => lines_from_the_end(data).nth(1).and_then(|it| it.strip_prefix(b"# ")),
        };
        let text = std::str::from_utf8(text.unwrap_or_default()).map_err(|it| it.to_string())?;
        text.parse().map_err(|error: sharding::InvalidPlacement| error.to_string())
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

/// Returns the mark of a Rust instance with its attributes, for 2.1.5.
pub(crate) fn marked(attributes: &InstanceAttributes) -> String {
    if attributes.is_default() { RUST_MARK.to_owned() } else { format!("{RUST_MARK} {attributes}") }
}

/// Returns the attributes behind the mark of a Rust instance; `None` without the mark.
pub(super) fn attributes_after_mark(data: &[u8]) -> Option<&[u8]> {
    let rest = data.strip_prefix(RUST_MARK.as_bytes())?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix(b" ") }
}

fn lines_from_the_end(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    data.trim_ascii_end().rsplit(|byte| *byte == b'\n')
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JobName;

    #[test]
    fn attributes_of_an_instance_are_in_its_own_node() {
        let id = InstanceId::new("10.0.0.1@-@7");
        let of_java = "jobInstanceId: 10.0.0.1@-@7\nserverIp: 10.0.0.1\n";
        let rows = [
            (Dialect::V2, "", "RUST".to_owned()),
            (Dialect::V2, "weight=2 zone=a disk=ssd", "RUST weight=2 zone=a disk=ssd".to_owned()),
            (Dialect::V3, "", format!("{of_java}# RUST\n")),
            (Dialect::V3, "zone=a", format!("{of_java}# zone=a\n# RUST\n")),
        ];
        for (dialect, text, data) in rows {
            let layout = Layout::new(&JobName::new("j").unwrap()).speaking(dialect);
            let attributes: InstanceAttributes = text.parse().unwrap();
            assert_eq!(layout.instance_data(&id, &attributes), data);
            assert!(!layout.is_of_java(data.as_bytes()), "{data}");
            assert_eq!(layout.attributes_in(data.as_bytes()), Ok(attributes), "{data}");
        }
        for (dialect, data) in [(Dialect::V2, ""), (Dialect::V2, "RUSTY"), (Dialect::V3, of_java)] {
            let layout = Layout::new(&JobName::new("j").unwrap()).speaking(dialect);
            assert!(layout.is_of_java(data.as_bytes()), "{data}");
            assert_eq!(layout.attributes_in(data.as_bytes()), Ok(InstanceAttributes::default()));
        }
        let layout = Layout::new(&JobName::new("j").unwrap());
        assert!(layout.attributes_in(b"RUST weight=0").is_err());
    }
}
