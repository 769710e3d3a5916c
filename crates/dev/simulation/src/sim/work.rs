//! The job's code, and the external resource that it writes to.

use std::collections::BTreeMap;
use std::time::Duration;

use checker::history::{ExecEvent, Fact, RunId};
use coordination::{
    Event, FailureReason, FencingToken, FireTime, OnceStage, Outcome, Slot, StartItem,
};

use super::dice::{Dice, Stream};
use super::node::{Call, Exec};
use super::product;
use super::world::World;

/// A resource that rejects tokens smaller than the greatest one that it has seen of a slot.
#[derive(Debug, Default)]
pub(crate) struct Resource {
    highest: BTreeMap<Slot, FencingToken>,
    acts: u64,
}

impl Resource {
    /// Returns whether the resource accepts an access of a run, and the sequence number of the
    /// access.
    fn take(&mut self, slot: Slot, token: FencingToken) -> (bool, u64) {
        let (accepted, rseq) = (self.admit(slot, token), self.acts);
        self.acts += 1;
        (accepted, rseq)
    }

    /// Returns whether the resource accepts this token. Unclaimed runs have token 0, so a resource
    /// that has seen claimed runs rejects them.
    fn admit(&mut self, slot: Slot, token: FencingToken) -> bool {
        let highest = self.highest.entry(slot).or_default();
        let accepted = token >= *highest;
        *highest = token.max(*highest);
        accepted
    }
}

impl Exec {
    pub(super) fn slot(&self) -> Slot {
        Slot { item: self.item, number: self.slot }
    }

    fn id(&self) -> RunId {
        let job = product::JOB.to_owned();
        RunId {
            job,
            item: self.item.index(),
            slot: self.slot,
            fire: self.fire.0,
            token: self.token.0,
        }
    }
}

impl World {
    /// Starts a run, which first announces its token to the resource.
    pub(crate) fn start_run(&mut self, index: usize, start: &StartItem) {
        let exec = self.draw_run(index, start);
        self.coverage.runs += 1;
        if start.slot > 0 {
            self.coverage.count("beside");
        }
        self.check_start(index, start);
        let (accepted, rseq) = self.resource.take(exec.slot(), exec.token);
        let fact = Fact::Announced { run: exec.id(), accepted, rseq };
        self.recorder.mix(exec.token.0);
        self.record_with(index, || Fact::Exec {
            ev: ExecEvent::Start,
            run: exec.id(),
            source: exec.source.as_str().to_owned(),
            cfg: exec.config,
            result: None,
        });
        self.record_outside(super::record::Writer::Resource, fact);
        self.nodes[index].runs.push(exec);
    }

    /// Draws the duration and the outcome of a run. They depend on the identity of the run, not on
    /// its start.
    fn draw_run(&self, index: usize, start: &StartItem) -> Exec {
        let work = &self.script.profile.work;
        let item = u64::from(start.item.index());
        let which = start.token.0
            ^ (item << 40)
            ^ (u64::from(start.slot) << 32)
            ^ start.fire.0.unsigned_abs().rotate_left(20);
        let incarnation = u64::from(self.nodes[index].inc) << 56;
        let mut dice = Dice::at(self.script.seed, Stream::Work, which ^ incarnation);
        let slow = dice.percent(work.slow);
        let usual = dice.between(work.usual_ms.0.into(), work.usual_ms.1.into());
        let length = Duration::from_millis(if slow { work.slow_ms.into() } else { usual });
        let hangs = dice.percent(work.hang) && !self.healing;
        let outcome = match (dice.percent(work.fail), dice.percent(work.panic)) {
            (_, true) => Outcome::Panicked,
            (true, false) => Outcome::Failed,
            (false, false) => Outcome::Succeeded,
        };
        Exec {
            item: start.item,
            slot: start.slot,
            token: start.token,
            fire: start.fire,
            source: start.source,
            config: start.config_version.0,
            ends: (!hangs).then(|| self.mono + length),
            outcome,
        }
    }

    /// Cancels all runs of a process; some end a moment later.
    pub(crate) fn interrupt(&mut self, index: usize) {
        let mono = self.mono;
        for exec in &mut self.nodes[index].runs {
            let grace = Duration::from_millis(self.dice.pick(&[0, 0, 50, 300]));
            if exec.ends.is_none_or(|ends| ends > mono + grace) {
                exec.ends = Some(mono + grace);
                exec.outcome = Outcome::Interrupted;
            }
        }
    }

    /// Starts a once-per-cluster callback on a process.
    pub(crate) fn call_once(
        &mut self,
        index: usize,
        stage: OnceStage,
        fire: FireTime,
        token: FencingToken,
    ) {
        self.coverage.count("once_call");
        self.check_call(token);
        let (job, fire, token_number) = (product::JOB.to_owned(), fire.0, token.0);
        let stage_name = stage.as_str().to_owned();
        let fact = || Fact::Once { job, fire, stage: stage_name, token: token_number };
        self.record_with(index, fact);
        let length = Duration::from_millis(self.dice.pick(&[0, 0, 100, 1_500]));
        self.nodes[index].calls.push(Call { stage, token, ends: self.mono + length });
    }

    fn return_call(&mut self, index: usize) -> bool {
        let over = self.nodes[index].calls.iter().position(|call| call.ends <= self.mono);
        let Some(place) = over else { return false };
        let Call { stage, token, .. } = self.nodes[index].calls.remove(place);
        self.handle(index, Event::OnceReturned { stage, token });
        true
    }

    /// Ends one call that is due; else one run, or all runs that are due.
    pub(crate) fn finish(&mut self, index: usize) {
        if !self.nodes[index].is_up() || self.return_call(index) {
            return;
        }
        self.report_progress(index);
        let node = &self.nodes[index];
        if node.runs.is_empty() {
            return;
        }
        let over = |exec: &Exec| exec.ends.is_some_and(|ends| ends <= self.mono);
        let places = node.runs.iter().enumerate().filter(|(_, exec)| over(exec));
        let places: Vec<_> = places.map(|(place, _)| place).collect();
        if places.is_empty() {
            return;
        }
        let place = self.dice.pick(&places);
        let ended = if self.script.profile.work.together {
            self.nodes[index].runs.extract_if(.., |exec| over(exec)).collect()
        } else {
            vec![self.nodes[index].runs.remove(place)]
        };
        let ends = ended.iter().map(|exec| self.end_run(index, exec)).collect();
        self.handle_all(index, ends);
    }

    /// Ends a run and returns its event. A run that was not cancelled writes its effect first.
    fn end_run(&mut self, index: usize, exec: &Exec) -> Event {
        let &Exec { item, slot, token, outcome, .. } = exec;
        if outcome.is_cut_short() {
            self.coverage.count("interrupted_run");
        } else {
            self.write_effect(exec);
        }
        self.record_with(index, || Fact::Exec {
            ev: ExecEvent::End,
            run: exec.id(),
            source: exec.source.as_str().to_owned(),
            cfg: exec.config,
            result: Some(result(outcome).to_owned()),
        });
        let reason = FailureReason::new(&format!("fire {} ended as {outcome}", exec.fire));
        Event::ItemFinished { item, slot, token, outcome, reason }
    }

    fn write_effect(&mut self, exec: &Exec) {
        let (accepted, rseq) = self.resource.take(exec.slot(), exec.token);
        if !accepted {
            self.coverage.count("fenced_effect");
        }
        let fact = Fact::Effect { run: exec.id(), accepted, rseq };
        self.record_outside(super::record::Writer::Resource, fact);
    }
}

fn result(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Succeeded => "ok",
        Outcome::Failed | Outcome::TimedOut => "error",
        Outcome::Panicked => "panic",
        Outcome::Interrupted | Outcome::Cancelled | Outcome::Disabled => "cancelled",
    }
}
