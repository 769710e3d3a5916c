//! Translation between contract types and client types. No other file translates them.

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

/// Returns the stat of a written node, if the reply has it.
///
/// A server before 3.9 answers a creation inside a transaction with an invalid stat
/// (ZOOKEEPER-4026).
pub(crate) fn stat_of_reply(reply: &zk::Stat) -> Option<Stat> {
    (!reply.is_invalid()).then(|| stat(reply))
}

/// Returns the registry's clock at the write, if the reply has a valid stat.
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

/// Returns the version number to send; -1 matches any version.
pub(crate) fn expected_version(expect: Expect) -> i32 {
    const ANY: i32 = -1;
    match expect {
        Expect::Exists => ANY,
        // No node has this version. Its direct conversion, -1, would match every node.
        Expect::Version(Version(u32::MAX)) => i32::MIN,
        Expect::Version(Version(version)) => version.cast_signed(),
    }
}

/// Meaning of a definite answer to one step of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// An expectation did not hold.
    Conflict(ConflictReason),
    /// The parent of a node to create is missing.
    NoParent,
    /// The step failed for a reason that is not a conflict of the contract.
    Failed(Error),
}

/// Interprets the failure of a step, which concerns the node of `op` or one of its parents.
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

/// Returns true for the answers after which a request was not executed.
///
/// All other errors may mean that the connection broke, even operating system errors in text form:
/// the outcome is then unknown. The client's own classification is private, and too wide: an expiry
/// that the client guesses is no evidence about a sent request.
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
pub(crate) fn write_error(call: &'static str, path: &NodePath, error: &zk::Error) -> Error {
    let cause = error.to_string();
    if matches!(error, zk::Error::NoAuth | zk::Error::InvalidAcl) {
        Error::NotAuthorized { path: path.clone() }
    } else if is_definite(error) {
        Error::Rejected { call, cause }
    } else {
        Error::Unknown { call, cause }
    }
}

/// Translates the failure of a read, which has no effect and thus no unknown outcome.
pub(crate) fn read_error(call: &'static str, path: &NodePath, error: &zk::Error) -> Error {
    let error = write_error(call, path, error);
    if error.is_unknown() { Error::Unavailable { call } } else { error }
}

/// Permissions with their letters, as ZooKeeper's shell shows them.
const PERMISSIONS: [(zk::Permission, char); 5] = [
    (zk::Permission::CREATE, 'c'),
    (zk::Permission::DELETE, 'd'),
    (zk::Permission::READ, 'r'),
    (zk::Permission::WRITE, 'w'),
    (zk::Permission::ADMIN, 'a'),
];

/// Returns true if an entry permits any client to do more than read.
pub(crate) fn is_open(acl: &zk::Acl) -> bool {
    let changes = |(permission, letter): &(zk::Permission, char)| {
        *letter != 'r' && acl.permission().has(*permission)
    };
    acl.scheme() == "world" && PERMISSIONS.iter().any(changes)
}

/// Formats a list as ZooKeeper's shell does: `world:anyone:cdrwa`.
pub(crate) fn acl_text(acls: &[zk::Acl]) -> String {
    let entry = |acl: &zk::Acl| {
        let granted =
            PERMISSIONS.iter().filter(|(permission, _)| acl.permission().has(*permission));
        let letters: String = granted.map(|(_, letter)| letter).collect();
        // The id of a digest is a hash of the password, which must not be shown.
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
    fn only_definite_answers_mean_not_executed() {
        let refused = |cause: &str| Error::Rejected { call: "commit", cause: cause.to_owned() };
        let unknown = |cause: &str| Error::Unknown { call: "commit", cause: cause.to_owned() };
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
            assert!(!read.is_unknown(), "{error:?}: a read has no unknown outcome");
        }
    }

    #[test]
    fn no_version_is_sent_as_the_wildcard() {
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
    fn the_meaning_of_an_answer_depends_on_the_step() {
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
    fn an_invalid_stat_is_ignored() {
        let invalid = zk::Stat {
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
        assert_eq!(stat_of_reply(&invalid), None);
        let valid =
            zk::Stat { czxid: 5, mzxid: 6, mtime: 7, version: 1, ephemeral_owner: -7, ..invalid };
        let expected = Stat {
            version: Version(1),
            created: Revision(5),
            modified: Revision(6),
            modified_at: Some(SystemTime::UNIX_EPOCH + Duration::from_millis(7)),
            owner: Some(SessionId(-7)),
        };
        assert_eq!(stat_of_reply(&valid), Some(expected));
    }
}
