//! The text of a dump: one line per node, in the format of Java.

use std::cmp::Ordering;

use coordination::{JobName, Layout};
use reg_center::{Change, NodePath, RegistryCenter};

use super::mask::Mask;
use super::request::Refused;

/// Returns the nodes of a job as text: a line `path | data` for each node below its root.
///
/// Parents come first, children in descending order, and addresses are masked. Data of several
/// lines stays as it is, and bytes that are not UTF-8 are replaced.
///
/// All nodes are read from one snapshot of the registry. Java also adds the data of its own cache
/// if it differs; this function has no such cache.
pub(super) async fn dump(
    registry: &dyn RegistryCenter,
    job: &JobName,
    max_bytes: usize,
) -> Result<String, Refused> {
    let mut nodes = snapshot(registry, job, max_bytes).await?;
    nodes.sort_unstable_by(|(left, _), (right, _)| parents_first(left, right));
    let mut mask = Mask::default();
    let lines = nodes.iter().map(|(path, data)| mask.apply(&format!("{path} | {data}")) + "\n");
    Ok(lines.collect())
}

async fn snapshot(
    registry: &dyn RegistryCenter,
    job: &JobName,
    max_bytes: usize,
) -> Result<Vec<(String, String)>, Refused> {
    let root = Layout::new(job).root();
    let mut feed = registry.watch(&root);
    let (mut nodes, mut bytes, mut exists) = (Vec::new(), 0, false);
    loop {
        match feed.next().await.ok_or_else(|| Refused::NoFeed(job.clone()))? {
            Change::Init => (nodes, bytes, exists) = (Vec::new(), 0, false),
            Change::Ready if exists => return Ok(nodes),
            Change::Ready => return Err(Refused::Absent(job.clone())),
            Change::Entry(node) => {
                exists = true;
                let (path, data) = (node.path.as_str(), String::from_utf8_lossy(&node.data));
                if is_below(&node.path, &root) {
                    bytes += path.len() + data.len() + " | \n".len();
                    nodes.push((path.to_owned(), data.into_owned()));
                }
                if bytes > max_bytes {
                    return Err(Refused::TooLong { job: job.clone(), max: max_bytes });
                }
            }
            // The feed sends no changes before its snapshot is complete.
            Change::Put(_) | Change::Gone { .. } => {}
        }
    }
}

fn is_below(path: &NodePath, root: &NodePath) -> bool {
    path != root && path.below(root).is_some()
}

/// Order of a depth-first walk: a node before its children, and children in descending order of
/// their names, compared as Java compares strings.
fn parents_first(left: &str, right: &str) -> Ordering {
    let mut pairs = (left.split('/'), right.split('/'));
    loop {
        match (pairs.0.next(), pairs.1.next()) {
            (Some(a), Some(b)) if a == b => {}
            (Some(a), Some(b)) => return b.encode_utf16().cmp(a.encode_utf16()),
            (a, b) => return a.is_some().cmp(&b.is_some()),
        }
    }
}

#[cfg(test)]
mod tests {
    use reg_center::{Lifetime, MemoryRegistry, Txn};

    use super::*;

    async fn job_with(nodes: &[(&str, &str)]) -> impl RegistryCenter {
        let registry = MemoryRegistry::new().connect();
        for (path, data) in nodes {
            let path = NodePath::parse(path).unwrap();
            let txn = Txn::new().create(path, (*data).to_owned(), Lifetime::Persistent);
            assert!(registry.commit(txn).await.unwrap().is_committed());
        }
        registry
    }

    #[tokio::test]
    async fn parents_come_first_children_descend_and_addresses_are_masked() {
        let registry = job_with(&[
            ("/job/config", "{}"),
            ("/job/sharding/0/instance", "10.0.0.2@-@9"),
            ("/job/sharding/10/instance", "10.0.0.1@-@7"),
            ("/job/sharding/9", ""),
            ("/job/instances/10.0.0.1@-@7", "jobInstanceId: 10.0.0.1@-@7\nserverIp: 10.0.0.1\n"),
            ("/job-2/config", "of another job"),
        ])
        .await;
        let expected = "\
/job/sharding | 
/job/sharding/9 | 
/job/sharding/10 | 
/job/sharding/10/instance | ip1@-@7
/job/sharding/0 | 
/job/sharding/0/instance | ip2@-@9
/job/instances | 
/job/instances/ip1@-@7 | jobInstanceId: ip1@-@7
serverIp: ip1

/job/config | {}
";
        let job = JobName::new("job").unwrap();
        assert_eq!(dump(&registry, &job, 10_000).await.unwrap(), expected);
    }

    #[tokio::test]
    async fn error_names_the_job_that_cannot_be_dumped() {
        let registry = job_with(&[("/job/config", "0123456789")]).await;
        let rows = [
            ("no job", "report", 10_000, "the registry has no job report"),
            ("too long", "job", 20, "the dump of job job has more than 20 bytes"),
        ];
        for (case, job, max, expected) in rows {
            let error = dump(&registry, &JobName::new(job).unwrap(), max).await.unwrap_err();
            assert_eq!(error.to_string(), expected, "{case}");
        }
    }
}
