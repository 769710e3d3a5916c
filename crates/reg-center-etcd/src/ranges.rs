//! Reads of many ranges at one revision.

use crate::client::Failure;
use crate::client::messages::{RangeRequest, RangeResponse, Request, Response, TxnRequest};
use crate::session::Link;

/// How new a read is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consistency {
    /// The server's own copy, which may be old.
    Local,
    /// At least as new as every write that was acknowledged before.
    Linearizable,
}

/// Reads ranges at one revision, in as few requests as possible. The answers have the order of the
/// requests.
pub(crate) async fn ranges(
    link: &Link,
    requests: Vec<RangeRequest>,
    consistency: Consistency,
) -> Result<(i64, Vec<RangeResponse>), Failure> {
    let mut answers = Vec::with_capacity(requests.len());
    let mut at = 0;
    for some in requests.chunks(link.txn_ops) {
        let success = some.iter().cloned().map(|range| {
            let serializable = at > 0 || consistency == Consistency::Local;
            Request::Range(RangeRequest { revision: at, serializable, ..range }).into()
        });
        let request = TxnRequest { success: success.collect(), ..TxnRequest::default() };
        let answer = link.txn(request).await?;
        if at == 0 {
            at = answer.header.map_or(0, |header| header.revision);
        }
        let n_before = answers.len();
        answers.extend(answer.responses.into_iter().filter_map(|op| op.response).map(|response| {
            match response {
                Response::Range(range) => range,
            }
        }));
        if answers.len() - n_before != some.len() || at == 0 {
            let cause = "the server has answered another number of reads";
            link.fail(cause);
            return Err(Failure::Unknown(cause.to_owned()));
        }
    }
    Ok((at, answers))
}
