//! Requests of a transaction and their answers.

use std::time::SystemTime;

use reg_center::{Committed, NodePath, Op, Stat};
use zookeeper_client as zk;

use super::plan::{Action, Step, lifetime};
use crate::convert;

/// Failure of a request. The steps were not executed, or their outcome is unknown.
pub(super) enum Failure {
    /// The answer to one step. If it is definite, no step was executed.
    Step { step: usize, error: zk::Error },
    /// The failure of the request as a whole.
    Request(zk::Error),
}

/// The server's answer to an executed transaction.
pub(super) struct Executed {
    pub(super) committed: Committed,
    /// The registry's clock at the execution, if the answer has it.
    pub(super) time: Option<SystemTime>,
}

/// Executes all steps or none.
///
/// A single operation is sent as a plain request, because its answer has more fields: inside a
/// transaction, a server before 3.9 omits the revision of a created node.
pub(super) async fn send(
    client: &zk::Client,
    acls: zk::Acls<'_>,
    ops: &[Op],
    steps: &[Step<'_>],
) -> Result<Executed, Failure> {
    let single = match steps {
        [Step { action: Action::Operation(op), .. }] => send_single(client, acls, op).await,
        _ => None,
    };
    match single {
        Some(answer) => {
            let stat = answer.map_err(|error| Failure::Step { step: 0, error })?;
            let stat = stat.as_ref();
            let time = stat.and_then(convert::time_of);
            Ok(Executed { committed: committed(vec![stat.and_then(convert::stat_of_reply)]), time })
        }
        None => send_all(client, acls, ops, steps).await,
    }
}

/// Sends one operation; `None` if the operation has no request outside of a transaction.
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
        if let (Action::Operation(_), Some(stat)) = (&step.action, stat_of(result)) {
            stats[step.op] = convert::stat_of_reply(stat);
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
        Action::Operation(op) => add_operation(writer, acls, op),
        Action::AddEmpty(path) => {
            let options = zk::CreateMode::Persistent.with_acls(acls);
            writer.add_create(path.as_str(), b"", &options)
        }
        Action::RemoveEmpty(path) => writer.add_delete(path.as_str(), None),
        Action::CheckEphemeral(path) => writer.add_check_version(path.as_str(), any),
        Action::Fail => writer.add_check_version(NodePath::root().as_str(), i32::MAX),
    }
}

fn add_operation(
    writer: &mut zk::MultiWriter<'_>,
    acls: zk::Acls<'_>,
    op: &Op,
) -> Result<(), zk::Error> {
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
        Op::CheckAbsent { .. } => {
            unreachable!("`plan` replaces checks of absence by creation and deletion of the node")
        }
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

/// Builds the result. All written nodes have the revision of the transaction, so that any of their
/// stats has it.
fn committed(stats: Vec<Option<Stat>>) -> Committed {
    let revision = stats.iter().flatten().map(|stat| stat.modified).next();
    Committed { revision, stats }
}
