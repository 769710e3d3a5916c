//! What operators do to a job, as transactions for a registry.

use reg_center::{Lifetime, Txn};
use sharding::ShardingItem;

use crate::layout::{self, Layout, NodeKind};
use crate::trigger_record::TriggerRecord;
use crate::{FireTime, ServerIp, ServerState};

impl Layout {
    /// Enables, pauses or disables a server that has run the job. The transaction conflicts if it never has.
    ///
    /// # Examples
    /// ```
    /// use coordination::{JobName, Layout, ServerIp, ServerState};
    ///
    /// let layout = Layout::new(&JobName::new("report")?);
    /// let txn = layout.set_server(&ServerIp::new("10.0.0.7")?, ServerState::Paused);
    /// assert_eq!(txn.ops()[0].to_string(), "put /report/servers/10.0.0.7");
    /// # Ok::<(), coordination::InvalidName>(())
    /// ```
    #[must_use]
    pub fn set_server(&self, ip: &ServerIp, state: ServerState) -> Txn {
        Txn::new().put(self.path(&NodeKind::Server(ip.clone())), self.server_data(state))
    }

    /// Disables an item, or enables it again. The transaction conflicts if that is the case already.
    #[must_use]
    pub fn set_item_disabled(&self, item: ShardingItem, disabled: bool) -> Txn {
        let path = self.path(&NodeKind::ItemDisabled(item));
        match disabled {
            true => Txn::new().create(path, "", Lifetime::Persistent),
            false => Txn::new().delete(path),
        }
    }

    /// Asks for a run of some items now, or of all. `id` must be a node name that no other request of the job has, so
    /// that whoever does not know whether the request arrived can look; `by` says who asks; of `at_ms`, milliseconds
    /// since 1970 UTC, the odd one from it on identifies the runs.
    ///
    /// The request waits while items still have an earlier one, is passed on to the items' records by the leader, and
    /// is then taken away. What waits in the record of an item of a Java instance is handed on to that one, which then runs
    /// all items that it has.
    #[must_use]
    pub fn request_run(
        &self,
        id: &str,
        by: &str,
        at_ms: i64,
        items: Option<impl IntoIterator<Item = ShardingItem>>,
    ) -> Txn {
        let record = TriggerRecord {
            by: by.to_owned(),
            at: FireTime::of_request(at_ms),
            items: items.map(|items| items.into_iter().collect()),
        };
        let path = self.path(&NodeKind::TriggerRequest(id.to_owned()));
        Txn::new().create(path, layout::encode_trigger(&record), Lifetime::Persistent)
    }
}
