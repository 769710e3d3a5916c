//! Definition of groups of jobs by programs.

use std::time::Duration;

use coordination::{
    GroupLimits, GroupName, GroupNode, Layout, decode_group_limits, encode_group_limits,
};
use reg_center::{Lifetime, Txn};

use crate::requests::{Requests, Unanswered};
use crate::seams::Seams;
use crate::{Error, Result};

/// Stores the limits of a group that has none, and returns the stored ones.
pub(crate) async fn define(
    seams: &Seams,
    patience: Duration,
    group: GroupName,
    limits: GroupLimits,
) -> Result<GroupLimits> {
    limits.check()?;
    let started = seams.clock.monotonic();
    let requests = Requests { seams, started, deadline: started.saturating_add(patience) };
    let stored = store(&requests, &group, limits).await;
    stored.map_err(|reason| Error::Group { group, reason })
}

/// Reads and writes until the group has limits. An error is the reason.
async fn store(
    requests: &Requests<'_>,
    group: &GroupName,
    limits: GroupLimits,
) -> std::result::Result<GroupLimits, String> {
    let path = Layout::group_path(group, &GroupNode::Limits);
    loop {
        if let Some(node) = requests.read(&path).await.map_err(reason)? {
            return decode_group_limits(&node.data).map_err(|error| format!("{path}: {error}"));
        }
        let data = encode_group_limits(&limits);
        let txn = Txn::new().create(path.clone(), data, Lifetime::Persistent);
        if requests.write(txn, "the limits").await.map_err(reason)? {
            return Ok(limits);
        }
    }
}

fn reason(fault: Unanswered) -> String {
    match fault {
        Unanswered::Refused { source, .. } => source.to_string(),
        Unanswered::TooLate { waited, .. } => {
            format!("the registry did not answer within {waited:?}")
        }
    }
}
