//! The rules of writes. They ignore the guards of the transaction and compare only the state before
//! and after it.

use std::fmt;

use coordination::internals::ViewQueries as _;
use coordination::{
    ConfigState, ItemView, JobView, Ledger, LedgerState, ManualRequest, Outcome, Overlap,
    ProgressRecord, RecordError, Run, RunKind, RunSource, ServerIp, ServerState, Slot, server_of,
};
use sharding::{InstanceId, ShardingItem};

use crate::backfill::{breach_of_gift, is_withdrawn};
use crate::quiescence::slots;
use crate::{Breach, Finding};

/// An item, or a further slot of it, before and after a write.
#[derive(Clone, Copy, Debug)]
pub struct ItemChange<'a> {
    /// The slot.
    pub slot: Slot,
    /// The slot before the write.
    pub before: &'a ItemView,
    /// The slot after the write.
    pub after: &'a ItemView,
    /// The item before the write. It is the same as `before` for the first slot.
    pub item_before: &'a ItemView,
    /// The item after the write.
    pub item_after: &'a ItemView,
    /// The run that the write begins in a further slot, if this is the first slot of that item.
    pub beside: Option<&'a Run>,
}

impl<'a> ItemChange<'a> {
    /// Returns the change of the slot with this key. The functions return the view of a key before
    /// and after the write.
    pub fn between(
        key: ShardingItem,
        before: impl Fn(ShardingItem) -> &'a ItemView,
        after: impl Fn(ShardingItem) -> &'a ItemView,
    ) -> Self {
        let slot = Slot::of(key);
        let change = |slot: Slot, beside| Self {
            slot,
            before: before(slot.key()),
            after: after(slot.key()),
            item_before: before(slot.item),
            item_after: after(slot.item),
            beside,
        };
        let is_first = slot.number == 0;
        let last = after(slot.item).ledger.as_ref().map_or(0, |it| it.value.further_slots);
        let further = (1..=last).filter(|_| is_first).map(|number| Slot { number, ..slot });
        let beside = further.filter_map(|slot| change(slot, None).begun()).next();
        change(slot, beside)
    }

    /// Returns true if the item changes its owner.
    #[must_use]
    pub fn moves(&self) -> bool {
        let owner = |of: &'a ItemView| of.owner.as_ref().map(|owner| &owner.value);
        owner(self.before) != owner(self.after)
    }

    /// Returns the records before and after the write, if there are both.
    #[must_use]
    pub fn records(&self) -> Option<(&'a Ledger, &'a Ledger)> {
        let record = |of: &'a ItemView| of.ledger.as_ref().map(|ledger| &ledger.value);
        Some((record(self.before)?, record(self.after)?))
    }

    /// Returns the run that begins with the write.
    #[must_use]
    pub fn begun(&self) -> Option<&'a Run> {
        let (old, new) = self.records()?;
        let begins = new.running() != old.running() || new.token != old.token;
        new.running().filter(|_| begins)
    }

    /// Returns the manual request that the new run is for.
    #[must_use]
    pub fn answered(&self) -> Option<&'a ManualRequest> {
        let (old, _) = self.records()?;
        let run = self.begun()?;
        let request = old.request.as_ref()?;
        let is_manual = matches!(run.source, RunSource::Manual | RunSource::Backfill);
        (is_manual && run.fire == request.at && run.past_fire == request.past_fire)
            .then_some(request)
    }

    /// Returns true if a run in progress is replaced by another run in one write.
    #[must_use]
    pub fn replaces_run(&self) -> bool {
        let replaced = self.records().and_then(|(old, _)| old.running());
        replaced.is_some() && self.begun().is_some()
    }
}

/// A write, with the facts about the cluster by which it is judged.
pub struct Write<'a> {
    /// The job before the write, or after it: no write changes both an item and the nodes by which
    /// its claim is judged.
    pub view: &'a JobView,
    /// The instance that writes. `None` if it is an operator.
    pub writer: Option<&'a InstanceId>,
    /// True if the writer may write as leader, see [`Leadership::permits`].
    pub leads: bool,
    /// Returns true if the session of an instance is alive.
    pub is_alive: &'a dyn Fn(&InstanceId) -> bool,
    /// Returns true if the writer's process has claimed the present run of the slot with this key.
    pub has_claimed: &'a dyn Fn(ShardingItem, &Ledger, &Run) -> bool,
}

impl fmt::Debug for Write<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { writer, leads, .. } = self;
        f.debug_struct("Write")
            .field("writer", writer)
            .field("leads", leads)
            .finish_non_exhaustive()
    }
}

impl Write<'_> {
    /// Returns the first property that the change of an item violates.
    #[must_use]
    pub fn breach_of(&self, change: &ItemChange<'_>) -> Option<Finding> {
        let item = change.slot;
        if change.moves() && !self.leads {
            let text =
                format!("item {item} was assigned by {:?}, which does not lead", self.writer);
            return Some(Finding::new(Breach::Leader, text));
        }
        let old = &change.before.ledger.as_ref()?.value;
        let further_run = self.unfinished_runs(item).find(|(slot, _)| slot.number > 0);
        if change.moves()
            && let Some((slot, run)) = further_run
        {
            let text =
                format!("item {item} changed its owner during a run of slot {slot}: {run:?}");
            return Some(Finding::new(Breach::MovedUnderRun, text));
        }
        if change.moves() && old.is_busy() {
            let text = format!("item {item} changed its owner during a run: {}", old.summary());
            return Some(Finding::new(Breach::MovedUnderRun, text));
        }
        let Some((_, new)) = change.records() else {
            let text = format!("the record of item {item} was deleted");
            return Some(Finding::new(Breach::Claims, text));
        };
        let back = || format!("the record of item {item} went back to {}", new.summary());
        if new.token < old.token {
            return Some(Finding::new(Breach::Claims, back()));
        }
        if new.last_fire < old.last_fire {
            return Some(Finding::new(Breach::FireAgain, back()));
        }
        self.breach_of_run(change, old, new)
            .or_else(|| self.breach_of_settled_fire(change, old, new))
            .or_else(|| breach_of_cancellation(item, old, new))
            .or_else(|| self.breach_of_overlap(change, old, new))
            .or_else(|| self.breach_of_queue(item, old, new))
            .or_else(|| breach_of_gift(self.view, item.key(), old, new))
            .or_else(|| breach_of_waiting(self.view, change, old, new))
    }

    /// Judges the run that begins or ends with the write.
    fn breach_of_run(
        &self,
        change: &ItemChange<'_>,
        old: &Ledger,
        new: &Ledger,
    ) -> Option<Finding> {
        let item = change.slot;
        if let Some(run) = change.begun() {
            let (breach, text) = self.breach_of_claim(change, old, new, run)?;
            return Some(Finding::new(breach, format!("item {item} {text}: {}", new.summary())));
        }
        let (breach, text) = self.breach_of_end(item, old, new)?;
        Some(Finding::new(breach, format!("the run of item {item} {text}: {}", old.summary())))
    }

    fn breach_of_claim(
        &self,
        change: &ItemChange<'_>,
        old: &Ledger,
        new: &Ledger,
        run: &Run,
    ) -> Option<(Breach, &'static str)> {
        if new.token <= old.token {
            return Some((Breach::Claims, "was claimed under an old token"));
        }
        if self.writer != Some(&run.holder) {
            return Some((Breach::Ownership, "was claimed for another instance than the writer"));
        }
        if !self.view.is_registered(&run.holder) {
            return Some((Breach::Ownership, "was claimed by an unregistered instance"));
        }
        let server = server_of(&run.holder).and_then(|server| self.view.server_state(&server));
        match server {
            Some(ServerState::Enabled) => {}
            Some(ServerState::Paused) => {
                return Some((Breach::Disabled, "was claimed on a paused server"));
            }
            Some(ServerState::Disabled) | None => {
                return Some((Breach::Disabled, "was claimed on a disabled server"));
            }
        }
        if let Some(found) = self.breach_of_configuration(change.slot, new, run) {
            return Some(found);
        }
        if let Some(text) = self.breach_of_limit(change.slot, run) {
            return Some((Breach::Limit, text));
        }
        match run.source {
            RunSource::Failover => self.breach_of_takeover(old, run),
            RunSource::Normal | RunSource::Misfire | RunSource::Manual | RunSource::Backfill => {
                self.breach_of_own_claim(change, old, run)
            }
        }
    }

    /// Returns the unfinished runs of the item in all of its slots.
    fn unfinished_runs(&self, of: Slot) -> impl Iterator<Item = (Slot, &Run)> {
        let further = self.view.further_slots().filter(move |(slot, _)| slot.item == of.item);
        let first = Slot { number: 0, ..of };
        let slots = [(first, self.view.item(of.item))].into_iter().chain(further);
        slots.filter_map(|(slot, view)| Some((slot, view.ledger.as_ref()?.value.run()?)))
    }

    /// Judges the claim of an item by its owner.
    fn breach_of_own_claim(
        &self,
        change: &ItemChange<'_>,
        old: &Ledger,
        run: &Run,
    ) -> Option<(Breach, &'static str)> {
        if !old.is_idle() {
            return Some((Breach::Claims, "was claimed during a run of another holder"));
        }
        let owner = change.item_before.owner.as_ref().map(|owner| &owner.value);
        if owner != Some(&run.holder) || self.view.next_owner(change.slot.item).is_some() {
            return Some((Breach::Ownership, "was claimed by another instance than its owner"));
        }
        let (Some(fires), Some(left)) = (&change.item_before.ledger, &change.item_after.ledger)
        else {
            return Some((Breach::Claims, "was claimed without a record of the item"));
        };
        let (fires, left) = (&fires.value, &left.value);
        if fires.disabled {
            return Some((Breach::Disabled, "was claimed although it is disabled"));
        }
        if let Some(text) = self.breach_of_slots(change, left, run) {
            return Some((Breach::Slots, text));
        }
        // Later fires of a disabled item are skipped while noted fires wait.
        let is_first = fires.queued.first() == Some(&run.fire);
        let is_noted = is_first || fires.misfire.is_some_and(|noted| noted.last == run.fire);
        let is_later = fires.last_fire < Some(run.fire);
        let is_new = match run.source {
            RunSource::Manual | RunSource::Backfill => change.answered().is_some(),
            RunSource::Misfire if is_noted => fires.last_fire != Some(run.fire),
            RunSource::Misfire => is_later && self.catches_up(),
            RunSource::Normal | RunSource::Failover => is_later,
        };
        if !is_new {
            return Some((Breach::FireAgain, "was claimed for a fire that it has settled"));
        }
        // The run of a later fire stands for the noted fires, too, except for queued ones.
        let leaves_noted = run.is_scheduled() && left.misfire.is_some() && !is_first;
        leaves_noted.then_some((Breach::FireAgain, "was claimed past fires that stay noted"))
    }

    /// Judges S24: the same write settles the fire in the record of the item, and the item has no
    /// more unfinished runs than the job allows.
    fn breach_of_slots(
        &self,
        change: &ItemChange<'_>,
        left: &Ledger,
        run: &Run,
    ) -> Option<&'static str> {
        let others = self.unfinished_runs(change.slot).filter(|(slot, _)| *slot != change.slot);
        if let ConfigState::Valid(config) = self.view.config_state() {
            let allowed = usize::try_from(config.value.slots()).unwrap_or(usize::MAX);
            if others.count() >= allowed {
                return Some("was claimed beside as many runs as the job allows");
            }
        }
        if change.slot.number == 0 {
            return None;
        }
        if change.slot.number > left.further_slots {
            return Some("was claimed in a slot that the record of the item does not name");
        }
        if !run.is_scheduled() {
            return Some("was claimed for a request in a further slot");
        }
        let settles = left.last_fire >= Some(run.fire) && !left.has_noted(run.fire);
        (!settles).then_some("was claimed without settling the fire in the record of the item")
    }

    fn breach_of_takeover(&self, old: &Ledger, run: &Run) -> Option<(Breach, &'static str)> {
        let continues = |left: &Run| {
            (left.fire, left.merged, left.past_fire) == (run.fire, run.merged, run.past_fire)
        };
        if !old.run().is_some_and(continues) {
            return Some((Breach::Claims, "was taken over for another fire"));
        }
        // Every instance may take an orphaned run over, but only the leader one in progress.
        let replaced = old.running()?;
        if (self.is_alive)(&replaced.holder) {
            return Some((Breach::FalseFailover, "was taken from a holder whose session lives"));
        }
        (!self.leads)
            .then_some((Breach::Leader, "was taken over by an instance that does not lead"))
    }

    /// Judges S24: the record of a busy item settles a fire only with a run in a further slot.
    fn breach_of_settled_fire(
        &self,
        change: &ItemChange<'_>,
        old: &Ledger,
        new: &Ledger,
    ) -> Option<Finding> {
        self.writer?;
        let same_run = old.is_busy() && new.run() == old.run() && new.token == old.token;
        let settles = same_run && new.last_fire > old.last_fire;
        let begun = change.beside.is_some_and(|run| Some(run.fire) == new.last_fire);
        if !settles || begun {
            return None;
        }
        let text = format!("item {} settled a fire without a run: {}", change.slot, new.summary());
        Some(Finding::new(Breach::Slots, text))
    }

    fn breach_of_configuration(
        &self,
        slot: Slot,
        new: &Ledger,
        run: &Run,
    ) -> Option<(Breach, &'static str)> {
        let config = match self.view.config_state() {
            ConfigState::Valid(config) => config,
            ConfigState::Absent => {
                return Some((Breach::Configuration, "was claimed without a configuration"));
            }
            // Each instance uses the last usable one, which the view does not show.
            ConfigState::Invalid { .. } => return None,
        };
        if new.config != Some(config.version) {
            return Some((Breach::Configuration, "was claimed by another configuration"));
        }
        let total = config.value.sharding_total_count;
        let assigned = self.view.assignment().map(|assignment| assignment.value.total_count);
        let is_assigned = slot.item.index() < total && assigned == Some(total);
        if is_assigned || run.source == RunSource::Failover {
            return None;
        }
        Some((Breach::Ownership, "was claimed by an assignment of another number of items"))
    }

    /// Judges the permit of a run. Only the permits of other runs show how many go on: a record
    /// whose holder is lost says nothing.
    fn breach_of_limit(&self, of: Slot, run: &Run) -> Option<&'static str> {
        let ConfigState::Valid(config) = self.view.config_state() else { return None };
        let limit = config.value.cluster_concurrency?;
        let Some(permit) = run.permit else { return Some("was claimed without a permit") };
        if permit >= limit {
            return Some("was claimed with a permit beyond the limit");
        }
        let others = slots(self.view).filter(|(other, _)| *other != of);
        let mut running = others.filter_map(|(_, view)| view.ledger.as_ref()?.value.running());
        let has_it = |other: &Run| other.permit == Some(permit) && (self.is_alive)(&other.holder);
        running.any(has_it).then_some("was claimed with the permit of another run")
    }

    /// Judges S21: the note of a fire requests the cancellation of the run that it meets if, and
    /// only if, the job says so and the run is for a scheduled fire of its own.
    fn breach_of_overlap(
        &self,
        change: &ItemChange<'_>,
        old: &Ledger,
        new: &Ledger,
    ) -> Option<Finding> {
        let item = change.slot;
        self.writer?;
        let ConfigState::Valid(config) = self.view.config_state() else { return None };
        let run = old.run().filter(|_| new.token == old.token && old.cancels().is_none())?;
        let is_requested = new.cancels().is_some();
        let noted = |of: &'_ ItemView| of.ledger.as_ref().and_then(|ledger| ledger.value.misfire);
        let is_noted = new.is_busy() && noted(change.item_after) != noted(change.item_before);
        let cancels = config.value.overlap == Some(Overlap::Cancel);
        let shall_end =
            is_noted && cancels && run.kind == RunKind::Scheduled && run.merged.is_none();
        let text = match (shall_end, is_requested) {
            (true, false) => "goes on beside a later fire, although the job cancels overlaps",
            (false, true) => "is to be cancelled for a fire that it does not yield to",
            (true, true) | (false, false) => return None,
        };
        let text =
            format!("the run of item {item} {text}: {} became {}", old.summary(), new.summary());
        Some(Finding::new(Breach::Overlap, text))
    }

    /// Judges S22: the queue of an item grows at its end and shrinks at its beginning, by the run
    /// of the first fire alone, and it has the bound of the job.
    fn breach_of_queue(&self, item: Slot, old: &Ledger, new: &Ledger) -> Option<Finding> {
        self.writer?;
        let ConfigState::Valid(config) = self.view.config_state() else { return None };
        let limit = config.value.queue_limit().unwrap_or(0);
        let is_too_long = || !new.queued.is_empty() && new.is_queue_full(limit + 1);
        let begins = old.is_idle() && new.running().is_some_and(Run::is_scheduled);
        let text = match new.queued.strip_prefix(&old.queued[..]) {
            Some([]) if begins && limit > 0 && !old.queued.is_empty() => "a run left it as it was",
            Some([]) => return None,
            Some([_]) if begins => "a run began with a fire that was not queued",
            Some([_]) if is_too_long() => "it is longer than the job says",
            Some([_]) => return None,
            Some(_) => "several fires came at once",
            None if new.state == LedgerState::Retired => return None,
            None if limit == 0 => return None,
            None => {
                let (first, later) = old.queued.split_first()?;
                let run = new.running().filter(|_| begins);
                let is_first = run.is_some_and(|run| run.fire == *first && run.merged.is_none());
                if is_first && new.queued == later {
                    return None;
                }
                "its fires did not leave it one by one, oldest first"
            }
        };
        let text = format!(
            "the queue of item {item} has a limit of {limit}, and {text}: {} became {}",
            old.summary(),
            new.summary()
        );
        Some(Finding::new(Breach::Queue, text))
    }

    /// Returns true if fires without a note may run as misfires.
    fn catches_up(&self) -> bool {
        match self.view.config_state() {
            ConfigState::Valid(config) => config.value.catch_up.is_some(),
            ConfigState::Absent | ConfigState::Invalid { .. } => true,
        }
    }

    /// Judges the end of a run in progress: only its process ends it, or the leader once the
    /// session of the holder has ended. A missing instance node proves nothing.
    fn breach_of_end(
        &self,
        slot: Slot,
        old: &Ledger,
        new: &Ledger,
    ) -> Option<(Breach, &'static str)> {
        let run = old.running()?;
        if new.running().is_some() || (self.has_claimed)(slot.key(), old, run) {
            return None;
        }
        if !self.leads {
            return Some((Breach::Completion, "was ended by an instance that does not hold it"));
        }
        if !(self.is_alive)(&run.holder) {
            return None;
        }
        let breach = match new.state {
            LedgerState::Orphan(_) => Breach::FalseFailover,
            LedgerState::Idle | LedgerState::Running(_) | LedgerState::Retired => {
                Breach::Completion
            }
        };
        Some((breach, "was taken from a holder whose session lives"))
    }
}

/// Judges S15: a run whose cancellation is requested is not continued, and ends as cancelled unless
/// its code returned. No other run ends as cancelled.
fn breach_of_cancellation(item: Slot, old: &Ledger, new: &Ledger) -> Option<Finding> {
    let run = old.run()?;
    let ends = new.run().is_none();
    let finding = |text: &str| {
        let text =
            format!("the run of item {item} {text}: {} became {}", old.summary(), new.summary());
        Finding::new(Breach::Cancellation, text)
    };
    let outcome = new.outcome.filter(|_| ends);
    if old.cancels().is_none() {
        let is_cancelled = outcome == Some(Outcome::Cancelled);
        return is_cancelled.then(|| finding("ended as cancelled without a request"));
    }
    let keeps_request = new.cancel_request() == old.cancel_request();
    let broken = if !ends && (new.run() != Some(run) || new.state != old.state) {
        "was continued although its cancellation is requested"
    } else if !ends && !keeps_request {
        "lost the request to cancel it, or has another one"
    } else if outcome == Some(Outcome::Interrupted) {
        "was to be cancelled and ended as interrupted"
    } else if outcome == Some(Outcome::Cancelled) && !keeps_request {
        "ended as cancelled without author and reason"
    } else {
        return None;
    };
    Some(finding(broken))
}

/// Judges S16: the progress of a run is written while the run holds the item, by its process.
///
/// `holds` is true if an instance belongs to the process that writes.
#[must_use]
pub fn breach_of_progress(
    view: &JobView,
    item: ShardingItem,
    written: &Result<ProgressRecord, RecordError>,
    holds: impl FnOnce(&InstanceId) -> bool,
) -> Option<Finding> {
    let found = |text: String| Some(Finding::new(Breach::Progress, format!("item {item}: {text}")));
    let token = match written {
        Ok(record) => record.token,
        Err(error) => return found(format!("the progress cannot be read: {error}")),
    };
    let Some(ledger) = view.item(item).ledger.as_ref().map(|ledger| &ledger.value) else {
        return found(format!("progress under token {token} without a record"));
    };
    let is_held = ledger.token == token && ledger.running().is_some_and(|run| holds(&run.holder));
    if is_held {
        None
    } else {
        found(format!("progress under token {token} beside {}", ledger.summary()))
    }
}

/// Judges S3: a request and noted fires leave a record only with their run, or if the item may not
/// run.
fn breach_of_waiting(
    view: &JobView,
    change: &ItemChange<'_>,
    old: &Ledger,
    new: &Ledger,
) -> Option<Finding> {
    let item = change.slot;
    if new.state == LedgerState::Retired || change.before.is_disabled() {
        return None;
    }
    let is_request_gone = old.request.is_some() && new.request != old.request;
    if is_request_gone && change.answered().is_none() && !is_withdrawn(view, old) {
        let text = format!("the request for item {item} was dropped without a run");
        return Some(Finding::new(Breach::Dropped, text));
    }
    let noted = old.misfire.filter(|_| new.misfire.is_none())?;
    let begun = change.begun();
    if begun.is_some_and(|run| old.queued == [run.fire]) {
        return None;
    }
    let merged = begun.or(change.beside).and_then(|run| run.merged);
    if merged.is_some_and(|merged| merged.first <= noted.first && noted.last <= merged.last) {
        return None;
    }
    let text = format!("the noted fires of item {item} were dropped without a run: {noted}");
    Some(Finding::new(Breach::Dropped, text))
}

/// The leader and the instance of the last term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leadership {
    leader: Option<InstanceId>,
    term: Option<InstanceId>,
}

impl Leadership {
    /// Returns the leadership that a view shows.
    #[must_use]
    pub fn of(view: &JobView) -> Self {
        let term = view.term().map(|term| term.value.clone());
        Self { leader: view.leader().cloned(), term }
    }

    /// Returns true if the instance may write as leader: no other instance was elected since.
    ///
    /// It may have abdicated: what it decided before is still valid.
    #[must_use]
    pub fn permits(&self, instance: &InstanceId) -> bool {
        self.term.as_ref() == Some(instance)
            && self.leader.as_ref().is_none_or(|leader| leader == instance)
    }
}

/// Judges S8 for a write of an instance: it begins only a term of its own, without another leader,
/// and it removes only its own leader node.
#[must_use]
pub fn breach_of_election(
    before: &Leadership,
    after: &Leadership,
    writer: &InstanceId,
) -> Option<Finding> {
    let led_by_other = before.leader.as_ref().is_some_and(|leader| leader != writer);
    if led_by_other && before.leader != after.leader {
        let text = format!("{writer} has removed the node of the leader {:?}", before.leader);
        return Some(Finding::new(Breach::Leader, text));
    }
    let is_lawful = before.leader.is_none()
        && after.leader.as_ref() == Some(writer)
        && after.term.as_ref() == Some(writer);
    if before.term == after.term || is_lawful {
        return None;
    }
    let text = format!("{writer} has begun the term of {:?} beside {before:?}", after.term);
    Some(Finding::new(Breach::Leader, text))
}

/// Judges L7 for a write of an instance, which removes a server: the server has no instance, and an
/// instance that comes back creates it in the same state.
#[must_use]
pub fn breach_of_expiry(before: &JobView, server: &ServerIp) -> Option<Finding> {
    let found = |text: String| Some(Finding::new(Breach::Expired, text));
    let is_there = |id: &&InstanceId| server_of(id).as_ref() == Some(server);
    if let Some(instance) = before.instances().find(is_there) {
        return found(format!("server {server} was removed, and {instance} is registered"));
    }
    let state = before.server_state(server);
    let starts_disabled = before.config().is_some_and(|config| config.disabled);
    if state == Some(ServerState::Enabled) && !starts_disabled {
        return None;
    }
    found(format!("server {server} was removed: {state:?}"))
}
