//! Runs of unmonitored jobs: no record, no claim and no takeover.

use std::sync::Arc;

use sharding::ShardingItem;

use super::Coordinator;
use crate::duty::unmonitored::{self, FireDecision};
use crate::local::requests::UnmonitoredRequest;
use crate::runs::LocalRun;
use crate::{Command, FencingToken, FireTime, JobEvent, Now, RunSource, StartItem};

impl Coordinator {
    /// Accepts a manual request of an unmonitored job. Only this instance knows it, because such a
    /// job has no records that could hold it.
    pub(super) fn accept_unmonitored(&mut self, at: FireTime) {
        let unmonitored = self.view.config().is_some_and(|config| !config.monitor_execution);
        if !unmonitored || !self.local.is_active() {
            return;
        }
        let Some(me) = &self.me else { return };
        let view = &self.view;
        let mine = view.items().map(|(item, _)| item).filter(|item| view.is_meant_for(*item, me));
        self.local.requests.unmonitored = Some(UnmonitoredRequest { at, items: mine.collect() });
    }

    /// Removes items from the request that are disabled or belong to another instance by now. Drops
    /// the request if the job has become monitored.
    pub(super) fn observe_request(&mut self) {
        let monitored = self.view.config().is_some_and(|config| config.monitor_execution);
        let (Some(me), Some(request)) = (&self.me, &mut self.local.requests.unmonitored) else {
            return;
        };
        let view = &self.view;
        let wanted =
            |item: &ShardingItem| view.is_meant_for(*item, me) && !view.item(*item).is_disabled();
        request.items.retain(wanted);
        if monitored || request.items.is_empty() {
            self.local.requests.unmonitored = None;
        }
    }

    /// Decides again about a fire that waited for the owners or for the registry's time.
    pub(super) fn run_unmonitored_fire(&mut self, now: Now, out: &mut Vec<Command>) {
        if let Some(fire) = self.local.fires.unmonitored.take() {
            self.run_unmonitored(now, fire, out);
        }
    }

    /// Starts the items of the request that have no run in this process.
    pub(super) fn run_unmonitored_request(&mut self, now: Now, out: &mut Vec<Command>) {
        let Some(at) = self.local.requests.unmonitored.as_ref().map(|request| request.at) else {
            return;
        };
        let Some(items) = self.deciding_context(now).map(|cx| unmonitored::requested(&cx)) else {
            return;
        };
        if let Some(request) = &mut self.local.requests.unmonitored {
            request.items.retain(|item| !items.contains(item));
        }
        self.start_unclaimed(items, at, RunSource::Manual, out);
    }

    /// Starts the items of a fire that have no run in this process.
    pub(super) fn run_unmonitored(&mut self, now: Now, fire: FireTime, out: &mut Vec<Command>) {
        match self.deciding_context(now).and_then(|cx| unmonitored::fire(&cx)) {
            Some(FireDecision::Run { starts, missed }) => {
                for (item, reason) in missed {
                    let item = Some(item);
                    out.push(Command::Emit(JobEvent::Missed { item, fire, reason }));
                }
                self.start_unclaimed(starts, fire, RunSource::Normal, out);
            }
            Some(FireDecision::Wait) => self.local.fires.unmonitored = Some(fire),
            None => {}
        }
    }

    fn start_unclaimed(
        &mut self,
        items: Vec<ShardingItem>,
        fire: FireTime,
        source: RunSource,
        out: &mut Vec<Command>,
    ) {
        let (Some(config), Some(holder)) = (self.view.config_in_force(), &self.me) else { return };
        let start = |item| StartItem {
            item,
            slot: 0,
            token: FencingToken::UNFENCED,
            fire,
            source,
            merged: None,
            request_parameter: None,
            past_fire: None,
            holder: holder.clone(),
            config: Arc::clone(&config.value),
            config_version: config.version,
        };
        let starts: Vec<_> = items.into_iter().map(start).collect();
        for start in &starts {
            let run = LocalRun::unmonitored(start.holder.clone(), fire, source);
            self.local.runs.insert(start.item, run);
        }
        if !starts.is_empty() {
            out.push(Command::Start(starts));
        }
    }
}
