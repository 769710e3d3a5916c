//! The outside resource: a store that knows the greatest token of each item and refuses smaller ones.

use std::collections::BTreeMap;

use checker::history::{Fact, RunId};
use parking_lot::Mutex;

use super::recorder::{Recorder, Voice};

/// The judge of effects. It is outside of every process: what it has taken stays taken.
#[derive(Debug)]
pub(crate) struct FencedResource {
    state: Mutex<State>,
    voice: Voice,
}

#[derive(Debug, Default)]
struct State {
    greatest: BTreeMap<(String, u32), u64>,
    n_acts: u64,
}

impl FencedResource {
    pub(crate) fn new(recorder: &Recorder) -> Self {
        Self { state: Mutex::default(), voice: recorder.voice("resource", 0) }
    }

    /// Announces a run before it reads or does anything; false if a later run was here before. The history shows it.
    pub(crate) fn begin(&self, run: &RunId) -> bool {
        let (accepted, rseq) = self.state.lock().take(run);
        self.voice.say(Fact::Announced { run: run.clone(), accepted, rseq });
        accepted
    }

    /// Takes an effect of a run, or refuses it; the history shows which.
    pub(crate) fn effect(&self, run: &RunId) -> bool {
        let (accepted, rseq) = self.state.lock().take(run);
        self.voice.say(Fact::Effect { run: run.clone(), accepted, rseq });
        accepted
    }
}

impl State {
    /// Returns whether the run may act, and which act of all it is.
    fn take(&mut self, run: &RunId) -> (bool, u64) {
        let (accepted, rseq) = (self.admit(run), self.n_acts);
        self.n_acts += 1;
        (accepted, rseq)
    }

    fn admit(&mut self, run: &RunId) -> bool {
        let greatest = self.greatest.entry((run.job.clone(), run.item)).or_default();
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
    fn an_announced_token_refuses_the_effects_of_smaller_ones() {
        super::super::run(async {
            let recorder = Recorder::new(WorldClock::starting_at(jiff::Timestamp::UNIX_EPOCH));
            let resource = FencedResource::new(&recorder);
            let run = |item, token| RunId { job: "j".to_owned(), item, fire: 0, token };
            assert!(resource.begin(&run(0, 1)) && resource.effect(&run(0, 1)));
            assert!(resource.begin(&run(0, 2)), "a takeover announces itself");
            assert!(!resource.effect(&run(0, 1)), "the overtaken one is refused");
            assert!(!resource.begin(&run(0, 1)), "for ever");
            assert!(resource.effect(&run(0, 2)) && resource.effect(&run(1, 1)));
        });
    }
}
