//! Facts about Java instances in the view.

use reg_center::{Node, Revision, Version};
use sharding::{InstanceId, ShardingItem};

use crate::protocol::assignment::AssignmentRecord;
use crate::protocol::run_request::Triggered;
use crate::view::JobView;
use crate::view::item::{Attention, ItemView};
use crate::view::members::InstanceView;
use crate::wire;
use crate::wire::latch;
use crate::{Dialect, JobConfig, Latch, Ledger};

/// Nodes of instances, and requests to run: each dialect has its own place for these requests.
impl JobView {
    /// Takes an instance node. A request to run overwrites its data in 2.1.5, and with it the mark
    /// of a Rust instance and its attributes.
    pub(crate) fn put_instance(&mut self, id: InstanceId, node: &Node) -> Result<(), String> {
        let known = self.instances.remove(&id);
        if self.layout().is_left_behind(node) {
            self.java.leftover_instances.insert(id, node.stat.version);
            return Ok(());
        }
        let mut instance = InstanceView::read(self.layout(), &id, node)?;
        let is_triggered = node.data == wire::TRIGGER.as_bytes();
        let fault = if is_triggered {
            instance.is_java = known.as_ref().is_some_and(|known| known.is_java);
            instance.shows_attributes = known.as_ref().is_some_and(|known| known.shows_attributes);
            instance.attributes = known.map(|known| known.attributes).unwrap_or_default();
            None
        } else {
            let read = self.layout().attributes_in(&node.data);
            read.map(|attributes| instance.attributes = attributes).err()
        };
        if self.dialect() == Dialect::V2 && is_triggered {
            let version = node.stat.version;
            let triggered = Triggered { version, number: u64::from(version.0) };
            self.run_requests.insert(id.clone(), triggered);
        }
        self.instances.insert(id, instance);
        fault.map_or(Ok(()), Err)
    }

    /// Forgets the request and the leftover node that an instance node showed.
    pub(crate) fn remove_instance(&mut self, id: &InstanceId) {
        self.java.leftover_instances.remove(id);
        if self.dialect() == Dialect::V2 {
            self.run_requests.remove(id);
        }
    }

    /// Takes a request to run of 3.x. In 2.1.5 the node means nothing.
    pub(crate) fn put_run_request(&mut self, id: InstanceId, node: &Node) {
        if self.dialect() == Dialect::V3 {
            let (version, number) = (node.stat.version, node.stat.created.0);
            self.run_requests.insert(id, Triggered { version, number });
        }
    }

    /// Forgets a request to run of 3.x.
    pub(crate) fn remove_run_request(&mut self, id: &InstanceId) {
        if self.dialect() == Dialect::V3 {
            self.run_requests.remove(id);
        }
    }

    /// Returns the exclusive upper bound of the items that owners may claim. `None` if the
    /// assignment does not fit, if a Java leader is about to reshard, or while a node names the
    /// server that runs next.
    pub(crate) fn claimable_total(&self) -> Option<u32> {
        let fits =
            if self.has_java_leader() { !self.is_java_assigning() } else { self.fits_config() };
        if !fits || self.names_next_server() {
            return None;
        }
        self.config().map(|config| config.sharding_total_count)
    }

    /// Returns true if an item is pending. A Java leader knows no pending items.
    pub(crate) fn is_pending(&self, item: ShardingItem) -> bool {
        !self.has_java_leader() && self.next_owner(item).is_some()
    }

    /// Returns true if no mark shows that the session of the item's holder lives. A lasting mark
    /// counts only while the instance that it names is registered.
    #[must_use]
    pub fn is_unmarked(&self, view: &ItemView) -> bool {
        let left_behind =
            view.marks.lasting_holder().is_some_and(|holder| !self.is_registered(holder));
        !view.marks.alive && (!view.marks.shows_run() || left_behind)
    }

    /// Returns the lost Java instance that left a lasting mark of a run or of a takeover at the
    /// item.
    #[must_use]
    pub fn left_unfinished_by<'a>(&self, view: &'a ItemView) -> Option<&'a InstanceId> {
        let begun = view.marks.shows_run() || view.queued;
        // A `failovering` mark shows a lost taker only before the run has begun or is queued again.
        let taker = if begun { None } else { view.marks.failovering.as_ref() };
        let holder = view.marks.lasting_holder().or(taker)?;
        let gone = !view.marks.alive && !self.is_registered(holder);
        (gone && self.may_have_lasting_marks()).then_some(holder)
    }

    /// Returns true if the mark of a run outlasts the session of its holder. Java instances of 3.x
    /// find lost runs by such marks.
    pub(crate) fn has_lasting_marks(&self, config: &JobConfig) -> bool {
        self.may_have_lasting_marks() && config.fails_over()
    }

    /// Returns true if a run of the item may have a mark that outlasts its session. The view may
    /// show the record of a run before the marks of the same transaction.
    pub(crate) fn may_have_lasting_mark(&self, item: ShardingItem) -> bool {
        let by_config = self.config().is_some_and(|config| self.has_lasting_marks(config));
        by_config || self.item(item).marks.lasting_holder().is_some()
    }

    /// Returns true if lasting marks may exist, from this configuration or an earlier one.
    pub(crate) fn may_have_lasting_marks(&self) -> bool {
        self.dialect() == Dialect::V3
    }

    /// Returns true if the instance is registered and a Java instance.
    #[must_use]
    pub fn is_java(&self, id: &InstanceId) -> bool {
        self.instances.get(id).is_some_and(|instance| instance.is_java)
    }

    /// Returns the first registered Rust instance. Under a Java leader it does the work of a leader
    /// that must happen once.
    pub(crate) fn first_rust_instance(&self) -> Option<&InstanceId> {
        self.instances().find(|id| !self.is_java(id))
    }

    /// Returns the owner of an item if it is registered and a Java instance.
    pub(crate) fn java_owner<'a>(&self, item: &'a ItemView) -> Option<&'a InstanceId> {
        let owner = item.owner_id();
        owner.filter(|owner| self.is_java(owner))
    }

    /// Returns the Java instance whose mark an item has. A Java instance that starts an item
    /// replaces the mark of another instance by its own.
    pub(crate) fn marked_by_java(&self, item: &ItemView) -> Option<&InstanceId> {
        if !item.marks.shows_run() {
            return None;
        }
        let marks = |id: &InstanceId, instance: &InstanceView| {
            // Marks of 2.1.5 are ephemeral, and lasting marks of 3.x name their instance.
            let by_session = item.marks.session() == Some(instance.session);
            instance.is_java && (by_session || item.marks.lasting_holder() == Some(id))
        };
        let marker = self.instances.iter().find(|(id, instance)| marks(id, instance));
        marker.map(|(id, _)| id)
    }

    /// Returns the taker of an item's run if it is registered and a Java instance.
    pub(crate) fn java_taker<'a>(&self, item: &'a ItemView) -> Option<&'a InstanceId> {
        item.marks.failover.as_ref().filter(|taker| self.is_java(taker))
    }

    /// Returns true if the view shows nodes that only Java instances need or leave behind, or the
    /// dialect of 3.x, whose marks outlast sessions.
    pub(crate) fn has_traces_of_java(&self) -> bool {
        self.may_have_lasting_marks()
            || self.java.exist()
            || self.any_with(Attention::LastingMark)
            || self.is_mixed()
    }

    /// Returns true if a Java instance takes part.
    #[must_use]
    pub fn is_mixed(&self) -> bool {
        self.instances.values().any(|instance| instance.is_java)
    }

    /// Returns true if instances must take turns at the latches: a Java instance takes part, or
    /// stands at a latch.
    pub(crate) fn takes_turns(&self) -> bool {
        let is_known = |name: &str| self.instances.keys().any(|id| latch::is_of(id, name));
        let comes = self.java.contenders.keys().any(|(_, name)| !is_known(name));
        self.is_mixed() || comes
    }

    /// Returns the name of an instance's node at a latch.
    pub(crate) fn latch_node_of(&self, latch: Latch, me: &InstanceId) -> Option<&str> {
        self.in_line_at(latch).map(|(name, _)| name).find(|name| latch::is_of(me, name))
    }

    pub(crate) fn has_latch_node(&self, latch: Latch, name: &str) -> bool {
        self.in_line_at(latch).any(|(known, _)| known == name)
    }

    /// Returns true if this instance is the first contender at the latch.
    pub(crate) fn is_first_at(&self, latch: Latch, me: &InstanceId) -> bool {
        let first = self.in_line_at(latch).min_by_key(|(_, since)| *since);
        first.is_some_and(|(name, _)| latch::is_of(me, name))
    }

    /// Returns true if an earlier contender has no lower number than this instance. Java instances
    /// order contenders by number, so that this contender and this instance would wait for each
    /// other.
    pub(crate) fn is_out_of_order_at(&self, latch: Latch, me: &InstanceId) -> bool {
        let Some((name, since)) = self.in_line_at(latch).find(|(name, _)| latch::is_of(me, name))
        else {
            return false;
        };
        let mine = latch::number_in(name);
        let mut earlier = self.in_line_at(latch).filter(|(_, other)| *other < since);
        earlier.any(|(other, _)| latch::number_in(other).is_some_and(|n| Some(n) >= mine))
    }

    /// Returns the lowest free number above those of all contenders.
    pub(crate) fn next_latch_number(&self, latch: Latch) -> u32 {
        let numbers = self.in_line_at(latch).filter_map(|(name, _)| latch::number_in(name));
        let greatest = numbers.max();
        greatest.map_or(0, |number| number.saturating_add(1))
    }

    fn in_line_at(&self, latch: Latch) -> impl Iterator<Item = (&str, Revision)> {
        let all = self.java.contenders.iter().filter(move |((of, _), _)| *of == latch);
        all.map(|((_, name), since)| (name.as_str(), *since))
    }

    /// Returns the leftover nodes of lost instances of 2.1.5, with their versions.
    pub fn leftover_instances(&self) -> impl Iterator<Item = (&InstanceId, Version)> {
        self.java.leftover_instances.iter().map(|(id, version)| (id, *version))
    }

    /// Returns true if a Java instance leads. It writes owners, but no assignment record.
    #[must_use]
    pub fn has_java_leader(&self) -> bool {
        self.leader().is_some_and(|leader| self.is_java(leader))
    }

    /// Returns true if a manual request can carry a parameter, as far as this instance knows: the
    /// request waits in ledger records, not in the nodes of ElasticJob.
    pub(crate) fn carries_parameters(&self) -> bool {
        !self.has_java_leader() && self.config().is_none_or(|config| config.monitor_execution)
    }

    /// Returns true if a resharding is announced. Java instances start no items until it has ended.
    #[must_use]
    pub fn is_resharding_announced(&self) -> bool {
        self.java.necessary || self.java.processing
    }

    /// Returns true if a Java leader is about to assign items anew, or if the server that runs next
    /// is named.
    pub(crate) fn is_java_assigning(&self) -> bool {
        (self.has_java_leader() && self.is_resharding_announced()) || self.names_next_server()
    }

    /// Returns true if a node names the server whose Java instance runs the only item next. Java
    /// instances of 3.0.5 then do not go by its owner.
    pub(crate) fn names_next_server(&self) -> bool {
        self.java.next_server && self.dialect() == Dialect::V3
    }

    /// Returns true if Java instances of 3.0.5 would name the server that runs next after a run.
    pub(crate) fn may_name_next_server(&self) -> bool {
        let rotates = self.config().is_some_and(|config| {
            config.sharding_total_count == 1 && config.strategy == "SINGLE_SHARDING_BALANCE"
        });
        self.is_mixed() && self.dialect() == Dialect::V3 && rotates
    }

    /// Returns true if a Java instance has requested resharding: the node exists, and is not the
    /// leader's own announcement of writes that are unfinished. A request of a Java instance
    /// meanwhile changes nothing: the leader sees its reason in the view.
    pub(crate) fn is_resharding_requested_by_java(
        &self,
        current: &AssignmentRecord,
        config: &JobConfig,
    ) -> bool {
        let term = self.term().map(|term| term.version.0);
        let own = current.announced.is_some() && current.announced == term;
        let is_announced = own && self.is_resharding_unfinished(config);
        self.is_necessary() && !is_announced
    }

    /// Returns true if every possible taker of the item's run can receive the parameter of its
    /// request and its past fire. Java instances cannot.
    pub(crate) fn can_be_queued(&self, ledger: &Ledger) -> bool {
        let needs_record =
            ledger.run().is_some_and(|run| run.parameter.is_some() || run.past_fire.is_some());
        !needs_record || !self.is_mixed()
    }

    /// Returns true if Java instances count items for their own once-per-cluster callbacks.
    pub(crate) fn is_counted(&self) -> bool {
        !self.java.counted.is_empty()
    }

    pub(crate) fn is_necessary(&self) -> bool {
        self.java.necessary
    }

    /// Returns true if the root of the failover queue exists. It stays once a run or a contender
    /// was below it.
    pub(crate) fn has_failover_root(&self) -> bool {
        self.java.failover_root
    }

    /// Returns the items from this one on whose node in ElasticJob's tree has no children.
    pub(crate) fn empty_items(&self, first: ShardingItem) -> impl Iterator<Item = ShardingItem> {
        let is_empty = |item: &ShardingItem| {
            let shown = self.item(*item);
            let marked = shown.marks.shows_run()
                || shown.marks.failovering.is_some()
                || shown.marks.failover.is_some();
            let kept = shown.owner.is_some() || shown.misfire || shown.disabled;
            let strange = self.java.unknown_nodes.iter().any(|(of, _)| of == item);
            !marked && !kept && !strange
        };
        self.java.item_nodes.range(first..).copied().filter(is_empty)
    }
}
