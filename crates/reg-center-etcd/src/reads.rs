//! Reads of nodes, of children, and of whole subtrees.

use std::collections::BTreeSet;

use reg_center::{Error, Node, NodePath, Result, Scope};

use crate::client::messages::{KeyValue, RangeRequest, RangeResponse};
use crate::client::{Failure, Refusal};
use crate::keys::{KeyRange, child_towards, next_key};
use crate::ranges::{Consistency, ranges};
use crate::session::{Link, read_key};
use crate::value;

/// Number of keys of the first page of a list, and the most of a later one. Keys can have more than
/// a megabyte each, so pages grow only while they are small.
const FIRST_PAGE: i64 = 64;
const MAX_PAGE: i64 = 2_048;
/// Size of a page, in bytes, up to which the next one is twice as long.
const SMALL_PAGE_BYTES: usize = 256 << 10;
/// Number of keys of a page of names.
const NAMES: i64 = 1_000;

/// Reads nodes, each by a linearizable read.
pub(crate) async fn nodes(
    link: &Link,
    call: &'static str,
    paths: &[NodePath],
) -> Result<Vec<Option<Node>>> {
    let failed = |failure, path| error(failure, call, path);
    let answers = match paths {
        [] => return Ok(Vec::new()),
        [path] => {
            let read = link.range(read_key(link.keys.node(path))).await;
            vec![read.map_err(|failure| failed(failure, path))?]
        }
        [first, ..] => {
            let requests = paths.iter().map(|path| read_key(link.keys.node(path))).collect();
            let read = ranges(link, requests, Consistency::Linearizable).await;
            read.map_err(|failure| failed(failure, first))?.1
        }
    };
    let decode = |(path, answer): (&NodePath, RangeResponse)| {
        let stored = answer.kvs.into_iter().next();
        let node = stored.map(|kv| value::decode(path.clone(), &kv)).transpose();
        node.map_err(|cause| Error::Rejected { call, cause })
    };
    paths.iter().zip(answers).map(decode).collect()
}

/// Lists the names of the children of a node.
pub(crate) async fn children(link: &Link, path: &NodePath) -> Result<Option<Vec<String>>> {
    let failed = |failure| error(failure, "list children", path);
    let below = link.keys.below(path);
    let mut children = BTreeSet::new();
    let mut page = RangeRequest {
        key: below.begin,
        range_end: below.end.clone(),
        limit: NAMES,
        keys_only: true,
        ..RangeRequest::default()
    };
    let first = vec![read_key(link.keys.node(path)), page.clone()];
    let read = ranges(link, first, Consistency::Linearizable).await.map_err(failed)?;
    let (revision, mut answers) = read;
    let (Some(mut listed), Some(node)) = (answers.pop(), answers.pop()) else { return Ok(None) };
    if node.kvs.is_empty() {
        return Ok(None);
    }
    loop {
        let found = listed.kvs.iter().filter_map(|kv| link.keys.path(&kv.key));
        children.extend(found.filter_map(|below| child_towards(path, &below)));
        let Some(last) = listed.kvs.last().filter(|_| listed.more) else { break };
        page.key = match link.keys.path(&last.key) {
            // The descendants of a child that is known need not be read.
            Some(last) => match child_towards(path, &last) {
                Some(child) if child != last => link.keys.below(&child).end,
                Some(_) | None => next_key(&listed.kvs[listed.kvs.len() - 1].key),
            },
            None => next_key(&last.key),
        };
        (page.revision, page.serializable) = (revision, true);
        listed = link.range(page.clone()).await.map_err(failed)?;
    }
    // Names are in ascending order; paths of siblings have the same order.
    Ok(Some(children.iter().map(|child| child.name().to_owned()).collect()))
}

/// Reads all nodes of a scope at one revision.
pub(crate) async fn snapshot(link: &Link, scope: &Scope) -> Result<(i64, Vec<Node>), Failure> {
    let parts: Vec<KeyRange> = scope.parts().map(|part| link.keys.subtree(part)).collect();
    let n_parts = i64::try_from(parts.len()).unwrap_or(i64::MAX).max(1);
    let limit = (FIRST_PAGE / n_parts.min(FIRST_PAGE)).max(1);
    let mut requests: Vec<_> = parts.iter().map(|range| page(range, limit)).collect();
    if requests.is_empty() {
        // A scope without parts still needs a revision.
        requests.push(read_key(link.keys.node(scope.root())));
    }
    let (revision, answers) = ranges(link, requests, Consistency::Linearizable).await?;
    let mut nodes = Vec::new();
    for (range, answer) in parts.iter().zip(answers) {
        let mut pages = Pages { revision, limit, range: range.clone() };
        let mut answer = answer;
        loop {
            nodes.extend(answer.kvs.iter().filter_map(|kv| node_of(link, scope, kv)));
            match pages.next(&answer) {
                Some(request) => answer = link.range(request).await?,
                None => break,
            }
        }
    }
    Ok((revision, nodes))
}

/// Returns the node of a key in a scope. Logs a value that cannot be decoded.
pub(crate) fn node_of(link: &Link, scope: &Scope, kv: &KeyValue) -> Option<Node> {
    let path = link.keys.path(&kv.key).filter(|path| scope.contains(path))?;
    match value::decode(path, kv) {
        Ok(node) => Some(node),
        Err(cause) => {
            tracing::error!(cause, "a node is left out of a feed");
            None
        }
    }
}

fn page(range: &KeyRange, limit: i64) -> RangeRequest {
    let (key, range_end) = (range.begin.clone(), range.end.clone());
    RangeRequest { key, range_end, limit, ..RangeRequest::default() }
}

/// The pages of a range.
struct Pages {
    revision: i64,
    limit: i64,
    range: KeyRange,
}

impl Pages {
    /// Returns the read of the page after this one, if there is more.
    fn next(&mut self, last: &RangeResponse) -> Option<RangeRequest> {
        let last_key = last.kvs.last().filter(|_| last.more)?;
        let bytes: usize = last.kvs.iter().map(|kv| kv.key.len() + kv.value.len()).sum();
        self.limit = if bytes <= SMALL_PAGE_BYTES {
            (self.limit * 2).min(MAX_PAGE)
        } else {
            (self.limit / 2).max(1)
        };
        self.range.begin = next_key(&last_key.key);
        let (revision, serializable) = (self.revision, true);
        Some(RangeRequest { revision, serializable, ..page(&self.range, self.limit) })
    }
}

/// Returns the error of a read: it says nothing about any node.
fn error(failure: Failure, call: &'static str, path: &NodePath) -> Error {
    match failure {
        Failure::Refused(Refusal::Permission, _) => Error::NotAuthorized { path: path.clone() },
        Failure::Refused(Refusal::Other | Refusal::TooManyOperations, cause) => {
            Error::Rejected { call, cause }
        }
        Failure::Refused(..) | Failure::NotSent(_) | Failure::Unknown(_) => {
            Error::Unavailable { call }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_grow_while_they_are_small_and_continue_after_the_last_key() {
        let range = KeyRange { begin: "/a".into(), end: "/b".into() };
        let mut pages = Pages { revision: 7, limit: 64, range };
        let answer = |bytes: usize, more| {
            let value = vec![0; bytes].into();
            let kvs = vec![KeyValue { key: "/a/x".into(), value, ..KeyValue::default() }];
            RangeResponse { kvs, more, header: None }
        };
        for (bytes, limit) in [(1, 128), (SMALL_PAGE_BYTES + 1, 64), (1, 128)] {
            let next = pages.next(&answer(bytes, true)).unwrap();
            assert_eq!((&next.key[..], next.revision, next.limit), (&b"/a/x\0"[..], 7, limit));
        }
        for _ in 0..9 {
            pages.next(&answer(1, true));
        }
        assert_eq!(pages.limit, MAX_PAGE);
        assert_eq!(pages.next(&answer(1, false)), None);
    }
}
