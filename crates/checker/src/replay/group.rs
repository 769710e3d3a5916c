//! Groups of jobs: their state, and the rule of S23.

use std::collections::{BTreeMap, BTreeSet};

use crate::Property::S23;
use crate::docs::{self, GroupLimits, PermitHolder, Run, StartRate, Starts, State};
use crate::history::RegOp;
use crate::replay::Replay;
use crate::replay::job::{Job, started};
use crate::replay::judge::Judge;
use crate::slot::Slot;
use crate::tree::{GroupKind, parse_group};

/// State of one group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
    /// `None` without stored limits.
    limits: Option<Result<GroupLimits, String>>,
    /// Permits that exist, with their runs.
    permits: BTreeMap<u32, Option<PermitHolder>>,
    starts: Starts,
    /// Names of the jobs that wait.
    line: BTreeSet<String>,
}

/// All groups by their names.
pub(crate) type Groups = BTreeMap<String, Group>;

/// A write or deletion of a node of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupWrite<'a> {
    group: &'a str,
    kind: GroupKind<'a>,
    data: Option<&'a str>,
}

impl<'a> GroupWrite<'a> {
    /// Returns the writes of nodes of groups among these operations.
    pub(super) fn of(ops: &'a [RegOp]) -> Vec<Self> {
        let write = |op: &'a RegOp| {
            let (path, data) = match op {
                RegOp::Create { path, data, .. } | RegOp::Set { path, data, .. } => {
                    (path, Some(data.as_str()))
                }
                RegOp::Delete { path } => (path, None),
                RegOp::Check { .. } => return None,
            };
            let (group, kind) = parse_group(path)?;
            Some(Self { group, kind, data })
        };
        ops.iter().filter_map(write).collect()
    }

    /// Returns the deletions of the nodes of groups among the nodes of a session that ended.
    pub(super) fn ended(paths: &'a [String]) -> Vec<Self> {
        let write = |path: &'a String| {
            let (group, kind) = parse_group(path)?;
            Some(Self { group, kind, data: None })
        };
        paths.iter().filter_map(write).collect()
    }
}

impl Group {
    fn apply(&mut self, write: &GroupWrite<'_>) {
        match (write.kind, write.data) {
            (GroupKind::Limits, data) => self.limits = data.map(docs::group_limits),
            (GroupKind::Permit(number), Some(data)) => {
                self.permits.insert(number, docs::permit_holder(data).ok());
            }
            (GroupKind::Permit(number), None) => drop(self.permits.remove(&number)),
            (GroupKind::Starts, data) => {
                self.starts = data.and_then(|data| docs::starts(data).ok()).unwrap_or_default();
            }
            (GroupKind::Place(job), Some(_)) => drop(self.line.insert(job.to_owned())),
            (GroupKind::Place(job), None) => drop(self.line.remove(job)),
        }
    }

    /// Returns true if a run of the job may have to wait: for a permit, for the rate, for limits
    /// that cannot be read, or for another job.
    fn may_stop(&self, job: &str) -> bool {
        let limits = match &self.limits {
            None => return false,
            Some(Err(_)) => return true,
            Some(Ok(limits)) => limits,
        };
        let is_full =
            limits.cluster_concurrency.is_some_and(|max| self.permits.len() >= max as usize);
        let is_fast = limits.start_rate.is_some_and(|rate| started(&self.starts, rate) >= rate.max);
        is_full || is_fast || self.line.iter().any(|other| other != job)
    }

    /// Returns true if each permit of the job has a run.
    fn permits_have_runs(&self, name: &str, job: &Job) -> bool {
        self.permits.values().flatten().filter(|holder| holder.job == name).all(|holder| {
            let ledger = job.slot(holder.slot()).and_then(|slot| slot.ledger);
            ledger.is_some_and(|ledger| ledger.is_busy() && ledger.token == holder.token)
        })
    }
}

impl Replay {
    /// Applies writes of groups, and records what they mean for the jobs.
    pub(super) fn apply_to_groups(&mut self, writes: &[GroupWrite<'_>]) {
        for write in writes {
            self.groups.entry(write.group.to_owned()).or_default().apply(write);
        }
        (0..self.jobs.len()).for_each(|job| self.update_group(job));
    }

    /// Records whether the group of a job may stop its runs.
    pub(super) fn update_group(&mut self, job: usize) {
        if self.groups.is_empty() {
            return;
        }
        let name = self.nodes.job_name(job);
        let group = self.jobs[job].config().and_then(|config| config.group.as_ref());
        let group = group.and_then(|group| self.groups.get(group));
        let may_stop = group.is_some_and(|group| group.may_stop(name));
        let of_job = &self.jobs[job];
        let leaks = self.groups.values().any(|group| !group.permits_have_runs(name, of_job));
        let state = &mut self.jobs[job];
        (state.group_may_stop, state.leaks_group_permit) = (may_stop, leaks);
        let items: Vec<_> = state.items.keys().copied().collect();
        items.into_iter().for_each(|item| self.record_claimability(job, item));
        self.update_conditions(job);
    }
}

impl Judge<'_> {
    /// Judges that a run of a job in a group takes a permit below the limit of the group and counts
    /// as a start of the group, in the transaction of its claim.
    pub(crate) fn grouped(&mut self, i: Slot, token: u64, run: &Run) {
        if !self.job.is_readable() {
            return;
        }
        let Some(name) = self.job.config().and_then(|config| config.group.clone()) else { return };
        let none = Group::default();
        let group = self.groups.get(&name).unwrap_or(&none);
        let limits = match &group.limits {
            None => return,
            Some(Ok(limits)) => *limits,
            Some(Err(error)) => {
                let text = format!("a run began although the limits cannot be read: {error}");
                return self.violate(S23, Some(i), text);
            }
        };
        let of_permit = limits.cluster_concurrency.and_then(|max| {
            let permit = run.group_permit.map(|(group, number)| (self.text(group), number));
            match permit {
                None => Some("it has no permit of the group".to_owned()),
                Some((other, _)) if other != name => Some(format!("its permit is of {other}")),
                Some((_, number)) if number >= max => Some(format!("it has the permit {number}")),
                Some((_, number)) => {
                    let is_it = |write: &GroupWrite<'_>| {
                        let holder = write.data.and_then(|data| docs::permit_holder(data).ok());
                        let is_held = holder.is_some_and(|holder| {
                            holder.job == self.name && holder.slot() == i && holder.token == token
                        });
                        let of_group = write.group == name;
                        of_group
                            && is_held
                            && matches!(write.kind, GroupKind::Permit(n) if n == number)
                    };
                    let taken = self.txn.of_groups.iter().any(is_it);
                    (!taken).then(|| format!("it did not take its permit, {number}"))
                }
            }
        });
        let of_rate = limits.start_rate.and_then(|rate| self.wrong_rate(&name, group, rate));
        let wrong = of_permit.or(of_rate);
        self.expect(wrong.is_none(), S23, Some(i), |judge| {
            let wrong = wrong.unwrap_or_default();
            format!("{} in the group {name}: {wrong}", judge.run(Some(*run)))
        });
    }

    fn wrong_rate(&self, name: &str, group: &Group, rate: StartRate) -> Option<String> {
        let mut writes = self.txn.of_groups.iter();
        let logged = writes.find(|it| it.group == name && matches!(it.kind, GroupKind::Starts));
        match logged.and_then(|write| docs::starts(write.data?).ok()) {
            None => Some("its start was not recorded".to_owned()),
            Some(starts) => self.wrong_starts(&starts, &group.starts, rate),
        }
    }

    /// Judges that no permit of a group is returned while its run continues.
    pub(crate) fn returned_permits(&mut self) {
        for write in &self.txn.of_groups {
            let (GroupKind::Permit(number), None) = (write.kind, write.data) else { continue };
            let held = self.groups.get(write.group).and_then(|group| group.permits.get(&number));
            let Some(holder) = held.and_then(Option::as_ref) else { continue };
            if holder.job != self.name {
                continue;
            }
            let after = self.record_after(holder.slot());
            let runs =
                after.is_some_and(|it| it.state == State::Running && it.token == holder.token);
            let (slot, group) = (holder.slot(), write.group);
            self.expect(!runs, S23, Some(slot), |_| {
                format!("permit {number} of the group {group} was returned during its run")
            });
        }
    }
}
