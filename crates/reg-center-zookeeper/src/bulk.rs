//! Reading many nodes with few requests.

use futures_util::{StreamExt, TryStreamExt, stream};
use reg_center::{Node, NodePath};
use tokio::sync::Semaphore;
use zookeeper_client as zk;

use crate::convert;

/// Nodes in one request. More gain little, and the server answers no other client meanwhile.
const NODES_IN_A_REQUEST: usize = 200;
/// Bytes of paths in one request, far below the server's limit of 1 MiB for a request.
const BYTES_IN_A_REQUEST: usize = 256 * 1024;
/// Number of concurrent requests.
const REQUESTS_AT_ONCE: usize = 8;
/// Estimated maximum of the data that one round of requests returns, in bytes. A server holds all
/// of it in its heap several times.
const BYTES_IN_A_ROUND: usize = 4 << 20;
/// Nodes of the first round, when the sizes of the nodes are unknown. A node has at most 1 MiB.
const NODES_IN_FIRST_ROUND: usize = 16;

/// Number of nodes to read in the next round. It grows while nodes are small, and shrinks as soon
/// as a large one is read.
#[derive(Debug)]
struct RoundSize(usize);

impl RoundSize {
    const MAX: usize = NODES_IN_A_REQUEST * REQUESTS_AT_ONCE;

    /// Adapts the round to the largest node of the last round, in bytes.
    fn adapt(&mut self, largest: usize) {
        let fits = BYTES_IN_A_ROUND / largest.max(1);
        self.0 = fits.min(self.0 * REQUESTS_AT_ONCE).clamp(1, Self::MAX);
    }
}

/// The answer for one path.
struct Found {
    node: Node,
    /// Names of the children, if they were requested.
    children: Vec<String>,
}

/// Reads nodes; missing nodes are `None`. The answers have the order of the paths.
pub(crate) async fn read_nodes(
    client: &zk::Client,
    permits: &Semaphore,
    paths: &[NodePath],
) -> Result<Vec<Option<Node>>, zk::Error> {
    let mut round_size = RoundSize(NODES_IN_FIRST_ROUND);
    let found = read(client, permits, paths, false, &mut round_size).await?;
    Ok(found.into_iter().map(|found| found.map(|found| found.node)).collect())
}

/// Reads the subtrees of `roots` level by level, so that parents come before their children. No
/// root is within another one.
///
/// The result is not a consistent snapshot: it may have some of the changes that happen meanwhile.
/// A watch that was set before reports each such change.
pub(crate) async fn read_trees(
    client: &zk::Client,
    permits: &Semaphore,
    roots: impl Iterator<Item = &NodePath>,
) -> Result<Vec<Node>, zk::Error> {
    let mut nodes = Vec::new();
    let mut level: Vec<NodePath> = roots.cloned().collect();
    let mut round_size = RoundSize(NODES_IN_FIRST_ROUND);
    while !level.is_empty() {
        let found = read(client, permits, &level, true, &mut round_size).await?;
        level = Vec::new();
        // A child that was deleted after its parent was listed is missing here, and a watch reports
        // its deletion.
        for Found { node, children } in found.into_iter().flatten() {
            level.extend(children.iter().filter_map(|name| child(&node.path, name)));
            nodes.push(node);
        }
    }
    Ok(nodes)
}

/// Returns the path of a child; `None` if its name is not a valid segment, because `NodePath`
/// cannot represent it.
fn child(parent: &NodePath, name: &str) -> Option<NodePath> {
    match parent.join(name) {
        Ok(path) => Some(path),
        Err(error) => {
            tracing::warn!(%error, "node skipped: its name is not a valid path segment");
            None
        }
    }
}

async fn read(
    client: &zk::Client,
    permits: &Semaphore,
    paths: &[NodePath],
    with_children: bool,
    round_size: &mut RoundSize,
) -> Result<Vec<Option<Found>>, zk::Error> {
    let mut found = Vec::with_capacity(paths.len());
    let mut rest = paths;
    while !rest.is_empty() {
        let (round, later) = rest.split_at(rest.len().min(round_size.0));
        let answers: Vec<Vec<_>> = stream::iter(requests(round))
            .map(|paths| request(client, permits, paths, with_children))
            .buffered(REQUESTS_AT_ONCE)
            .try_collect()
            .await?;
        let answers = answers.into_iter().flatten();
        let start = found.len();
        found.extend(answers);
        round_size.adapt(largest(&found[start..]));
        rest = later;
    }
    Ok(found)
}

/// Returns the bytes of the node with the most data and names of children.
fn largest(found: &[Option<Found>]) -> usize {
    let bytes = |found: &Found| {
        found.node.data.len() + found.children.iter().map(String::len).sum::<usize>()
    };
    found.iter().flatten().map(bytes).max().unwrap_or_default()
}

/// Splits paths into requests that a server accepts.
fn requests(paths: &[NodePath]) -> Vec<Vec<NodePath>> {
    let mut split = Vec::new();
    let mut rest = paths;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = rest.iter().take(NODES_IN_A_REQUEST).take_while(|path| {
            bytes += path.as_str().len();
            bytes <= BYTES_IN_A_REQUEST
        });
        // A path is shorter than the limit, so that at least one fits.
        let (request, others) = rest.split_at(fits.count().max(1));
        split.push(request.to_vec());
        rest = others;
    }
    split
}

async fn request(
    client: &zk::Client,
    permits: &Semaphore,
    paths: Vec<NodePath>,
    with_children: bool,
) -> Result<Vec<Option<Found>>, zk::Error> {
    let _permit = permits.acquire().await;
    let answer = {
        let mut reader = client.new_multi_reader();
        for path in &paths {
            reader.add_get_data(path.as_str())?;
            if with_children {
                reader.add_get_children(path.as_str())?;
            }
        }
        reader.commit()
    };
    let mut results = answer.await?.into_iter();
    let mut found = Vec::with_capacity(paths.len());
    for path in paths {
        let node = match results.next() {
            Some(zk::MultiReadResult::Data { data, stat }) => {
                Some(convert::node(path, data, &stat))
            }
            other => absent(other)?,
        };
        let children = match with_children.then(|| results.next()) {
            None => Vec::new(),
            Some(Some(zk::MultiReadResult::Children { children })) => children,
            Some(other) => absent(other)?.unwrap_or_default(),
        };
        found.push(node.map(|node| Found { node, children }));
    }
    Ok(found)
}

/// Distinguishes a missing node from one that could not be read.
fn absent<T>(result: Option<zk::MultiReadResult>) -> Result<Option<T>, zk::Error> {
    match result {
        Some(zk::MultiReadResult::Error { err: zk::Error::NoNode }) => Ok(None),
        Some(zk::MultiReadResult::Error { err }) => Err(err),
        other => {
            let answer = format!("unexpected answer to a read: {other:?}");
            Err(zk::Error::UnexpectedError(answer))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_round_grows_with_small_nodes_and_bounds_the_bytes_of_large_nodes() {
        let mut round_size = RoundSize(NODES_IN_FIRST_ROUND);
        let rows = [(10, 128), (10, 1_024), (10, 1_600), (1 << 20, 4), (100_000, 32), (0, 256)];
        for (largest, nodes) in rows {
            round_size.adapt(largest);
            assert_eq!(round_size.0, nodes, "after {largest} bytes");
            assert!(nodes * largest <= BYTES_IN_A_ROUND, "after {largest} bytes");
        }
        round_size.adapt(100 << 20);
        assert_eq!(round_size.0, 1, "a round has at least one node");
    }

    #[test]
    fn paths_are_split_by_number_and_by_size() {
        let short = vec![NodePath::parse("/a").unwrap(); 450];
        let lengths = |paths: &[NodePath]| requests(paths).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(lengths(&[]), [0_usize; 0]);
        assert_eq!(lengths(&short), [200, 200, 50]);
        let long = vec![NodePath::parse(&format!("/{}", "x".repeat(4000))).unwrap(); 100];
        assert_eq!(lengths(&long), [65, 35]);
    }
}
