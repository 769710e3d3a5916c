//! Reading many nodes with few requests.

use futures_util::{StreamExt, TryStreamExt, stream};
use reg_center::{Node, NodePath};
use tokio::sync::Semaphore;
use zookeeper_client as zk;

use crate::convert;

/// Nodes in one request; more gain little, and the server answers nobody else meanwhile.
const NODES_IN_A_REQUEST: usize = 200;
/// Bytes of paths in one request, far below the server's limit of 1 MiB for a request.
const BYTES_IN_A_REQUEST: usize = 256 * 1024;
/// Requests under way at the same time.
const REQUESTS_AT_ONCE: usize = 8;
/// Bytes of data that one round of requests may bring, as far as that can be estimated; a server holds all of them in its heap
/// several times.
const BYTES_IN_A_ROUND: usize = 4 << 20;
/// Nodes of the first round, when nothing is known about their sizes. A node has at most 1 MiB.
const NODES_IN_FIRST_ROUND: usize = 16;

/// Number of nodes to read in the next round. It grows while nodes are small, and shrinks as soon as a large one is read.
#[derive(Debug)]
struct Pace(usize);

impl Pace {
    const MAX: usize = NODES_IN_A_REQUEST * REQUESTS_AT_ONCE;

    /// Adapts to the largest node of the last round, in bytes.
    fn adapt(&mut self, largest: usize) {
        let fits = BYTES_IN_A_ROUND / largest.max(1);
        self.0 = fits.min(self.0 * REQUESTS_AT_ONCE).clamp(1, Self::MAX);
    }
}

/// What a request brought of one path.
struct Found {
    node: Node,
    /// Names, if they were asked for.
    children: Vec<String>,
}

/// Reads nodes; those that do not exist are `None`. The answers have the order of the paths.
pub(crate) async fn read_nodes(
    client: &zk::Client,
    permits: &Semaphore,
    paths: &[NodePath],
) -> Result<Vec<Option<Node>>, zk::Error> {
    let mut pace = Pace(NODES_IN_FIRST_ROUND);
    let found = read(client, permits, paths, false, &mut pace).await?;
    Ok(found.into_iter().map(|found| found.map(|found| found.node)).collect())
}

/// Reads these nodes, none of them within another one, and everything below them, level by level; parents come before their
/// children.
///
/// This is no picture of one moment: what changes meanwhile may be seen in part. A watch that was set before tells
/// of each such change.
pub(crate) async fn read_trees(
    client: &zk::Client,
    permits: &Semaphore,
    roots: impl Iterator<Item = &NodePath>,
) -> Result<Vec<Node>, zk::Error> {
    let mut nodes = Vec::new();
    let mut level: Vec<NodePath> = roots.cloned().collect();
    let mut pace = Pace(NODES_IN_FIRST_ROUND);
    while !level.is_empty() {
        let found = read(client, permits, &level, true, &mut pace).await?;
        level = Vec::new();
        // A child that is gone since its parent was listed is not found, and a watch tells of it.
        for Found { node, children } in found.into_iter().flatten() {
            level.extend(children.iter().filter_map(|name| child(&node.path, name)));
            nodes.push(node);
        }
    }
    Ok(nodes)
}

/// A name that is no valid segment cannot be spoken of through this crate.
fn child(parent: &NodePath, name: &str) -> Option<NodePath> {
    match parent.join(name) {
        Ok(path) => Some(path),
        Err(error) => {
            tracing::warn!(%error, "node skipped");
            None
        }
    }
}

async fn read(
    client: &zk::Client,
    permits: &Semaphore,
    paths: &[NodePath],
    with_children: bool,
    pace: &mut Pace,
) -> Result<Vec<Option<Found>>, zk::Error> {
    let mut found = Vec::with_capacity(paths.len());
    let mut rest = paths;
    while !rest.is_empty() {
        let (round, later) = rest.split_at(rest.len().min(pace.0));
        let answers: Vec<Vec<_>> = stream::iter(requests(round))
            .map(|paths| request(client, permits, paths, with_children))
            .buffered(REQUESTS_AT_ONCE)
            .try_collect()
            .await?;
        let answers = answers.into_iter().flatten();
        let start = found.len();
        found.extend(answers);
        pace.adapt(largest(&found[start..]));
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

/// Cuts paths into requests that a server takes.
fn requests(paths: &[NodePath]) -> Vec<Vec<NodePath>> {
    let mut cut = Vec::new();
    let mut rest = paths;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = rest.iter().take(NODES_IN_A_REQUEST).take_while(|path| {
            bytes += path.as_str().len();
            bytes <= BYTES_IN_A_REQUEST
        });
        // A path is shorter than the limit, so that at least one fits.
        let (request, others) = rest.split_at(fits.count().max(1));
        cut.push(request.to_vec());
        rest = others;
    }
    cut
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

/// Tells a node that does not exist from one that could not be read.
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
    fn the_pace_grows_with_small_nodes_and_bounds_the_bytes_of_large_ones() {
        let mut pace = Pace(NODES_IN_FIRST_ROUND);
        let rows = [(10, 128), (10, 1_024), (10, 1_600), (1 << 20, 4), (100_000, 32), (0, 256)];
        for (largest, nodes) in rows {
            pace.adapt(largest);
            assert_eq!(pace.0, nodes, "after {largest} bytes");
            assert!(nodes * largest <= BYTES_IN_A_ROUND, "after {largest} bytes");
        }
        pace.adapt(100 << 20);
        assert_eq!(pace.0, 1, "it always goes on");
    }

    #[test]
    fn paths_are_cut_by_number_and_by_size() {
        let short = vec![NodePath::parse("/a").unwrap(); 450];
        let lengths = |paths: &[NodePath]| requests(paths).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(lengths(&[]), [0_usize; 0]);
        assert_eq!(lengths(&short), [200, 200, 50]);
        let long = vec![NodePath::parse(&format!("/{}", "x".repeat(4000))).unwrap(); 100];
        assert_eq!(lengths(&long), [65, 35]);
    }
}
