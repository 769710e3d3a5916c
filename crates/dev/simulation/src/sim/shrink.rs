//! Shrinks a script: the smallest one found that violates the same property.

use super::record::Keep;
use super::run::{Judge, run};
use super::script::{Script, Timed};

/// Maximum number of runs.
const MAX_RUNS: usize = 2_000;

/// Search for a smaller script with the same violation.
#[derive(Debug)]
struct Shrinker {
    best: Script,
    property: String,
    judge: Judge,
    runs: usize,
}

/// Returns the smallest script found that violates the same property as `script`; `None` if
/// `script` violates none.
///
/// The search ends the run after the violation and drops acts by delta debugging. Then it removes
/// nodes, items and network disturbances and halves durations, as long as the violation remains.
#[must_use]
pub fn shrink(script: &Script, judge: Judge) -> Option<Script> {
    let violation = run(script, judge, Keep::default()).violation?;
    let property = violation.property;
    let mut shrinker = Shrinker { best: script.clone(), property, judge, runs: 0 };
    shrinker.cut_off(violation.step);
    loop {
        let before = shrinker.best.clone();
        shrinker.drop_acts();
        shrinker.simplify();
        if shrinker.best == before || shrinker.runs >= MAX_RUNS {
            return Some(shrinker.best);
        }
    }
}

impl Shrinker {
    /// Plays a candidate, and keeps it if it violates the same property.
    fn try_out(&mut self, candidate: Script) -> bool {
        if candidate == self.best || self.runs >= MAX_RUNS {
            return false;
        }
        self.runs += 1;
        let violation = run(&candidate, self.judge, Keep::default()).violation;
        let fails = violation.is_some_and(|violation| violation.property == self.property);
        if fails {
            self.best = candidate;
        }
        fails
    }

    /// Ends the run after the violation.
    fn cut_off(&mut self, step: u32) {
        let mut candidate = self.best.clone();
        candidate.profile.steps = step;
        candidate.acts.retain(|timed| timed.step <= step);
        self.try_out(candidate);
    }

    /// Drops ever smaller ranges of acts (delta debugging).
    fn drop_acts(&mut self) {
        let mut piece = self.best.acts.len().div_ceil(2);
        while piece > 0 {
            let mut at = 0;
            while at < self.best.acts.len() {
                let mut candidate = self.best.clone();
                let end = (at + piece).min(candidate.acts.len());
                candidate.acts.drain(at..end);
                if !self.try_out(candidate) {
                    at += piece;
                }
            }
            piece /= 2;
        }
    }

    fn simplify(&mut self) {
        let rows: [fn(&mut Script); 32] = [
            |script| script.profile.nodes -= u8::from(script.profile.nodes > 1),
            |script| script.profile.job.items = 1,
            |script| script.profile.job.items = script.profile.job.items.div_ceil(2),
            |script| script.profile.steps = script.profile.steps * 3 / 4,
            |script| script.profile.steps -= u32::from(script.profile.steps > 0),
            |script| script.profile.job.strategy = String::new(),
            |script| script.profile.pace.reorder = 0,
            |script| script.profile.pace.coalesce = 0,
            |script| script.profile.pace.reread = false,
            |script| script.profile.pace.torn = false,
            |script| script.profile.pace.overtake = 0,
            |script| script.profile.pace.blind = false,
            |script| {
                let work = &mut script.profile.work;
                (work.fail, work.panic, work.hang) = (0, 0, 0);
            },
            |script| script.profile.work.slow = 0,
            |script| script.profile.job.misfire = false,
            |script| script.profile.job.failover = false,
            |script| script.profile.job.jitter_ms = 0,
            |script| script.profile.job.cluster_concurrency = 0,
            |script| script.profile.job.starts = 0,
            |script| script.profile.job.after_s = 0,
            |script| script.profile.job.group = 0,
            |script| script.profile.job.group_starts = 0,
            |script| script.profile.job.cancel_overlaps = false,
            |script| script.profile.job.queue = 0,
            |script| script.profile.job.parallel = 0,
            |script| script.profile.job.narrow = false,
            |script| script.profile.job.excluded_days = String::new(),
            |script| script.profile.job.placement = String::new(),
            |script| script.profile.job.placed = false,
            |script| script.profile.work.together = false,
            |script| script.profile.midnight_s = 0,
            |script| script.profile.mixed_releases = false,
        ];
        for change in rows {
            let mut candidate = self.best.clone();
            change(&mut candidate);
            self.try_out(candidate);
        }
        for place in 0..self.best.acts.len() {
            let mut candidate = self.best.clone();
            if let Some(shorter) = candidate.acts[place].halved() {
                candidate.acts[place] = shorter;
                self.try_out(candidate);
            }
        }
    }
}

impl Timed {
    /// Returns the act with half its duration; `None` if it has none, or a short one.
    fn halved(&self) -> Option<Self> {
        use super::act::Act;
        let mut shorter = self.clone();
        let (Act::Cut { ms, .. }
        | Act::Lag { ms, .. }
        | Act::Freeze { ms, .. }
        | Act::RegistryDown { ms, .. }
        | Act::DelayRequest { ms, .. }
        | Act::Pause { ms, .. }
        | Act::Expire { notice_ms: ms, .. }
        | Act::Crash { restart_ms: ms, .. }
        | Act::Drain { rejoin_ms: ms, .. }) = &mut shorter.act
        else {
            return None;
        };
        if *ms < 20 {
            return None;
        }
        *ms /= 2;
        Some(shorter)
    }
}
