//! Plan of a run: all random choices, drawn from the seed before the run starts.

use std::fmt;
use std::time::Duration;

use fastrand::Rng;

/// Number of workers.
pub const WORKERS: usize = 4;
/// Number of ZooKeeper servers.
pub const SERVERS: usize = 3;
/// Duration of the outage of all ZooKeeper servers.
const OUTAGE: Duration = Duration::from_secs(15);
/// Time in milliseconds without another fault of the same worker, so that most faults hit a running
/// worker.
const RECOVERY_MS: u64 = 3_000;
/// The names of the jobs; [`crate::jobs`] declares them.
const JOBS: [&str; 4] = ["a", "b", "c", "d"];

/// All faults and commands of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Faults of workers, in the order of time.
    pub workers: Vec<WorkerStep>,
    /// Faults of ZooKeeper servers, in the order of time.
    pub servers: Vec<ServerStep>,
    /// Commands of operators, in the order of time.
    pub commands: Vec<CommandStep>,
}

/// A fault of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerStep {
    /// Time since the start of the faults.
    pub at: Duration,
    /// The index of the worker.
    pub worker: usize,
    /// The fault.
    pub fault: WorkerFault,
}

/// A fault of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerFault {
    /// SIGKILL, and a start after this time.
    Kill(Duration),
    /// SIGSTOP, and SIGCONT after this time.
    Stop(Duration),
    /// SIGTERM, and a start this long after the end.
    Terminate(Duration),
}

/// A fault of ZooKeeper servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerStep {
    /// Time since the start of the faults.
    pub at: Duration,
    /// The index of the killed server; `None` for all servers.
    pub server: Option<usize>,
    /// Time until the server starts again.
    pub down: Duration,
}

/// A command of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandStep {
    /// Time since the start of the faults, or the end of the command before if that is later.
    pub at: Duration,
    /// The arguments of `ejob`.
    pub arguments: Vec<String>,
    /// The command that undoes it, and its delay after the end of the first command.
    pub undo: Option<(Duration, Vec<String>)>,
}

impl Plan {
    /// Draws a plan for a run of this length. The same seed and length give the same plan.
    #[must_use]
    pub fn draw(seed: u64, length: Duration) -> Self {
        let mut rng = Rng::with_seed(seed);
        // One generator for each part, so that a change of one part does not change the others.
        let (mut workers, mut servers, mut commands) = (rng.fork(), rng.fork(), rng.fork());
        Self {
            workers: draw_workers(&mut workers, length),
            servers: draw_servers(&mut servers, length),
            commands: draw_commands(&mut commands, length),
        }
    }
}

fn between(rng: &mut Rng, least_ms: u64, most_ms: u64) -> Duration {
    Duration::from_millis(rng.u64(least_ms..=most_ms))
}

fn draw_workers(rng: &mut Rng, length: Duration) -> Vec<WorkerStep> {
    let mut free_from = [Duration::ZERO; WORKERS];
    let (mut steps, mut at) = (Vec::new(), between(rng, 1_000, 5_000));
    while at < length {
        let free: Vec<usize> = (0..WORKERS).filter(|worker| free_from[*worker] <= at).collect();
        if let Some(worker) = rng.choice(free) {
            let (fault, lasts) = match rng.u32(0..89) {
                0..25 => {
                    let down = between(rng, 200, 6_000);
                    (WorkerFault::Kill(down), down)
                }
                25..61 => {
                    let stopped = between(rng, 500, 8_000);
                    (WorkerFault::Stop(stopped), stopped)
                }
                _ => {
                    let down = between(rng, 200, 4_000);
                    // The worker drains for up to 5 s before it ends.
                    (WorkerFault::Terminate(down), down + Duration::from_secs(5))
                }
            };
            free_from[worker] = at + lasts + Duration::from_millis(RECOVERY_MS);
            steps.push(WorkerStep { at, worker, fault });
        }
        at += between(rng, 1_500, 10_000);
    }
    steps
}

fn draw_servers(rng: &mut Rng, length: Duration) -> Vec<ServerStep> {
    let outage_at = length.mul_f64(0.35 + 0.3 * rng.f64());
    let outage = ServerStep { at: outage_at, server: None, down: OUTAGE };
    let (mut steps, mut at) = (Vec::new(), between(rng, 5_000, 20_000));
    let mut has_outage = false;
    while at < length {
        if !has_outage && at >= outage_at {
            at = at.max(outage_at + OUTAGE) + between(rng, 5_000, 15_000);
            steps.push(outage.clone());
            has_outage = true;
            continue;
        }
        let server = rng.usize(0..SERVERS);
        let down = between(rng, 500, 10_000);
        // A server that is still down when the outage begins would merge the two faults.
        let down = if has_outage { down } else { down.min(outage_at.saturating_sub(at)) };
        if down >= Duration::from_millis(500) {
            steps.push(ServerStep { at, server: Some(server), down });
        }
        at += down + between(rng, 8_000, 30_000);
    }
    if !has_outage {
        steps.push(outage);
    }
    steps
}

fn draw_commands(rng: &mut Rng, length: Duration) -> Vec<CommandStep> {
    let (mut steps, mut at) = (Vec::new(), between(rng, 2_000, 6_000));
    while at < length {
        let (arguments, undo) = draw_command(rng);
        let undo = undo.map(|undo| (between(rng, 500, 6_000), undo));
        let until = at + undo.as_ref().map_or(Duration::ZERO, |(after, _)| *after);
        steps.push(CommandStep { at, arguments, undo });
        at = until + between(rng, 2_000, 10_000);
    }
    steps
}

/// Draws a command and, if it pauses, disables or drains, the command that undoes it.
fn draw_command(rng: &mut Rng) -> (Vec<String>, Option<Vec<String>>) {
    let job = JOBS[rng.usize(0..JOBS.len())];
    let ip = server_ip(rng.usize(0..WORKERS));
    let item = rng.u32(0..3);
    let why = "--why chaos";
    let (line, undo) = match rng.u32(0..28) {
        0..2 => (format!("pause {job} {why}"), Some(format!("resume {job}"))),
        2..4 => (
            format!("pause {job} --server {ip} {why}"),
            Some(format!("resume {job} --server {ip}")),
        ),
        4 => (format!("pause --server {ip} {why}"), Some(format!("resume --server {ip}"))),
        5..7 => (format!("disable --server {ip} {why}"), Some(format!("enable --server {ip}"))),
        7..9 => (
            format!("disable {job} --server {ip} {why}"),
            Some(format!("enable {job} --server {ip}")),
        ),
        9..12 => (
            format!("disable {job} --items {item} {why}"),
            Some(format!("enable {job} --items {item}")),
        ),
        12..14 => (
            format!("drain {job} --server {ip} --deadline 8s {why}"),
            Some(format!("enable {job} --server {ip}")),
        ),
        14..16 => (format!("trigger {job}"), None),
        16 => (format!("trigger {job} --items {item} --parameter extra"), None),
        17..19 => (format!("config set a sharding_total_count={}", rng.u32(5..=9)), None),
        19 => (format!("config set d sharding_total_count={}", rng.u32(3..=6)), None),
        20 => {
            let cron = ["0/5 * * * * ?", "2/5 * * * * ?", "0/4 * * * * ?"][rng.usize(0..3)];
            let arguments = ["config", "set", "b"].map(str::to_owned).into_iter();
            return (arguments.chain([format!("cron={cron}")]).collect(), None);
        }
        21 => (format!("config set {job} job_parameter=p{}", rng.u32(0..100)), None),
        22 => (format!("config set {job} sharding_item_parameters=0=x{}", rng.u32(0..100)), None),
        23 => ("doctor".to_owned(), None),
        24 => (format!("why {job} {item}"), None),
        25 => (format!("plan {job} --disable {ip}"), None),
        26 => (format!("job {job}"), None),
        _ => (["jobs", "instances", "servers", "audit"][rng.usize(0..4)].to_owned(), None),
    };
    let words = |line: &str| line.split(' ').map(str::to_owned).collect();
    (words(&line), undo.as_deref().map(words))
}

/// Returns the server IP of a worker.
#[must_use]
pub fn server_ip(worker: usize) -> String {
    format!("10.0.0.{}", worker + 1)
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let workers = self.workers.iter().map(|step| {
            let ip = server_ip(step.worker);
            (step.at, format!("{ip} {:?}", step.fault))
        });
        let servers = self.servers.iter().map(|ServerStep { at, server, down }| {
            let which = server.map_or("all servers".to_owned(), |n| format!("server {}", n + 1));
            (*at, format!("ZooKeeper: {which} down for {down:?}"))
        });
        let commands = self.commands.iter().map(|CommandStep { at, arguments, undo }| {
            let undo = undo
                .as_ref()
                .map(|(after, undo)| format!("; {after:?} later: ejob {}", undo.join(" ")));
            (*at, format!("ejob {}{}", arguments.join(" "), undo.unwrap_or_default()))
        });
        let mut lines: Vec<_> = workers.chain(servers).chain(commands).collect();
        lines.sort();
        lines.iter().try_for_each(|(at, text)| writeln!(f, "{:7.1} s  {text}", at.as_secs_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: Duration = Duration::from_secs(540);

    #[test]
    fn the_same_seed_gives_the_same_plan() {
        for seed in 0..20 {
            assert_eq!(Plan::draw(seed, LENGTH), Plan::draw(seed, LENGTH), "seed {seed}");
            assert_ne!(Plan::draw(seed, LENGTH), Plan::draw(seed + 1, LENGTH), "seed {seed}");
        }
    }

    #[test]
    fn each_plan_has_one_outage_and_keeps_the_quorum_otherwise() {
        for seed in 0..200 {
            let plan = Plan::draw(seed, LENGTH);
            let outages = plan.servers.iter().filter(|step| step.server.is_none()).count();
            assert_eq!(outages, 1, "seed {seed}");
            for pair in plan.servers.windows(2) {
                assert!(pair[0].at + pair[0].down <= pair[1].at, "seed {seed}: {pair:?}");
            }
        }
    }

    #[test]
    fn nine_minutes_have_enough_faults_of_every_kind() {
        for seed in 0..50 {
            let plan = Plan::draw(seed, LENGTH);
            let of_kind = |is: fn(&WorkerFault) -> bool| {
                plan.workers.iter().filter(|step| is(&step.fault)).count()
            };
            let kills = of_kind(|fault| matches!(fault, WorkerFault::Kill(_)));
            let stops = of_kind(|fault| matches!(fault, WorkerFault::Stop(_)));
            let terminates = of_kind(|fault| matches!(fault, WorkerFault::Terminate(_)));
            let counts = (kills, stops, terminates, plan.servers.len(), plan.commands.len());
            let enough = kills >= 10 && stops >= 15 && terminates >= 10;
            assert!(enough && plan.servers.len() >= 10, "seed {seed}: {counts:?}");
            assert!(plan.commands.len() >= 40, "seed {seed}: {counts:?}");
        }
    }
}
