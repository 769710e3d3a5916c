//! Our types and the client's: the only file that translates between them.

use std::time::{Duration, SystemTime};

use reg_center::{
    ConflictReason, Error, Expect, Node, NodePath, Op, Revision, SessionId, Stat, Version,
};
use zookeeper_client as zk;

pub(crate) fn session_id(id: zk::SessionId) -> SessionId {
    SessionId(id.0)
}

pub(crate) fn node(path: NodePath, data: Vec<u8>, stat: &zk::Stat) -> Node {
    Node { path, data: data.into(), stat: self::stat(stat) }
}

fn stat(stat: &zk::Stat) -> Stat {
    Stat {
        version: Version(stat.version.cast_unsigned()),
        created: Revision(stat.czxid.cast_unsigned()),
        modified: Revision(stat.mzxid.cast_unsigned()),
        modified_at: Some(written_at(stat)),
        owner: (stat.ephemeral_owner != 0).then_some(SessionId(stat.ephemeral_owner)),
    }
}

/// Returns what a reply tells of a written node. A server before 3.9 answers a creation inside of a transaction
/// with a stat that says nothing (ZOOKEEPER-4026).
pub(crate) fn told(reply: &zk::Stat) -> Option<Stat> {
    (!reply.is_invalid()).then(|| stat(reply))
}

/// Returns the registry's clock at the write that a reply is about, if the reply says anything.
pub(crate) fn time_of(reply: &zk::Stat) -> Option<SystemTime> {
    (!reply.is_invalid()).then(|| written_at(reply))
}

/// Returns the registry's clock at the last write of a node.
pub(crate) fn written_at(stat: &zk::Stat) -> SystemTime {
    let since_epoch = Duration::from_millis(stat.mtime.unsigned_abs());
    match stat.mtime {
        0.. => SystemTime::UNIX_EPOCH + since_epoch,
        _ => SystemTime::UNIX_EPOCH - since_epoch,
    }
}

/// Returns the version to send, where -1 means any.
pub(crate) fn expected_version(expect: Expect) -> i32 {
    const ANY: i32 = -1;
    match expect {
        Expect::Exists => ANY,
        // No node has this version, and sent as it is it would match every node.
        Expect::Version(Version(u32::MAX)) => i32::MIN,
        Expect::Version(Version(version)) => version.cast_signed(),
    }
}

/// What a definite answer to one step of a transaction means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// An expectation did not hold.
    Conflict(ConflictReason),
    /// The parent of a node to create is missing.
    NoParent,
    /// Not for a reason that the contract calls a conflict.
    Failed(Error),
}

/// Reads the answer to a step, which concerns the node of `op` or one of its parents.
pub(crate) fn verdict(op: &Op, creates: bool, error: &zk::Error) -> Verdict {
    use zk::Error as Zk;
    if !is_definite(error) {
        return Verdict::Failed(write_error("commit", op.path(), error));
    }
    match (creates, error) {
        (true, Zk::NoNode) => Verdict::NoParent,
        (true, Zk::NodeExists) => Verdict::Conflict(ConflictReason::Exists),
        (true, Zk::NoChildrenForEphemerals) => Verdict::Conflict(ConflictReason::EphemeralParent),
        (false, Zk::NoNode) => Verdict::Conflict(ConflictReason::Absent),
        (false, Zk::BadVersion) => Verdict::Conflict(ConflictReason::VersionMismatch),
        (false, Zk::NotEmpty) => Verdict::Conflict(ConflictReason::HasChildren),
        _ => Verdict::Failed(write_error("commit", op.path(), error)),
    }
}

/// Returns true for the answers after which a request was certainly not executed.
///
/// Everything that is not listed may be the connection's end in any of its forms, among them errors of the operating
/// system in text form: then the outcome is unknown. The client's own table of this kind is private, and wider: an
/// expiry that it guesses says nothing about a request that was sent.
fn is_definite(error: &zk::Error) -> bool {
    use zk::Error as Zk;
    matches!(
        error,
        Zk::NoNode
            | Zk::NodeExists
            | Zk::BadVersion
            | Zk::NotEmpty
            | Zk::NoChildrenForEphemerals
            | Zk::NoAuth
            | Zk::InvalidAcl
            | Zk::QuotaExceeded
            | Zk::NotReadOnly
            | Zk::Throttled
            | Zk::Unimplemented
            | Zk::BadArguments(_)
    )
}

/// Translates the failure of a write.
pub(crate) fn write_error(act: &'static str, path: &NodePath, error: &zk::Error) -> Error {
    let cause = error.to_string();
    if matches!(error, zk::Error::NoAuth | zk::Error::InvalidAcl) {
        Error::NotAuthorized { path: path.clone() }
    } else if is_definite(error) {
        Error::Refused { act, cause }
    } else {
        Error::Unknown { act, cause }
    }
}

/// Translates the failure of a read, which changed nothing however it failed.
pub(crate) fn read_error(act: &'static str, path: &NodePath, error: &zk::Error) -> Error {
    let error = write_error(act, path, error);
    if error.is_unknown() { Error::Unavailable { act } } else { error }
}

/// Permissions with their letters, as ZooKeeper's shell shows them.
const PERMISSIONS: [(zk::Permission, char); 5] = [
    (zk::Permission::CREATE, 'c'),
    (zk::Permission::DELETE, 'd'),
    (zk::Permission::READ, 'r'),
    (zk::Permission::WRITE, 'w'),
    (zk::Permission::ADMIN, 'a'),
];

/// Returns true if an entry lets any client do more than read.
pub(crate) fn is_open(acl: &zk::Acl) -> bool {
    let changes = |(permission, letter): &(zk::Permission, char)| {
        *letter != 'r' && acl.permission().has(*permission)
    };
    acl.scheme() == "world" && PERMISSIONS.iter().any(changes)
}

/// Shows a list as ZooKeeper's shell does: `world:anyone:cdrwa`.
pub(crate) fn acl_text(acls: &[zk::Acl]) -> String {
    let entry = |acl: &zk::Acl| {
        let granted =
            PERMISSIONS.iter().filter(|(permission, _)| acl.permission().has(*permission));
        let letters: String = granted.map(|(_, letter)| letter).collect();
        // The id of a digest is a hash of the password.
        let id = if acl.scheme() == "digest" {
            acl.id().split(':').next().unwrap_or_default()
        } else {
            acl.id()
        };
        format!("{}:{id}:{letters}", acl.scheme())
    };
    acls.iter().map(entry).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> NodePath {
        NodePath::root()
    }

    #[test]
    fn only_definite_answers_say_that_nothing_happened() {
        let refused = |cause: &str| Error::Refused { act: "commit", cause: cause.to_owned() };
        let unknown = |cause: &str| Error::Unknown { act: "commit", cause: cause.to_owned() };
        let rows = [
            (zk::Error::NoAuth, Error::NotAuthorized { path: root() }),
            (zk::Error::QuotaExceeded, refused("exceed path quota")),
            (zk::Error::ConnectionLoss, unknown("connection to server has lost")),
            (zk::Error::SessionExpired, unknown("session expired")),
            (zk::Error::ClientClosed, unknown("client has been closed")),
            (zk::Error::Timeout, unknown("timeout")),
            (zk::Error::UnexpectedErrorCode(-13), unknown("unexpected error code: -13")),
        ];
        for (error, expected) in rows {
            assert_eq!(write_error("commit", &root(), &error), expected, "{error:?}");
            let read = read_error("commit", &root(), &error);
            assert!(!read.is_unknown(), "{error:?}: a read has no outcome");
        }
    }

    #[test]
    fn no_version_is_sent_as_the_one_that_matches_every_node() {
        let rows = [
            (Expect::Exists, -1),
            (Expect::Version(Version(0)), 0),
            (Expect::Version(Version(7)), 7),
            (Expect::Version(Version(u32::MAX)), i32::MIN),
        ];
        for (expect, sent) in rows {
            assert_eq!(expected_version(expect), sent, "{expect:?}");
        }
    }

    #[test]
    fn the_same_answer_means_different_things_to_different_steps() {
        let path = NodePath::parse("/a").expect("valid");
        let op = Op::CheckAbsent { path };
        let conflict = Verdict::Conflict;
        let rows = [
            (true, zk::Error::NoNode, Verdict::NoParent),
            (false, zk::Error::NoNode, conflict(ConflictReason::Absent)),
            (true, zk::Error::NodeExists, conflict(ConflictReason::Exists)),
            (false, zk::Error::BadVersion, conflict(ConflictReason::VersionMismatch)),
            (false, zk::Error::NotEmpty, conflict(ConflictReason::HasChildren)),
        ];
        for (creates, error, expected) in rows {
            assert_eq!(verdict(&op, creates, &error), expected, "{creates} {error:?}");
        }
        let lost = verdict(&op, true, &zk::Error::ConnectionLoss);
        assert!(matches!(lost, Verdict::Failed(Error::Unknown { .. })), "{lost:?}");
    }

    #[test]
    fn a_stat_that_says_nothing_is_not_taken_for_one() {
        let silent = zk::Stat {
            czxid: -1,
            mzxid: -1,
            pzxid: -1,
            ctime: 0,
            mtime: 0,
            version: -1,
            cversion: -1,
            aversion: -1,
            ephemeral_owner: 0,
            data_length: 0,
            num_children: 0,
        };
        assert_eq!(told(&silent), None);
        let eloquent =
            zk::Stat { czxid: 5, mzxid: 6, mtime: 7, version: 1, ephemeral_owner: -7, ..silent };
        let expected = Stat {
            version: Version(1),
            created: Revision(5),
            modified: Revision(6),
            modified_at: Some(SystemTime::UNIX_EPOCH + Duration::from_millis(7)),
            owner: Some(SessionId(-7)),
        };
        assert_eq!(told(&eloquent), Some(expected));
    }
}
