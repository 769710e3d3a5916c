//! Measures commits on one job and on many, beside plain transactions with one row.
//!
//! Starts a server of its own, whose commits wait for the disk.
#![expect(clippy::print_stdout, reason = "the program prints its results")]
#![expect(clippy::unwrap_used, reason = "a measurement that fails should panic")]

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use postgres_fixture::{Server, ServerOptions};
use reg_center::{Change, Lifetime, NodePath, RegistryCenter as _, Txn, Version};
use reg_center_postgres::{PostgresCenter, PostgresOptions};
use sqlx::{AssertSqlSafe, ConnectOptions as _, PgConnection};

/// Duration of each measurement.
const DURATION: Duration = Duration::from_secs(4);
const JOBS: usize = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::start_with(&ServerOptions::default().durable())?;
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(measure(&server))
}

async fn measure(server: &Server) -> Result<(), Box<dyn Error>> {
    server.query("CREATE TABLE plain (id int PRIMARY KEY, n bigint NOT NULL)")?;
    server.query("INSERT INTO plain SELECT n, 0 FROM generate_series(0, 999) AS n")?;
    let address = server.address();
    let options = PostgresOptions::new(address.ip().to_string(), address.port(), "postgres");
    let center = PostgresCenter::connect(options.clone().user("postgres")).await?;
    let other = PostgresCenter::connect(options.user("postgres")).await?;
    for job in 0..JOBS {
        let create = Txn::new().create(node(job), "", Lifetime::Persistent);
        assert!(center.commit(create).await?.is_committed());
    }
    println!("{DURATION:?} each                                    commits/s   median   99 %");
    for clients in [1, 16] {
        let connect = || async { plain_connection(server).await.unwrap() };
        print(
            &format!("plain transaction, {clients} clients, other rows"),
            plain(clients, connect).await,
        );
    }
    for (callers, jobs) in [(1, 1), (16, 1), (64, 1), (16, JOBS), (64, JOBS)] {
        let title = format!("commit, {callers} callers, {jobs} jobs");
        print(&title, commits(&[Arc::clone(&center)], callers, jobs).await);
    }
    let two = [Arc::clone(&center), Arc::clone(&other)];
    print("commit, 2 centers, 32 callers, 1 job", commits(&two, 32, 1).await);
    print(&format!("commit, 2 centers, 64 callers, {JOBS} jobs"), commits(&two, 64, JOBS).await);
    print("claim of a run (8 operations), 1 caller", claims(&center).await);
    print("change visible in another center", visible(&center, &other).await);
    Ok(())
}

fn node(job: usize) -> NodePath {
    NodePath::parse(&format!("/job-{job}/n")).unwrap()
}

fn print(title: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let rate = times.len() as f64 / DURATION.as_secs_f64();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1e3;
    println!("{title:<46} {rate:>8.0} {:>7.2} ms {:>7.2} ms", at(50), at(99));
}

async fn plain_connection(server: &Server) -> Result<PgConnection, sqlx::Error> {
    let address = server.address();
    let options = sqlx::postgres::PgConnectOptions::new_without_pgpass();
    let options = options.host(&address.ip().to_string()).port(address.port());
    options.username("postgres").database("postgres").disable_statement_logging().connect().await
}

/// Measures updates of one row, each client on a connection and a row of its own.
async fn plain<F: Future<Output = PgConnection>>(
    clients: usize,
    connect: impl Fn() -> F,
) -> Vec<Duration> {
    let mut tasks = Vec::new();
    for client in 0..clients {
        let mut connection = connect().await;
        tasks.push(tokio::spawn(async move {
            let sql = format!("UPDATE plain SET n = n + 1 WHERE id = {client}");
            let (start, mut times) = (Instant::now(), Vec::new());
            while start.elapsed() < DURATION {
                let sent = Instant::now();
                let update = sqlx::raw_sql(AssertSqlSafe(sql.clone()));
                update.execute(&mut connection).await.unwrap();
                times.push(sent.elapsed());
            }
            times
        }));
    }
    joined(tasks).await
}

/// Measures commits with one put, of callers that each wait for the answer.
async fn commits(centers: &[Arc<PostgresCenter>], callers: usize, jobs: usize) -> Vec<Duration> {
    let tasks = (0..callers).map(|caller| {
        let center = Arc::clone(&centers[caller % centers.len()]);
        tokio::spawn(async move {
            let (start, mut times) = (Instant::now(), Vec::new());
            while start.elapsed() < DURATION {
                let put = Txn::new().put(node((caller + times.len() * 7) % jobs), "x");
                let sent = Instant::now();
                assert!(center.commit(put).await.unwrap().is_committed());
                times.push(sent.elapsed());
            }
            times
        })
    });
    joined(tasks.collect()).await
}

/// Measures transactions of the size of a claim: guards, a record and a mark.
async fn claims(center: &PostgresCenter) -> Vec<Duration> {
    let (start, mut times) = (Instant::now(), Vec::new());
    while start.elapsed() < DURATION {
        let at = |name: &str| NodePath::parse(&format!("/job-0/{name}")).unwrap();
        let mut claim = Txn::new().put(at("n"), vec![b'x'; 200]);
        for guard in 0..6 {
            claim = claim.check_absent(at(&format!("guard-{guard}")));
        }
        let run = at(&format!("sharding/{}/running", times.len()));
        let sent = Instant::now();
        let claim = claim.create(run, "", Lifetime::Ephemeral);
        assert!(center.commit(claim).await.unwrap().is_committed());
        times.push(sent.elapsed());
    }
    times
}

/// Measures the time from the sending of a commit to the change in a feed of another center.
async fn visible(center: &PostgresCenter, other: &PostgresCenter) -> Vec<Duration> {
    let mut feed = other.watch(&node(0));
    while feed.next().await != Some(Change::Ready) {}
    let (start, mut times) = (Instant::now(), Vec::new());
    while start.elapsed() < DURATION {
        let sent = Instant::now();
        let outcome = center.commit(Txn::new().put(node(0), "x")).await.unwrap();
        let reg_center::TxnOutcome::Committed(committed) = outcome else { unreachable!() };
        let written = committed.stats[0].unwrap().version;
        let shows = |version: Version| version >= written;
        while !matches!(feed.next().await, Some(Change::Put(node)) if shows(node.stat.version)) {}
        times.push(sent.elapsed());
    }
    times
}

async fn joined(tasks: Vec<tokio::task::JoinHandle<Vec<Duration>>>) -> Vec<Duration> {
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.unwrap());
    }
    times
}
