//! The external resource: a store that keeps the greatest token of each slot of an item and rejects
//! smaller ones.

use std::collections::BTreeMap;

use checker::history::{Fact, RunId};
use parking_lot::Mutex;

use super::recorder::{FactWriter, Recorder};

/// Judges effects. The resource is outside of every process, so faults of processes do not affect
/// it.
#[derive(Debug)]
pub(crate) struct FencedResource {
    state: Mutex<State>,
    writer: FactWriter,
}

#[derive(Debug, Default)]
struct State {
    greatest: BTreeMap<(String, u32, u32), u64>,
    n_acts: u64,
}

impl FencedResource {
    pub(crate) fn new(recorder: &Recorder) -> Self {
        Self { state: Mutex::default(), writer: recorder.writer("resource", 0) }
    }

    /// Announces a run before its first read or effect, and records this. Returns false if a later
    /// run was announced.
    pub(crate) fn begin(&self, run: &RunId) -> bool {
        let (accepted, rseq) = self.state.lock().take(run);
        self.writer.write(Fact::Announced { run: run.clone(), accepted, rseq });
        accepted
    }

    /// Accepts or rejects an effect of a run, and records this.
    pub(crate) fn effect(&self, run: &RunId) -> bool {
        let (accepted, rseq) = self.state.lock().take(run);
        self.writer.write(Fact::Effect { run: run.clone(), accepted, rseq });
        accepted
    }
}

impl State {
    /// Returns whether the run is accepted, and the sequence number of this access.
    fn take(&mut self, run: &RunId) -> (bool, u64) {
        let (accepted, rseq) = (self.admit(run), self.n_acts);
        self.n_acts += 1;
        (accepted, rseq)
    }

    fn admit(&mut self, run: &RunId) -> bool {
        let greatest = self.greatest.entry((run.job.clone(), run.item, run.slot)).or_default();
        let admitted = run.token >= *greatest;
        *greatest = run.token.max(*greatest);
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::super::world::WorldClock;
    use super::*;

    #[test]
    fn announced_token_rejects_effects_of_smaller_tokens() {
        super::super::run(async {
            let recorder = Recorder::new(WorldClock::starting_at(jiff::Timestamp::UNIX_EPOCH));
            let resource = FencedResource::new(&recorder);
            let run = |item, token| RunId { job: "j".to_owned(), item, slot: 0, fire: 0, token };
            let beside = |token| RunId { slot: 1, ..run(0, token) };
            assert!(resource.begin(&run(0, 1)) && resource.effect(&run(0, 1)));
            assert!(resource.begin(&run(0, 2)), "a takeover is accepted");
            assert!(!resource.effect(&run(0, 1)), "the overtaken run is rejected");
            assert!(!resource.begin(&run(0, 1)), "the overtaken run stays rejected");
            assert!(resource.effect(&run(0, 2)) && resource.effect(&run(1, 1)));
            assert!(resource.effect(&beside(1)), "the tokens of slots are independent");
        });
    }
}
