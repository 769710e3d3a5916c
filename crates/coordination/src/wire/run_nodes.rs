//! The nodes that the code of a run writes beside its item's record.

use bytes::Bytes;
use reg_center::{Lifetime, Node, NodePath, Txn};

use super::layout::Layout;
use super::records::{RecordError, decode_ledger};
use crate::RunWriter;

/// Why a run may not write.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunWriteError {
    /// The item's record does not show this run: it has ended, or was taken over.
    NotHeld,
    /// The item's record cannot be read.
    Record(RecordError),
}

impl Layout {
    /// Returns the transaction by which a run writes the checkpoint or the progress of its item.
    ///
    /// `record` is the [record](Self::ledger_path) of the run's slot as it was read. The
    /// transaction checks that it is unchanged, so that a run that was taken over meanwhile writes
    /// nothing. `exists` is true if the node exists; if it has come or gone meanwhile, the
    /// transaction conflicts.
    ///
    /// # Errors
    /// [`RunWriteError`].
    pub fn write_of_run(
        &self,
        run: &RunWriter,
        record: Option<&Node>,
        node: &NodePath,
        data: Bytes,
        exists: bool,
    ) -> Result<Txn, RunWriteError> {
        let record = record.ok_or(RunWriteError::NotHeld)?;
        let ledger = decode_ledger(&record.data).map_err(RunWriteError::Record)?;
        if !run.holds(&ledger) {
            return Err(RunWriteError::NotHeld);
        }
        let path = self.ledger_path(run.slot.key());
        let txn = Txn::new().check_version(path, record.stat.version);
        Ok(match exists {
            true => txn.put(node.clone(), data),
            false => txn.create(node.clone(), data, Lifetime::Persistent),
        })
    }
}

#[cfg(test)]
mod tests {
    use reg_center::{Expect, Op, Revision, Stat, Version};
    use sharding::{InstanceId, ShardingItem};

    use super::*;
    use crate::wire::encode_ledger;
    use crate::{Claimant, FencingToken, FireTime, JobName, Ledger, Slot};

    const ITEM: ShardingItem = ShardingItem::new(3);

    fn layout() -> Layout {
        Layout::new(&JobName::new("j").unwrap())
    }

    fn record(ledger: &Ledger) -> Node {
        let (version, created) = (Version(5), Revision(1));
        let stat = Stat { version, created, modified: created, modified_at: None, owner: None };
        Node { path: layout().ledger_path(ITEM), data: encode_ledger(ledger).into(), stat }
    }

    fn running(n: u32) -> Ledger {
        let holder = InstanceId::new(format!("10.0.0.{n}@-@7-a"));
        let by = Claimant { holder, config: Version(0), now_ms: 0 };
        Ledger::new(None).claim(&by, FireTime(1_000), None).unwrap()
    }

    fn write(record: Option<&Node>, token: u64) -> Result<Txn, RunWriteError> {
        let holder = InstanceId::new("10.0.0.1@-@7-a");
        let run = RunWriter { slot: Slot::of(ITEM), holder, token: FencingToken(token) };
        let node = layout().progress_path(ITEM);
        layout().write_of_run(&run, record, &node, Bytes::from_static(b"x"), true)
    }

    #[test]
    fn only_the_holder_under_its_token_writes() {
        let held = running(1);
        let ended = held.complete(crate::Outcome::Succeeded, 1_500).unwrap();
        let taken = held.orphan().unwrap();
        assert!(write(Some(&record(&held)), held.token.0).is_ok());
        let rows = [
            ("no record", None, held.token.0),
            ("an older token", Some(record(&held)), held.token.0 - 1),
            ("another holder", Some(record(&running(2))), held.token.0),
            ("the run has ended", Some(record(&ended)), held.token.0),
            ("the run is orphaned", Some(record(&taken)), held.token.0),
        ];
        for (case, record, token) in rows {
            assert_eq!(write(record.as_ref(), token), Err(RunWriteError::NotHeld), "{case}");
        }
        let damaged = Node { data: Bytes::from_static(b"{"), ..record(&held) };
        assert!(matches!(write(Some(&damaged), 1), Err(RunWriteError::Record(_))));
    }

    #[test]
    fn write_conflicts_when_the_record_changed() {
        let held = running(1);
        let txn = write(Some(&record(&held)), held.token.0).unwrap();
        let check =
            Op::Check { path: layout().ledger_path(ITEM), expect: Expect::Version(Version(5)) };
        assert!(txn.ops().contains(&check), "{txn:?}");
        let puts = |op: &Op| matches!(op, Op::Put { expect: Expect::Exists, .. });
        assert!(txn.ops().iter().any(puts), "{txn:?}");
    }
}
