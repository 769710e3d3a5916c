//! Opening and resuming a session on a new connection.

use std::time::{Duration, Instant};

use bytes::Bytes;
use reg_center::SessionId;

use crate::client::messages::{
    Compare, CompareResult, CompareTarget, KeyValue, PutRequest, RangeRequest, Request, TxnRequest,
    TxnResponse,
};
use crate::client::{Client, Failure, Refusal};
use crate::keys::Keys;

/// The value of a session's key.
const SESSION_VALUE: &[u8] = b"elastic-job session";

/// A session that the center holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) id: SessionId,
    /// Granted time to live.
    pub(crate) timeout: Duration,
    /// Revision of the last write of the session's key.
    pub(crate) guard: i64,
    /// Time before the sending of the request that was granted.
    pub(crate) since: Instant,
}

/// Opens a session: a lease, and a key that lives as long as it. Creates the root if it is missing.
pub(super) async fn open(client: &Client, keys: &Keys, ttl: i64) -> Result<Held, Failure> {
    let since = Instant::now();
    let lease = client.lease_grant(ttl).await?;
    let id = SessionId(lease.id);
    let root = keys.node(&reg_center::NodePath::root());
    let put = |key: Bytes, value: &'static [u8], lease| {
        let value = Bytes::from_static(value);
        Request::Put(PutRequest { key, value, lease, ignore_lease: false }).into()
    };
    let session = put(keys.session(id), SESSION_VALUE, id.0);
    let request = TxnRequest {
        compare: vec![unchanged(root.clone(), 0)],
        success: vec![put(root, b"", 0), session],
        failure: vec![put(keys.session(id), SESSION_VALUE, id.0)],
    };
    let answer = client.txn(request).await?;
    let timeout = Duration::from_secs(u64::try_from(lease.ttl).unwrap_or(0));
    Ok(Held { id, timeout, guard: revision_of(&answer)?, since })
}

/// Changes the guard of a session, so that every write of its earlier connections fails from now
/// on. Returns `None` if the session is over.
///
/// `stored` is the session's key by a linearizable read.
pub(super) async fn resume(
    client: &Client,
    keys: &Keys,
    held: Held,
    stored: Option<&KeyValue>,
) -> Result<Option<Held>, Failure> {
    let Some(stored) = stored else { return Ok(None) };
    let key = keys.session(held.id);
    let request = TxnRequest {
        // The same write of an earlier connection may still be on its way. If it comes between the
        // read and this one, this one fails. If it comes later, it fails itself.
        compare: vec![unchanged(key.clone(), stored.mod_revision)],
        success: vec![
            Request::Put(PutRequest {
                key,
                value: Bytes::from_static(SESSION_VALUE),
                lease: 0,
                ignore_lease: true,
            })
            .into(),
        ],
        failure: Vec::new(),
    };
    let answer = client.txn(request).await?;
    if !answer.succeeded {
        return Err(Failure::NotSent("the session's key was changed meanwhile".to_owned()));
    }
    Ok(Some(Held { guard: revision_of(&answer)?, ..held }))
}

/// Returns the condition that a key was last written at a revision; 0 means that it is absent.
pub(crate) fn unchanged(key: Bytes, mod_revision: i64) -> Compare {
    Compare {
        result: CompareResult::Equal.into(),
        target: CompareTarget::Mod.into(),
        key,
        mod_revision: Some(mod_revision),
        range_end: Bytes::new(),
    }
}

fn revision_of(answer: &TxnResponse) -> Result<i64, Failure> {
    let no_header = || Failure::Unknown("the server's answer has no header".to_owned());
    answer.header.as_ref().map(|header| header.revision).ok_or_else(no_header)
}

/// Returns a linearizable read of one key.
pub(crate) fn read_key(key: Bytes) -> RangeRequest {
    RangeRequest { key, ..RangeRequest::default() }
}

/// Finds the maximum number of operations in a transaction, up to `enough`, by asking with
/// conditions that change nothing. `usual` is tried first, because most servers have it.
pub(super) async fn max_txn_ops(
    client: &Client,
    key: &Bytes,
    usual: usize,
    enough: usize,
) -> Result<usize, Failure> {
    // Invariant: the server takes `low` and refuses `high`.
    let (mut low, mut high) = (0, enough + 1);
    let mut next = usual + 1;
    while high - low > 1 {
        let compare = vec![unchanged(key.clone(), 0); next];
        let request = TxnRequest { compare, ..TxnRequest::default() };
        match client.txn(request).await {
            Ok(_) => low = next,
            Err(Failure::Refused(Refusal::TooManyOperations, _)) => high = next,
            Err(failure) => return Err(failure),
        }
        next = if high == usual + 1 && low == 0 {
            usual
        } else if low == usual + 1 && high == enough + 1 {
            enough
        } else {
            low + (high - low) / 2
        };
    }
    Ok(low)
}
