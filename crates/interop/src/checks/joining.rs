//! Rust joins a Java cluster: it gets its items by the same strategy, and every fire of every item runs once.

use super::Setting;
use super::account::Account;
use super::common::{assigned, average, fires, next_fire};
use crate::protocol::JobPlan;
use crate::stage::{Failure, Kind};
use crate::suite::Report;

const JOB: &str = "joining";
const TOTAL: u32 = 6;

pub(super) async fn play(setting: &Setting<'_>, report: &mut Report) -> Result<(), Failure> {
    let cast = setting.theatre.cast(setting.namespace).await?;
    let workers = [(Kind::Java, "javaA", 1), (Kind::Java, "javaB", 2), (Kind::Rust, "rust", 3)];
    let [a, b, rust] = cast.all(workers).await?;
    let job = JobPlan::new(JOB, TOTAL);
    let a_id = a.schedule(&job).await?;
    // A Java leader can forget who joins while it still reshards for somebody else.
    assigned(&cast, JOB, TOTAL, &[&a_id]).await?;
    let b_id = b.schedule(&job).await?;
    let java = [&*a_id, &*b_id];
    assigned(&cast, JOB, TOTAL, &java).await?;
    let from = next_fire(&cast, JOB, TOTAL).await?;
    let alone = fires(&cast, JOB, TOTAL, from, 3).await?;
    let judge = |what: &str, from: i64, to: i64, report: &mut Report| {
        Account::of(JOB, &cast.log.entries()).judge(what, TOTAL, from, to, report);
    };
    judge("fires of the Java cluster alone", from, alone, report);

    let rust_id = rust.schedule(&job).await?;
    let all = [java[0], java[1], &*rust_id];
    assigned(&cast, JOB, TOTAL, &all).await?;
    let found = cast.nodes().owners(JOB);
    report.same("items after Rust has joined", &average(JOB, TOTAL, &all), &found);
    let joined = fires(&cast, JOB, TOTAL, alone, 8).await?;
    judge("fires while Rust joins", alone, joined, report);
    let n_runs = Account::of(JOB, &cast.log.entries()).n_runs_of("rust", alone);
    report.holds("runs of Rust", "at least 10", &n_runs.to_string(), n_runs >= 10);

    rust.leave().await?;
    assigned(&cast, JOB, TOTAL, &java).await?;
    let found = cast.nodes().owners(JOB);
    report.same("items after Rust has left", &average(JOB, TOTAL, &java), &found);
    let left = fires(&cast, JOB, TOTAL, joined, 5).await?;
    judge("fires while Rust leaves", joined, left, report);
    a.leave().await?;
    b.leave().await?;
    cast.tree.close().await
}
