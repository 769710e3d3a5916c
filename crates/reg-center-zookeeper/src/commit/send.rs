//! Sending steps and reading the answer.

use std::time::SystemTime;

use reg_center::{Committed, NodePath, Op, Stat};
use zookeeper_client as zk;

use super::plan::{Action, Step, lifetime};
use crate::convert;

/// Why steps were not executed, or not certainly.
pub(super) enum Failure {
    /// The answer to one step; nothing was executed if it is a definite one.
    Step { step: usize, error: zk::Error },
    /// The request as a whole has no answer.
    Request(zk::Error),
}

/// What a server says of an executed transaction.
pub(super) struct Executed {
    pub(super) committed: Committed,
    /// The registry's clock at the execution, if the answer has it.
    pub(super) time: Option<SystemTime>,
}

/// Executes all steps or none.
///
/// A single operation is sent as such, because the answer then tells more: inside of a transaction a server before
/// 3.9 does not say at which revision it created a node.
pub(super) async fn send(
    client: &zk::Client,
    acls: zk::Acls<'_>,
    ops: &[Op],
    steps: &[Step<'_>],
) -> Result<Executed, Failure> {
    let single = match steps {
        [Step { action: Action::Own(op), .. }] => send_single(client, acls, op).await,
        _ => None,
    };
    match single {
        Some(answer) => {
            let stat = answer.map_err(|error| Failure::Step { step: 0, error })?;
            let stat = stat.as_ref();
            let time = stat.and_then(convert::time_of);
            Ok(Executed { committed: committed(vec![stat.and_then(convert::told)]), time })
        }
        None => send_all(client, acls, ops, steps).await,
    }
}

/// Sends one operation; `None` if there is no such request outside of a transaction.
async fn send_single(
    client: &zk::Client,
    acls: zk::Acls<'_>,
    op: &Op,
) -> Option<Result<Option<zk::Stat>, zk::Error>> {
    let path = op.path().as_str();
    match op {
        Op::Create { data, .. } => {
            let options = mode(op).with_acls(acls);
            let created = client.create(path, data, &options).await;
            Some(created.map(|(stat, _)| Some(stat)))
        }
        Op::Put { data, expect, .. } => {
            let expected = Some(convert::expected_version(*expect));
            Some(client.set_data(path, data, expected).await.map(Some))
        }
        Op::Delete { expect, .. } => {
            let expected = Some(convert::expected_version(*expect));
            Some(client.delete(path, expected).await.map(|()| None))
        }
        Op::Check { .. } | Op::CheckAbsent { .. } => None,
    }
}

fn mode(op: &Op) -> zk::CreateMode {
    match lifetime(op) {
        reg_center::Lifetime::Persistent => zk::CreateMode::Persistent,
        reg_center::Lifetime::Ephemeral => zk::CreateMode::Ephemeral,
    }
}

async fn send_all(
    client: &zk::Client,
    acls: zk::Acls<'_>,
    ops: &[Op],
    steps: &[Step<'_>],
) -> Result<Executed, Failure> {
    let answer = {
        let mut writer = client.new_multi_writer();
        for (index, step) in steps.iter().enumerate() {
            add(&mut writer, acls, &step.action)
                .map_err(|error| Failure::Step { step: index, error })?;
        }
        writer.commit()
    };
    let results = answer.await.map_err(|error| match error {
        zk::MultiWriteError::OperationFailed { index, source } => {
            Failure::Step { step: index, error: source }
        }
        zk::MultiWriteError::RequestFailed { source } => Failure::Request(source),
    })?;
    let mut stats = vec![None; ops.len()];
    for (step, result) in steps.iter().zip(&results) {
        if let (Action::Own(_), Some(stat)) = (&step.action, stat_of(result)) {
            stats[step.op] = convert::told(stat);
        }
    }
    let time = results.iter().filter_map(stat_of).find_map(convert::time_of);
    Ok(Executed { committed: committed(stats), time })
}

fn add(
    writer: &mut zk::MultiWriter<'_>,
    acls: zk::Acls<'_>,
    action: &Action<'_>,
) -> Result<(), zk::Error> {
    let any = convert::expected_version(reg_center::Expect::Exists);
    match action {
        Action::Own(op) => add_own(writer, acls, op),
        Action::Make(path) => {
            let options = zk::CreateMode::Persistent.with_acls(acls);
            writer.add_create(path.as_str(), b"", &options)
        }
        Action::Unmake(path) => writer.add_delete(path.as_str(), None),
        Action::Stands(path) => writer.add_check_version(path.as_str(), any),
        Action::Never => writer.add_check_version(NodePath::root().as_str(), i32::MAX),
    }
}

fn add_own(writer: &mut zk::MultiWriter<'_>, acls: zk::Acls<'_>, op: &Op) -> Result<(), zk::Error> {
    let at = op.path().as_str();
    match op {
        Op::Create { data, .. } => writer.add_create(at, data, &mode(op).with_acls(acls)),
        Op::Put { data, expect, .. } => {
            writer.add_set_data(at, data, Some(convert::expected_version(*expect)))
        }
        Op::Delete { expect, .. } => {
            writer.add_delete(at, Some(convert::expected_version(*expect)))
        }
        Op::Check { expect, .. } => {
            writer.add_check_version(at, convert::expected_version(*expect))
        }
        Op::CheckAbsent { .. } => unreachable!("planned as steps that make and unmake the node"),
    }
}

fn stat_of(result: &zk::MultiWriteResult) -> Option<&zk::Stat> {
    if let zk::MultiWriteResult::Create { stat, .. } | zk::MultiWriteResult::SetData { stat } =
        result
    {
        Some(stat)
    } else {
        None
    }
}

/// All that was written has the revision of the transaction, so that any of it tells.
fn committed(stats: Vec<Option<Stat>>) -> Committed {
    let revision = stats.iter().flatten().map(|stat| stat.modified).next();
    Committed { revision, stats }
}
