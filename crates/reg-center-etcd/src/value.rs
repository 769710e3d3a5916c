//! Values of nodes.
//!
//! etcd counts the writes of a key and knows the revision of its creation. That is not enough if
//! one transaction writes a node twice, or deletes and creates it again: etcd accepts one write of
//! a key in a transaction, and sees a put. Such a node carries its version and its creation in the
//! value. All other nodes have their data as the value, so that other programs can read them.
//!
//! The first byte of a value names its form:
//!
//! | first byte | meaning |
//! |---|---|
//! | 0 | the data follows; it begins with a byte below 8 itself |
//! | 1 | version (4 bytes), revision of the creation (8 bytes, 0 for this write), data |
//! | 2 to 7 | reserved for later versions of this program |
//! | other, or no byte | the value is the data |

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use reg_center::{Node, NodePath, Revision, SessionId, Stat, Version};

use crate::client::messages::KeyValue;

/// First byte of a value whose data begins with a reserved byte.
const ESCAPED: u8 = 0;
/// First byte of a value with the node's own version and creation.
const RECORDED: u8 = 1;
const FIRST_PLAIN: u8 = 8;
/// Length of version and creation.
const RECORD_BYTES: usize = 12;

/// Bytes that a value may have beside the data.
pub(crate) const MAX_OVERHEAD: usize = 1 + RECORD_BYTES;

/// The revision of a transaction that is not committed yet.
pub(crate) const PENDING: Revision = Revision(u64::MAX);

/// The counters that etcd will have for a key after the next put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NextStat {
    pub(crate) version: Version,
    pub(crate) created: Revision,
}

impl NextStat {
    /// Returns the counters after the next put of a stored key, or after the creation of one.
    pub(crate) fn after(stored: Option<&KeyValue>) -> Self {
        match stored {
            // The first put of a key has etcd's version 1 and the node's version 0.
            Some(stored) => Self {
                version: version(stored.version + 1),
                created: revision(stored.create_revision),
            },
            None => Self { version: Version(0), created: PENDING },
        }
    }
}

/// Returns the value of a node for the next put of its key.
pub(crate) fn encode(node: &Node, next: NextStat) -> Bytes {
    let Stat { version, created, .. } = node.stat;
    if (NextStat { version, created }) == next {
        return match node.data.first() {
            Some(first) if *first < FIRST_PLAIN => [&[ESCAPED], &node.data[..]].concat().into(),
            _ => node.data.clone(),
        };
    }
    let mut value = BytesMut::with_capacity(MAX_OVERHEAD + node.data.len());
    value.put_u8(RECORDED);
    value.put_u32(version.0);
    value.put_u64(if created == PENDING { 0 } else { created.0 });
    value.put_slice(&node.data);
    value.freeze()
}

/// Returns the node of a stored key.
///
/// # Errors
/// The reason, if another program or a later version of this one has written the value.
pub(crate) fn decode(path: NodePath, stored: &KeyValue) -> Result<Node, String> {
    let mut stat = Stat {
        version: version(stored.version),
        created: revision(stored.create_revision),
        modified: revision(stored.mod_revision),
        modified_at: None,
        owner: (stored.lease != 0).then_some(SessionId(stored.lease)),
    };
    let mut data = stored.value.clone();
    match data.first() {
        Some(&ESCAPED) => data.advance(1),
        Some(&RECORDED) if data.len() > RECORD_BYTES => {
            data.advance(1);
            stat.version = Version(data.get_u32());
            stat.created = match data.get_u64() {
                0 => stat.modified,
                created => Revision(created),
            };
        }
        Some(&first) if first < FIRST_PLAIN => {
            return Err(format!(
                "{path}: the value begins with the byte {first}, which this version does not know"
            ));
        }
        Some(_) | None => {}
    }
    Ok(Node { path, data, stat })
}

/// Returns the node's version for etcd's, which counts from 1.
fn version(stored: i64) -> Version {
    Version(u32::try_from(stored.saturating_sub(1)).unwrap_or(u32::MAX))
}

/// Converts etcd's revision, which is never negative.
pub(crate) fn revision(stored: i64) -> Revision {
    Revision(u64::try_from(stored).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(data: &[u8], version: u32, created: Revision) -> Node {
        let stat = Stat {
            version: Version(version),
            created,
            modified: PENDING,
            modified_at: None,
            owner: None,
        };
        Node { path: NodePath::root(), data: Bytes::copy_from_slice(data), stat }
    }

    /// Returns the key as etcd stores it after a put at revision 9.
    fn put(before: Option<&KeyValue>, value: Bytes) -> KeyValue {
        KeyValue {
            key: Bytes::new(),
            create_revision: before.map_or(9, |before| before.create_revision),
            mod_revision: 9,
            version: before.map_or(1, |before| before.version + 1),
            value,
            lease: 0,
        }
    }

    #[test]
    fn every_node_is_read_as_it_was_written_and_plain_nodes_are_plain() {
        let stored = put(None, Bytes::new());
        let stored = KeyValue { create_revision: 4, mod_revision: 5, version: 3, ..stored };
        let rows: [(&str, Option<&KeyValue>, Node, &[u8]); 9] = [
            ("created", None, node(b"x", 0, PENDING), b"x"),
            ("created empty", None, node(b"", 0, PENDING), b""),
            ("put", Some(&stored), node(b"{}", 3, Revision(4)), b"{}"),
            ("data with a reserved byte", None, node(b"\x01a", 0, PENDING), b"\0\x01a"),
            ("data with the escape", None, node(b"\0", 0, PENDING), b"\0\0"),
            ("other binary data", None, node(b"\x08\xff", 0, PENDING), b"\x08\xff"),
            ("written twice", None, node(b"x", 1, PENDING), b"\x01\0\0\0\x01\0\0\0\0\0\0\0\0x"),
            (
                "deleted and created",
                Some(&stored),
                node(b"", 0, PENDING),
                b"\x01\0\0\0\0\0\0\0\0\0\0\0\0",
            ),
            (
                "put after that",
                Some(&stored),
                node(b"\0", 7, Revision(6)),
                b"\x01\0\0\0\x07\0\0\0\0\0\0\0\x06\0",
            ),
        ];
        for (case, before, node, expected) in rows {
            let value = encode(&node, NextStat::after(before));
            assert_eq!(&value[..], expected, "{case}");
            assert!(value.len() <= node.data.len() + MAX_OVERHEAD, "{case}");
            let read = decode(NodePath::root(), &put(before, value)).unwrap();
            let at = |revision| if revision == PENDING { Revision(9) } else { revision };
            assert_eq!(read.data, node.data, "{case}");
            assert_eq!(read.stat.version, node.stat.version, "{case}");
            assert_eq!(read.stat.created, at(node.stat.created), "{case}");
        }
    }

    #[test]
    fn values_of_later_versions_are_refused() {
        for value in [&b"\x02x"[..], b"\x07", b"\x01short"] {
            let stored = put(None, Bytes::copy_from_slice(value));
            let error = decode(NodePath::root(), &stored).unwrap_err();
            assert!(error.starts_with("/: the value begins with the byte "), "{error}");
        }
    }
}
