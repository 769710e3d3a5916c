//! Commits and claims in a second, beside one-row transactions by the registry's own client.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use lite::{JobBuilder, JobEvent, JobRecord, job_fn};
use reg_center::{Lifetime, NodePath, RegistryCenter, Txn};
use tokio::sync::mpsc;

use crate::backend::Backend;
use crate::raw::{RECORD, RawClient};
use crate::replay::{self, Mirror, commit};
use crate::report::{Bound, Cell, Table};
use crate::spread::Spread;
use crate::stage::{Stage, within};
use crate::{Effort, Outcome};

const COLUMNS: [&str; 7] = [
    "load",
    "callers",
    "durability",
    "a second",
    "one-row clients",
    "one-row transactions a second",
    "ratio to one-row transactions",
];

/// Number of callers in the loads with many of them.
const CALLERS: usize = 64;
/// Calls of one round, shared by its callers.
const CALLS: usize = 512;

/// Kind of the measured calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    /// Each caller writes a node of its own, all of the same job.
    OneJob,
    /// The same, by two sessions.
    OneJobTwoSessions,
    /// Each caller writes a node of a job of its own.
    ManyJobs,
    /// The transaction that claims one item, each of a job of its own.
    Claims,
}

const LOADS: [(Load, usize); 6] = [
    (Load::OneJob, 1),
    (Load::OneJob, CALLERS),
    (Load::OneJobTwoSessions, CALLERS),
    (Load::ManyJobs, CALLERS),
    (Load::Claims, 1),
    (Load::Claims, CALLERS),
];

/// Rates of one round.
struct Round {
    rate: f64,
    raw: f64,
}

/// Measures all variants of a backend.
pub(crate) async fn measure(backend: Backend, effort: Effort) -> Outcome<Table> {
    let mut table = Table::new(
        "rates",
        "transactions in a second, of callers that each wait for the answer to their last one; \
         commits write one node; claims are those of the product, with all their operations; \
         one-row transactions: by as many clients of the registry's own as are fastest, or by one \
         beside a single caller",
        3,
        &COLUMNS,
    );
    for stage in Stage::all(backend) {
        let stage = stage?;
        let subject = Subject::open(&stage).await?;
        for (load, callers) in LOADS {
            let n_raw = if callers == 1 { 1 } else { backend.raw_clients() };
            let mut raw = RawClient::open(&stage.registry, n_raw).await?;
            let mut rounds = Vec::new();
            for _ in 0..3 * effort.rounds() {
                let rate = subject.rate(load, callers).await?;
                let (elapsed, clients) = raw_writes(raw).await?;
                raw = clients;
                let per_second =
                    |(calls, elapsed): (usize, Duration)| calls as f64 / elapsed.as_secs_f64();
                let raw = per_second((CALLS / n_raw * n_raw, elapsed));
                rounds.push(Round { rate: per_second(rate), raw });
            }
            note(&mut table, &stage, load, callers, n_raw, &rounds);
        }
    }
    Ok(table)
}

/// The sessions and the transactions that are measured.
struct Subject {
    centers: [Arc<dyn RegistryCenter>; 2],
    claims: Vec<Mirror>,
}

impl Subject {
    async fn open(stage: &Stage) -> Outcome<Self> {
        let claim = recorded_claim(stage).await?;
        let claims = (0..CALLS).map(|copy| Mirror::of(&claim, copy)).collect::<Outcome<_>>()?;
        let centers = [stage.session("rates").await?, stage.session("rates").await?];
        for load in [Load::OneJob, Load::ManyJobs] {
            for caller in 0..CALLERS {
                let node = node(load, caller)?;
                let create = Txn::new().create(node, RECORD, Lifetime::Persistent);
                commit(&centers[0], create).await?;
            }
        }
        Ok(Self { centers, claims })
    }

    /// Returns the number of calls and the time that they took together.
    async fn rate(&self, load: Load, callers: usize) -> Outcome<(usize, Duration)> {
        if load == Load::Claims {
            return self.claims(callers).await;
        }
        let mut all = Vec::new();
        for caller in 0..callers {
            let put = Txn::new().put(node(load, caller)?, RECORD);
            let session = if load == Load::OneJobTwoSessions { caller % 2 } else { 0 };
            all.push((session, vec![put; CALLS / callers]));
        }
        Ok((CALLS / callers * callers, self.committed(all).await?))
    }

    async fn claims(&self, callers: usize) -> Outcome<(usize, Duration)> {
        replay::prepare(&self.centers[0], &self.claims).await?;
        let portions = self.claims.chunks(CALLS / callers);
        let all =
            portions.map(|claims| (0, claims.iter().map(|claim| claim.txn.clone()).collect()));
        let elapsed = self.committed(all.collect()).await?;
        replay::clear(&self.centers[0], &self.claims).await?;
        Ok((self.claims.len(), elapsed))
    }

    /// Commits the transactions of all callers, those of each one after the other. Each caller has
    /// a session and its transactions.
    async fn committed(&self, callers: Vec<(usize, Vec<Txn>)>) -> Outcome<Duration> {
        let begin = Instant::now();
        let tasks = callers.into_iter().map(|(session, txns)| {
            let center = Arc::clone(&self.centers[session]);
            tokio::spawn(async move {
                for txn in txns {
                    commit(&center, txn).await?;
                }
                Outcome::Ok(())
            })
        });
        let tasks: Vec<_> = tasks.collect();
        let ended = within("the answers to all transactions", try_join_all(tasks)).await??;
        ended.into_iter().collect::<Outcome<()>>()?;
        Ok(begin.elapsed())
    }
}

/// Writes with all clients at the same time. Returns the time that they took, and the clients.
async fn raw_writes(clients: Vec<RawClient>) -> Outcome<(Duration, Vec<RawClient>)> {
    let calls = CALLS / clients.len();
    let begin = Instant::now();
    let tasks = clients.into_iter().map(|mut client| {
        tokio::spawn(async move {
            for _ in 0..calls {
                client.write().await?;
            }
            Outcome::Ok(client)
        })
    });
    let tasks: Vec<_> = tasks.collect();
    let ended = within("the answers to all one-row transactions", try_join_all(tasks)).await??;
    let clients = ended.into_iter().collect::<Outcome<_>>()?;
    Ok((begin.elapsed(), clients))
}

/// Returns the node that a caller writes.
fn node(load: Load, caller: usize) -> Outcome<NodePath> {
    let job = if load == Load::ManyJobs { caller + 1 } else { 0 };
    Ok(NodePath::parse(&format!("/job-{job}/sharding/{caller}"))?)
}

/// Returns the transaction by which the product claims one item.
async fn recorded_claim(stage: &Stage) -> Outcome<Txn> {
    let instance = stage.instance("claim", 1).await?;
    let config = JobBuilder::new("claimed", 1).cron("* * * * * ?").failover(true).build()?;
    let (recorded, mut records) = mpsc::unbounded_channel();
    let subscriber = move |record: &JobRecord| {
        if let JobEvent::Settled { .. } = record.event {
            // The receiver is dropped when the claim is known.
            let _ = recorded.send(());
        }
    };
    let registration = instance.scheduler.schedule(config, job_fn(|_| async { Ok(()) }));
    let _handle = registration.event_subscriber(subscriber).await?;
    let recorded_claim = async {
        loop {
            records.recv().await.ok_or("the job has stopped")?;
            let requests = instance.center.take();
            let mut txns = requests.into_iter().filter_map(|request| request.txn);
            // A feed can show a claim before its answer arrives, which then comes before the next
            // run.
            if let Some(claim) = txns.find(|txn| txn.label() == "claim") {
                return Outcome::Ok(claim);
            }
        }
    };
    let claim = within("a claim", recorded_claim).await??;
    instance.leave().await?;
    Ok(claim)
}

fn note(
    table: &mut Table,
    stage: &Stage,
    load: Load,
    callers: usize,
    n_raw: usize,
    rounds: &[Round],
) {
    let rate = Spread::of(rounds.iter().map(|round| round.rate));
    let ratio = Spread::of(rounds.iter().map(|round| round.rate / round.raw));
    table.push(vec![
        load.name().into(),
        Cell::Count(callers as u64),
        stage.durability().into(),
        rate.into(),
        Cell::Count(n_raw as u64),
        Spread::of(rounds.iter().map(|round| round.raw)).into(),
        ratio.into(),
    ]);
    let mut target = |figure: &str, least, spread: Option<Spread>| {
        let figure = format!("{figure}, {callers} callers, {}", stage.durability());
        table.target(figure, Bound::AtLeast(least), spread.map(|spread| spread.median));
    };
    match (stage.backend(), load) {
        (Backend::Sqlite, Load::Claims) if stage.fsync() => {
            target("claims / one-row transactions", 0.8, ratio);
        }
        (Backend::Sqlite, Load::Claims) => target("claims a second", 2_000.0, rate),
        (Backend::Postgres, Load::OneJob) if callers > 1 => {
            target("commits a second on one job", 700.0, rate);
        }
        (Backend::Postgres, Load::ManyJobs) => {
            target("commits a second over many jobs", 2_000.0, rate);
        }
        _ => {}
    }
}

impl Load {
    fn name(self) -> &'static str {
        match self {
            Self::OneJob => "commits on one job",
            Self::OneJobTwoSessions => "commits on one job, by two sessions",
            Self::ManyJobs => "commits over many jobs",
            Self::Claims => "claims of one item",
        }
    }
}
