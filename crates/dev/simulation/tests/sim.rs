//! The pure simulation, as every test run plays it. `ejob-sim run` plays more seeds.

use std::process::Command;

use simulation::sim::{
    Act, Change, FAULTS, Judge, Keep, OPERATORS, Profile, Script, Source, parse_corpus, points,
    run, run_calm, run_ended, run_points, run_seeds,
};

const THREADS: usize = 2;

/// Asserts that a script violates nothing; else prints all data needed to repeat it.
fn assert_holds(script: &Script, judge: Judge, what: &str) {
    let report = run(script, judge, Keep { trace: true, history: false });
    let violation = report.violation;
    let script = script.to_json();
    assert!(violation.is_none(), "{what}: {violation:?}\n{}\n{script}", report.trace);
}

#[test]
fn each_fire_runs_exactly_once_without_faults() {
    for seed in 0..60 {
        let report = run_calm(seed, 10, Judge::Online, Keep { trace: true, history: false });
        assert_eq!(report.violation, None, "seed {seed}\n{}", report.trace);
        assert!(report.coverage.runs >= 10, "seed {seed} ran {}", report.coverage.runs);
    }
}

#[test]
fn last_fire_that_no_instance_met_runs_exactly_once() {
    for seed in 0..60 {
        let report = run_ended(seed, Judge::Full, Keep { trace: true, history: false });
        assert_eq!(report.violation, None, "seed {seed}\n{}", report.trace);
    }
}

#[test]
fn properties_hold_under_faults_and_after_healing() {
    let totals = run_seeds(0, 150, THREADS, Judge::Online, Script::draw);
    let again = totals.failures.first().map(|(seed, _)| {
        format!("cargo run --profile sim -p simulation --bin ejob-sim -- replay {seed}")
    });
    assert!(totals.failures.is_empty(), "{:?}\n{}", totals.failures, again.unwrap_or_default());
}

/// Processes of three releases share a job: one of the present format, one without format
/// versions, and one that adds a field to each record.
#[test]
fn properties_hold_with_mixed_releases() {
    let (mut failovers, mut parameters) = (0, 0);
    for seed in 0..200 {
        let mut profile = Profile { mixed_releases: true, ..Profile::draw(seed) };
        // The older release loses the hash of the rules, so that the leader would never come to
        // rest. In truth it rejects the strategy.
        profile.job.without_placement();
        let script = Script::with(seed, profile);
        let judge = if seed % 4 == 0 { Judge::Full } else { Judge::Online };
        let report = run(&script, judge, Keep { trace: false, history: false });
        assert_eq!(report.violation, None, "seed {seed}: {}", script.to_json());
        failovers += report.coverage.of("failover");
        parameters += report.coverage.of("run_with_parameter");
    }
    assert!(failovers > 50 && parameters > 50, "{failovers} takeovers, {parameters} requests");
}

/// Servers whose process has crashed expire before it starts again, or as it does.
#[test]
fn properties_hold_while_servers_expire() {
    let expiring_script = |seed| {
        let mut profile = Profile::draw(seed);
        profile.expire_servers();
        Script::with(seed, profile)
    };
    let seen = played(300, expiring_script, |_| Judge::Full, ["expired"]);
    assert!(seen[0] > 20, "{seen:?} servers have expired");
}

/// Replaces some changes of the configuration in a script. `next` returns the n-th new one, counted
/// from the seed.
fn with_changes(
    mut script: Script,
    is_replaced: impl Fn(&Change) -> bool,
    next: impl Fn(u64) -> Change,
) -> Script {
    let mut n = script.seed;
    for timed in &mut script.acts {
        if let Act::Configure { change } = &mut timed.act
            && is_replaced(change)
        {
            n += 1;
            *change = next(n);
        }
    }
    script
}

/// Plays the scripts of all seeds below `n_seeds`, without a violation. Returns how often each of
/// these events happened.
fn played<const N: usize>(
    n_seeds: u64,
    script: impl Fn(u64) -> Script,
    judge: impl Fn(u64) -> Judge,
    events: [&str; N],
) -> [u64; N] {
    let mut seen = [0; N];
    for seed in 0..n_seeds {
        let script = script(seed);
        let report = run(&script, judge(seed), Keep { trace: false, history: false });
        assert_eq!(report.violation, None, "seed {seed}: {}", script.to_json());
        for (count, event) in seen.iter_mut().zip(events) {
            *count += report.coverage.of(event);
        }
    }
    seen
}

/// Returns the judge that also runs the checker in each fourth seed.
fn mostly_online(seed: u64) -> Judge {
    if seed.is_multiple_of(4) { Judge::Full } else { Judge::Online }
}

/// Returns the script of a seed in which the job limits its runs, and the limit changes.
fn limited_script(seed: u64) -> Script {
    let mut profile = Profile::draw(seed);
    let limit = |n: u64| u32::try_from(n % 4).unwrap_or(0);
    profile.job.cluster_concurrency = 1 + limit(seed);
    let is_other = |change: &Change| matches!(change, Change::Period(_) | Change::Misfire(_));
    with_changes(Script::with(seed, profile), is_other, |n| Change::Limit(limit(n)))
}

/// Holders of permits are killed and cut off as in all runs, and the limit is raised, lowered and
/// lifted.
#[test]
fn properties_hold_under_a_limit_of_runs() {
    let events = ["claimed", "failover", "config_limit"];
    let seen = played(400, limited_script, mostly_online, events);
    let [claimed, failovers, changes] = seen;
    assert!(claimed > 5_000 && failovers > 60 && changes > 50, "{seen:?}");
}

/// Jobs with a fixed delay under the faults and operator actions of other seeds.
#[test]
fn properties_hold_with_a_fixed_delay() {
    let mut runs = 0;
    for seed in 0..120 {
        let mut profile = Profile::draw(seed);
        profile.job.after_s = 1 + u32::try_from(seed % 3).unwrap();
        let judge = if seed % 2 == 0 { Judge::Full } else { Judge::Online };
        let script = Script::with(seed, profile);
        let report = run(&script, judge, Keep { trace: true, history: false });
        assert_eq!(report.violation, None, "seed {seed}: {}\n{}", report.trace, script.to_json());
        runs += report.coverage.runs;
    }
    assert!(runs > 3_000, "{runs} runs");
}

/// Operators request and cancel backfills often, beside all faults and other operator actions.
#[test]
fn properties_hold_during_backfills() {
    let backfill_script =
        |seed| Script::with(seed, Profile { backfill_every: 40, ..Profile::draw(seed) });
    let events = ["backfill_done", "backfill_cancelled", "failover"];
    let seen = played(200, backfill_script, mostly_online, events);
    let [done, cancelled, failovers] = seen;
    assert!(done > 60 && cancelled > 40 && failovers > 30, "{seen:?}");
}

/// Returns the script of a seed in which the job has a start rate, and the rate changes.
fn rated_script(seed: u64) -> Script {
    let mut profile = Profile::draw(seed);
    let rate = |n: u64| u32::try_from(n % 5).unwrap_or(0);
    profile.job.starts = 1 + rate(seed);
    // Earlier releases count no starts.
    profile.mixed_releases = false;
    let is_other = |change: &Change| matches!(change, Change::Period(_) | Change::Misfire(_));
    with_changes(Script::with(seed, profile), is_other, |n| Change::Rate(rate(n)))
}

/// Instances with slow, fast and reset clocks share the starts, and the rate changes and is lifted.
#[test]
fn properties_hold_at_a_start_rate() {
    let events = ["claimed", "failover", "config_rate"];
    let seen = played(400, rated_script, |_| Judge::Full, events);
    let [claimed, failovers, changes] = seen;
    assert!(claimed > 2_000 && failovers > 30 && changes > 50, "{seen:?}");
}

/// Returns the script of a seed in which the job is in a group, whose limits change, and which the
/// job leaves and joins.
fn grouped_script(seed: u64) -> Script {
    let mut profile = Profile::draw(seed);
    let limit = |n: u64| u32::try_from(n % 4).unwrap_or(0);
    (profile.job.monitor, profile.job.group) = (true, 1 + limit(seed));
    profile.job.group_starts = if seed.is_multiple_of(3) { 2 + limit(seed) } else { 0 };
    profile.job.cluster_concurrency = if seed.is_multiple_of(5) { 2 } else { 0 };
    // Earlier releases take no permits.
    profile.mixed_releases = false;
    let is_other = |change: &Change| matches!(change, Change::Period(_) | Change::Misfire(_));
    with_changes(Script::with(seed, profile), is_other, |n| Change::Group(limit(n)))
}

/// Holders of permits and instances in the line are killed and cut off as in all runs, and the
/// limits of the group are raised and lowered.
#[test]
fn properties_hold_in_a_group() {
    let events = ["claimed", "failover", "config_group"];
    let seen = played(400, grouped_script, |_| Judge::Full, events);
    let [claimed, failovers, changes] = seen;
    assert!(claimed > 2_000 && failovers > 30 && changes > 50, "{seen:?}");
}

/// Returns the script of a seed in which fires cancel the runs that they meet, and operators turn
/// that off and on.
fn overlap_script(seed: u64) -> Script {
    let mut profile = Profile::draw(seed);
    let job = &mut profile.job;
    (job.monitor, job.misfire, job.catch_up, job.cancel_overlaps) = (true, true, false, true);
    // Most runs outlast their period, and some end only when they are cancelled.
    let work = &mut profile.work;
    (work.slow, work.slow_ms, work.hang) = (60, 1_500, 5);
    // Earlier releases lose the requests.
    profile.mixed_releases = false;
    let is_other = |change: &Change| {
        matches!(change, Change::Period(_) | Change::Monitor(_) | Change::CatchUp(_))
    };
    let next = |n: u64| Change::CancelOverlaps(!n.is_multiple_of(3));
    with_changes(Script::with(seed, profile), is_other, next)
}

/// Fires cancel runs beside all faults, other requests to cancel, and backfills.
#[test]
fn properties_hold_when_fires_cancel_runs() {
    let events = ["cancelled", "misfire", "failover", "config_overlap"];
    let seen = played(400, overlap_script, |_| Judge::Full, events);
    let [cancelled, misfires, failovers, changes] = seen;
    assert!(cancelled > 1_000 && misfires > 1_000 && failovers > 30 && changes > 50, "{seen:?}");
}

/// Returns the script of a seed in which fires queue behind the runs that they meet, and operators
/// change the length of the queue, or replace it by cancellations.
fn queue_script(seed: u64) -> Script {
    let mut script = overlap_script(seed);
    let job = &mut script.profile.job;
    (job.cancel_overlaps, job.queue) =
        (false, [1, 2, 3, 8][usize::try_from(seed % 4).expect("below four")]);
    // A limit lets idle items wait with their queues.
    job.cluster_concurrency = if seed.is_multiple_of(3) { 2 } else { 0 };
    script.profile.work.hang = 0;
    let next = |n: u64| match n % 5 {
        0 => Change::CancelOverlaps(true),
        1 => Change::CancelOverlaps(false),
        2 => Change::Queue(0),
        3 => Change::Queue(1),
        _ => Change::Queue(4),
    };
    with_changes(script, |change| matches!(change, Change::CancelOverlaps(_)), next)
}

/// Fires queue behind runs beside all faults, cancellations, backfills and limits.
#[test]
fn properties_hold_when_fires_queue() {
    let events = ["misfire", "queue_full", "failover", "config_queue"];
    let seen = played(400, queue_script, |_| Judge::Full, events);
    let [misfires, full, failovers, changes] = seen;
    assert!(misfires > 2_000 && full > 200 && failovers > 30 && changes > 30, "{seen:?}");
}

/// Returns the script of a seed in which fires run beside the runs that they meet, and operators
/// change the number of runs of an item, or replace them by a queue.
fn parallel_script(seed: u64) -> Script {
    let mut script = overlap_script(seed);
    let job = &mut script.profile.job;
    (job.cancel_overlaps, job.parallel) =
        (false, [2, 2, 3, 5][usize::try_from(seed % 4).expect("below four")]);
    job.cluster_concurrency = if seed.is_multiple_of(3) { 4 } else { 0 };
    // Runs last up to three periods.
    let periods = 1 + u32::try_from(seed % 3).expect("below three");
    (script.profile.work.slow, script.profile.work.slow_ms) = (80, 1_000 * periods);
    let next = |n: u64| match n % 8 {
        0 => Change::Parallel(0),
        1 => Change::Queue(2),
        2 => Change::Queue(0),
        3 => Change::Parallel(3),
        4 => Change::CancelOverlaps(true),
        5 => Change::CancelOverlaps(false),
        _ => Change::Parallel(2),
    };
    with_changes(script, |change| matches!(change, Change::CancelOverlaps(_)), next)
}

/// Fires run beside unfinished runs of their items under all faults, cancellations, backfills and
/// limits, while items are added and removed and instances join and leave.
#[test]
fn properties_hold_when_runs_are_parallel() {
    let events = ["misfire", "beside", "failover", "config_parallel"];
    let seen = played(400, parallel_script, |_| Judge::Full, events);
    let [misfires, beside, failovers, changes] = seen;
    assert!(misfires > 500 && beside > 2_000 && failovers > 30 && changes > 30, "{seen:?}");
}

/// Events of the product in 100 seeds with combined features, each with its minimum count.
const FEATURES: [(&str, u64); 14] = [
    ("claimed", 2_000),
    ("failover", 5),
    ("misfire", 500),
    ("beside", 200),
    ("queue_full", 20),
    ("cancelled", 100),
    ("backfill_done", 4),
    ("expired", 1),
    ("config_limit", 20),
    ("config_rate", 20),
    ("config_group", 20),
    ("config_overlap", 20),
    ("config_queue", 20),
    ("config_parallel", 20),
];

#[test]
fn properties_hold_with_combined_features() {
    let totals = run_seeds(1_000, 100, THREADS, Judge::Full, Script::draw_with_features);
    assert!(totals.failures.is_empty(), "{:?}", totals.failures);
    let seen = totals.coverage;
    let counts = FEATURES.map(|(what, least)| (what, seen.of(what), least));
    let rare: Vec<_> = counts.into_iter().filter(|(_, count, least)| count < least).collect();
    assert!(rare.is_empty(), "too rare (row, count, minimum): {rare:?}");
}

/// Plays every seed and script that once found a fault.
#[test]
fn corpus_finds_no_violation() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus");
    let read = |file: &str| std::fs::read_to_string(format!("{folder}/{file}")).unwrap();
    let corpus = parse_corpus(&read("sim.txt")).unwrap();
    let files = std::fs::read_dir(folder).unwrap().filter(|file| {
        let path = file.as_ref().unwrap().path();
        path.extension().is_some_and(|extension| extension == "json")
    });
    let scripts = corpus.iter().filter(|entry| matches!(entry.source, Source::File(_)));
    assert_eq!(
        scripts.count(),
        files.count(),
        "number of scripts in sim.txt, and of files in the folder"
    );
    for entry in corpus {
        let script = entry.script(read).unwrap();
        assert_holds(&script, Judge::Full, &entry.found);
    }
}

/// Injects a fault at every 20th write of the scripted run; `ejob-sim points` takes all writes.
#[test]
fn fault_at_any_write_violates_nothing() {
    for like_zookeeper in [false, true] {
        let points = points(like_zookeeper, 20);
        assert!(points.len() >= 50, "{} points", points.len());
        let failures = run_points(&points, like_zookeeper, Judge::Online);
        let worded: Vec<_> = failures.iter().map(|(place, v)| (points[*place], v)).collect();
        assert!(failures.is_empty(), "like ZooKeeper {like_zookeeper}: {worded:?}");
    }
}

/// Replays a seed in a separate process and returns its output.
fn replay_in_process(seed: u64) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ejob-sim"));
    let output = command.args(["replay", "--quiet", &seed.to_string()]).output();
    let output = output.expect("the program is built with the tests");
    String::from_utf8(output.stdout).expect("the output is UTF-8")
}

#[test]
fn same_seed_gives_same_run_in_every_process() {
    for seed in [3, 8, 21, 34] {
        let once = replay_in_process(seed);
        assert!(once.starts_with("digest "), "seed {seed}: {once}");
        assert_eq!(once, replay_in_process(seed), "seed {seed}");
    }
    assert_ne!(replay_in_process(3), replay_in_process(8));
}

/// Events of the product in 200 seeds, each with its minimum count.
const PRODUCT: [(&str, u64); 39] = [
    ("claimed", 5_000),
    ("settled", 3_000),
    ("failover", 60),
    ("misfire", 200),
    ("misfire_noted", 100),
    ("missed", 500),
    ("gap", 50),
    ("resharded", 500),
    ("deferred_move", 50),
    ("became_leader", 300),
    ("lost_leadership", 100),
    ("orphaned", 60),
    ("taken_at_once", 10),
    ("fenced", 15),
    ("fenced_effect", 3),
    ("interrupted_run", 20),
    ("abandoned", 10),
    ("graceful_leave", 60),
    ("lingering_session", 15),
    ("lease_expired", 100),
    ("expiry_while_running", 20),
    ("crash_while_running", 15),
    ("unknown_outcome", 300),
    ("late_write", 50),
    ("conflict", 1_000),
    ("config_rejected", 50),
    ("strategy_failed", 5),
    // Rows that only some seeds reach.
    ("run_with_parameter", 150),
    ("request_dropped", 4),
    ("delayed_fire", 200),
    ("excluded_day", 100),
    ("excluded_time", 20),
    ("config_jitter", 50),
    ("config_excluded_days", 20),
    ("miss_change", 100),
    ("read", 200),
    ("changes_missed", 20),
    ("narrowed", 100),
    ("widened", 30),
];

#[test]
fn runs_reach_the_required_coverage() {
    let seen = run_seeds(1_000, 200, THREADS, Judge::Online, Script::draw).coverage;
    let least = |kind| if kind == "enable_item" { 3 } else { 8 };
    let acts = FAULTS.iter().chain(&OPERATORS).map(|(kind, _)| (*kind, least(*kind)));
    let rows = acts.chain(PRODUCT).chain([("once_call", 100), ("refire", 30)]);
    let rare: Vec<_> = rows
        .map(|(what, least)| (what, seen.of(what), least))
        .filter(|(_, count, least)| count < least)
        .collect();
    assert!(rare.is_empty(), "too rare (row, count, minimum): {rare:?}");
}
