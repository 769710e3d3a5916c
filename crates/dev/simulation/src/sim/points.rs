//! Crash points: a scripted run, repeated once for each write of each process and each fault at a
//! write.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use coordination::FireTime;
use sharding::ShardingItem;

use super::clocks::next_fire;
use super::heal::TURNS;
use super::inject::{Injection, Mode, Point};
use super::profile::{JobSettings, Pace, Profile, WorkSettings};
use super::record::Keep;
use super::run::{Judge, Report, conclude};
use super::script::Script;
use super::world::{Violation, World};

const PERIOD_MS: i64 = 1_000;
const NODES: u8 = 3;

impl World {
    /// Lets time pass with fires and fair turns, until a condition holds or the time is over.
    pub(crate) fn run_until(&mut self, length: Duration, holds: impl Fn(&Self) -> bool) {
        let end = self.mono + length;
        self.fires_on = true;
        let mut n_busy = 0;
        while self.mono < end && self.violation.is_none() && !holds(self) {
            self.turn();
            n_busy += 1;
            // A cluster that never waits would keep the time from passing.
            if n_busy > TURNS {
                self.fail_busy();
            } else if !self.is_ready() {
                n_busy = 0;
                let next = self.next_moment().into_iter().chain(self.next_fire_moment());
                let at = next.min().map_or(end, |at| at.min(end));
                self.advance(at.saturating_sub(self.mono).max(Duration::from_millis(1)));
            }
        }
    }

    fn run_for(&mut self, ms: u64) {
        self.run_until(Duration::from_millis(ms), |_| false);
    }

    fn next_fire_moment(&self) -> Option<Duration> {
        let wall = self.true_wall();
        let ahead = u64::try_from(next_fire(wall, PERIOD_MS) - wall).unwrap_or(0);
        Some(self.mono + Duration::from_millis(ahead))
    }

    /// Plays the scripted run: start, fire, crash in the middle of a run, restart, more items, a
    /// graceful leave, restart.
    fn play_scripted_run(&mut self) -> Expected {
        let first = self.true_wall() + PERIOD_MS;
        self.run_for(3_200);
        self.run_until(Duration::from_secs(2), |world| !world.nodes[1].runs.is_empty());
        let crash = self.true_wall();
        self.crash(1, Duration::from_millis(1_500));
        self.run_for(4_000);
        self.settings.items = 6;
        self.write_config();
        let grown = self.true_wall();
        self.run_for(3_000);
        if self.nodes[2].is_up() {
            self.nodes[2].leaving.rejoin = Duration::from_secs(1);
            self.drain(2, Duration::from_secs(2));
        }
        self.run_for(4_000);
        Expected { first, crash, grown, last: self.true_wall() }
    }

    /// Checks that every fire of every item ended in a run, except fires near a fault.
    fn check_accounts(&mut self, expected: &Expected) {
        if let Some((item, fire)) = self.tracked.abandoned.first() {
            let text =
                format!("item {item} was claimed for {fire}, and the run was never completed");
            return self.fail("S3", text);
        }
        let hit = self.injection.as_ref().and_then(|injection| injection.hit_at);
        let excused = |fire: i64| {
            hit.is_some_and(|hit| {
                let near = |fault: i64| fire > fault - PERIOD_MS && fire <= fault + 4 * PERIOD_MS;
                near(hit) || near(expected.crash)
            })
        };
        let mut fire = next_fire(expected.first - PERIOD_MS, PERIOD_MS);
        while fire + PERIOD_MS <= expected.last {
            // New items do not run the fires around their creation.
            let items = if fire > expected.grown + PERIOD_MS { 6 } else { 4 };
            let lost = (0..items)
                .map(ShardingItem::new)
                .find(|item| !self.tracked.done.contains(&(*item, FireTime(fire))));
            if let Some(item) = lost.filter(|_| !excused(fire)) {
                self.fail("S3", format!("item {item} never ran for {fire}"));
            }
            fire += PERIOD_MS;
        }
    }
}

/// Times of the scripted run, by the true wall clock.
#[derive(Clone, Copy, Debug)]
struct Expected {
    first: i64,
    crash: i64,
    grown: i64,
    last: i64,
}

/// Returns the profile of the scripted run. `like_zookeeper` makes change events name nodes without
/// their data.
fn profile(like_zookeeper: bool) -> Profile {
    Profile {
        nodes: NODES,
        steps: 0,
        job: JobSettings {
            items: 4,
            strategy: String::new(),
            failover: true,
            misfire: true,
            monitor: true,
            period: 1,
            disabled: false,
            reconcile_minutes: 10,
            catch_up: false,
            static_sharding: false,
            named: false,
            once: true,
            max_ops: 5_000,
            jitter_ms: 0,
            narrow: false,
            server_ttl_s: 0,
            after_s: 0,
            ends_s: 0,
            cluster_concurrency: 0,
            starts: 0,
            group: 0,
            group_starts: 0,
            cancel_overlaps: false,
            queue: 0,
            parallel: 0,
            placed: false,
            placement: String::new(),
            excluded_days: String::new(),
        },
        pace: Pace {
            weights: vec![1; 7],
            quantum_ms: 10,
            batch: 64,
            reorder: 0,
            window: 0,
            coalesce: 100,
            reread: like_zookeeper,
            torn: like_zookeeper,
            overtake: 0,
            blind: like_zookeeper,
        },
        work: WorkSettings {
            usual_ms: (100, 300),
            slow: 0,
            slow_ms: 0,
            fail: 0,
            panic: 0,
            hang: 0,
            together: false,
            progress: false,
        },
        session_ms: 400,
        fault_every: 0,
        fault_mix: Vec::new(),
        operator_every: 0,
        operator_mix: Vec::new(),
        parameters: false,
        midnight_s: 0,
        cancel_every: 0,
        backfill_every: 0,
        mixed_releases: false,
        feature_change_every: 0,
    }
}

/// Plays the scripted run once, and returns the number of writes of each node.
#[must_use]
pub fn run_point(
    point: Option<Point>,
    like_zookeeper: bool,
    judge: Judge,
    keep: Keep,
) -> (Report, Vec<u32>) {
    let keep = judge.keeps(keep);
    let script = Script::with(0, profile(like_zookeeper));
    let mut world = World::new(script, keep);
    let counts = vec![0; usize::from(NODES)];
    world.injection = Some(Injection { point, counts, hit_at: None, after: None });
    let report = conclude(&mut world, judge, |world| {
        let expected = world.play_scripted_run();
        world.heal();
        world.check_healed();
        world.check_accounts(&expected);
    });
    let counts = world.injection.map(|injection| injection.counts).unwrap_or_default();
    (report, counts)
}

/// Returns every point of the scripted run: each mode of each `nth` write of each node.
#[must_use]
pub fn points(like_zookeeper: bool, nth: u32) -> Vec<Point> {
    let (_, counts) = run_point(None, like_zookeeper, Judge::Online, Keep::default());
    let mut points = Vec::new();
    for (node, count) in counts.into_iter().enumerate() {
        for write in (0..count).filter(|write| write % nth.max(1) == 0) {
            points.extend(Mode::ALL.map(|mode| Point { node, write, mode }));
        }
    }
    points
}

/// Plays the scripted run once for each point, on all processors. Returns the indexes of the points
/// with a violation.
///
/// # Panics
/// If a worker thread panics, which is a fault of the harness: panics of the product are
/// violations.
#[must_use]
pub fn run_points(points: &[Point], like_zookeeper: bool, judge: Judge) -> Vec<(usize, Violation)> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let place = next.fetch_add(1, Ordering::Relaxed)
            && let Some(point) = points.get(place)
        {
            let (report, _) = run_point(Some(*point), like_zookeeper, judge, Keep::default());
            let found = report.violation.map(|violation| (place, violation));
            failures.lock().expect("no thread panics while it adds").extend(found);
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let mut failures = failures.into_inner().expect("all threads have ended");
    failures.sort_by_key(|(place, _)| *place);
    failures
}
