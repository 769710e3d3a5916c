//! Latches by which Java instances take turns to elect a leader and to take from the failover
//! queue. Each contender adds a node below the latch, and the first contender has the turn.
//!
//! Java instances order contenders by the number at the end of the node's name, which the registry
//! counts up. Rust instances choose a number, one above the greatest in their view, and order
//! contenders by creation. A later node has a greater number, so that both orders agree. If a Java
//! node with an equal or greater number came before, each contender would wait for the other. The
//! Rust instance then joins again at the end.

use sharding::InstanceId;

/// Text before the number in a name.
const SEPARATOR: &str = "-latch-";

/// Action that one instance at a time may do beside Java instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Latch {
    /// To become the leader.
    Election,
    /// To take an item out of the failover queue.
    Failover,
}

impl Latch {
    pub(crate) const ALL: [Self; 2] = [Self::Election, Self::Failover];

    /// Returns the path of the latch below the job's root. Contenders are its children.
    pub(crate) fn node(self) -> &'static str {
        match self {
            Self::Election => "leader/election/latch",
            Self::Failover => "leader/failover/latch",
        }
    }

    /// Returns the purpose of a turn as text for operators.
    pub(crate) fn purpose(self) -> &'static str {
        match self {
            Self::Election => "to elect a leader",
            Self::Failover => "to take an item over",
        }
    }
}

/// Returns the name of an instance's node with this number: `_c_{UUID}-latch-{ten digits}`.
pub(crate) fn name_of(me: &InstanceId, number: u32) -> String {
    format!("{}{number:010}", prefix_of(me))
}

/// Returns true if the node belongs to this instance.
pub(crate) fn is_of(me: &InstanceId, name: &str) -> bool {
    name.strip_prefix(&prefix_of(me)).is_some_and(|rest| rest.parse::<u32>().is_ok())
}

/// Returns the number in a name; `None` if it has none in the form of Java instances.
pub(crate) fn number_in(name: &str) -> Option<u32> {
    let (_, number) = name.rsplit_once("latch-")?;
    number.parse().ok()
}

/// Returns the start of this instance's node names. Curator uses a random UUID. Rust instances
/// derive it from their id, which is used only once.
fn prefix_of(me: &InstanceId) -> String {
    let hex = format!("{:032x}", fnv_1a(me.as_str().as_bytes()));
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    format!("_c_{}{SEPARATOR}", parts.join("-"))
}

/// Fowler, Noll and Vo's hash of 128 bits, variant 1a.
fn fnv_1a(bytes: &[u8]) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(OFFSET, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latch_node_name_has_the_form_of_curator() {
        let me = InstanceId::new("10.0.0.1@-@7-k3f9");
        let name = name_of(&me, 12);
        let (uuid, number) = (&name[3..39], &name[39..]);
        assert!(name.starts_with("_c_"), "{name}");
        assert_eq!(number, "-latch-0000000012", "{name}");
        let groups: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!(groups, [8, 4, 4, 4, 12], "{name}");
        assert!(uuid.chars().all(|c| c == '-' || c.is_ascii_hexdigit()), "{name}");
        assert!(is_of(&me, &name) && !is_of(&InstanceId::new("10.0.0.1@-@8"), &name), "{name}");
    }

    #[test]
    fn number_is_the_last_part_of_the_name() {
        let rows = [
            ("_c_0e8b0a2c-0000-0000-0000-000000000000-latch-0000000041", Some(41)),
            ("_c_latch-0000000001-latch-0000000002", Some(2)),
            ("latch-0000000007", Some(7)),
            ("_c_x-latch--2147483648", None),
            ("_c_x-lock-0000000001", None),
        ];
        for (name, expected) in rows {
            assert_eq!(number_in(name), expected, "{name}");
        }
    }
}
